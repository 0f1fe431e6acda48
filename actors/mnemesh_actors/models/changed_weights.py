"""Changes of a low rank to the embedder's own weights, kept in a small file of the package, and graphs made with them.

A matrix W becomes W + b @ a (Hu et al. 2021, arXiv:2106.09685), a bias or norm v becomes v + plus. The matrices of such
a graph are kept in 8 bits by blocks of 32 weights. The table of words is a file beside the graph, because a run needs a
few rows of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.models.minilm_graph import Graph, read_safetensors
from mnemesh_memory.values.errors import Unavailable

# Another layout of a graph and its table of words needs another number.
GRAPH_LAYOUT: Final = "1"
WORDS_FILE: Final = "words.f16"  # a row for each token
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
    revision: str  # The digest of the file, as names of folders hold it.


def deltas_in(path: Path, form: Mapping[str, Any]) -> Deltas:
    """The file of the changes. `form` is what its description must say. Raises Unavailable when there is none, or it is
    of another form."""
    try:
        content = path.read_bytes()
        revision = hashlib.sha256(content).hexdigest()[:12]
        with np.load(BytesIO(content)) as file:
            members = dict(file)  # read all: each has a checksum
        meta = json.loads(bytes(members["meta"]))
        if {name: meta[name] for name in form} != dict(form):
            raise ValueError(" over ".join(f"{name} {meta[name]}" for name in form))
        return Deltas(path, meta["base"], int(meta["tokens_max"]), revision)
    except FileNotFoundError:
        raise Unavailable(f"{path.name} is not in this installation") from None
    except _DAMAGES as error:
        raise Unavailable(f"{path.name} can't be read: {error}") from error


class ChangedWeights(Mapping[str, NDArray[Any]]):
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


def changed(weights_dir: Path, deltas: Deltas) -> tuple[ChangedWeights, dict[str, Any]]:
    """The weights of weights_dir/model.safetensors with the changes, and the model's config. Raises Unavailable for
    other weights than those that were changed."""
    base = weights_dir / "model.safetensors"
    with base.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != deltas.base:
        raise Unavailable(f"{deltas.path.name} is of the weights {deltas.base[:12]}, and these are {digest[:12]}")
    with np.load(deltas.path) as file:
        weights = ChangedWeights(read_safetensors(base), dict(file))
    return weights, json.loads((weights_dir / "config.json").read_text(encoding="utf-8"))


def write_graph(graph: SmallGraph, path: Path) -> None:
    """Write a graph, and the table of words beside it."""
    import onnx

    path.with_name(WORDS_FILE).write_bytes(graph.weights[WORDS].astype(WORD_TYPE).tobytes())
    onnx.save_model(graph.model, str(path))


class SmallGraph(Graph):
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


GraphOf: TypeAlias = Callable[[ChangedWeights, Mapping[str, Any], int], SmallGraph]  # the last: the most tokens


class WordTable:
    """The table of words beside a graph, open as long as this lives. Raises OSError."""

    def __init__(self, graph: Path, width: int) -> None:
        self.path = graph.with_name(WORDS_FILE)
        self._width = width
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    def rows(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The embedding of each token. Read and not mapped: the kernel maps 16 pages where one is touched. Raises
        Unavailable when the table was cut."""
        known, places = np.unique(ids, return_inverse=True)
        size = self._width * WORD_TYPE.itemsize
        try:
            rows = b"".join(os.pread(self._descriptor, size, size * token) for token in known.tolist())
        except OSError as error:
            raise Unavailable(f"the table of words {self.path} can't be read: {error}") from error
        if len(rows) != size * len(known):
            raise Unavailable(f"the table of words {self.path} is cut; delete its folder and restart the node")
        read = np.frombuffer(rows, WORD_TYPE).reshape(-1, self._width).astype(np.float32)
        return read[places.reshape(ids.shape)]
