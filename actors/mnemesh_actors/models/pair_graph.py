"""The pair judge as an ONNX graph: the embedder's own weights, changed by a small file of the package, and a head.

The encoder reads `[CLS] older [SEP] newer [SEP]` as BERT does with two segments (Devlin et al. 2019, arXiv:1810.04805).
The changes of matrices have a low rank (Hu et al. 2021, arXiv:2106.09685): W + b @ a. The head sees the state of [CLS],
the mean of each text, and the distance of the two means.

Inputs are `words` (float32 of batch, tokens, hidden: the embedding of each token), `types` (int64), and the masks
`older` and `newer` (float32), all three of (batch, tokens) and without padding. The output `probabilities` is float32
of (batch, classes). Matrices are kept in 8 bits by blocks of 32 weights. The table of words is a file beside the graph,
of which a reading needs a few rows.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.models.minilm_graph import Graph, encoder_layer, masked_mean, read_safetensors
from mnemesh_memory.values.errors import Unavailable

DELTAS_FILE: Final = Path(__file__).with_name("pair_judge.npz")
CLASSES: Final = ("repeats", "replaces", "apart")
READS: Final = "cls,older,newer,|older-newer|"
GRAPH_FILE: Final = "pairs.onnx"
WORDS_FILE: Final = "words.f16"  # a row for each token
# Another layout of the two files needs another number.
LAYOUT: Final = "1"
WORD_TYPE: Final = np.dtype("<f2")
WORDS: Final = "embeddings.word_embeddings.weight"
_BLOCK: Final = 32
# The faults of a damaged file, by the readers of zip, of zlib and of arrays.
_DAMAGES: Final = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
_INT8_ACCURACY: Final = 4  # of onnxruntime's MatMulNBits: rows of the input are rounded to 8 bits as well


@dataclass(frozen=True, slots=True)
class Deltas:
    """What the file says of itself. `base` is the SHA-256 of the weights that it changes."""

    path: Path
    base: str
    tokens_max: int
    digest: str


def deltas_in(path: Path) -> Deltas:
    """The file of the changes. Raises Unavailable when there is none, or it is of another form."""
    try:
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        with np.load(BytesIO(content)) as file:
            members = dict(file)  # read all: each has a checksum
        told = json.loads(bytes(members["meta"]))
        if tuple(told["classes"]) != CLASSES or told["reads"] != READS:
            raise ValueError(f"classes {told['classes']} over {told['reads']}")
        return Deltas(path, told["base"], int(told["tokens_max"]), digest)
    except FileNotFoundError:
        raise Unavailable(f"{path.name} is not in this installation") from None
    except _DAMAGES as error:
        raise Unavailable(f"{path.name} can't be read: {error}") from error


def write_pair_graph(weights_dir: Path, deltas: Deltas, directory: Path) -> str:
    """Write the graph and the table of words for weights_dir/model.safetensors; returns the digest of the changes.
    Raises Unavailable for other weights than those that were changed."""
    import onnx

    base = weights_dir / "model.safetensors"
    with base.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != deltas.base:
        raise Unavailable(f"{deltas.path.name} is of the weights {deltas.base[:12]}, and these are {digest[:12]}")
    config = json.loads((weights_dir / "config.json").read_text(encoding="utf-8"))
    with np.load(deltas.path) as file:
        weights = _Changed(read_safetensors(base), dict(file))
    (directory / WORDS_FILE).write_bytes(weights[WORDS].astype(WORD_TYPE).tobytes())
    graph = _pair_graph(weights, config, deltas.tokens_max)
    onnx.save_model(graph.model, str(directory / GRAPH_FILE))
    return deltas.digest[:12]


class _Changed(Mapping[str, NDArray[Any]]):
    """The weights with the changes, each made when it is asked for."""

    def __init__(self, base: Mapping[str, NDArray[Any]], changes: Mapping[str, NDArray[Any]]) -> None:
        self._base = base
        self._changes = {name: value.astype(np.float32) for name, value in changes.items() if name != "meta"}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name.startswith("head."):
            return self._changes[name]
        value = self._base[name]
        if (a := self._changes.get(f"{name}.a")) is not None:
            value = value + self._changes[f"{name}.b"] @ a
        plus = self._changes.get(f"{name}.plus")
        return value if plus is None else value + plus

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


class _SmallGraph(Graph):
    """A graph whose matrices are kept in 8 bits, with one scale for each block of a row."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], name: str) -> None:
        import onnx

        super().__init__(weights, name)
        self.model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))

    def linear(self, x: str, prefix: str) -> str:
        matrix = self.weights[f"{prefix}.weight"]
        out, width = matrix.shape
        blocks = matrix.reshape(out, width // _BLOCK, _BLOCK)
        scales = np.maximum(np.abs(blocks).max(axis=2), np.float32(1e-12)) / 127
        whole = (np.rint(blocks / scales[:, :, None]) + 128).astype(np.uint8)
        inputs = (
            x,
            self.constant(f"{prefix}.weight.whole", whole),
            self.constant(f"{prefix}.weight.scales", scales),
            "",
            "",
            self.weight(f"{prefix}.bias"),
        )
        sizes = {"K": width, "N": out, "bits": 8, "block_size": _BLOCK}
        return self.apply("MatMulNBits", *inputs, domain="com.microsoft", accuracy_level=_INT8_ACCURACY, **sizes)


def _pair_graph(weights: Mapping[str, NDArray[Any]], config: Mapping[str, Any], tokens_max: int) -> Graph:
    graph = _SmallGraph(weights, "pair-judge")
    hidden, heads, epsilon = int(config["hidden_size"]), int(config["num_attention_heads"]), config["layer_norm_eps"]
    graph.takes("words", "batch", "tokens", hidden, of="FLOAT")
    graph.takes("types", "batch", "tokens")
    for name in ("older", "newer"):
        graph.takes(name, "batch", "tokens", of="FLOAT")
    table = graph.constant("positions", weights["embeddings.position_embeddings.weight"][:tokens_max])
    tokens = graph.apply("Slice", graph.apply("Shape", "types"), graph.ints(1), graph.ints(2))
    positions = graph.apply("Slice", table, graph.ints(0), tokens, graph.ints(0))
    types = graph.apply("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "types")
    x = graph.apply("Add", graph.apply("Add", "words", positions), types)
    x = graph.layer_norm(x, "embeddings.LayerNorm", epsilon)
    for layer in range(int(config["num_hidden_layers"])):
        x = encoder_layer(graph, x, "", f"encoder.layer.{layer}", hidden // heads, heads, epsilon)
    first = graph.apply("Squeeze", graph.apply("Gather", x, graph.ints(0), axis=1), graph.ints(1))
    older, newer = (masked_mean(graph, x, name) for name in ("older", "newer"))
    apart = graph.apply("Abs", graph.apply("Sub", older, newer))
    features = graph.apply("Concat", first, older, newer, apart, axis=1)
    head = graph.apply("MatMul", features, graph.constant("head.weight.T", weights["head.weight"].T))
    graph.apply("Softmax", graph.apply("Add", head, graph.weight("head.bias")), axis=-1, name="probabilities")
    graph.gives("probabilities", "batch", len(CLASSES))
    return graph
