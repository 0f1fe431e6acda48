"""A reader of two texts as an ONNX graph: the embedder's own weights, changed by a small file, and a head.

There are three. The pair judge reads an older and a newer text. The reader of answers reads a question and a text. The
reader of asked pairs reads a question with an older text, and a newer text.
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

from mnemesh_actors.models.changed_weights import ChangedWeights, SmallGraph
from mnemesh_actors.models.minilm_graph import encoded, masked_mean, placed

DELTAS_FILE: Final = Path(__file__).with_name("pair_judge.npz")
CLASSES: Final = ("repeats", "replaces", "apart")
_READS: Final = "cls,older,newer,|older-newer|"
# What the file of the changes must say of itself.
FORM: Final[Mapping[str, Any]] = {"classes": [*CLASSES], "reads": _READS}
GRAPH_FILE: Final = "pairs.onnx"
ANSWERS_DELTAS_FILE: Final = Path(__file__).with_name("answer_reader.npz")
ANSWERS_FORM: Final[Mapping[str, Any]] = {"classes": ["answers", "apart"], "reads": _READS}
ASKED_DELTAS_FILE: Final = Path(__file__).with_name("asked_reader.npz")
ASKED_FORM: Final[Mapping[str, Any]] = {"classes": ["newer", "older"], "reads": _READS}


def pair_graph(weights: ChangedWeights, config: Mapping[str, Any], tokens_max: int) -> SmallGraph:
    graph = SmallGraph(weights, "reader-of-pairs")
    graph.takes("words", "batch", "tokens", int(config["hidden_size"]), of="FLOAT")
    graph.takes("types", "batch", "tokens")
    for name in ("older", "newer"):
        graph.takes(name, "batch", "tokens", of="FLOAT")
    positions = placed(graph, "types", weights["embeddings.position_embeddings.weight"][:tokens_max])
    types = graph.apply("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "types")
    x = graph.apply("Add", graph.apply("Add", "words", positions), types)
    x = encoded(graph, graph.layer_norm(x, "embeddings.LayerNorm", config["layer_norm_eps"]), "", config)
    first = graph.apply("Squeeze", graph.apply("Gather", x, graph.ints(0), axis=1), graph.ints(1))
    older, newer = (masked_mean(graph, x, name) for name in ("older", "newer"))
    apart = graph.apply("Abs", graph.apply("Sub", older, newer))
    features = graph.apply("Concat", first, older, newer, apart, axis=1)
    head = graph.apply("MatMul", features, graph.constant("head.weight.T", weights["head.weight"].T))
    graph.apply("Softmax", graph.apply("Add", head, graph.weight("head.bias")), axis=-1, name="probabilities")
    graph.gives("probabilities", "batch", len(weights["head.bias"]))
    return graph
