"""The encoder of questions as an ONNX graph: the embedder's own weights, changed so that a question comes near to what
answers it.

Texts keep their vectors, so a stored vector serves as before. The input is `words` (float32 of 1, tokens, hidden: the
embedding of each token, [CLS] and [SEP] included). The output `embedding` is float32 of (1, hidden): the mean state,
divided by its Euclidean norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.models.changed_weights import ChangedWeights, Deltas, SmallGraph, changed, write_graph
from mnemesh_actors.models.minilm_graph import encoder_layer

DELTAS_FILE: Final = Path(__file__).with_name("question_encoder.npz")
# What the file of the changes must say of itself.
FORM: Final[Mapping[str, Any]] = {"reads": "mean"}
GRAPH_FILE: Final = "questions.onnx"
# Another layout of the two files needs another number.
LAYOUT: Final = "1"


def write_question_graph(weights_dir: Path, deltas: Deltas, directory: Path) -> str:
    """Write the graph and the table of words for weights_dir/model.safetensors; returns the digest of the changes.
    Raises Unavailable for other weights than those that were changed."""
    weights, config = changed(weights_dir, deltas)
    write_graph(_question_graph(weights, config, deltas.tokens_max), directory / GRAPH_FILE)
    return deltas.revision


def _question_graph(weights: ChangedWeights, config: Mapping[str, Any], tokens_max: int) -> SmallGraph:
    graph = SmallGraph(weights, "question-encoder")
    hidden, heads, epsilon = int(config["hidden_size"]), int(config["num_attention_heads"]), config["layer_norm_eps"]
    graph.takes("words", 1, "tokens", hidden, of="FLOAT")
    places = weights["embeddings.position_embeddings.weight"][:tokens_max]
    table = graph.constant("positions", places + weights["embeddings.token_type_embeddings.weight"][0])
    tokens = graph.apply("Slice", graph.apply("Shape", "words"), graph.ints(1), graph.ints(2))
    positions = graph.apply("Slice", table, graph.ints(0), tokens, graph.ints(0))
    x = graph.layer_norm(graph.apply("Add", "words", positions), "embeddings.LayerNorm", epsilon)
    for layer in range(int(config["num_hidden_layers"])):
        x = encoder_layer(graph, x, "", f"encoder.layer.{layer}", hidden // heads, heads, epsilon)
    mean = graph.apply("ReduceMean", x, graph.ints(1), keepdims=0)
    norm = graph.apply("Max", graph.apply("ReduceL2", mean, graph.ints(1), keepdims=1), graph.number(1e-12))
    graph.apply("Div", mean, norm, name="embedding")
    graph.gives("embedding", 1, hidden)
    return graph
