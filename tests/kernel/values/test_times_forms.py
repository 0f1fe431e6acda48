"""Times in words, and questions about time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.times.calendar import instant
from mnemesh_memory.times.question_time import READ_CHARS_MAX, BoundaryEvent, TimeWords, read
from mnemesh_memory.times.time_vocabulary import DATE_WORDS

BERLIN = ZoneInfo("Europe/Berlin")
HOUR_MS = 3_600_000
NOW = "2026-03-18 15:00"  # a Wednesday
SOON = "2026-03-18 15:00:00.001"


def at(text: str, zone: ZoneInfo = BERLIN) -> int | None:
    return instant(datetime.fromisoformat(text), zone) if text else None


def understood(text: str, now: str = NOW, zone: ZoneInfo = BERLIN) -> TimeWords:
    answer = read(text, at(now, zone), zone)
    assert answer is not None
    return answer


def each_stretch(*rows: tuple[str, str, str]) -> pytest.MarkDecorator:
    """A test of each text with the moments between which it looks, in Berlin."""
    return pytest.mark.parametrize(("text", "since", "before"), rows)


def stretch(text: str, now: str = NOW) -> tuple[int | None, int | None]:
    answer = understood(text, now)
    return answer.since, answer.before


@each_stretch(
    ("what did we do today", "2026-03-18", "2026-03-19"),
    ("what did we decide yesterday", "2026-03-17", "2026-03-18"),
    ("what happened the day before yesterday?", "2026-03-16", "2026-03-17"),
    ("what is due tomorrow", "2026-03-19", "2026-03-20"),
    ("the day after tomorrow", "2026-03-20", "2026-03-21"),
    ("tonight", "2026-03-18 18:00", "2026-03-19 06:00"),
    ("what broke last night", "2026-03-17 18:00", "2026-03-18 06:00"),
    ("this morning", "2026-03-18 04:00", "2026-03-18 12:00"),
    ("yesterday evening", "2026-03-17 17:00", "2026-03-18"),
    ("what failed earlier today", "2026-03-18", SOON),
    ("last Monday", "2026-03-16", "2026-03-17"),
    ("on the previous Wednesday", "2026-03-11", "2026-03-12"),
    ("on Tuesday", "2026-03-17", "2026-03-18"),
    ("what did we decide on Wednesday", "2026-03-18", "2026-03-19"),
    ("on Thursday", "2026-03-12", "2026-03-13"),
    ("this Friday", "2026-03-20", "2026-03-21"),
    ("next Friday", "2026-03-20", "2026-03-21"),
    ("Monday morning", "2026-03-16 04:00", "2026-03-16 12:00"),
    ("Tuesday of last week", "2026-03-10", "2026-03-11"),
    ("last week on Monday", "2026-03-09", "2026-03-10"),
    ("2026-03-03", "2026-03-03", "2026-03-04"),
    ("2025-12", "2025-12-01", "2026-01-01"),
    ("03.03.2026", "2026-03-03", "2026-03-04"),
    ("March 3", "2026-03-03", "2026-03-04"),
    ("3rd of March 2024", "2024-03-03", "2024-03-04"),
    ("the 3rd of March", "2026-03-03", "2026-03-04"),
    ("on May 3, 2023", "2023-05-03", "2023-05-04"),
    ("3 May, 2023", "2023-05-03", "2023-05-04"),
    ("December 1,2023", "2023-12-01", "2023-12-02"),
    ("March 3-5", "2026-03-03", "2026-03-06"),
    ("3-7 March 2025", "2025-03-03", "2025-03-08"),
    ("February 29", "2024-02-29", "2024-03-01"),
    ("on the morning of March 3", "2026-03-03 04:00", "2026-03-03 12:00"),
)
def test_days_are_named_in_words_and_numbers(text: str, since: str, before: str) -> None:
    assert stretch(text) == (at(since), at(before))


@each_stretch(
    ("what did we say last week", "2026-03-09", "2026-03-16"),
    ("this week", "2026-03-16", "2026-03-23"),
    ("next week", "2026-03-23", "2026-03-30"),
    ("earlier this week", "2026-03-16", SOON),
    ("the week before last", "2026-03-02", "2026-03-09"),
    ("the previous week", "2026-03-09", "2026-03-16"),
    ("the previous day", "2026-03-17", "2026-03-18"),
    ("last weekend", "2026-03-14", "2026-03-16"),
    ("over the weekend", "2026-03-14", "2026-03-16"),
    ("last month", "2026-02-01", "2026-03-01"),
    ("the prior year's goals", "2025-01-01", "2026-01-01"),
    ("last quarter", "2025-10-01", "2026-01-01"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("in April", "2025-04-01", "2025-05-01"),
    ("in may", "2025-05-01", "2025-06-01"),
    ("March 2024", "2024-03-01", "2024-04-01"),
    ("last March", "2025-03-01", "2025-04-01"),
    ("in October last year", "2025-10-01", "2025-11-01"),
    ("last year in March", "2025-03-01", "2025-04-01"),
    ("in 2023", "2023-01-01", "2024-01-01"),
    ("Q2 2024", "2024-04-01", "2024-07-01"),
    ("2024-Q3", "2024-07-01", "2024-10-01"),
    ("in Q1 of the prior year", "2025-01-01", "2025-04-01"),
    ("last summer", "2025-06-01", "2025-09-01"),
    ("this winter", "2025-12-01", "2026-03-01"),
    ("next summer", "2026-06-01", "2026-09-01"),
    ("in the summer", "2025-06-01", "2025-09-01"),
    ("what did we decide in summer", "2025-06-01", "2025-09-01"),
    ("summer of 2023", "2023-06-01", "2023-09-01"),
    ("early March", "2026-03-01", "2026-03-11"),
    ("mid-August 2023", "2023-08-11", "2023-08-21"),
    ("the end of 2023", "2023-09-01", "2024-01-01"),
    ("the second week of November", "2025-11-08", "2025-11-15"),
    ("the last week of March", "2026-03-25", "2026-04-01"),
)
def test_weeks_months_and_years_are_those_of_the_calendar(text: str, since: str, before: str) -> None:
    assert stretch(text) == (at(since), at(before))


@each_stretch(
    ("3 days ago", "2026-03-15", "2026-03-16"),
    ("3d ago", "2026-03-15", "2026-03-16"),
    ("a week ago", "2026-03-08", "2026-03-15"),
    ("a month ago", "2026-02-03", "2026-03-06"),
    ("a year ago", "2024-09-18", "2025-09-19"),
    ("a couple of days ago", "2026-03-15", "2026-03-18"),
    ("a few weeks ago", "2026-02-11", "2026-03-12"),
    ("2 hours ago", "2026-03-18 12:30", "2026-03-18 13:30"),
    ("30 minutes ago", "2026-03-18 14:22:30", "2026-03-18 14:37:30"),
    ("a year ago today", "2025-03-18", "2025-03-19"),
    ("a week ago last Monday", "2026-03-09", "2026-03-10"),
    ("in the last week", "2026-03-11", SOON),
    ("over the past month", "2026-02-18", SOON),
    ("in the last 3 days", "2026-03-15", SOON),
    ("last 24h", "2026-03-17 15:00", SOON),
    ("in the previous 3 days", "2026-03-15", SOON),
    ("in the last few weeks", "2026-02-11", SOON),
    ("the week before August 3, 2023", "2023-07-27", "2023-08-03"),
    ("two weeks before August 11, 2023", "2023-07-25", "2023-08-01"),
    ("the day after March 3, 2026", "2026-03-04", "2026-03-05"),
    ("last weekend before April 10, 2023", "2023-04-08", "2023-04-10"),
    ("the week of March 3", "2026-03-02", "2026-03-09"),
)
def test_a_distance_is_counted_from_now_or_from_a_date(text: str, since: str, before: str) -> None:
    assert stretch(text) == (at(since), at(before))


@each_stretch(
    ("since Monday", "2026-03-16", ""),
    ("since 3 days ago", "2026-03-15", ""),
    ("since the beginning of the year", "2026-01-01", ""),
    ("on or after November 3", "2025-11-03", ""),
    ("March 3 or later", "2026-03-03", ""),
    ("after last Friday", "2026-03-14", ""),
    ("after 2023", "2024-01-01", ""),
    ("before Tuesday", "", "2026-03-17"),
    ("before two weeks ago", "", "2026-03-04"),
    ("prior to March 3", "", "2026-03-03"),
    ("before the end of November", "", "2025-12-01"),
    ("until March", "", "2026-04-01"),
    ("until Friday", "", "2026-03-21"),
    ("until 50 hours ago", "", "2026-03-16 13:00"),
    ("no later than November 3", "", "2025-11-04"),
    ("as of yesterday", "", "2026-03-18"),
    ("March 3 or earlier", "", "2026-03-04"),
    ("since Monday before Wednesday", "2026-03-16", "2026-03-18"),
    ("before 2024 but after 2022", "2023-01-01", "2024-01-01"),
)
def test_a_bound_leaves_one_side_open(text: str, since: str, before: str) -> None:
    assert stretch(text) == (at(since), at(before))


@each_stretch(
    ("between Monday and Friday", "2026-03-09", "2026-03-14"),
    ("from Monday to Wednesday", "2026-03-16", "2026-03-19"),
    ("between 2026-03-01 and 2026-03-05", "2026-03-01", "2026-03-06"),
    ("between May and July 2023", "2023-05-01", "2023-08-01"),
    ("between August 11 and August 15 2023", "2023-08-11", "2023-08-16"),
    ("from November to January", "2025-11-01", "2026-02-01"),
    ("from 2022 to 2024", "2022-01-01", "2025-01-01"),
    ("from March 3 to 7", "2026-03-03", "2026-03-08"),
    ("from March 3 to 7 April 2024", "2024-03-03", "2024-04-08"),
    ("from June to yesterday", "2025-06-01", "2026-03-18"),
    ("from yesterday to Friday", "2026-03-17", "2026-03-21"),
    ("from 3 days ago to now", "2026-03-15", SOON),
    ("March to May 2023", "2023-03-01", "2023-06-01"),
    ("this year to date", "2026-01-01", SOON),
    ("since 2022 until now", "2022-01-01", SOON),
    ("after Monday until yesterday", "2026-03-17", "2026-03-18"),
    ("since March 2025 until the end of April", "2025-03-01", "2025-05-01"),
    ("in March or April", "2025-03-01", "2025-05-01"),
    ("in December or January", "2025-12-01", "2026-02-01"),
    ("in March or April 2024", "2024-03-01", "2024-05-01"),
    ("in October, November, or december?", "2025-10-01", "2026-01-01"),
    ("in 2022, 2023 and 2024", "2022-01-01", "2025-01-01"),
    ("since 2022 or 2023", "2022-01-01", ""),
    ("yesterday and today", "2026-03-17", "2026-03-19"),
    ("compare January 2024 and March 2024", "2024-01-01", "2024-04-01"),
    ("in October, November was warm", "2025-10-01", "2025-11-01"),
    ("in March and may we deploy", "2026-03-01", "2026-04-01"),
    ("on March 3, 5 people left", "2026-03-03", "2026-03-04"),
    ("between Ann and Bob last week", "2026-03-09", "2026-03-16"),
    ("not last week but in February", "2026-02-01", "2026-03-01"),
    ("whether or not last week went well", "2026-03-09", "2026-03-16"),
)
def test_two_dates_are_the_stretch_from_the_first_to_the_last(text: str, since: str, before: str) -> None:
    assert stretch(text) == (at(since), at(before))


@pytest.mark.parametrize(
    "text",
    [
        # other things
        "What may I run on the second node now?", "march through the sat solver", "may we deploy in production",
        "may 5 nodes fail", "dec alpha", "jan said hello", "from June", "sat and sun", "Black Friday sales",
        "every Monday", "the Monday standup", "the following Monday", "monday.com integration", "spring boot",
        "in the fall back plan", "in winter mode", "who took part in summer of code", "q4_k_m model",
        "port 2024", "2024 tokens of v3.11.2", "in 2048 bit keys", "in 2000 ms", "over 2000 people",
        "from 1990 to 2010 items", "version 2024.3.1 of the client", "src/march/2024/file.py", "in March '25",
        "the past tense of go", "this day in particular", "the next release", "who wrote `last week` in the log",
        '"yesterday" by the Beatles', "it took 3 weeks", "in 3 days", "how many weeks passed",
        "what fails after step 2", "steps for following the runbook", "who looks after the build machines",
        "after release notes are out", "before that", "since the 3rd attempt",
        # a verb
        "do backups last 30 days", "is it meant to last three days", "why did the outage last an hour",
        # the last one of something else
        "the last week of the sprint", "the last 3 days of our trip", "in the last day of the conference",
        "what was a previous month like", "in previous weeks",
        # not the time that is meant
        "what else, not last week", "everything except last week", "apart from last week", "all but yesterday",
        "neither in March nor in April", "not in March or in April", "rather than last month",
        "more than two weeks ago",
        # half of what is said
        "half a year ago", "one and half a year ago", "a day and 3 hours ago", "a thousand two days ago",
        "twenty-one days ago", "the last 2 years and 3 months", "a week or a month ago", "March 3, 5 and 7",
        "the 3rd and the 5th of March", "between the release and last week", "between March 3 and 7 people left",
        "from the release to last week", "every Monday until Friday", "the Monday through Friday schedule",
        "compare January and February", "introduce June to August", "three days after the release",
        "two days before last week", "a week from yesterday", "a week or two before March 3",
        "should I run the linter before committing?", "what do I check after deploying",
        # no such day
        "on 2026-02-30", "31.02.2026", "9999 years ago",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_time_are_not_read(text: str) -> None:
    assert read(text, at(NOW) or 0, BERLIN) is None


@pytest.mark.parametrize(
    ("text", "now", "since", "before"),
    [
        ("a month ago", "2026-03-31 12:00", "2026-02-13", "2026-03-16"),
        ("in the past year", "2024-02-29 12:00", "2023-02-28", "2024-02-29 12:00:00.001"),
        ("last month", "2026-01-31 12:00", "2025-12-01", "2026-01-01"),
        ("over the weekend", "2026-03-22 12:00", "2026-03-21", "2026-03-23"),
        ("on Wednesday", "2026-03-18 00:00", "2026-03-18", "2026-03-19"),
        ("last December", "2026-12-10 12:00", "2025-12-01", "2026-01-01"),
    ],
)
def test_months_have_ends_and_years_leap_days(text: str, now: str, since: str, before: str) -> None:
    assert stretch(text, now) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "now", "since", "hours"),
    [
        ("yesterday", "2026-03-30 10:00", "2026-03-29", 23),
        ("today", "2025-10-26 12:00", "2025-10-26", 25),
        ("last 24 hours", "2026-03-29 15:00", "2026-03-28 14:00", 24),
    ],
)
def test_days_are_as_long_as_the_clocks_of_the_zone_make_them(text: str, now: str, since: str, hours: int) -> None:
    first, end = stretch(text, now)
    assert first == at(since)
    assert end is not None
    assert round((end - first) / HOUR_MS) == hours


def test_hours_ago_are_counted_in_time_and_not_on_the_clock() -> None:
    now = at("2025-10-26 04:00") or 0
    assert stretch("2 hours ago", "2025-10-26 04:00") == (now - 5 * HOUR_MS // 2, now - 3 * HOUR_MS // 2)


def test_a_day_is_that_of_the_zone() -> None:
    now = at("2026-03-18 03:00") or 0
    for name, day in (
        ("America/New_York", "2026-03-16"),
        ("Europe/Berlin", "2026-03-17"),
        ("Asia/Tokyo", "2026-03-17"),
    ):
        assert read("yesterday", now, ZoneInfo(name)).since == at(day, ZoneInfo(name))


# ---- times questions -------------------------------------------------------------------------------------------------
# Words, events and remaining text of a question that names a time.


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
        ("what did we do before moving to Berlin", "before", "moving to Berlin"),
    ],
)
def test_an_event_is_a_boundary_by_its_words(text: str, side: str, event: str) -> None:
    answer = understood(text)
    assert (answer.event, answer.since, answer.before) == (BoundaryEvent(side, event), None, None)
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
def test_the_words_of_an_event_go_with_their_times(text: str, searched: str, with_it: str, without_it: str) -> None:
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
def test_a_range_of_months_goes_from_first_to_last_within_a_year(first: str, last: str, now: int) -> None:
    answer = read(f"what broke between {first} and {last}", now, UTC)
    alone = read(f"what broke in {last}", now, UTC)
    assert answer.since is not None
    assert answer.before is not None
    assert answer.before == alone.before
    assert answer.before - answer.since <= 366 * 24 * 3_600_000
    assert answer.since <= (alone.since or 0)
