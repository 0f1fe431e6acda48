"""Words, events and remaining text of a question that names a time."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_times_forms import understood

from mnemesh_memory.times.named_events import Event
from mnemesh_memory.times.question_time import READ_CHARS_MAX, read
from mnemesh_memory.times.vocabulary import DATE_WORDS

UTC = ZoneInfo("UTC")
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999


@pytest.mark.parametrize(
    ("text", "side", "event"),
    [
        ("what was open before the release", "before", "the release"),
        ("what changed after the migration to Postgres?", "after", "the migration to Postgres"),
        ("since we moved to Postgres, what broke", "after", "we moved to Postgres"),
        ("After the audit , who left", "after", "the audit"),
        ("what was said in the days before the release", "before", "the release"),
        ("what held until our freeze", "before", "our freeze"),
        ("since moving to Berlin what did I buy", "after", "moving to Berlin"),
        ("what changed prior to the release?", "before", "the release"),
        ("what broke following the release", "after", "the release"),
        ("what happened after release 2.3.0", "after", "release 2.3.0"),
        ("what broke since v2.3?", "after", "v2.3"),
        ("who changed it before migration 0042", "before", "migration 0042"),
        ("what did we say before PR #123", "before", "PR #123"),
    ],
)
def test_an_event_is_a_boundary_by_its_words(text: str, side: str, event: str) -> None:
    answer = understood(text)
    assert (answer.event, answer.since, answer.before) == (Event(side, event), None, None)
    assert answer.event_words.endswith(f" {event}")
    assert answer.searched() == text


@pytest.mark.parametrize(
    ("text", "words", "searched", "about"),
    [
        ("what did we decide yesterday about keys?", ("yesterday",), "what did we decide about keys?",
         "what did we decide about keys?"),
        ("Yesterday's decisions", ("Yesterday's",), "decisions", "decisions"),
        ("what is going on this week", ("this week",), "what is going on", "what is going on"),
        ("who logged in 3 days ago", ("3 days ago",), "who logged in", "who logged in"),
        ("what changed in the last week", ("in the last week",), "what changed", "what changed"),
        ("what broke in March", ("in March",), "what broke in March", "what broke"),
        ("staging 12.03.2026 failed", ("12.03.2026",), "staging 12.03.2026 failed", "staging failed"),
        ("since Monday, before Wednesday: what broke", ("since Monday", "before Wednesday"), ", : what broke",
         ", : what broke"),
    ],
)  # fmt: skip
def test_words_that_mean_something_now_alone_are_not_searched_for_and_no_time_is_what_is_asked_about(
    text: str, words: tuple[str, ...], searched: str, about: str
) -> None:
    answer = understood(text)
    assert (answer.words, answer.searched(), answer.about(event=True)) == (words, searched, about)


@pytest.mark.parametrize(
    ("text", "searched", "with_it", "without_it"),
    [
        ("what did we decide before the release?", "what did we decide before the release?",
         "what did we decide before the release?", "what did we decide ?"),
        ("who left until the freeze last week", "who left until the freeze", "who left until the freeze", "who left"),
        ("After the audit in March, who left", "After the audit in March, who left", "After the audit , who left",
         ", who left"),
    ],
)  # fmt: skip
def test_the_words_of_an_event_can_be_taken_out_with_the_times_that_they_hold(
    text: str, searched: str, with_it: str, without_it: str
) -> None:
    answer = understood(text)
    assert answer.searched() == searched
    assert (answer.about(event=False), answer.about(event=True)) == (with_it, without_it)


def test_a_previous_month_beside_another_time_is_told_from_that_and_not_read() -> None:
    assert understood("how did May 2024 differ from the previous month").words == ("May 2024",)
    assert understood("what did we ship last week and the previous week").words == ("last week",)


def test_a_text_that_was_pasted_is_not_read() -> None:
    assert read("last week " * READ_CHARS_MAX, 0, UTC) is None


def test_beyond_the_calendar_nothing_is_read() -> None:
    assert read("yesterday", FIRST_MS, UTC) is None


PIECES = st.sampled_from(
    [*sorted(DATE_WORDS), "the", "of", "in", "on", "at", "since", "until", "between", "and", "from", "to", "before",
     "after", "3", "31", "2024", "2026-02-30", "3rd", ",", ".", "weeks", "days", "years", "few", "a", "Q2", "early",
     "end", "night", "we", "release", "9999", "-", "half", "not", "but", "Monday", "or", "two", "99.99.2024", "now",
     "up", "through", "May", "that"]
)  # fmt: skip


@given(
    st.one_of(st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=200)),
    st.integers(FIRST_MS, LAST_MS),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"]),
)
def test_any_text_is_read_without_an_error_and_what_is_read_is_in_order(text: str, now: int, zone: str) -> None:
    answer = read(text, now, ZoneInfo(zone))
    if answer is not None:
        assert answer.words or answer.event
        assert answer.since is None or answer.before is None or answer.since < answer.before
        for left in (answer.searched(), answer.about(event=False), answer.about(event=True)):
            rest = iter(text)  # what is left stands in the text, in its order
            assert all(character in rest for character in left if not character.isspace())
        assert all(said in text for said in answer.words)


MONTHS = ("January", "February", "April", "July", "September", "December")


@given(st.sampled_from(MONTHS), st.sampled_from(MONTHS), st.integers(0, 2_000_000_000_000))
def test_a_range_of_months_begins_with_the_first_ends_with_the_last_and_is_within_a_year(
    first: str, last: str, now: int
) -> None:
    answer = read(f"what broke between {first} and {last}", now, UTC)
    alone = read(f"what broke in {last}", now, UTC)
    assert answer is not None
    assert alone is not None
    assert answer.since is not None
    assert answer.before is not None
    assert answer.before == alone.before
    assert answer.before - answer.since <= 366 * 24 * 3_600_000
    assert answer.since <= (alone.since or 0)
