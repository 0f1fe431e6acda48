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

from mnemesh_actors.models.changed_weights import ChangedWeights, SmallGraph
from mnemesh_actors.models.minilm_graph import embedding_of_mean, encoded, of_first_segment

DELTAS_FILE: Final = Path(__file__).with_name("question_encoder.npz")
# What the file of the changes must say of itself.
FORM: Final[Mapping[str, Any]] = {"reads": "mean"}
GRAPH_FILE: Final = "questions.onnx"


def question_graph(weights: ChangedWeights, config: Mapping[str, Any], tokens_max: int) -> SmallGraph:
    graph = SmallGraph(weights, "question-encoder")
    hidden = int(config["hidden_size"])
    graph.takes("words", 1, "tokens", hidden, of="FLOAT")
    x = encoded(graph, of_first_segment(graph, "words", "words", config, tokens_max), "", config)
    embedding_of_mean(graph, graph.apply("ReduceMean", x, graph.ints(1), keepdims=0))
    graph.gives("embedding", 1, hidden)
    return graph
