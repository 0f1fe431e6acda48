"""A question about the past looks for the past."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_actors.index.bm25 import Bm25Encoder
from mnemesh_memory.text.statement import stated


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Where did Ana buy the lamp?", "bought"), ("When did she GO there?", "went"), ("Didn't he write it?", "wrote"),
        ("What have they chosen?", "chose"), ("Has Ana driven there?", "drove"), ("Who hasn\u2019t flown?", "flew"),
    ],
)  # fmt: skip
def test_the_question_shares_a_term_with_what_was_stated(question: str, memory: str) -> None:
    encoder = Bm25Encoder()
    assert set(encoder.query(question, as_stated=True).indices) & set(encoder.document(memory).indices)
    assert not set(encoder.query(question).indices) & set(encoder.document(memory).indices)


@pytest.mark.parametrize(
    "question", ["Where does Ana buy lamps?", "Which lamp will she choose?", "buying lamps", "gone, taken, driven", ""]
)
def test_a_question_that_does_not_ask_for_the_past_stays_as_it_is(question: str) -> None:
    assert stated(question) == question


def test_a_participle_is_looked_for_as_well_as_its_past() -> None:
    assert stated("What has she written?") == "What has she written wrote?"


@pytest.mark.parametrize(
    "kept", ['"go get"', "`make build`", "src/build/run.py", "os.write", "--keep", "do_it", "make-it", "find2"]
)
def test_what_is_quoted_or_a_name_stays_as_it_is_written(kept: str) -> None:
    assert stated(f"why did we change {kept} then") == f"why did we change {kept} then"


@pytest.mark.parametrize(
    ("question", "as_stated"),
    [
        ("did we break the build?", "did we broke the build?"), ("Did Ana begin to drive?", "Did Ana began to drive?"),
        ("why did the run stand for hours", "why did the run stood for hours"),
    ],
)  # fmt: skip
def test_a_noun_and_an_infinitive_are_no_verb_of_the_past(question: str, as_stated: str) -> None:
    assert stated(question) == as_stated


@given(st.text())
def test_every_text_has_a_statement_and_one_without_these_auxiliaries_is_its_own(text: str) -> None:
    changed = stated(text)
    assert changed == text or any(word in text.casefold() for word in ("did", "has", "have", "had"))
