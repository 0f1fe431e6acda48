"""all-MiniLM-L6-v2 as one ONNX graph, made from its safetensors weights without torch.

Inputs are (input_ids, attention_mask), both int64 of shape (batch, tokens). The output `embedding` is float32 of shape
(batch, hidden). The graph is a BERT encoder (Devlin et al. 2019, arXiv:1810.04805), the mean over unmasked tokens,
divided by its Euclidean norm (Reimers and Gurevych 2019, arXiv:1908.10084). Needs the package onnx; nothing that runs
later does.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

TABLE_FILE: Final = "words.f32"
TABLE_BYTES_MIN: Final = 16 * 1024 * 1024  # Only the table of words is as large.
_OPSET: Final = 18
_IR_VERSION: Final = 10
_DTYPES: Final = {"F32": np.float32, "I64": np.int64}
_HEADER_BYTES_MAX: Final = 10 * 1024 * 1024


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file, memory mapped. Raises ValueError when it is none, or holds other types."""
    with path.open("rb") as file:
        prefix = file.read(8)
        size = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
        if not 2 <= size <= _HEADER_BYTES_MAX:
            raise ValueError(f"{path} is no safetensors file")
        header: dict[str, Any] = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", offset=8 + size)
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not one of {', '.join(_DTYPES)}")
        start, end = entry["data_offsets"]
        tensors[name] = data[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_minilm(weights_dir: Path, target: Path) -> None:
    """Write the graph for weights_dir/model.safetensors and config.json to `target`."""
    import onnx

    config = json.loads((weights_dir / "config.json").read_text(encoding="utf-8"))
    graph = Graph(read_safetensors(weights_dir / "model.safetensors"))
    for name in ("input_ids", "attention_mask"):
        graph.takes(name, "batch", "tokens")
    mask = graph.apply("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)
    words = graph.apply("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    x = of_first_segment(graph, words, "input_ids", config)
    embedding_of_mean(graph, masked_mean(graph, encoded(graph, x, mask_bias(graph, mask), config), mask))
    graph.gives("embedding", "batch", int(config["hidden_size"]))
    # The table of words, 47 MB, is a file of its own: onnxruntime maps it, and only the rows in use take memory.
    onnx.save_model(
        graph.model, str(target), save_as_external_data=True, location=TABLE_FILE, size_threshold=TABLE_BYTES_MIN
    )


class Graph:
    """A model in the making; every node's output carries the node's own name.

    Everything is added to the one ModelProto, because onnx's helpers would copy its 90 MB at each step.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], name: str = "all-MiniLM-L6-v2") -> None:
        import onnx

        self.weights = weights
        self.model = onnx.ModelProto(ir_version=_IR_VERSION, producer_name="mnemesh")
        self.model.opset_import.append(onnx.helper.make_opsetid("", _OPSET))
        self.model.graph.name = name
        self._known: set[str] = set()

    def takes(self, name: str, *shape: str | int, of: str = "INT64") -> str:
        """An input."""
        import onnx

        kind = getattr(onnx.TensorProto, of)
        self.model.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def gives(self, name: str, *shape: str | int) -> None:
        """An output, in float32."""
        import onnx

        output = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        self.model.graph.output.append(output)

    def constant(self, name: str, value: NDArray[Any]) -> str:
        import onnx

        if name not in self._known:
            self._known.add(name)
            self.model.graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"number_{value!r}", np.array(value, np.float32))

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def apply(self, op_type: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        import onnx

        output = name or f"{op_type.lower()}_{len(self.model.graph.node)}"
        self.model.graph.node.append(onnx.helper.make_node(op_type, list(inputs), [output], name=output, **attributes))
        return output

    def linear(self, x: str, prefix: str) -> str:
        matrix = self.constant(f"{prefix}.weight.T", self.weights[f"{prefix}.weight"].T)
        return self.apply("Add", self.apply("MatMul", x, matrix), self.weight(f"{prefix}.bias"))

    def layer_norm(self, x: str, prefix: str, epsilon: float) -> str:
        scale, shift = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.apply("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def of_first_segment(
    graph: Graph, words: str, shaped: str, config: Mapping[str, Any], tokens_max: int | None = None
) -> str:
    """Word, position and first segment embedding, summed and normalised."""
    table = graph.weights["embeddings.position_embeddings.weight"][:tokens_max]
    positions = placed(graph, shaped, table + graph.weights["embeddings.token_type_embeddings.weight"][0])
    return graph.layer_norm(graph.apply("Add", words, positions), "embeddings.LayerNorm", config["layer_norm_eps"])


def placed(graph: Graph, shaped: str, table: NDArray[Any]) -> str:
    """The rows of `table` for as many tokens as `shaped` has."""
    tokens = graph.apply("Slice", graph.apply("Shape", shaped), graph.ints(1), graph.ints(2))
    return graph.apply("Slice", graph.constant("positions", table), graph.ints(0), tokens, graph.ints(0))


def mask_bias(graph: Graph, mask: str) -> str:
    """0 for a token, a very negative number for padding; broadcast over heads and queries."""
    absent = graph.apply("Sub", graph.number(1.0), graph.apply("Unsqueeze", mask, graph.ints(1, 2)))
    return graph.apply("Mul", absent, graph.number(-3.0e38))


def encoded(graph: Graph, x: str, bias: str, config: Mapping[str, Any]) -> str:
    """The states after all transformer blocks. `bias` is "" when no token is padding."""
    hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    for layer in range(int(config["num_hidden_layers"])):
        x = _encoder_layer(graph, x, bias, f"encoder.layer.{layer}", hidden // heads, heads, config["layer_norm_eps"])
    return x


def _encoder_layer(graph: Graph, x: str, bias: str, prefix: str, width: int, heads: int, epsilon: float) -> str:
    """One transformer block: attention, residual and norm, feed-forward with GELU, residual and norm."""

    def split(part: str, order: list[int]) -> str:
        rows = graph.linear(x, f"{prefix}.attention.self.{part}")
        return graph.apply("Transpose", graph.apply("Reshape", rows, graph.ints(0, 0, heads, width)), perm=order)

    query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
    scores = graph.apply("Mul", graph.apply("MatMul", query, key), graph.number(width**-0.5))
    scores = graph.apply("Add", scores, bias) if bias else scores
    attended = graph.apply("MatMul", graph.apply("Softmax", scores, axis=-1), value)
    merged = graph.apply("Transpose", attended, perm=[0, 2, 1, 3])
    merged = graph.apply("Reshape", merged, graph.ints(0, 0, heads * width))
    x = graph.apply("Add", graph.linear(merged, f"{prefix}.attention.output.dense"), x)
    x = graph.layer_norm(x, f"{prefix}.attention.output.LayerNorm", epsilon)
    inner = graph.linear(x, f"{prefix}.intermediate.dense")
    error = graph.apply("Erf", graph.apply("Mul", inner, graph.number(0.5**0.5)))
    gelu = graph.apply("Mul", inner, graph.apply("Add", error, graph.number(1.0)))
    gelu = graph.apply("Mul", gelu, graph.number(0.5))
    out = graph.apply("Add", graph.linear(gelu, f"{prefix}.output.dense"), x)
    return graph.layer_norm(out, f"{prefix}.output.LayerNorm", epsilon)


def masked_mean(graph: Graph, x: str, mask: str) -> str:
    """The mean over the tokens whose mask is 1."""
    column = graph.apply("Unsqueeze", mask, graph.ints(2))
    total = graph.apply("ReduceSum", graph.apply("Mul", x, column), graph.ints(1), keepdims=0)
    count = graph.apply("Max", graph.apply("ReduceSum", column, graph.ints(1), keepdims=0), graph.number(1e-9))
    return graph.apply("Div", total, count)


def embedding_of_mean(graph: Graph, mean: str) -> None:
    """The mean state with length 1, as the output `embedding`."""
    norm = graph.apply("Max", graph.apply("ReduceL2", mean, graph.ints(1), keepdims=1), graph.number(1e-12))
    graph.apply("Div", mean, norm, name="embedding")
