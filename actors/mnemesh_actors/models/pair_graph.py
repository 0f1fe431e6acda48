"""The pair judge as an ONNX graph: the embedder's own weights, changed by a small file of the package, and a head.

The encoder reads `[CLS] older [SEP] newer [SEP]` as BERT does with two segments (Devlin et al. 2019, arXiv:1810.04805).
The head sees the state of [CLS], the mean of each text, and the distance of the two means.

Inputs are `words` (float32 of batch, tokens, hidden: the embedding of each token), `types` (int64), and the masks
`older` and `newer` (float32), all three of (batch, tokens) and without padding. The output `probabilities` is float32
of (batch, classes).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.models.changed_weights import ChangedWeights, Deltas, SmallGraph, changed, write_graph
from mnemesh_actors.models.minilm_graph import encoder_layer, masked_mean

DELTAS_FILE: Final = Path(__file__).with_name("pair_judge.npz")
CLASSES: Final = ("repeats", "replaces", "apart")
# What the file of the changes must say of itself.
FORM: Final[Mapping[str, Any]] = {"classes": [*CLASSES], "reads": "cls,older,newer,|older-newer|"}
GRAPH_FILE: Final = "pairs.onnx"
# Another layout of the two files needs another number.
LAYOUT: Final = "1"


def write_pair_graph(weights_dir: Path, deltas: Deltas, directory: Path) -> str:
    """Write the graph and the table of words for weights_dir/model.safetensors; returns the digest of the changes.
    Raises Unavailable for other weights than those that were changed."""
    weights, config = changed(weights_dir, deltas)
    write_graph(_pair_graph(weights, config, deltas.tokens_max), directory / GRAPH_FILE)
    return deltas.revision


def _pair_graph(weights: ChangedWeights, config: Mapping[str, Any], tokens_max: int) -> SmallGraph:
    graph = SmallGraph(weights, "pair-judge")
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
