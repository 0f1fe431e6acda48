"""Traits of a memory without a question, and of a question without a memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.text.traits import SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, question_of, traits_of
from mnemesh_memory.times.window import BY_EVENT, Window
from mnemesh_memory.values.model import Memory


def memory(content: str, **fields: int) -> Memory:
    plain = Memory(
        id="x", space="s", kind="fact", title="", content=content, state="active", by="a", created_at=1, updated_at=1,
        heads=(),
    )  # fmt: skip
    return replace(plain, **fields)


def ms(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)


def test_substance_counts_the_words_that_carry_meaning_up_to_a_whole_statement() -> None:
    assert traits_of(memory("Thanks, that is what I have!")).words < traits_of(memory("Backups run at four")).words
    assert traits_of(memory("word " * 500)).words == SUBSTANCE_WORDS
    assert traits_of(memory("?!")).words == 0


@pytest.mark.parametrize(
    ("content", "times"),
    [
        ("We met yesterday", 1), ("In May 2023, on a Monday, last year", TIME_WORDS_MAX), ("The 3rd of June", 2),
        ("Nothing of the kind", 0), ("mayor", 0), ("\n" * 4000, 0),
    ],
)  # fmt: skip
def test_words_of_time_are_counted(content: str, times: int) -> None:
    assert traits_of(memory(content)).times == times


def test_scripts_without_spaces_have_substance_too() -> None:
    assert traits_of(memory("来週の月曜日に本番環境を再起動します。")).words >= 6


def test_a_memory_asks_when_every_line_of_it_does() -> None:
    assert traits_of(memory("Where is the key?")).asks
    assert traits_of(memory("[Ana] Where is it?\n[Ben] Who asks?\n")).asks
    assert not traits_of(memory("[Ana] Where is it?\n[Ben] In the drawer.")).asks
    assert not traits_of(memory("\n")).asks


def test_speakers_are_the_labels_of_lines() -> None:
    assert traits_of(memory("[Ana] Hello\n[Ben Miller] Hi")).speakers == (crc32(b"ana"), crc32(b"ben"))
    assert traits_of(memory("Ana: hello")).speakers == (crc32(b"ana"),)
    assert traits_of(memory("see [Ana] and http://x")).speakers == ()
    assert traits_of(memory("12: a number")).speakers == ()


def test_it_happened_when_it_is_valid_from_else_when_it_was_written() -> None:
    assert traits_of(memory("x", created_at=ms(2023, 5, 1))).at == ms(2023, 5, 1)
    assert traits_of(memory("x", created_at=ms(2023, 5, 1), valid_from=ms(1969, 12, 31))).at == ms(1969, 12, 31)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("When did Ana move?", True), ("Do you know when she moved?", True), ("And when was it?", True),
        ("What day is the release?", True), ("In which year did it start?", True), ("tell me when", True),
        ("What did she do when it rained?", False), ("Whenever it rains", False),
        ("What happens when the disk is full?", False), ("Does it retry when offline?", False),
    ],
)  # fmt: skip
def test_a_question_asks_for_a_time(text: str, when: bool) -> None:
    assert question_of(text).when is when


@pytest.mark.parametrize(
    ("text", "months", "years"),
    [
        ("What happened in May 2023?", {5}, {2023}), ("what may happen", set(), set()), ("in march", {3}, set()),
        ("They march on", set(), set()), ("since sept", {9}, set()), ("since 1999 or until 2005", set(), {1999, 2005}),
        ("room 20231", set(), set()), ("May I restart it?", set(), set()), ("Jan broke the build", set(), set()),
        ("on May 7, 2023 we", {5}, {2023}), ("the 3rd of June", {6}, set()), ("port 2019 is open", set(), set()),
    ],
)  # fmt: skip
def test_a_question_names_months_and_years(text: str, months: set[int], years: set[int]) -> None:
    assert (set(question_of(text).months), set(question_of(text).years)) == (months, years)


def test_a_month_lies_in_the_months_and_years_that_are_named() -> None:
    asked = Question(months=frozenset({5}), years=frozenset({2023}))
    assert asked.means(ms(2023, 5, 31), "a")
    assert not asked.means(ms(2023, 4, 30), "a")
    assert not asked.means(ms(2022, 5, 1), "a")
    assert Question(months=frozenset({12})).means(ms(1969, 12, 31), "a")
    assert not Question().dated


def test_a_moment_in_a_stretch_is_meant_as_surely_as_the_stretch_and_one_in_a_named_month_surely() -> None:
    by_event = Window(ms(2023, 5, 1), ms(2023, 6, 2), surety=BY_EVENT)
    asked = Question(months=frozenset({5}), window=by_event)
    assert [asked.means(ms(2023, month, 1), "a") for month in (4, 5, 6, 7)] == [0.0, 1.0, BY_EVENT, 0.0]


@given(st.text(max_size=300))
def test_any_text_has_traits_within_their_bounds_and_any_can_be_asked(text: str) -> None:
    traits = traits_of(memory(text))
    assert 0 <= traits.words <= SUBSTANCE_WORDS
    assert 0 <= traits.times <= TIME_WORDS_MAX
    assert all(1 <= month <= 12 for month in question_of(text).months)
