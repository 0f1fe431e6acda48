"""What time the words of a question mean, for a moment and a zone that are given."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemesh_memory.calendar_spans import instant
from mnemesh_memory.time_dates import DATE_WORDS
from mnemesh_memory.time_words import READ_CHARS_MAX, Event, TimeWords, read

BERLIN = ZoneInfo("Europe/Berlin")
HOUR_MS = 3_600_000


def at(text: str, zone: ZoneInfo = BERLIN) -> int | None:
    return instant(datetime.fromisoformat(text), zone) if text else None


# A Wednesday afternoon.
NOW = instant(datetime(2026, 3, 18, 15), BERLIN)


def understood(text: str, now: str = "2026-03-18 15:00", zone: ZoneInfo = BERLIN) -> TimeWords:
    moment = at(now, zone)
    assert moment is not None
    answer = read(text, moment, zone)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("what did we do today", "2026-03-18", "2026-03-19"),
        ("what did we decide yesterday", "2026-03-17", "2026-03-18"),
        ("what happened the day before yesterday?", "2026-03-16", "2026-03-17"),
        ("what is due tomorrow", "2026-03-19", "2026-03-20"),
        ("the day after tomorrow", "2026-03-20", "2026-03-21"),
        ("tonight", "2026-03-18 18:00", "2026-03-19 06:00"),
        ("what broke last night", "2026-03-17 18:00", "2026-03-18 06:00"),
        ("this morning", "2026-03-18 04:00", "2026-03-18 12:00"),
        ("this afternoon", "2026-03-18 12:00", "2026-03-18 18:00"),
        ("yesterday evening", "2026-03-17 17:00", "2026-03-18"),
        ("what failed earlier today", "2026-03-18", "2026-03-18 15:00:00.001000"),
        ("what did we say last week", "2026-03-09", "2026-03-16"),
        ("this week", "2026-03-16", "2026-03-23"),
        ("next week", "2026-03-23", "2026-03-30"),
        ("earlier this week", "2026-03-16", "2026-03-18 15:00:00.001000"),
        ("the week before last", "2026-03-02", "2026-03-09"),
        ("last weekend", "2026-03-14", "2026-03-16"),
        ("this weekend", "2026-03-21", "2026-03-23"),
        ("over the weekend", "2026-03-14", "2026-03-16"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last quarter", "2025-10-01", "2026-01-01"),
        ("this quarter", "2026-01-01", "2026-04-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("next year", "2027-01-01", "2028-01-01"),
        ("in the last week", "2026-03-11", "2026-03-18 15:00:00.001000"),
        ("over the past month", "2026-02-18", "2026-03-18 15:00:00.001000"),
        ("in the past year", "2025-03-18", "2026-03-18 15:00:00.001000"),
        ("in the last 3 days", "2026-03-15", "2026-03-18 15:00:00.001000"),
        ("the last 24 hours", "2026-03-17 15:00", "2026-03-18 15:00:00.001000"),
        ("last 24h", "2026-03-17 15:00", "2026-03-18 15:00:00.001000"),
        ("past 7d", "2026-03-11", "2026-03-18 15:00:00.001000"),
        ("in the last few weeks", "2026-02-11", "2026-03-18 15:00:00.001000"),
        ("during the past couple of months", "2026-01-18", "2026-03-18 15:00:00.001000"),
        ("in the past two years", "2024-03-18", "2026-03-18 15:00:00.001000"),
        ("3 days ago", "2026-03-15", "2026-03-16"),
        ("a week ago", "2026-03-08", "2026-03-15"),
        ("two weeks ago", "2026-03-01", "2026-03-08"),
        ("a month ago", "2026-02-03", "2026-03-06"),
        ("four months ago", "2025-11-03", "2025-12-04"),
        ("a year ago", "2024-09-18", "2025-09-19"),
        ("4 years ago", "2021-09-18", "2022-09-19"),
        ("a couple of days ago", "2026-03-15", "2026-03-18"),
        ("a few weeks ago", "2026-02-11", "2026-03-12"),
        ("2 hours ago", "2026-03-18 12:30", "2026-03-18 13:30"),
        ("30 minutes ago", "2026-03-18 14:22:30", "2026-03-18 14:37:30"),
        ("since 3 days ago", "2026-03-15", ""),
        ("before two weeks ago", "", "2026-03-04"),
        ("last Monday", "2026-03-16", "2026-03-17"),
        ("on Tuesday", "2026-03-17", "2026-03-18"),
        ("what did we decide on Wednesday", "2026-03-18", "2026-03-19"),
        ("on Thursday", "2026-03-12", "2026-03-13"),
        ("this Friday", "2026-03-20", "2026-03-21"),
        ("next Friday", "2026-03-20", "2026-03-21"),
        ("Monday morning", "2026-03-16 04:00", "2026-03-16 12:00"),
        ("on Friday at 3pm", "2026-03-13 14:30", "2026-03-13 15:30"),
        ("Tuesday of last week", "2026-03-10", "2026-03-11"),
        ("last week on Monday", "2026-03-09", "2026-03-10"),
        ("since Monday", "2026-03-16", ""),
        ("until Friday", "", "2026-03-21"),
        ("till Sunday", "", "2026-03-23"),
        ("before Tuesday", "", "2026-03-17"),
        ("after last Friday", "2026-03-14", ""),
        ("between Monday and Friday", "2026-03-09", "2026-03-14"),
        ("from Monday to Wednesday", "2026-03-16", "2026-03-19"),
        ("2026-03-03", "2026-03-03", "2026-03-04"),
        ("on 2024-02-29", "2024-02-29", "2024-03-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2026-03-01T10:00:00Z", "2026-03-01 10:30", "2026-03-01 11:30"),
        ("03.03.2026", "2026-03-03", "2026-03-04"),
        ("March 3", "2026-03-03", "2026-03-04"),
        ("on March 3rd", "2026-03-03", "2026-03-04"),
        ("3rd of March 2024", "2024-03-03", "2024-03-04"),
        ("the 3rd of March", "2026-03-03", "2026-03-04"),
        ("3 March 2024", "2024-03-03", "2024-03-04"),
        ("March 3, 2024", "2024-03-03", "2024-03-04"),
        ("December 1,2023", "2023-12-01", "2023-12-02"),
        ("March 3-5", "2026-03-03", "2026-03-06"),
        ("3 May, 2023", "2023-05-03", "2023-05-04"),
        ("on May 3, 2023", "2023-05-03", "2023-05-04"),
        ("February 29", "2024-02-29", "2024-03-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in April", "2025-04-01", "2025-05-01"),
        ("in March 2024", "2024-03-01", "2024-04-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("last March", "2025-03-01", "2025-04-01"),
        ("in October last year", "2025-10-01", "2025-11-01"),
        ("in may", "2025-05-01", "2025-06-01"),
        ("since March", "2026-03-01", ""),
        ("before March", "", "2026-03-01"),
        ("until March", "", "2026-04-01"),
        ("early March", "2026-03-01", "2026-03-11"),
        ("mid-August 2023", "2023-08-11", "2023-08-21"),
        ("the end of 2023", "2023-09-01", "2024-01-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("since 2023", "2023-01-01", ""),
        ("before 2024", "", "2024-01-01"),
        ("after 2023", "2024-01-01", ""),
        ("in early 2024", "2024-01-01", "2024-05-02"),
        ("Q2 2024", "2024-04-01", "2024-07-01"),
        ("in Q1", "2026-01-01", "2026-04-01"),
        ("last Q4", "2025-10-01", "2026-01-01"),
        ("2024-Q3", "2024-07-01", "2024-10-01"),
        ("2024 Q3", "2024-07-01", "2024-10-01"),
        ("the second quarter of 2024", "2024-04-01", "2024-07-01"),
        ("summer of 2023", "2023-06-01", "2023-09-01"),
        ("last summer", "2025-06-01", "2025-09-01"),
        ("this winter", "2025-12-01", "2026-03-01"),
        ("next summer", "2026-06-01", "2026-09-01"),
        ("in the summer", "2025-06-01", "2025-09-01"),
        ("in the winter of 2024", "2024-12-01", "2025-03-01"),
        ("fall 2023", "2023-09-01", "2023-12-01"),
        ("03:00 yesterday", "2026-03-17 02:30", "2026-03-17 03:30"),
        ("yesterday at 3pm", "2026-03-17 14:30", "2026-03-17 15:30"),
        ("yesterday at 14:30", "2026-03-17 14:00", "2026-03-17 15:00"),
        ("at noon on Monday", "2026-03-16 11:30", "2026-03-16 12:30"),
        ("on the morning of March 3", "2026-03-03 04:00", "2026-03-03 12:00"),
        ("between 2026-03-01 and 2026-03-05", "2026-03-01", "2026-03-06"),
        ("between May and July 2023", "2023-05-01", "2023-08-01"),
        ("between August 11 and August 15 2023", "2023-08-11", "2023-08-16"),
        ("from November to January", "2025-11-01", "2026-02-01"),
        ("between February and November", "2025-02-01", "2025-12-01"),
        ("from 2022 to 2024", "2022-01-01", "2025-01-01"),
        ("after March 3", "2026-03-04", ""),
        ("before March 3, 2024", "", "2024-03-03"),
        ("by November 7, 2025", "", "2025-11-08"),
        ("until 2026-03-10", "", "2026-03-11"),
        ("the week before August 3, 2023", "2023-07-27", "2023-08-03"),
        ("two weeks before August 11, 2023", "2023-07-25", "2023-08-01"),
        ("the day after March 3, 2026", "2026-03-04", "2026-03-05"),
        ("the weekend before April 10, 2023", "2023-04-08", "2023-04-10"),
        ("the week of March 3", "2026-03-02", "2026-03-09"),
        ("the second week of November", "2025-11-08", "2025-11-15"),
        ("last year in March", "2025-03-01", "2025-04-01"),
        ("since Monday before Wednesday", "2026-03-16", "2026-03-18"),
        ("yesterday's standup", "2026-03-17", "2026-03-18"),
        ("until the freeze last week", "2026-03-09", "2026-03-16"),
        ("half a year ago", "2025-09-03", "2025-10-04"),
        ("half a month ago", "2026-03-01", "2026-03-08"),
        ("half a week ago", "2026-03-14 06:00", "2026-03-16 00:00"),
        ("half a day ago", "2026-03-18 00:00", "2026-03-18 06:00"),
        ("half an hour ago", "2026-03-18 14:22:30", "2026-03-18 14:37:30"),
        ("half a year before March 3, 2024", "2023-08-19", "2023-09-19"),
        ("the second half two weeks ago", "2026-03-01", "2026-03-08"),
        ("a year ago today", "2025-03-18", "2025-03-19"),
        ("two weeks ago yesterday", "2026-03-03", "2026-03-04"),
        ("a week ago last Monday", "2026-03-09", "2026-03-10"),
        ("a week ago Friday", "2026-03-06", "2026-03-07"),
        ("two weeks ago on Friday", "2026-03-06", "2026-03-07"),
        ("a year ago yesterday at 3pm", "2025-03-17 14:30", "2025-03-17 15:30"),
        ("a year ago this morning", "2025-03-18 04:00", "2025-03-18 12:00"),
        ("two years ago this month", "2024-03-01", "2024-04-01"),
        ("a year ago last summer", "2024-06-01", "2024-09-01"),
        ("a few weeks ago today", "2026-02-11", "2026-03-12"),
        ("a year ago March 3", "2025-03-03", "2025-03-04"),
        ("since a year ago today", "2025-03-18", ""),
        ("two weeks ago March 3", "2026-03-03", "2026-03-04"),
        ("2 hours ago today", "2026-03-18 12:30", "2026-03-18 13:30"),
        ("2 days ago this week", "2026-03-16", "2026-03-17"),
        ("the last week of March", "2026-03-25", "2026-04-01"),
        ("last week of March", "2026-03-25", "2026-04-01"),
        ("during the last week in March 2024", "2024-03-25", "2024-04-01"),
        ("the last two weeks of March 2024", "2024-03-18", "2024-04-01"),
        ("the last day of last month", "2026-02-28", "2026-03-01"),
        ("the last few days of 2024", "2024-12-27", "2025-01-01"),
        ("the last 12 hours of 2024", "2024-12-31 12:00", "2025-01-01"),
        ("the last quarter of 2024", "2024-10-01", "2025-01-01"),
        ("the last month of Q2 2024", "2024-06-01", "2024-07-01"),
        ("the last 3 days of logs", "2026-03-15", "2026-03-18 15:00:00.001000"),
        ("the past week of the sprint", "2026-03-11", "2026-03-18 15:00:00.001000"),
        ("the last week in the office", "2026-03-11", "2026-03-18 15:00:00.001000"),
        ("the last day of school in June", "2025-06-01", "2025-07-01"),
        ("not last week but the week before", "2026-03-02", "2026-03-09"),
        ("not yesterday, but the day before?", "2026-03-16", "2026-03-17"),
        ("not last week but the week after", "2026-03-16", "2026-03-23"),
        ("not in March but the month before", "2026-02-01", "2026-03-01"),
        ("not last week but in February", "2026-02-01", "2026-03-01"),
        ("in March and not in February", "2026-03-01", "2026-04-01"),
        ("twenty one days ago", "2026-02-25", "2026-02-26"),
        ("twenty-one days ago", "2026-02-25", "2026-02-26"),
        ("thirty two weeks ago", "2025-08-03", "2025-08-10"),
        ("a hundred two days ago", "2025-12-06", "2025-12-07"),
        ("two hundred and one days ago", "2025-08-29", "2025-08-30"),
        ("last twenty-one days", "2026-02-25", "2026-03-18 15:00:00.001000"),
        ("a year and two months ago", "2025-01-03", "2025-02-03"),
        ("1 year 6 months ago", "2024-09-03", "2024-10-04"),
        ("2 hours 30 minutes ago", "2026-03-18 12:22:30", "2026-03-18 12:37:30"),
        ("two or three days ago", "2026-03-15", "2026-03-17"),
        ("two to three weeks ago", "2026-02-22", "2026-03-08"),
        ("this week and two weeks ago", "2026-03-01", "2026-03-23"),
        ("phase 2 two weeks ago", "2026-03-01", "2026-03-08"),
        ("between 2pm and 4pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("from 2pm to 4pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("2pm to 4pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("yesterday between 14:00 and 16:00", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("from 14:00 to 16:00 on March 3", "2026-03-03 14:00", "2026-03-03 16:00"),
        ("between November 3 and 7", "2025-11-03", "2025-11-08"),
        ("in March or April", "2025-03-01", "2025-05-01"),
        ("in March & April", "2025-03-01", "2025-05-01"),
        ("what happened in October and November", "2025-10-01", "2025-12-01"),
        ("in October, November, or december?", "2025-10-01", "2026-01-01"),
        ("in December or January", "2025-12-01", "2026-02-01"),
        ("in January or December", "2025-12-01", "2026-02-01"),
        ("in March or July", "2025-03-01", "2025-08-01"),
        ("in March or April 2024", "2024-03-01", "2024-05-01"),
        ("in 2022, 2023 or 2024", "2022-01-01", "2025-01-01"),
        ("in april or may?", "2025-04-01", "2025-06-01"),
        ("in April and may we go", "2025-04-01", "2025-05-01"),
        ("in October, November was warm", "2025-10-01", "2025-11-01"),
        ("in October and 2024", "2024-01-01", "2025-11-01"),
        ("on Monday, Tuesday, and Friday", "2026-03-13", "2026-03-18"),
        ("in March or later", "2026-03-01", ""),
        ("from March 3 to 7", "2026-03-03", "2026-03-08"),
        ("from March 3 to 7, 2024", "2024-03-03", "2024-03-08"),
        ("March 3 to 7", "2026-03-03", "2026-03-08"),
        ("3-7 March 2025", "2025-03-03", "2025-03-08"),
        ("between the 3rd and the 7th of March", "2026-03-03", "2026-03-08"),
        ("between 3 and 7 March", "2026-03-03", "2026-03-08"),
        ("from the 3rd to the 7th of March", "2026-03-03", "2026-03-08"),
        ("from March 3 to 7 April 2024", "2024-03-03", "2024-04-08"),
        ("from yesterday to last Monday", "2026-03-16", "2026-03-18"),
        ("between Ann and Bob last week", "2026-03-09", "2026-03-16"),
        ("on March 3, 5 people left", "2026-03-03", "2026-03-04"),
        ("before the end of last year", "", "2026-01-01"),
        ("before the end of this year", "", "2027-01-01"),
        ("before the end of November", "", "2025-12-01"),
        ("until the start of March", "", "2026-03-01"),
        ("by the end of yesterday", "", "2026-03-18"),
        ("after the beginning of last week", "2026-03-09", ""),
        ("since the beginning of the year", "2026-01-01", ""),
        ("on or before November 3", "", "2025-11-04"),
        ("no later than November 3", "", "2025-11-04"),
        ("not later than November 3", "", "2025-11-04"),
        ("up to March 3", "", "2026-03-04"),
        ("as of yesterday", "", "2026-03-18"),
        ("until 3 days ago", "", "2026-03-16"),
        ("on or after November 3", "2025-11-03", ""),
        ("no earlier than November 3", "2025-11-03", ""),
        ("starting yesterday", "2026-03-17", ""),
        ("starting in March", "2026-03-01", ""),
        ("who is starting tomorrow", "2026-03-19", "2026-03-20"),
        ("from March on", "2026-03-01", ""),
        ("from March 3 on, what broke", "2026-03-03", ""),
        ("from March on the server", "2026-03-01", "2026-04-01"),
        ("March 3 onwards", "2026-03-03", ""),
        ("March 3 or later", "2026-03-03", ""),
        ("March 3 or earlier", "", "2026-03-04"),
        ("following March 3", "2026-03-04", ""),
        ("prior to March 3", "", "2026-03-03"),
        ("more than two weeks ago", "", "2026-03-04"),
        ("over two weeks ago", "", "2026-03-04"),
        ("at least two weeks ago", "", "2026-03-05"),
        ("less than two weeks ago", "2026-03-04", ""),
        ("not more than two weeks ago", "2026-03-04", ""),
        ("under 3 days ago", "2026-03-15", ""),
        ("at most 3 days ago", "2026-03-15", ""),
        ("within 3 days ago", "2026-03-15", ""),
        ("before 2024 but after 2022", "2023-01-01", "2024-01-01"),
        ("the last Friday of March", "2026-03-27", "2026-03-28"),
        ("the last Monday of 2024", "2024-12-30", "2024-12-31"),
        ("the first Monday in March", "2026-03-02", "2026-03-03"),
        ("not only last week", "2026-03-09", "2026-03-16"),
        ("whether or not last week went well", "2026-03-09", "2026-03-16"),
        ("from March 3 to now", "2026-03-03", "2026-03-18 15:00:00.001000"),
        ("from February to date", "2026-02-01", "2026-03-18 15:00:00.001000"),
        ("what broke from last week until now", "2026-03-09", "2026-03-18 15:00:00.001000"),
        ("from last week to the present day", "2026-03-09", "2026-03-18 15:00:00.001000"),
        ("from January 3 up to now", "2026-01-03", "2026-03-18 15:00:00.001000"),
        ("since 2022 until now", "2022-01-01", "2026-03-18 15:00:00.001000"),
        ("this year to date", "2026-01-01", "2026-03-18 15:00:00.001000"),
        ("between last week and now", "2026-03-09", "2026-03-18 15:00:00.001000"),
        ("from now until Friday", "2026-03-18 15:00", "2026-03-21"),
        ("from June to yesterday", "2025-06-01", "2026-03-18"),
        ("from January to March", "2026-01-01", "2026-04-01"),
        ("from March to May", "2025-03-01", "2025-06-01"),
        ("since January to March", "2026-01-01", "2026-04-01"),
        ("in January and February", "2026-01-01", "2026-03-01"),
        ("in February or March", "2026-02-01", "2026-04-01"),
        ("in January, February and March", "2026-01-01", "2026-04-01"),
        ("in May and June we shipped", "2025-05-01", "2025-07-01"),
        ("in jan and feb we shipped", "2026-01-01", "2026-03-01"),
        ("in November and December", "2025-11-01", "2026-01-01"),
        ("in 2023 or 2024", "2023-01-01", "2025-01-01"),
        ("in 2022, 2023 and 2024", "2022-01-01", "2025-01-01"),
        ("since 2022 or 2023", "2022-01-01", ""),
        ("before January or February", "", "2026-01-01"),
        ("until January or February", "", "2026-03-01"),
        ("in Q1 and Q2", "2025-01-01", "2025-07-01"),
        ("in Q4 and Q1", "2025-10-01", "2026-04-01"),
        ("Q1 and Q2 2024", "2024-01-01", "2024-07-01"),
        ("Q1 to Q3 2023", "2023-01-01", "2023-10-01"),
        ("January and February 2024", "2024-01-01", "2024-03-01"),
        ("March - May 2023", "2023-03-01", "2023-06-01"),
        ("March to May 2023", "2023-03-01", "2023-06-01"),
        ("January, February, and March 2023", "2023-01-01", "2023-04-01"),
        ("in March 2023 and April 2024", "2023-03-01", "2024-05-01"),
        ("Monday to Wednesday", "2026-03-16", "2026-03-19"),
        ("Monday and Tuesday", "2026-03-16", "2026-03-18"),
        ("Monday through Friday", "2026-03-09", "2026-03-14"),
        ("Monday thru Friday", "2026-03-09", "2026-03-14"),
        ("Mon to Wed", "2026-03-16", "2026-03-19"),
        ("on Tuesday or Thursday", "2026-03-10", "2026-03-13"),
        ("Monday, Tuesday and Wednesday", "2026-03-16", "2026-03-19"),
        ("Monday to yesterday what broke", "2026-03-16", "2026-03-18"),
        ("last Monday to Friday", "2026-03-09", "2026-03-14"),
        ("next Monday to Friday", "2026-03-23", "2026-03-28"),
        ("this Thursday and Friday", "2026-03-19", "2026-03-21"),
        ("from yesterday to Friday", "2026-03-17", "2026-03-21"),
        ("until Monday or Tuesday", "", "2026-03-25"),
        ("yesterday and today", "2026-03-17", "2026-03-19"),
        ("this month and last week", "2026-03-01", "2026-04-01"),
        ("last week and the week before", "2026-03-02", "2026-03-16"),
        ("in 2022 and beyond", "2022-01-01", ""),
        ("early January and late February", "2026-01-01", "2026-03-01"),
        ("the last year and a half", "2024-09-18", "2026-03-18 15:00:00.001000"),
        ("the past month and a half", "2026-02-04", "2026-03-18 15:00:00.001000"),
        ("in the last two and a half years", "2023-09-18", "2026-03-18 15:00:00.001000"),
        ("the last hour and a half", "2026-03-18 13:30", "2026-03-18 15:00:00.001000"),
        ("the last week or two", "2026-03-04", "2026-03-18 15:00:00.001000"),
        ("the last 2 or 3 weeks", "2026-02-25", "2026-03-18 15:00:00.001000"),
        ("the last 2-3 weeks", "2026-02-25", "2026-03-18 15:00:00.001000"),
        ("the last week and a half of 2024", "2024-12-21 12:00", "2025-01-01"),
        ("a year and a half ago", "2024-09-03", "2024-10-04"),
        ("an hour and a half ago", "2026-03-18 13:15", "2026-03-18 13:45"),
        ("a week and a half ago", "2026-03-05", "2026-03-12"),
        ("a week or two ago", "2026-03-01", "2026-03-15"),
        ("two, three days ago", "2026-03-15", "2026-03-17"),
        ("in March and may we deploy", "2026-03-01", "2026-04-01"),
        ("in May, April told us", "2025-05-01", "2025-06-01"),
        ("in 2023, 2024 was planned", "2023-01-01", "2024-01-01"),
        ("from last week to present our results", "2026-03-09", "2026-03-16"),
        ("the first draft and the second week of November", "2025-11-08", "2025-11-15"),
        ("in March and 5 people left", "2026-03-01", "2026-04-01"),
        ("on March 3 and 2 more on March 5", "2026-03-03", "2026-03-06"),
        ("after January until March", "2026-02-01", "2026-04-01"),
        ("after Monday until yesterday", "2026-03-17", "2026-03-18"),
        ("starting in January until February", "2026-01-01", "2026-03-01"),
        ("the first run last week and second run this week", "2026-03-09", "2026-03-23"),
        ("last week to 5 customers", "2026-03-09", "2026-03-16"),
        ("what did we do last week or this", "2026-03-09", "2026-03-23"),
        ("this week and next", "2026-03-16", "2026-03-30"),
        ("what did we ship this and last month", "2026-02-01", "2026-04-01"),
        ("this vs last week", "2026-03-09", "2026-03-23"),
        ("this month and the last one", "2026-02-01", "2026-04-01"),
        ("Last week or this problem was fixed", "2026-03-09", "2026-03-16"),
        ("this morning and afternoon", "2026-03-18 04:00", "2026-03-18 18:00"),
        ("on Monday evening and night", "2026-03-16 17:00", "2026-03-17 06:00"),
        ("on Monday night or the morning", "2026-03-16 04:00", "2026-03-17 06:00"),
        ("in January as well as February", "2026-01-01", "2026-03-01"),
        ("sales in March compared with February", "2026-02-01", "2026-04-01"),
        ("errors in 2025 vs. 2024", "2024-01-01", "2026-01-01"),
        ("how did Q1 versus Q2 2025 go", "2025-01-01", "2025-07-01"),
        ("works as well as last week", "2026-03-09", "2026-03-16"),
        ("who joined in March '25", "2025-03-01", "2025-04-01"),
        ("in the summer of '98, what did we do", "1998-06-01", "1998-09-01"),
        ("March '25's outage", "2025-03-01", "2025-04-01"),
        ("everything up to and including March 10", "", "2026-03-11"),
        ("from January up to and including February", "2026-01-01", "2026-03-01"),
        ("the first half of 2025", "2025-01-01", "2025-07-01"),
        ("the latter half of February", "2026-02-15", "2026-03-01"),
        ("the first three months of 2025", "2025-01-01", "2025-04-01"),
        ("the first few days of March", "2026-03-01", "2026-03-06"),
        ("first half of 2025 vs 2024", "2024-01-01", "2025-07-01"),
        ("the second half of last year and Q1", "2025-07-01", "2026-04-01"),
        ("the last two weeks of January or 2025", "2025-01-01", "2026-02-01"),
        ("two weekends ago", "2026-03-07", "2026-03-09"),
        ("a couple of weekends ago", "2026-02-28", "2026-03-16"),
    ],
)
def test_words_of_time_mean_a_stretch(text: str, since: str, before: str) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("between 2026-03-16 14:10 and 2026-03-16 15:00", "2026-03-16 14:10", "2026-03-16 15:00"),
        ("from 2026-03-16T12:10:00Z to 2026-03-16T14:00:00Z", "2026-03-16 13:10", "2026-03-16 15:00"),
        ("between 2pm yesterday and 4pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("between 4pm yesterday and 2pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("2pm yesterday to 4pm yesterday", "2026-03-17 14:00", "2026-03-17 16:00"),
        ("from 14:10 yesterday to now", "2026-03-17 14:10", "2026-03-18 15:00:00.001000"),
        ("since 14:10 yesterday until now", "2026-03-17 14:10", "2026-03-18 15:00:00.001000"),
        ("after 14:10 yesterday until 9am today", "2026-03-17 14:10", "2026-03-18 09:00"),
        ("from Friday 2pm to Monday 9am", "2026-03-13 14:00", "2026-03-16 09:00"),
        ("from Monday 2pm to Friday 9am", "2026-03-09 14:00", "2026-03-13 09:00"),
        ("from yesterday to 9am today", "2026-03-17", "2026-03-18 09:00"),
        ("from 3 hours ago to now", "2026-03-18 12:00", "2026-03-18 15:00:00.001000"),
        ("from 3 days ago to 9am today", "2026-03-15", "2026-03-18 09:00"),
        # A list of moments, and a range without a length, mean what was around them.
        ("at 2pm yesterday or 4pm yesterday", "2026-03-17 13:30", "2026-03-17 16:30"),
        ("between 2pm yesterday and 2pm yesterday", "2026-03-17 13:30", "2026-03-17 14:30"),
    ],
)
def test_a_range_between_two_moments_ends_at_these(text: str, since: str, before: str) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("the previous week", "2026-03-09", "2026-03-16"),
        ("previous week", "2026-03-09", "2026-03-16"),
        ("what went well in the previous month", "2026-02-01", "2026-03-01"),
        ("the previous quarter", "2025-10-01", "2026-01-01"),
        ("the prior year's goals", "2025-01-01", "2026-01-01"),
        ("the previous weekend", "2026-03-14", "2026-03-16"),
        ("since the prior week", "2026-03-09", ""),
        ("the last week of the previous month", "2026-02-22", "2026-03-01"),
        ("in the previous 3 days", "2026-03-15", "2026-03-18 15:00:00.001000"),
        ("the previous few weeks", "2026-02-11", "2026-03-18 15:00:00.001000"),
        ("the previous day", "2026-03-17", "2026-03-18"),
        ("the previous hour", "2026-03-18 14:00", "2026-03-18 15:00:00.001000"),
        ("the previous Monday", "2026-03-16", "2026-03-17"),
        ("on the previous Wednesday", "2026-03-11", "2026-03-12"),
        ("on Tuesday of the previous week", "2026-03-10", "2026-03-11"),
        ("in May of the previous year", "2025-05-01", "2025-06-01"),
        ("in Q1 of the prior year", "2025-01-01", "2025-04-01"),
        ("in summer of the previous year", "2025-06-01", "2025-09-01"),
        ("on June 3 of the previous year", "2025-06-03", "2025-06-04"),
        ("the 15th of the previous month", "2026-02-15", "2026-02-16"),
        ("what did April and June do in the previous week", "2026-03-09", "2026-03-16"),  # these are people
        # Beside another time it is told from that, or not read.
        ("how did May 2024 differ from May of the previous year", "2024-05-01", "2024-06-01"),
        ("what was open in June, and what on Friday of the previous week", "2025-06-01", "2025-07-01"),
        ("not last month but the previous one", "2026-01-01", "2026-02-01"),
        ("this month and the previous one", "2026-02-01", "2026-04-01"),
        ("last week and the previous week", "2026-03-02", "2026-03-16"),
        ("March 2024 vs previous month", "2024-02-01", "2024-04-01"),
        ("not last week but the previous week", "2026-03-02", "2026-03-09"),
        ("how did May 2024 differ from the previous month", "2024-05-01", "2024-06-01"),
        ("what did we do in 2023 that we dropped the previous year", "2023-01-01", "2024-01-01"),
        ("what did we ship on Monday and what the previous 3 weeks", "2026-03-16", "2026-03-17"),
    ],
)
def test_the_previous_one_is_the_last_one_before_now_or_before_the_time_beside_it(
    text: str, since: str, before: str
) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("what did we decide in summer", "2025-06-01", "2025-09-01"),
        ("in autumn we moved", "2025-09-01", "2025-12-01"),
        ("in winter, what broke", "2025-12-01", "2026-03-01"),
        ("since summer", "2025-06-01", ""),
        ("in summer and winter", "2025-06-01", "2026-03-01"),
    ],
)
def test_a_season_needs_no_article_where_it_is_not_part_of_a_name(text: str, since: str, before: str) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("what failed at least 48 hours ago", "", "2026-03-16 15:00"),
        ("errors older than 72 hours ago", "", "2026-03-15 15:00"),
        ("until 50 hours ago", "", "2026-03-16 13:00"),
        ("from 72 hours ago to now", "2026-03-15 15:00", "2026-03-18 15:00:00.001000"),
        ("at least two days ago", "", "2026-03-17"),
        ("until 2 days ago", "", "2026-03-17"),
        ("at least two weekends ago", "", "2026-03-09"),
        ("3d ago", "2026-03-15", "2026-03-16"),
        ("what broke 2h ago", "2026-03-18 12:30", "2026-03-18 13:30"),
        ("a fortnight ago", "2026-03-01", "2026-03-08"),
        ("in the last fortnight", "2026-03-04", "2026-03-18 15:00:00.001000"),
        ("two Fridays ago", "2026-03-06", "2026-03-07"),
        ("two Wednesdays ago", "2026-03-04", "2026-03-05"),
    ],
)
def test_a_distance_is_counted_from_now(text: str, since: str, before: str) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("what broke last week Monday", "2026-03-09", "2026-03-10"),
        ("last week on Monday", "2026-03-09", "2026-03-10"),
        ("the 15th of last month", "2026-02-15", "2026-02-16"),
        ("what happened on the 15th", "2026-03-15", "2026-03-16"),
        ("what happened on the 25th?", "2026-02-25", "2026-02-26"),
        ("what happened on the 31st, Ana?", "2026-01-31", "2026-02-01"),
        ("what changed since the 3rd", "2026-03-03", ""),
        ("before the 3rd", "", "2026-03-03"),
        ("between the 3rd and the 7th", "2026-03-03", "2026-03-08"),
        ("from the 3rd to the 7th", "2026-03-03", "2026-03-08"),
        ("what broke last week Friday evening", "2026-03-13 17:00", "2026-03-14"),
        ("H2 of last year", "2025-07-01", "2026-01-01"),
        ("goals of H1 2024", "2024-01-01", "2024-07-01"),
        ("goals of 2024 H2", "2024-07-01", "2025-01-01"),
        ("in h2 of 2025", "2025-07-01", "2026-01-01"),
        ("what broke since noon", "2026-03-18 12:00", ""),
        ("since 9am", "2026-03-18 09:00", ""),
        ("after 4pm", "2026-03-17 16:00", ""),  # that of today is still to come
        ("before 10:30", "", "2026-03-18 10:30"),
    ],
)
def test_a_day_of_a_month_a_half_of_a_year_and_a_time_of_day_mean_the_last_one(
    text: str, since: str, before: str
) -> None:
    answer = understood(text)
    assert (answer.since, answer.before) == (at(since), at(before))


@pytest.mark.parametrize(
    "text",
    [
        "the previous week of the sprint",
        "does the token last a week",
        "why did the outage last an hour",
        "is it meant to last three days",
        "on the 15th attempt it failed",
        "the 15th of the list",
        "the 31st of last month",
        "who took part in Summer of Code",
        "who took part in summer of code",
        "the font of h1 tags",
        "what happens after 3 retries",
        "what fails after step 2",
        "after release notes are out",
        "who is following the incident",
        "steps for following the runbook",
        "three days prior to the release",
        "three days ahead of the release",
        "the following Monday",
        "between the 3rd and the 7th attempt",
        "the previous two weeks of the project",
        "what do we do each previous week",
        "what was a previous month like",
        "in previous weeks",
        "the previous release",
        "in summer school",
        "in winter mode",
        "in spring",
        "in fall",
        "in winter and spring",
        "What may I run on the second node now?",
        "march through the sat solver",
        "2024 tokens of v3.11.2",
        "may we deploy in production",
        "how do I wait a second",
        "on sun servers we march on",
        "in 2048 bytes",
        "in 2024 tokens",
        "version 2024.3.1 of the client",
        "the past tense of go",
        "what is the last step",
        "the next release",
        "this day in particular",
        '"yesterday" by the Beatles',
        "who wrote `last week` in the log",
        "src/march/2024/file.py",
        "the one-year-old child",
        "jan said hello",
        "from June",
        "Black Friday sales",
        "monday.com integration",
        "before that",
        "after all",
        "since it is slow",
        "spring boot",
        "the fall back plan",
        "in the fall back plan",
        "q4_k_m model",
        "at 3pm",
        "how many weeks passed",
        "every Monday",
        "the Monday standup",
        "100 days of code",
        "first quarter of the list",
        "10:30 is the time",
        "a few days",
        "between A and B",
        "port 2024",
        "the year is long",
        "may 5 nodes fail",
        "sat and sun",
        "in the end of file",
        "what was the last thing",
        "dec alpha",
        "nov 3 mar",
        "in 2000 ms",
        "over 2000 people",
        "it took 3 weeks",
        "in 3 days",
        "one and half a year ago",
        "the last week of the sprint",
        "in the last day of the conference",
        "the last month of the fiscal year",
        "last week of the sprint",
        "last month of school",
        "the last 3 days of our trip",
        "the last few hours of the meeting",
        "what else, not last week",
        "not until Friday but the week before",
        "a thousand two days ago",
        "10 000 days ago",
        "a day and 3 hours ago",
        "one or two hours ago",
        "the last 2 years and 3 months",
        "March 3, 5 and 7",
        "March 3 and 5",
        "the 3rd and the 5th of March",
        "between the release and last week",
        "between March 3 and 7 people left",
        "between yesterday and the release",
        "from the release to last week",
        "between 10pm and 2am on March 3",
        "from 1990 to 2010 items",
        "everything except last week",
        "all except for last week",
        "excluding March 2024",
        "all days without yesterday",
        "everything other than yesterday",
        "all but yesterday",
        "apart from last week",
        "neither in March nor in April",
        "not in March or in April",
        "except last week and yesterday",
        "not in March or April",
        "this coming Friday",
        "the day after the release",
        "three days after the release",
        "a few days before our release",
        "a week before the release",
        "two days before last week",
        "the last two weeks before the release",
        "a week from yesterday",
        "the last Friday of the sprint",
        "first and second quarter of 2023",
        "the first quarter and the second quarter of 2023",
        "the first and second week of March",
        "every Monday and Friday",
        "the Monday and Tuesday standups",
        "the Monday through Friday schedule",
        "every Monday until Friday",
        "by April and May",
        "compare January and February",
        "Jan and May",
        "introduce June to August",
        "mail from April to Bob",
        "in 2023 and 2024 tokens",
        "in 2023 and a half",
        "last year and March",
        "last summer and fall",
        "2022 to March 2024",
        "until March to May",
        "from March to May or June",
        "between Monday and Wednesday and Friday",
        "two weeks ago or three",
        "a week or a month ago",
        "the last week or month",
        "the last week and two days",
        "last 24h or 48h",
        "at 3pm and 5pm yesterday",
        "a week or two before March 3",
        "a year and a half after the release",
        "two and a half weeks after the release",
        "until now",
        "wait a second or two",
        "the first half of the sprint",
        "the '24 hours' job",
    ],
)
def test_words_that_only_look_like_a_time_are_not_read(text: str) -> None:
    assert read(text, NOW, BERLIN) is None


@pytest.mark.parametrize(
    ("text", "now", "since", "hours"),
    [
        ("yesterday", "2026-03-30 10:00", "2026-03-29", 23),
        ("today", "2025-10-26 12:00", "2025-10-26", 25),
        ("last week", "2026-03-31 10:00", "2026-03-23", 7 * 24 - 1),
        ("last 24 hours", "2026-03-29 15:00", "2026-03-28 14:00", 24),
        ("at 02:30 yesterday", "2026-03-30 10:00", "2026-03-29 03:00", 1),
    ],
)
def test_days_are_as_long_as_the_clocks_of_the_zone_make_them(text: str, now: str, since: str, hours: int) -> None:
    answer = understood(text, now)
    assert answer.since == at(since)
    assert answer.before is not None
    assert answer.since is not None
    assert round((answer.before - answer.since) / HOUR_MS) == hours


def test_hours_ago_are_counted_in_time_and_not_on_the_clock() -> None:
    now = at("2025-10-26 04:00")
    assert now is not None
    answer = read("2 hours ago", now, BERLIN)
    assert answer is not None
    assert (answer.since, answer.before) == (now - 5 * HOUR_MS // 2, now - 3 * HOUR_MS // 2)


@pytest.mark.parametrize(
    ("text", "now", "since", "before"),
    [
        ("a month ago", "2026-03-31 12:00", "2026-02-13", "2026-03-16"),
        ("in the last month", "2026-03-31 12:00", "2026-02-28", "2026-03-31 12:00:00.001"),
        ("a year ago", "2024-02-29 12:00", "2022-08-28", "2023-08-29"),
        ("in the past year", "2024-02-29 12:00", "2023-02-28", "2024-02-29 12:00:00.001"),
        ("February 29", "2024-02-28 12:00", "2020-02-29", "2020-03-01"),
        ("last month", "2026-01-31 12:00", "2025-12-01", "2026-01-01"),
        ("this weekend", "2026-03-22 12:00", "2026-03-21", "2026-03-23"),
        ("last weekend", "2026-03-22 12:00", "2026-03-14", "2026-03-16"),
        ("over the weekend", "2026-03-22 12:00", "2026-03-21", "2026-03-23"),
        ("on Wednesday", "2026-03-18 00:00", "2026-03-18", "2026-03-19"),
        ("last Wednesday", "2026-03-18 00:00", "2026-03-11", "2026-03-12"),
        ("last December", "2026-12-10 12:00", "2025-12-01", "2026-01-01"),
        ("this summer", "2026-03-18 12:00", "2026-06-01", "2026-09-01"),
    ],
)
def test_months_have_ends_and_years_leap_days(text: str, now: str, since: str, before: str) -> None:
    answer = understood(text, now)
    assert (answer.since, answer.before) == (at(since), at(before))


def test_a_day_is_that_of_the_zone() -> None:
    now = at("2026-03-18 03:00")
    assert now is not None
    days = {}
    for name in ("America/New_York", "Europe/Berlin", "Asia/Tokyo"):
        answer = read("yesterday", now, ZoneInfo(name))
        assert answer is not None
        days[name] = answer.since
    assert days == {
        "America/New_York": at("2026-03-16", ZoneInfo("America/New_York")),
        "Europe/Berlin": at("2026-03-17"),
        "Asia/Tokyo": at("2026-03-17", ZoneInfo("Asia/Tokyo")),
    }


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
        ("what was tested ahead of our launch", "before", "our launch"),
        ("what broke following the release", "after", "the release"),
        ("what happened after release 2.3.0", "after", "release 2.3.0"),
        ("what broke since v2.3?", "after", "v2.3"),
        ("what broke since 2.3.0-rc1", "after", "2.3.0-rc1"),
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
    ("text", "words", "rest"),
    [
        ("what did we decide yesterday about the keys?", ("yesterday",), "what did we decide about the keys?"),
        ("Yesterday's decisions", ("Yesterday's",), "decisions"),
        ("what happened in March", ("in March",), "what happened in March"),
        ("since Monday, before Wednesday: what broke", ("since Monday", "before Wednesday"), ", : what broke"),
        ("until the freeze last week", ("last week",), "until the freeze"),
        ("the keys half a year ago", ("half a year ago",), "the keys"),
        ("the keys two weeks ago yesterday", ("two weeks ago yesterday",), "the keys"),
        ("who left the last day of school in June", ("in June",), "who left the last day of school in June"),
        ("not last week but the week before: who left", ("not last week but the week before",), ": who left"),
    ],
)
def test_only_what_means_something_now_alone_is_taken_out(text: str, words: tuple[str, ...], rest: str) -> None:
    answer = understood(text)
    assert (answer.words, answer.searched()) == (words, rest)


@pytest.mark.parametrize(
    ("text", "words", "searched", "about"),
    [
        ("what is going on this week", ("this week",), "what is going on", "what is going on"),
        ("what did I work on yesterday", ("yesterday",), "what did I work on", "what did I work on"),
        ("who logged in 3 days ago", ("3 days ago",), "who logged in", "who logged in"),
        ("what is on, on Monday", ("on Monday",), "what is on,", "what is on,"),
        ("what changed in the last week", ("in the last week",), "what changed", "what changed"),
        ("what broke in March", ("in March",), "what broke in March", "what broke"),
        ("staging 12.03.2026 failed", ("12.03.2026",), "staging 12.03.2026 failed", "staging failed"),
        ("what broke not on last Friday but on 2026-03-12", ("not on last Friday but on 2026-03-12",),
         "what broke not on last Friday but on 2026-03-12", "what broke"),
    ],
)  # fmt: skip
def test_the_words_of_a_time_are_told_without_those_of_the_verb_and_are_not_what_is_asked_about(
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


def test_stretches_that_do_not_meet_are_held_by_one() -> None:
    answer = understood("compare January 2024 and March 2024")
    assert (answer.since, answer.before) == (at("2024-01-01"), at("2024-04-01"))


def test_a_text_that_was_pasted_is_not_read() -> None:
    assert read("last week " * READ_CHARS_MAX, NOW, BERLIN) is None


def test_beyond_the_calendar_nothing_is_read() -> None:
    assert read("9999 years ago", NOW, BERLIN) is None
    assert read("yesterday", -62_135_596_800_000, BERLIN) is None


PIECES = st.sampled_from(
    [*sorted(DATE_WORDS), "the", "of", "in", "on", "at", "since", "until", "between", "and", "from", "to", "before",
     "after", "3", "31", "2024", "2026-02-30", "3rd", "03:00", "pm", ",", ".", "week", "days", "years", "few", "a",
     "Q2", "early", "end", "night", "we", "release", "9999", "-", "half", "not", "but", "Monday",
     "except", "other", "than", "starting", "more", "no", "later", "2pm", "7", "on", "the",
     "twenty", "hundred", "or", "two", "twenty-one", "99.99.2024", "24:61", "now", "date", "present", "up", "through",
     "Q1", "2023", "May", "that"]
)  # fmt: skip


@example("or ago next apr release", 0, "UTC")  # what is left once read as "agor"
@given(
    st.one_of(st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=200)),
    st.integers(-62_135_596_800_000, 253_402_300_799_999),
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


# Names of a kind, which in a row are one stretch.
KINDS = {
    "month": ("January", "March", "May", "June", "Sept"),
    "quarter": ("Q1", "Q2", "Q4"),
    "year": ("2022", "2023", "2024"),
    "weekday": ("Monday", "Thursday", "Sunday"),
}
LEADS = ("", "in", "on", "from", "since", "before", "after", "until", "by", "for", "the", "every", "last", "between")


@given(
    st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.lists(st.sampled_from(KINDS[kind]), min_size=2, max_size=3, unique=True)
    ),
    st.sampled_from(LEADS),
    st.lists(st.sampled_from(("and", "or", "to", "through", "until", "thru", "up to")), min_size=2, max_size=2),
    st.sampled_from(("", " 2021", " last year", " standups", " what broke", " we met", ", and who left", " or so")),
    st.integers(0, 2_000_000_000_000),
)
def test_names_in_a_row_are_read_whole_or_not_at_all(
    names: list[str], lead: str, joins: list[str], rest: str, now: int
) -> None:
    said = names[0] + "".join(f" {join} {name}" for join, name in zip(joins, names[1:], strict=False))
    answer = read(f"who left {lead} {said}{rest}", now, BERLIN)
    if answer is not None:
        words = " ".join(answer.words).split()
        assert [name in words for name in names] in ([True] * len(names), [False] * len(names))
