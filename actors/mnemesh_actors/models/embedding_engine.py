"""A model in fastembed on onnxruntime. Imported only when a model is loaded, because both libraries are heavy.

One session, on the CPU, in the caller's thread. Knows nothing about where models come from. Telemetry of the libraries
is off: onnxruntime from 1.31 on sends events to its vendor unless ORT_DISABLE_TELEMETRY is set before it loads.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from fastembed import TextEmbedding
from fastembed.common.model_description import DenseModelDescription, ModelSource, PoolingType
from fastembed.rerank.cross_encoder import TextCrossEncoder
from fastembed.text.custom_text_embedding import CustomTextEmbedding
from fastembed.text.onnx_embedding import OnnxTextEmbedding
from fastembed.text.pooled_embedding import PooledEmbedding
from fastembed.text.pooled_normalized_embedding import PooledNormalizedEmbedding
from loguru import logger
from numpy.typing import NDArray

from mnemesh_actors.models.embedding_model import LENGTH_TOLERANCE, MODEL_NAME, TOKENS_MAX, Located
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, Unavailable

Vectors = NDArray[np.float32]
_POOLING = {"none": PoolingType.DISABLED, "mean": PoolingType.MEAN, "cls": PoolingType.CLS}
_STATE = onnxruntime.capi.onnxruntime_pybind11_state
_LOAD_ERRORS: tuple[type[Exception], ...] = (
    ValueError,
    *(value for value in vars(_STATE).values() if isinstance(value, type) and issubclass(value, Exception)),
)
FETCH_ERRORS: tuple[type[Exception], ...] = (OSError, *_LOAD_ERRORS)

_LISTINGS = ((PooledNormalizedEmbedding, "mean"), (PooledEmbedding, "mean"), (OnnxTextEmbedding, "cls"))
# Of these the graph's output is not pooled by the first token.
_OTHERWISE = ("jinaai/jina-clip-v1", "Qdrant/constella-zero", "Qdrant/stella-en-400M-v5-doc-onnx")
_UNKNOWN_TOKENS = ("[UNK]", "<unk>")  # of WordPiece, and of SentencePiece and BPE
_PROBE = ("probe", "a longer probe, so that one row of the two is padded")


class _Session(CustomTextEmbedding):
    """fastembed's model with threads that sleep, not spin, between runs: other actors share the cores."""

    @classmethod
    def add_extra_session_options(
        cls, session_options: onnxruntime.SessionOptions, extra_options: dict[str, Any]
    ) -> None:
        super().add_extra_session_options(session_options, extra_options)
        session_options.add_session_config_entry("session.intra_op.allow_spinning", "0")


def session_of(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    """A graph of our own. Raises one of FETCH_ERRORS."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False  # it would keep the room of the largest run
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


class Engine:
    """A loaded model, which any number of threads may run. Raises InvalidArgument when a configured folder's model is
    unusable, with the way, and Unavailable for a model that we made or fetched."""

    def __init__(self, model: Located, threads: int) -> None:
        name = f"mnemesh/{model.pooling}/{model.revision}/{model.model_file}"
        if name not in {model["model"] for model in TextEmbedding.list_supported_models()}:
            TextEmbedding.add_custom_model(
                name,
                pooling=_POOLING[model.pooling],
                normalization=model.pooling != "none",
                sources=ModelSource(url="file:///"),
                dim=0,
                model_file=model.model_file,
            )
        try:
            self._session = _Session(
                name,
                cache_dir=str(model.directory.parent),
                threads=threads,
                providers=["CPUExecutionProvider"],
                specific_model_path=str(model.directory),
                enable_cpu_mem_arena=True,  # 8 % faster; with runs of bounded size it stays at 25 MB
            )
            tokenizer = self._session.tokenizer
            assert tokenizer is not None
            self._tokenizer = tokenizer
            limit = (tokenizer.truncation or {}).get("max_length", TOKENS_MAX)
            # fastembed's copy truncates at 128, other models at 512, which costs memory and is more than a chunk.
            tokenizer.enable_truncation(TOKENS_MAX if model.source == "downloaded" else min(limit, TOKENS_MAX))
            probe = self.run(_PROBE)
        except _LOAD_ERRORS as error:
            raise _refusal(model, f"a model that loads: {error}") from error
        self.dimensions = _dimensions(probe, model)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text after truncation, the two special ones included."""
        return [sum(encoding.attention_mask) for encoding in self._tokenizer.encode_batch(list(texts))]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text after truncation, without the special ones."""
        read = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [list(compress(encoding.ids, encoding.attention_mask)) for encoding in read]

    def number_of(self, token: str) -> int:
        """The number of a special token. Raises KeyError for a token that the model does not have."""
        number: int | None = self._tokenizer.token_to_id(token)
        if number is None:
            raise KeyError(token)
        return number

    def reads(self, text: str) -> bool:
        """Whether any token of `text` is one that the model knows. Texts of unknown tokens alone all get nearly the
        same vector."""
        unknown = {self._tokenizer.token_to_id(name) for name in _UNKNOWN_TOKENS}
        encoding = self._tokenizer.encode(text)
        tokens = zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        return any(token not in unknown for token, special in tokens if not special)

    def run(self, texts: Sequence[str]) -> Vectors:
        """One run of the graph: shape (len(texts), dimensions), float32. Memory grows with the padded tokens."""
        return np.asarray(list(self._session.embed(list(texts), batch_size=len(texts))), np.float32)


def _dimensions(probe: Vectors, model: Located) -> int:
    """The width of the model's vectors, once they are known to be vectors of length 1."""
    if probe.ndim != 2 or probe.shape[0] != len(_PROBE):
        raise _refusal(model, f"a model that gives one vector a text, not an array of shape {probe.shape}")
    if not np.isfinite(probe).all():
        raise _refusal(model, "a model that gives finite numbers")
    norms = np.linalg.norm(probe, axis=1)
    if np.abs(norms - 1).max() > LENGTH_TOLERANCE:
        raise _refusal(model, f"a model that gives vectors of length 1, not {norms[0]:.3f}; or a 1_Pooling/config.json")
    return int(probe.shape[1])


def _refusal(model: Located, wanted: str) -> MnemeshError:
    if model.source == "configured":
        return InvalidArgument("model_dir", str(model.directory), wanted)
    return Unavailable(
        f"the model in {model.directory} is damaged (not {wanted}); delete that folder and start again",
        field="model_dir",
    )


def known() -> dict[str, str]:
    """The models in fastembed's lists whose vectors are made here, each with its pooling."""
    return {name: pooling for name, (_, _, pooling) in _listed().items()}


def _listed() -> dict[str, tuple[type[OnnxTextEmbedding], DenseModelDescription, str]]:
    return {
        model.model: (listing, model, pooling)
        for listing, pooling in _LISTINGS
        for model in listing._list_supported_models()
        if model.model not in _OTHERWISE
    }


def download(name: str, cache: Path) -> tuple[Path, str]:
    """(folder, file name of the graph) of a model in fastembed's lists, fetched if it isn't in `cache` yet."""
    listing, description, _ = _listed()[name]
    logger.disable("fastembed")  # it tells each try on standard error; the error below tells the outcome once
    try:
        cache.mkdir(parents=True, exist_ok=True)
        directory = listing.download_model(description, str(cache), retries=1)
    except (ValueError, OSError) as error:
        packaged = "get it with `mnemesh model install`, or " if name == MODEL_NAME else ""
        raise Unavailable(
            f"there is no embedding model: {packaged}set model_dir to a folder with the model's ONNX files. "
            f"{name} could not be downloaded either ({error})",
            field="model_dir",
        ) from error
    return Path(directory), description.model_file


def cross_encoder(name: str, cache: Path | None, threads: int, *, fetch: bool) -> TextCrossEncoder:
    """A cross-encoder of fastembed's list, from `cache` (None for fastembed's own), fetched if it isn't there and
    `fetch` allows. Raises InvalidArgument for a name that isn't in the list, Unavailable when it can't be had."""
    known = sorted(str(model["model"]) for model in TextCrossEncoder.list_supported_models())
    if name not in known:
        raise InvalidArgument("reranker_model", name, f"one of {', '.join(known)}, or empty for none")
    try:
        return TextCrossEncoder(
            name, cache_dir=None if cache is None else str(cache), threads=threads, local_files_only=not fetch
        )
    except FETCH_ERRORS as error:
        raise Unavailable(
            f"the cross-encoder {name} can't be had ({error}): check the network, or put it into "
            f"{cache or 'the cache of fastembed'}, or set reranker_model to empty",
            field="reranker_model",
        ) from error
