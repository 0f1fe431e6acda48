"""Recall of the past, of moments in the world, and of lost memories."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from doubles import noted
from plain_memories import plain_memory
from recall_scene import READER, Here, found

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall import recall as recalling
from mnemesh_actors.recall import search_calls
from mnemesh_actors.recall.choice import Choice
from mnemesh_actors.recall.results import FoundMemory
from mnemesh_actors.rows import row_source
from mnemesh_actors.rows.row_source import PastRows, rows_of
from mnemesh_gateway.contract.wire import list_response
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Link, ListQuery, Memory, Patch, Query

FEED, TURBINE = "The quokka feed schedule lists carrots", "Completely different: turbine maintenance interval"


async def changed(here: Here, before: str, after: str) -> Memory:
    """The memory as it was before it was changed."""
    memory = await here.remember(before)
    await here.mesh.update(READER, memory.id, Patch(content=after))
    return memory


async def test_a_text_of_the_past_is_found_by_its_own_words_and_not_by_those_of_today(here: Here) -> None:
    memory = await changed(here, FEED, TURBINE)
    then = await here.recall("quokka", mode="keyword", as_of=memory.updated_at)
    assert (found(then), then.degraded) == ([FEED], ())
    assert then.results[0].score > 0.5
    assert found(await here.recall("turbine", mode="keyword", as_of=memory.updated_at)) == []
    assert found(await here.recall("turbine", mode="keyword")) == [TURBINE]
    assert found(await here.recall("quokka", mode="keyword")) == []
    both = await here.recall("what do quokkas eat", as_of=memory.updated_at, explain=True)
    assert found(both) == [FEED]
    assert {one.name: one.share > 0 for one in both.results[0].signals}["words"]


async def test_a_version_of_the_past_leads_to_the_one_that_was_the_last_then(here: Here) -> None:
    versions = await here.chain(FEED, *(f"Successor {number}" for number in range(5)))
    for last in (0, 1, 3):
        then = await here.recall("quokka", mode="keyword", as_of=versions[last].created_at)
        (hit,) = then.results
        assert (hit.memory.id, hit.memory.state) == (versions[last].id, "active")
        assert hit.redirected_from == (versions[0].id if last else "")


async def test_what_the_index_found_and_what_was_read_then_stand_in_one_order(here: Here) -> None:
    best = await here.remember("The quokka feed schedule of winter lists carrots and hay")
    for number in range(5):
        await here.remember(f"Schedule {number} lists turbines", force=True)
    memory = await here.remember("Carrots for the quokka")
    weak = await here.remember("A schedule of turbines, also of the seventh one", force=True)
    for one in (memory, weak):
        await here.mesh.update(READER, one.id, Patch(content=f"Nothing of {one.id}"))
    query = "quokka feed schedule of winter"
    then = await here.recall(query, mode="keyword", as_of=weak.updated_at, limit=20)
    assert found(then)[:2] == [best.content, memory.content]
    assert weak.content in found(then)[2:]
    assert [hit.score for hit in then.results] == sorted((hit.score for hit in then.results), reverse=True)
    assert (then.results[0].score > 0.5, len(then.results)) == (True, 8)


async def test_more_changes_than_are_read_are_told_and_claim_no_word(here: Here) -> None:
    here.patch.setattr(row_source, "CHANGED_MAX", 1)
    kept = await here.remember("A turbine that nobody changed")
    for number in range(3):
        last = await here.remember(f"Quokka {number} eats carrots")
    for memory in (await here.recall("")).results[:3]:
        await here.mesh.update(READER, memory.memory.id, Patch(content=f"turbine {memory.memory.id}"))
    then = await here.recall("turbine", mode="keyword", as_of=last.updated_at)
    assert found(then) == [kept.content]
    told = ("as_of: of the texts that were changed since, words are matched in the last 1 alone",)
    assert then.degraded == told
    then = await here.recall("quokka", mode="keyword", as_of=last.updated_at)
    assert (len(then.results), then.degraded) == (1, told)


async def test_long_texts_of_today_leave_room_for_those_of_the_past(here: Here) -> None:
    here.patch.setattr(row_source, "CHARS_MAX", 4000)
    here.patch.setattr(row_source, "MEASURES_CHARS", 1000)
    for number in range(9):
        await here.remember(f"Quokka report {number}: " + "turbine " * 60)
    memory = await changed(here, FEED, TURBINE)
    then = await here.recall("quokka schedule", mode="keyword", as_of=memory.updated_at, limit=20)
    assert (found(then)[0], len(then.results), then.degraded) == (FEED, 10, ())


async def test_long_histories_are_read_for_a_while_and_the_rest_is_told(here: Here) -> None:
    here.patch.setattr(row_source, "READ_AT_ONCE", 1)
    here.patch.setattr(row_source, "READING_S", 0.0)
    said = [await here.remember(f"Quokka {number} eats carrots") for number in range(3)]
    for number, memory in enumerate(said):
        await here.mesh.update(READER, memory.id, Patch(content=f"turbine {number}"))
    then = await here.recall("turbine", mode="keyword", as_of=said[-1].updated_at)
    assert (found(then), len(then.degraded)) == ([], 1)
    assert then.degraded[0].startswith("as_of: of the texts that were changed since")


async def test_rows_of_the_past_are_read_a_few_at_a_time_and_each_once(here: Here) -> None:
    here.patch.setattr(row_source, "READ_AT_ONCE", 2)
    texts = ("A quokka eats carrots", "The release is called quokka", "We saw no quokka on our trip",
             "Rudi drew a quokka for the logo", "Quokka hats are sold at the fair")  # fmt: skip
    said = [await here.remember(text) for text in texts]
    asked = noted(here.patch, here.mesh._parts.ledger, "read_some_as_of")
    then = await here.recall("quokka", mode="keyword", as_of=said[-1].updated_at)
    assert (len(then.results), then.degraded) == (5, ())
    assert [len(ids) for ids, *_ in asked] == [2, 2, 1]
    assert len({id_ for ids, *_ in asked for id_ in ids}) == 5


async def test_rows_that_could_not_be_read_in_time_are_told(here: Here) -> None:
    """The time is over once two are read: their answer is given, and how many are missing."""
    said = [await here.remember(f"Quokka {number} eats carrots") for number in range(5)]

    read_then = row_source.read_then

    async def two(parts: NodePorts, ids: list[str], at: int, by: float) -> tuple[dict[str, Memory], list[str]]:
        return (await read_then(parts, ids[:2], at))[0], ids[2:]

    here.patch.setattr(row_source, "read_then", two)
    told = "as_of: the time was over before 3 memories could be read as of then, which may belong here"
    for text in ("quokka", ""):
        then = await here.recall(text, mode="keyword", as_of=said[-1].updated_at)
        assert (len(then.results), then.degraded) == (2, (told,))


async def test_a_long_history_is_read_alone_in_its_turn(here: Here) -> None:
    said = [await here.remember(f"Quokka {number} eats carrots") for number in range(3)]
    ids, at = [memory.id for memory in said], said[-1].updated_at
    found_, number = await here.mesh._parts.ledger.read_some_as_of(ids, at, -1.0)
    assert (list(found_), number) == (ids[:1], 1)
    assert await row_source.read_then(here.mesh._parts, ids, at, by=0.0) == ({}, ids)


# ---- valid at --------------------------------------------------------------------------------------------------------
# The memories that held in the world at a moment, in chains of replacements.


async def replaced(here: Here, old: Memory, content: str, **times: int) -> Memory:
    return (await here.mesh.supersede(READER, old.id, here.draft(content, **times)))[0].memory


@pytest.mark.parametrize("purge", [False, True])
async def test_in_bulk_what_is_superseded_now_is_history_whatever_held_then(here: Here, purge: bool) -> None:
    old = await here.remember("The head of Acme is Ann", valid_from=2000)
    new = await replaced(here, old, "The head of Acme is Bob")
    other = await here.remember("The office is in Bern", valid_from=2000)
    named = ListQuery(spaces=(here.space,), valid_at=3000)
    asked = await here.mesh.bulk_forget(READER, named, purge=purge, dry_run=True)
    assert (asked.ids, asked.left_out) == ((other.id,), 1 if purge else asked.left_out)
    done = await here.mesh.bulk_forget(READER, named, purge=purge, dry_run=False)
    assert done.ids == (other.id,)
    page = await here.mesh.list(READER, ListQuery(spaces=(here.space,), state="all"))
    kept = {memory.id: memory.state for memory in page.memories}
    assert (kept[old.id], kept[new.id]) == ("superseded", "active")


async def test_of_a_chain_one_alone_held_at_each_moment(here: Here) -> None:
    ann = await here.remember("The head of Acme is Ann")
    bob = await replaced(here, ann, "The head of Acme is Bob", valid_from=2400)
    await replaced(here, bob, "The head of Acme is Carl", valid_from=2200)
    for at, head in ((2100, "Ann"), (2300, "Carl"), (2500, "Carl")):
        for text in ("head of Acme", ""):
            assert found(await here.recall(text, valid_at=at)) == [f"The head of Acme is {head}"], (at, text)
        page = await here.mesh.list(READER, ListQuery(spaces=(here.space,), valid_at=at))
        assert [memory.content for memory in page.memories] == [f"The head of Acme is {head}"]


async def test_the_words_of_the_old_one_lead_to_the_last_successor_that_held(here: Here) -> None:
    first = await here.remember("Zanzibar is the origin", valid_from=2000, valid_to=2100)
    second = await replaced(here, first, "It is Pemba", valid_from=2100, valid_to=2200)
    third = await replaced(here, second, "It is Mafia", valid_from=2200, valid_to=2300)
    last = await replaced(here, third, "It is Moroni", valid_from=2300)
    held = {2050: first, 2150: second, 2250: third, 2350: last}
    for as_of in (None, last.created_at):
        for at, memory in held.items():
            answer = await here.recall("zanzibar", mode="keyword", valid_at=at, as_of=as_of)
            assert found(answer) == [memory.content], at


async def test_a_chain_goes_on_past_what_is_forgotten(here: Here) -> None:
    first = await here.remember("Zanzibar is the origin", valid_from=2000, valid_to=2100)
    second = await replaced(here, first, "It is Pemba", valid_from=2100, valid_to=2200)
    last = await replaced(here, second, "It is Mafia", valid_from=2200)
    await here.mesh.forget(READER, second.id)
    for as_of in (None, time.time_ns() // 1_000_000):
        answer = await here.recall("zanzibar", mode="keyword", valid_at=2250, as_of=as_of)
        assert found(answer) == [last.content]


async def test_of_very_many_versions_the_active_ones_are_asked_for_apart(here: Here) -> None:
    here.patch.setattr(search_calls, "IDS_MAX", 2)
    here.patch.setattr(search_calls, "CANDIDATES_JUDGED_LATE", 8)
    for number in range(5):
        await here.remember(f"A quokka was seen on hill {number}", wait="durable")
    old = await here.remember("quokka quokka", wait="durable")
    for _ in range(12):
        old = await replaced(here, old, f"{old.content} quokka")
    answer = await here.recall("quokka", mode="keyword", valid_at=old.updated_at, limit=5)
    assert len(answer.results) == 5


async def test_very_many_versions_lead_to_the_one_that_held(here: Here) -> None:
    """More versions than the index gives at once: those that held are asked for apart, together with their
    predecessors."""
    here.patch.setattr(search_calls, "CANDIDATES", 20)
    here.patch.setattr(search_calls, "CANDIDATES_SORTED", 20)
    versions = await here.chain(*(f"Zanzibar reading {number}" for number in range(25)), "It is Moroni")
    now = versions[-1].updated_at
    calls: list[int] = []
    here.patch.setattr(Ledger, "chains", _counted(Ledger.chains, calls))
    for sort in ("relevance", "recency"):
        answer = await here.recall("zanzibar", mode="keyword", sort=sort, valid_at=now, limit=5)
        assert found(answer) == ["It is Moroni"]
        assert len(calls) <= 2, "a chain is read at once"
        calls.clear()
    await here.remember("Zanzibar is an island")
    answer = await here.recall("zanzibar", mode="keyword", valid_at=now + 1000, limit=5)
    assert sorted(found(answer)) == ["It is Moroni", "Zanzibar is an island"]


def _counted(method: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(ledger: Ledger, ids: Sequence[str]) -> Any:
        calls.append(len(ids))
        return method(ledger, ids)

    return counted


async def test_of_very_many_versions_one_that_held_then_is_found_though_it_was_replaced(here: Here) -> None:
    here.patch.setattr(search_calls, "IDS_MAX", 0)
    here.patch.setattr(search_calls, "CANDIDATES_SUPERSEDED", 1)
    here.patch.setattr(search_calls, "CANDIDATES_JUDGED_LATE", 8)
    held = await here.remember("one quokka was seen that day by a man on the hill", valid_from=2000)
    await replaced(here, held, "It was a wallaby", valid_from=3000)
    old = await here.remember("quokka quokka quokka", valid_from=3000)
    for number in range(5):
        old = await replaced(here, old, f"quokka quokka quokka {number}", valid_from=3000)
    await replaced(here, old, "There is none", valid_from=3000)
    for number in range(3):
        await here.remember(f"quokka quokka {number}")
    answer = await here.recall("quokka", mode="keyword", valid_at=2500, limit=5)
    assert sorted(found(answer)) == [held.content, *(f"quokka quokka {number}" for number in range(3))]


async def test_a_predecessor_that_is_judged_after_its_successor_has_its_own_beginning(here: Here) -> None:
    first = await here.remember("Ann", valid_from=100, valid_to=1000)
    second = await replaced(here, first, "Bob", valid_to=2000)
    third = await replaced(here, second, "Carl", valid_from=5000)
    query = Query(text="x", spaces=(here.space,), valid_at=500)
    source = rows_of(here.mesh._parts, query.spaces, query.as_of)
    choice, rows = Choice(here.mesh._parts, query, source), await source.view([first.id, second.id, third.id])
    kept = [
        await choice.passing(query, [FoundMemory(rows[one.id], Fused(one.id, 0.5))]) for one in (third, second, first)
    ]
    assert [[item.memory.content for item in some] for some in kept] == [[], [], ["Ann"]]


class Interrupted:
    """A ledger of which some rows are read in time and the others are not."""

    def __init__(self, *rows: Memory) -> None:
        self._rows = {memory.id: memory for memory in rows}

    async def read_some_as_of(
        self, ids: Sequence[str], at: int, within_s: float, clock: int
    ) -> tuple[dict[str, Memory], int]:
        return {id_: self._rows[id_] for id_ in ids if id_ in self._rows}, len(ids)


def version(id_: str, after: str = "", before: str = "", state: str = "", **times: int) -> Memory:
    state, links = state or ("superseded" if after else "active"), (Link("supersedes", before),) if before else ()
    return plain_memory(id_, id_, space="a", state=state, superseded_by=after, links=links, **times)


BEGAN_LATER = (version("A", "B", valid_from=2000, valid_to=2100), version("B", before="A"))
PAST_FORGOTTEN = (
    version("A", "B", valid_from=2000, valid_to=9000),
    version("B", "C", "A", "forgotten", valid_from=2050),
    version("C", before="B", valid_from=2050),
)


@pytest.mark.parametrize(
    ("rows", "in_time", "shown", "fields", "whole"),
    [
        (BEGAN_LATER, ("B",), "B", {}, []), (BEGAN_LATER, ("B",), "B", {"include_superseded": True}, []),
        (BEGAN_LATER, ("A",), "A", {}, ["A"]), (PAST_FORGOTTEN, ("A", "B"), "A", {}, []),
        (BEGAN_LATER, ("A",), "A", {"include_superseded": True}, ["A"]),
    ],
)  # fmt: skip
async def test_a_chain_of_the_past_that_was_read_in_part_judges_nothing(
    rows: Sequence[Memory], in_time: Sequence[str], shown: str, fields: Mapping[str, Any], whole: Sequence[str]
) -> None:
    query = Query(text="x", spaces=("a",), as_of=5000, valid_at=2060, **fields)
    known = {memory.id: memory for memory in rows}
    for read, judged in (
        (tuple(known), whole),
        (in_time, whole if "include_superseded" in fields and shown == "A" else []),
    ):
        parts: Any = SimpleNamespace(ledger=Interrupted(*rows), clock=lambda: 9000)
        source = PastRows(parts, query.spaces, 5000, math.inf)
        await source.view(read)
        source._by = 0.0  # the time is over
        kept = await Choice(parts, query, source).passing(query, [FoundMemory(known[shown], Fused(shown, 0.5))])
        assert [item.memory.id for item in kept] == judged, read
        if judged != whole:
            assert source.left_out


async def test_a_late_index_leaves_time_to_read_what_stood_there_then(here: Here) -> None:
    for number in range(3):
        last = await here.remember(f"Turbine {number} is checked in May")
    here.patch.setattr(recalling, "INDEX_SHARE", 0.0)
    answer = await here.recall("turbine", mode="keyword", as_of=last.updated_at)
    assert len(answer.results) == 3
    assert answer.degraded[0].startswith("index: it has not answered in time")


# ---- lost ------------------------------------------------------------------------------------------------------------
# A memory damaged in log and view, as a caller meets it: left out and named, an error by its id.


def harm(here: Here, memory: Memory) -> None:
    with closing(sqlite3.connect(here.mesh._parts.ledger._actor.path)) as db:
        db.execute("UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?", (memory.id,))
        db.execute("UPDATE entry SET raw = x'00' WHERE doc = ?", (memory.id,))
        db.commit()


@pytest.mark.parametrize("text", ["harbour lamp", ""])
async def test_a_recall_that_a_lost_memory_matches_gives_the_others_and_names_it(here: Here, text: str) -> None:
    lost = await here.remember("The harbour lamp is red")
    kept = await here.remember("The harbour lamp was green once")
    harm(here, lost)
    for _ in range(2):
        answer = await here.recall(text)
        assert found(answer) == [kept.content]
        assert any("left out" in reason and lost.id in reason for reason in answer.degraded)
    assert not (await Here(here.mesh, f"{here.space}/elsewhere").recall(text)).degraded


async def test_a_list_names_what_it_lacks_and_a_look_up_by_id_is_an_error(here: Here) -> None:
    lost = await here.remember("The bridge opens at eight")
    kept = await here.remember("The ferry leaves at nine")
    harm(here, lost)
    page = await here.mesh.list(READER, ListQuery(spaces=(here.space,)))
    assert [one.id for one in page.memories] == [kept.id]
    (reason,) = list_response(page).degraded_reasons
    assert lost.id in reason
    assert "mnemesh sync now" in reason
    for ids in ([lost.id], [kept.id, lost.id]):
        with pytest.raises(DataLoss, match=lost.id):
            await here.mesh.get(READER, ids)
    assert [one.id for one in (await here.mesh.get(READER, [kept.id]))[0]] == [kept.id]
