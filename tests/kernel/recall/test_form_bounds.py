"""What form may not do: lift a memory that does not match, however long its text is."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_actors.recall.results import FoundMemory, judged
from mnemesh_memory.ranking.candidates import Candidate, Context
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.signals import DEFAULT_MIX
from mnemesh_memory.text.traits import MESSAGE_WORDS, PERSONS, SUBSTANCE_WORDS, TIME_WORDS_MAX, question_of, traits_of
from mnemesh_memory.values.model import Memory, Query

(PERSON, *_) = PERSONS
OPENS = Context(window=0.0, near=0.0, best_dense=0.0, best_window=0.0, opens=1.0)
questions = st.sampled_from(["when did Ana move in May 2023?", "word " * MESSAGE_WORDS, "word " * 3 * MESSAGE_WORDS])


def page(words: int) -> Memory:
    return plain_memory("page", "[User] Yesterday in May 2023 " + "update command " * words, 1_683_000_000_000)


@given(st.integers(0, 2_000), questions)
def test_a_page_of_any_length_without_evidence_scores_nothing(words: int, text: str) -> None:
    long = Candidate("page", 0.0, None, OPENS, traits_of(page(words)))
    (hit,) = fuse([long], {}, question_of(text))
    assert hit.score == 0.0


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 1), st.text(max_size=40))
def test_the_score_that_is_shown_has_no_part_of_form(fused: float, other: float, cosine: float, content: str) -> None:
    query = Query(text="when does staging get new data?")
    memory = replace(page(3), content=content)
    (first,), (second,) = (
        judged(query, [FoundMemory(memory, Fused("page", score, cosine=cosine))]) for score in (fused, other)
    )
    assert first.fused.score == second.fused.score


@given(questions, st.floats(0, 1), st.booleans())
def test_all_of_form_together_makes_good_less_than_the_evidence_lacks(text: str, evidence: float, opens: bool) -> None:
    question = question_of(text)
    message = question.message
    most = sum(
        DEFAULT_MIX[name] * part
        for name, part in {
            "substance": 1 - 0.5 * message, "time": 1.0, "date": 1.0, "speaker": 1.0, "person": 1.0,
            "opening": 0.35 + 0.65 * message,
        }.items()
    )  # fmt: skip
    assert most < 1
    best = traits_of(page(100))._replace(words=SUBSTANCE_WORDS, times=TIME_WORDS_MAX)
    (hit,) = fuse([Candidate("a", evidence, None, OPENS._replace(opens=float(opens)), best)], {}, question)
    assert hit.score < 1 or evidence == 1
