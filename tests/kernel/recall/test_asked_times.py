"""Recall and words of time: the searches it asks for, and the words of its answer. The search is a recording fake."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from itertools import accumulate
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from plain_memories import plain_memory

from mnemesh_actors.recall.plan import Role, answer_of, plan_of, steps
from mnemesh_actors.recall.results import cost_of
from mnemesh_actors.runtime.zones import LocalZone, machine_zone, name_of, zone_named
from mnemesh_memory.ranking.answers import Hit, Recalled
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.calendar import instant, wall_time
from mnemesh_memory.times.window import BY_EVENT, TimeRead, Window
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Memory, Query

BERLIN = ZoneInfo("Europe/Berlin")


def ms(text: str) -> int:
    return instant(datetime.fromisoformat(text), BERLIN)


def memory(id_: str, when: str, valid: str = "", kind: str = "fact") -> Memory:
    return plain_memory(id_, id_, ms(when), kind=kind, valid_from=ms(valid) if valid else None)


class Search:
    """Finds its memories, those of the window first, and records every question. It is sure of its answer when a
    word of the question is the id of a memory."""

    def __init__(self, *memories: Memory) -> None:
        self.memories = memories
        self.asked: list[Query] = []

    async def __call__(self, query: Query) -> Recalled:
        self.asked.append(query)
        window = query.window or Window(None, None)
        inside = [one for one in self.memories if window.holds(happened_at(one), one.id)]
        found: Sequence[Memory] = inside if window.only else [*inside, *(o for o in self.memories if o not in inside)]
        found = [one for one in found if not query.kinds or one.kind in query.kinds]
        named = [one for one in found if one.id in query.text]
        return Recalled(
            results=tuple(Hit(memory=one, score=0.5) for one in (named or found)[: query.limit]),
            coverage=0.9 if named else 0.1, abstain=not named, tokens_used=0,
        )  # fmt: skip


async def planned(search: Any, query: Query, zone: tzinfo = BERLIN) -> dict[str, Recalled]:
    """By role, the answers to the steps of a question that is asked on a Wednesday afternoon, and to the whole."""
    plan = plan_of(query, ms("2026-03-18 15:00"), zone)
    answers: dict[Role, Recalled] = {}
    for step in steps(plan, answers):
        answers[step.role] = await search(step.query)
    return {**{role.value: answer for role, answer in answers.items()}, "": answer_of(plan, answers)}


async def answered(search: Any, text: str, **fields: Any) -> Recalled:
    return (await planned(search, Query(text=text, spaces=("s",), **fields)))[""]


async def asked(search: Search, text: str, **fields: Any) -> tuple[list[str], TimeRead | None]:
    """Ids of the answer, and how the words of time were read."""
    answer = await answered(search, text, **fields)
    return [hit.memory.id for hit in answer.results], answer.time


OLD, LAST_WEEK, TODAY = memory("old", "2026-01-10"), memory("week", "2026-03-11"), memory("today", "2026-03-18 09:00")


async def test_a_question_without_a_time_is_asked_as_it_stands() -> None:
    search = Search(OLD)
    assert await asked(search, "which keys may be old") == (["old"], None)
    assert [one.window for one in search.asked] == [None]


async def test_the_stretch_is_preferred_and_said_and_the_words_of_now_are_not_searched() -> None:
    search = Search(OLD, LAST_WEEK)
    ids, read = await asked(search, "what did we decide last week about keys")
    assert ids == ["week", "old"]
    window = Window(ms("2026-03-09"), ms("2026-03-16"))
    assert (search.asked[0].text, search.asked[0].window) == ("what did we decide about keys", window)
    assert read == TimeRead(
        words=("last week",), since=window.since, before=window.before, zone="Europe/Berlin", inside=1,
        told='"last week" read as 2026-03-09 up to 2026-03-16 (Europe/Berlin); 1 of 2 results lie in it',
    )  # fmt: skip


async def test_that_there_is_an_answer_does_not_hang_on_its_time() -> None:
    answers = {None: (0.8, False), BY_EVENT: (0.2, True), 1.0: (0.3, True)}

    async def find(query: Query) -> Recalled:
        found, abstain = answers[query.window.surety if query.window else None]
        return Recalled(results=(Hit(memory=LAST_WEEK, score=0.5),), coverage=found, abstain=abstain, tokens_used=0)

    for text in ("what did we decide last week about keys", "what did we decide about keys after the week"):
        answer = await answered(find, text)
        assert (answer.coverage, answer.abstain) == (0.8, False)
    only = await answered(find, "keys last week", time_words="only")
    assert (only.coverage, only.abstain) == (0.3, True)


async def test_what_lies_in_the_stretch_but_is_not_shown_is_not_said_to_be_missing() -> None:
    class Strict(Search):
        """Shows what lies in the window last."""

        async def __call__(self, query: Query) -> Recalled:
            answer = await super().__call__(replace(query, limit=10))
            results = answer.results if query.window and query.window.only else answer.results[::-1]
            return replace(answer, results=results[: query.limit])

    ids, read = await asked(Strict(LAST_WEEK, OLD), "what did we decide last week about keys", limit=1)
    assert ids == ["old"]
    assert read.told.endswith("0 of 1 results lie in it")


async def test_of_a_time_alone_what_lies_in_it_is_listed() -> None:
    search = Search(OLD, LAST_WEEK)
    ids, read = await asked(search, "what happened last week", mode="keyword")
    assert ids == ["week"]
    assert [one.text for one in search.asked] == [""]
    assert read.inside == 1


def store() -> Search:
    return Search(
        OLD, LAST_WEEK, memory("filed", "2026-03-12", kind="decision"), memory("bug", "2026-03-12", kind="error")
    )


@pytest.mark.parametrize(
    "text", ["what did we decide last week", "Decisions from last week?", "which decisions were made last week"]
)
async def test_a_kind_that_is_asked_for_beside_a_time_alone_stands_first_before_what_matches(text: str) -> None:
    answer = await answered(store(), text, limit=3)
    assert [(hit.memory.id, hit.score) for hit in answer.results] == [("filed", 1.0), ("week", 0.5), ("bug", 0.5)]
    assert (answer.coverage, answer.abstain) == (1.0, False)
    assert answer.time.inside == 3


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("error", "what broke last week"),
        ("error", "What is broken since last week?"),
        ("error", "what went wrong last week"),
        ("error", "did anything go wrong last week"),
        ("error", "what failed last week"),
        ("error", "problems in the last week"),
        ("error", "what bugs did we fix last week"),
        ("decision", "what did we agree on last week"),
        ("decision", "which agreements were made last week"),
        ("requirement", "what requirements came up last week"),
    ],
)
async def test_a_kind_is_asked_for_by_the_words_that_people_use_for_it(kind: str, text: str) -> None:
    filed = [memory(one, "2026-03-12", kind=one) for one in ("decision", "error", "requirement")]
    answer = await answered(Search(OLD, *filed), text)
    assert [(hit.memory.id, hit.score) for hit in answer.results if hit.score == 1.0] == [(kind, 1.0)]
    assert answer.results[0].memory.id == kind


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("what did we decide last week about keys", {}),
        ("which payments outage did we have last week", {}),
        ("why did the deploy fail last week", {}),
        ("what did we fix last week", {}),
        ("what came up last week", {}),
        ("bugs and decisions of last week", {}),
        ("what did we decide last week", {"kinds": ("fact",)}),
        ("what did we decide last week", {"sort": "recency"}),
        ("what did we decide in January", {}),
    ],
)
async def test_a_kind_is_not_listed_when_more_or_another_one_is_asked_for_or_none_is_there(
    text: str, fields: dict[str, Any]
) -> None:
    answer = await answered(store(), text, **fields)
    assert {hit.score for hit in answer.results} == {0.5}


@pytest.mark.parametrize(("shown", "limit"), [(5, 9), (4, 9), (3, 9), (2, 9), (1, 9), (3, 4), (1, 4), (1, 1)])
async def test_those_of_a_kind_and_what_stands_behind_them_keep_to_the_token_budget_and_say_what_it_left_out(
    shown: int, limit: int
) -> None:
    class Budgeted(Search):
        async def __call__(self, query: Query) -> Recalled:
            answer = await super().__call__(query)
            costs = list(accumulate(map(cost_of, answer.results)))
            fit = sum(query.token_budget is None or cost <= query.token_budget for cost in costs)
            return replace(
                answer, results=answer.results[:fit], tokens_used=sum(map(cost_of, answer.results[:fit])),
                truncated_by_budget=len(costs) - fit,
            )  # fmt: skip

    search = Budgeted(*store().memories, memory("also", "2026-03-11", kind="decision"))
    query = Query(text="what did we decide last week", spaces=("s",), limit=limit)
    whole = (await planned(search, query))[""]
    assert [hit.memory.id for hit in whole.results] == ["filed", "also", "week", "bug", "old"][:limit]
    assert (whole.tokens_used, whole.truncated_by_budget) == (sum(map(cost_of, whole.results)), 0)
    budget = sum(map(cost_of, whole.results[:shown]))
    answer = (await planned(search, replace(query, token_budget=budget)))[""]
    assert (answer.results, answer.tokens_used) == (whole.results[:shown], budget)
    assert answer.truncated_by_budget == min(5, limit) - shown


async def test_what_is_valid_from_a_time_happened_then() -> None:
    search = Search(memory("late", "2026-03-18", valid="2026-03-17"), OLD)
    assert (await asked(search, "what broke yesterday", time_words="only"))[0] == ["late"]


async def test_when_nothing_lies_in_the_stretch_all_times_are_searched_with_all_words_and_it_is_said() -> None:
    search = Search(OLD)
    ids, read = await asked(search, "what did we say about keys last week")
    assert ids == ["old"]
    assert (search.asked[-1].text, search.asked[-1].window) == ("what did we say about keys last week", None)
    assert read.told.endswith("nothing that fits lies in it, so all times were searched")


async def test_only_leaves_out_all_other_times_and_says_why_nothing_is_left() -> None:
    search = Search(OLD, LAST_WEEK)
    assert (await asked(search, "decisions of last week", time_words="only"))[0] == ["week"]
    ids, read = await asked(Search(OLD), "decisions of last week", time_words="only")
    assert ids == []
    assert read.told.endswith("nothing lies in it")


async def test_off_reads_nothing() -> None:
    assert await asked(Search(OLD), "decisions of last week", time_words="off") == (["old"], None)


@pytest.mark.parametrize("text", ["today", "what did we do today", "what happened today?"])
async def test_who_asks_for_a_time_alone_gets_what_lies_in_it(text: str) -> None:
    answer = await answered(Search(OLD, TODAY), text)
    assert [hit.memory.id for hit in answer.results] == ["today"]
    assert (answer.coverage, answer.abstain) == (1.0, False)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("what happened after the week", True),
        ("what did we do before the week", True),
        ("what's new since the week", True),
        ("what to do before the week", False),
        ("what do we do after the week", False),
        ("what should be done before the week?", False),
        ("What has to be said after the week", False),
    ],
)
async def test_memories_around_an_event_are_listed_and_tasks_are_searched_for(text: str, listed: bool) -> None:
    search = Search(LAST_WEEK, OLD, TODAY)
    await asked(search, text)
    assert search.asked[1].text == ("" if listed else text)


@pytest.mark.parametrize(
    ("text", "ids"), [("what broke after the week", ["today"]), ("what held before the week in our plan", ["old"])]
)
async def test_the_time_of_an_event_is_that_of_the_memory_that_tells_of_it(text: str, ids: list[str]) -> None:
    search = Search(LAST_WEEK, OLD, TODAY)
    found, read = await asked(search, text, time_words="only")
    assert search.asked[0].limit == 1
    window = search.asked[1].window
    assert (window.surety, window.event) == (BY_EVENT, "week")
    assert search.asked[1].text == text
    assert read.event_id == "week"
    assert LAST_WEEK.created_at in (read.since, read.before)
    assert found == ids
    assert "by the time of memory week" in read.told


async def test_an_event_that_no_memory_surely_tells_of_bounds_nothing_and_it_is_said() -> None:
    ids, read = await asked(Search(OLD), "what broke after the migration")
    assert ids == ["old"]
    assert (read.words, read.since, read.before) == ((), None, None)
    assert read.told == 'no memory of "the migration" is sure enough, so it bounds nothing'


async def test_now_is_the_time_as_of_which_is_asked() -> None:
    ids, read = await asked(Search(OLD), "what did we do yesterday", as_of=ms("2026-01-11 12:00"))
    assert ids == ["old"]
    assert read.since == ms("2026-01-10")


async def test_words_of_time_are_meant_in_the_zone_of_the_plan() -> None:
    answer = (await planned(Search(OLD), Query(text="yesterday", spaces=("s",)), ZoneInfo("Asia/Tokyo")))[""]
    assert answer.time is not None
    assert answer.time.since == ms("2026-03-16 16:00")


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "Europe", "x" * 100, "\udcff"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="time_zone"):
        zone_named("time_zone", name)


@pytest.mark.parametrize("moment", ["2026-03-29 01:30", "2026-03-29 03:30", "2025-10-26 02:30", "2026-07-01 12:00"])
def test_the_machines_own_zone_takes_a_wall_time_back_to_its_moment(moment: str) -> None:
    at = ms(moment)
    assert instant(wall_time(at, LocalZone()), LocalZone()) == at


def test_the_zone_of_the_machine_has_the_name_by_which_it_can_be_asked_for(tmp_path: Path) -> None:
    database = tmp_path / "zoneinfo"
    database.mkdir()
    link, found = tmp_path / "localtime", set()
    for name in ("UTC", "Asia/Tokyo", "Europe/Berlin"):  # whatever this machine is set to, not all of these are it
        link.symlink_to(database / name)
        zone = machine_zone(link)
        link.unlink()
        found.add(name_of(zone))
        assert name_of(zone) in (name, "")
        assert isinstance(zone, LocalZone) is (name_of(zone) == "")
    assert "" in found
    assert isinstance(machine_zone(tmp_path / "missing"), LocalZone)
    mine = zone_named("time_zone", "")
    assert zone_named("time_zone", name_of(mine)) == mine or isinstance(mine, LocalZone)


def test_a_zone_in_the_environment_counts_before_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        for name in ("Asia/Tokyo", "America/New_York"):
            monkeypatch.setenv("TZ", name)
            time.tzset()
            zone = machine_zone()
            moment = ms("2026-07-01 12:00")
            assert wall_time(moment, zone) == wall_time(moment, ZoneInfo(name))
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_zone_without_a_name_is_told_as_local_time_and_given_as_nothing() -> None:
    answer = (await planned(Search(OLD), Query(text="yesterday", spaces=("s",)), LocalZone()))[""]
    assert answer.time.zone == ""
    assert "(local time)" in answer.time.told


@pytest.mark.parametrize(
    ("text", "fields", "roles"),
    [
        ("which keys may be old", {}, ["main"]),
        ("old keys of last week", {"time_words": "off"}, ["main"]),
        ("keys of last week", {}, ["main", "plain"]),
        ("old keys of last week", {}, ["main", "inside"]),
        ("keys of February", {}, ["main", "inside", "everywhere"]),
        ("keys of February", {"time_words": "only"}, ["main", "inside"]),
        ("what did we decide last week", {}, ["main", "plain", "kind"]),
        ("what broke after the week", {}, ["event", "main", "inside", "kind"]),
    ],
)
async def test_a_plan_is_a_list_of_searches_with_roles(text: str, fields: dict[str, Any], roles: list[str]) -> None:
    answers = await planned(Search(OLD, LAST_WEEK, TODAY), Query(text=text, spaces=("s",), **fields))
    assert list(answers) == [*roles, ""]
