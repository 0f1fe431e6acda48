"""Recall of the past, of moments in the world, and of lost memories."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from test_recalling import READER, chain, found, recall, remember
from test_recalling import mesh as mesh
from test_recalling import module as module
from test_recalling import space as space

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.past import reading_then, worded_then
from mnemesh_actors.recall import picking, query_plan, words
from mnemesh_actors.recall import recall as recalling
from mnemesh_actors.recall.picking import Picking
from mnemesh_actors.recall.results import Found
from mnemesh_gateway.contract.wire import list_response
from mnemesh_memory.ranking.fusion import Fused
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Draft, Link, ListQuery, Memory, Patch, Query

pytestmark = pytest.mark.asyncio(loop_scope="module")

FEED, TURBINE = "The quokka feed schedule lists carrots", "Completely different: turbine maintenance interval"


async def changed(mesh: Mesh, space: str, before: str, after: str) -> Memory:
    """The memory as it was before it was changed."""
    memory = await remember(mesh, space, before)
    await mesh.update(READER, memory.id, Patch(content=after))
    return memory


async def test_a_text_of_the_past_is_found_by_its_own_words_and_not_by_those_of_today(mesh: Mesh, space: str) -> None:
    memory = await changed(mesh, space, FEED, TURBINE)
    then = await recall(mesh, space, "quokka", mode="keyword", as_of=memory.updated_at)
    assert (found(then), then.degraded) == ([FEED], ())
    assert then.results[0].score == 1.0
    assert found(await recall(mesh, space, "turbine", mode="keyword", as_of=memory.updated_at)) == []
    assert found(await recall(mesh, space, "turbine", mode="keyword")) == [TURBINE]
    assert found(await recall(mesh, space, "quokka", mode="keyword")) == []
    both = await recall(mesh, space, "what do quokkas eat", as_of=memory.updated_at, explain=True)
    assert found(both) == [FEED]
    assert {one.name: one.share > 0 for one in both.results[0].signals}["words"]


async def test_a_version_of_the_past_leads_to_the_one_that_was_the_last_then(mesh: Mesh, space: str) -> None:
    versions = await chain(mesh, space, FEED, *(f"Successor {number}" for number in range(5)))
    for last in (0, 1, 3):
        then = await recall(mesh, space, "quokka", mode="keyword", as_of=versions[last].created_at)
        (hit,) = then.results
        assert (hit.memory.id, hit.memory.state) == (versions[last].id, "active")
        assert hit.redirected_from == (versions[0].id if last else "")


async def test_what_the_index_found_and_what_was_read_then_stand_in_one_order(mesh: Mesh, space: str) -> None:
    best = await remember(mesh, space, "The quokka feed schedule of winter lists carrots and hay")
    for number in range(5):
        await remember(mesh, space, f"Schedule {number} lists turbines")
    memory = await remember(mesh, space, "Carrots for the quokka")
    weak = await remember(mesh, space, "A schedule of turbines, also of the seventh one")
    for one in (memory, weak):
        await mesh.update(READER, one.id, Patch(content=f"Nothing of {one.id}"))
    query = "quokka feed schedule of winter"
    then = await recall(mesh, space, query, mode="keyword", as_of=weak.updated_at, limit=20)
    assert found(then)[:2] == [best.content, memory.content]
    assert weak.content in found(then)[2:]
    assert [hit.score for hit in then.results] == sorted((hit.score for hit in then.results), reverse=True)
    assert (then.results[0].score, len(then.results)) == (1.0, 8)


async def test_more_changes_than_are_read_are_told_and_claim_no_word(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worded_then, "CHANGED_MAX", 1)
    kept = await remember(mesh, space, "A turbine that nobody changed")
    for number in range(3):
        last = await remember(mesh, space, f"Quokka {number} eats carrots")
    for memory in (await recall(mesh, space, "")).results[:3]:
        await mesh.update(READER, memory.memory.id, Patch(content=f"turbine {memory.memory.id}"))
    then = await recall(mesh, space, "turbine", mode="keyword", as_of=last.updated_at)
    assert found(then) == [kept.content]
    told = ("as_of: of the texts that were changed since, words are matched in the last 1 alone",)
    assert then.degraded == told
    then = await recall(mesh, space, "quokka", mode="keyword", as_of=last.updated_at)
    assert (len(then.results), then.degraded) == (1, told)


async def test_long_texts_of_today_leave_room_for_those_of_the_past(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "CHARS_MAX", 4000)
    monkeypatch.setattr(worded_then, "MEASURES_CHARS", 1000)
    for number in range(9):
        await remember(mesh, space, f"Quokka report {number}: " + "turbine " * 60)
    memory = await changed(mesh, space, FEED, TURBINE)
    then = await recall(mesh, space, "quokka schedule", mode="keyword", as_of=memory.updated_at, limit=20)
    assert (found(then)[0], len(then.results), then.degraded) == (FEED, 10, ())


async def test_long_histories_are_read_for_a_while_and_the_rest_is_told(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worded_then, "READ_AT_ONCE", 1)
    monkeypatch.setattr(worded_then, "READING_S", 0.0)
    said = [await remember(mesh, space, f"Quokka {number} eats carrots") for number in range(3)]
    for number, memory in enumerate(said):
        await mesh.update(READER, memory.id, Patch(content=f"turbine {number}"))
    then = await recall(mesh, space, "turbine", mode="keyword", as_of=said[-1].updated_at)
    assert (found(then), len(then.degraded)) == ([], 1)
    assert then.degraded[0].startswith("as_of: of the texts that were changed since")


async def test_rows_of_the_past_are_read_a_few_at_a_time_and_each_once(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_then, "READ_AT_ONCE", 2)
    said = [await remember(mesh, space, f"Quokka {number} eats carrots") for number in range(5)]
    asked: list[list[str]] = []
    read = mesh._parts.ledger.read_some_as_of

    async def counted(ids: list[str], at: int, within_s: float, clock: int) -> object:
        asked.append(ids)
        return await read(ids, at, within_s, clock)

    monkeypatch.setitem(mesh._parts.ledger.__dict__, "read_some_as_of", counted)
    then = await recall(mesh, space, "quokka", mode="keyword", as_of=said[-1].updated_at)
    assert (len(then.results), then.degraded) == (5, ())
    assert [len(ids) for ids in asked] == [2, 2, 1]
    assert len({id_ for ids in asked for id_ in ids}) == 5


async def test_rows_that_could_not_be_read_in_time_are_told(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over once two are read: their answer is given, and how many are missing."""
    said = [await remember(mesh, space, f"Quokka {number} eats carrots") for number in range(5)]

    async def two(parts: NodePorts, ids: list[str], at: int, by: float) -> tuple[dict[str, Memory], list[str]]:
        return (await reading_then.read_then(parts, ids[:2], at))[0], ids[2:]

    monkeypatch.setattr(picking, "read_then", two)
    told = "as_of: the time was over before 3 memories could be read as of then, which may belong here"
    for text in ("quokka", ""):
        then = await recall(mesh, space, text, mode="keyword", as_of=said[-1].updated_at)
        assert (len(then.results), then.degraded) == (2, (told,))


async def test_a_long_history_is_read_alone_in_its_turn(mesh: Mesh, space: str) -> None:
    said = [await remember(mesh, space, f"Quokka {number} eats carrots") for number in range(3)]
    ids, at = [memory.id for memory in said], said[-1].updated_at
    found_, number = await mesh._parts.ledger.read_some_as_of(ids, at, -1.0)
    assert (list(found_), number) == (ids[:1], 1)
    assert await reading_then.read_then(mesh._parts, ids, at, by=0.0) == ({}, ids)


# ---- valid at --------------------------------------------------------------------------------------------------------
# The memories that held in the world at a moment, in chains of replacements.


async def replaced(mesh: Mesh, old: Memory, content: str, **times: int) -> Memory:
    written, _ = await mesh.supersede(READER, old.id, Draft(content=content, space=old.space, **times))
    return written.memory


@pytest.mark.parametrize("purge", [False, True])
async def test_in_bulk_what_is_superseded_now_is_history_whatever_held_then(
    mesh: Mesh, space: str, purge: bool
) -> None:
    space = f"{space.partition('[')[0]}{int(purge)}"
    old = await remember(mesh, space, "The head of Acme is Ann", valid_from=2000)
    new = await replaced(mesh, old, "The head of Acme is Bob")
    other = await remember(mesh, space, "The office is in Bern", valid_from=2000)
    named = ListQuery(spaces=(space,), valid_at=3000)
    asked = await mesh.bulk_forget(READER, named, purge=purge, dry_run=True)
    assert (asked.ids, asked.left_out) == ((other.id,), 1 if purge else asked.left_out)
    done = await mesh.bulk_forget(READER, named, purge=purge, dry_run=False)
    assert done.ids == (other.id,)
    page = await mesh.list(READER, ListQuery(spaces=(space,), state="all"))
    kept = {memory.id: memory.state for memory in page.memories}
    assert (kept[old.id], kept[new.id]) == ("superseded", "active")


async def test_of_a_chain_one_alone_held_at_each_moment(mesh: Mesh, space: str) -> None:
    ann = await remember(mesh, space, "The head of Acme is Ann")
    bob = await replaced(mesh, ann, "The head of Acme is Bob", valid_from=2400)
    await replaced(mesh, bob, "The head of Acme is Carl", valid_from=2200)
    for at, head in ((2100, "Ann"), (2300, "Carl"), (2500, "Carl")):
        for text in ("head of Acme", ""):
            assert found(await recall(mesh, space, text, valid_at=at)) == [f"The head of Acme is {head}"], (at, text)
        page = await mesh.list(READER, ListQuery(spaces=(space,), valid_at=at))
        assert [memory.content for memory in page.memories] == [f"The head of Acme is {head}"]


async def test_the_words_of_the_old_one_lead_to_the_last_successor_that_held(mesh: Mesh, space: str) -> None:
    first = await remember(mesh, space, "Zanzibar is the origin", valid_from=2000, valid_to=2100)
    second = await replaced(mesh, first, "It is Pemba", valid_from=2100, valid_to=2200)
    third = await replaced(mesh, second, "It is Mafia", valid_from=2200, valid_to=2300)
    last = await replaced(mesh, third, "It is Moroni", valid_from=2300)
    held = {2050: first, 2150: second, 2250: third, 2350: last}
    for as_of in (None, last.created_at):
        for at, memory in held.items():
            answer = await recall(mesh, space, "zanzibar", mode="keyword", valid_at=at, as_of=as_of)
            assert found(answer) == [memory.content], at


async def test_a_chain_goes_on_past_what_is_forgotten(mesh: Mesh, space: str) -> None:
    first = await remember(mesh, space, "Zanzibar is the origin", valid_from=2000, valid_to=2100)
    second = await replaced(mesh, first, "It is Pemba", valid_from=2100, valid_to=2200)
    last = await replaced(mesh, second, "It is Mafia", valid_from=2200)
    await mesh.forget(READER, second.id)
    for as_of in (None, time.time_ns() // 1_000_000):
        answer = await recall(mesh, space, "zanzibar", mode="keyword", valid_at=2250, as_of=as_of)
        assert found(answer) == [last.content]


async def test_of_very_many_versions_the_active_ones_are_asked_for_apart(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "IDS_MAX", 2)
    monkeypatch.setattr(query_plan, "CANDIDATES_JUDGED_LATE", 8)
    monkeypatch.setattr(recalling, "CANDIDATES_JUDGED_LATE", 8)
    for number in range(5):
        await remember(mesh, space, f"A quokka was seen on hill {number}", wait="durable")
    old = await remember(mesh, space, "quokka quokka", wait="durable")
    for _ in range(12):
        old = await replaced(mesh, old, f"{old.content} quokka")
    answer = await recall(mesh, space, "quokka", mode="keyword", valid_at=old.updated_at, limit=5)
    assert len(answer.results) == 5


async def test_very_many_versions_lead_to_the_one_that_held(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More versions than the index gives at once: those that held are asked for apart, together with their
    predecessors."""
    monkeypatch.setattr(query_plan, "CANDIDATES", 20)
    monkeypatch.setattr(query_plan, "CANDIDATES_SORTED", 20)
    versions = await chain(mesh, space, *(f"Zanzibar reading {number}" for number in range(25)), "It is Moroni")
    now = versions[-1].updated_at
    calls: list[int] = []
    monkeypatch.setattr(Ledger, "chains", _counted(Ledger.chains, calls))
    for sort in ("relevance", "recency"):
        answer = await recall(mesh, space, "zanzibar", mode="keyword", sort=sort, valid_at=now, limit=5)
        assert found(answer) == ["It is Moroni"]
        assert len(calls) <= 2, "a chain is read at once"
        calls.clear()
    await remember(mesh, space, "Zanzibar is an island")
    answer = await recall(mesh, space, "zanzibar", mode="keyword", valid_at=now + 1000, limit=5)
    assert sorted(found(answer)) == ["It is Moroni", "Zanzibar is an island"]


def _counted(method: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(ledger: Ledger, ids: Sequence[str]) -> Any:
        calls.append(len(ids))
        return method(ledger, ids)

    return counted


async def test_of_very_many_versions_one_that_held_then_is_found_though_it_was_replaced(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "IDS_MAX", 0)
    monkeypatch.setattr(recalling, "CANDIDATES_SUPERSEDED", 1)
    monkeypatch.setattr(query_plan, "CANDIDATES_JUDGED_LATE", 8)
    held = await remember(mesh, space, "one quokka was seen that day by a man on the hill", valid_from=2000)
    await replaced(mesh, held, "It was a wallaby", valid_from=3000)
    old = await remember(mesh, space, "quokka quokka quokka", valid_from=3000)
    for number in range(5):
        old = await replaced(mesh, old, f"quokka quokka quokka {number}", valid_from=3000)
    await replaced(mesh, old, "There is none", valid_from=3000)
    for number in range(3):
        await remember(mesh, space, f"quokka quokka {number}")
    answer = await recall(mesh, space, "quokka", mode="keyword", valid_at=2500, limit=5)
    assert sorted(found(answer)) == [held.content, *(f"quokka quokka {number}" for number in range(3))]


async def test_a_predecessor_that_is_judged_after_its_successor_has_its_own_beginning(mesh: Mesh, space: str) -> None:
    first = await remember(mesh, space, "Ann", valid_from=100, valid_to=1000)
    second = await replaced(mesh, first, "Bob", valid_to=2000)
    third = await replaced(mesh, second, "Carl", valid_from=5000)
    query = Query(text="x", spaces=(space,), valid_at=500)
    picking = Picking(mesh._parts, query, asyncio.get_running_loop().time() + 60)
    rows = await picking.view([first.id, second.id, third.id])
    kept = [await picking.keep(query, [Found(rows[one.id], Fused(one.id, 0.5))]) for one in (third, second, first)]
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
    return Memory(
        id=id_, space="a", kind="fact", title="", content=id_, state=state or ("superseded" if after else "active"),
        by="ana", created_at=0, updated_at=0, heads=(), superseded_by=after,
        links=(Link("supersedes", before),) if before else (), **times,
    )  # fmt: skip


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
        picking = Picking(parts, query, asyncio.get_running_loop().time() + 60)
        await picking.view(read)
        picking._by = 0.0  # the time is over
        kept = await picking.keep(query, [Found(known[shown], Fused(shown, 0.5))])
        assert [item.memory.id for item in kept] == judged, read
        if judged != whole:
            assert picking.left_out


async def test_a_late_index_leaves_time_to_read_what_stood_there_then(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        last = await remember(mesh, space, f"Turbine {number} is checked in May")
    monkeypatch.setattr(recalling, "INDEX_SHARE", 0.0)
    answer = await recall(mesh, space, "turbine", mode="keyword", as_of=last.updated_at)
    assert len(answer.results) == 3
    assert answer.degraded[0].startswith("index: it has not answered in time")


# ---- lost ------------------------------------------------------------------------------------------------------------
# A memory damaged in log and view, as a caller meets it: left out and named, an error by its id.


def harm(mesh: Mesh, memory: Memory) -> None:
    with closing(sqlite3.connect(mesh._parts.ledger._actor.path)) as db:
        db.execute("UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?", (memory.id,))
        db.execute("UPDATE entry SET raw = x'00' WHERE doc = ?", (memory.id,))
        db.commit()


@pytest.mark.parametrize("text", ["harbour lamp", ""])
async def test_a_recall_that_a_lost_memory_matches_gives_the_others_and_names_it(
    mesh: Mesh, space: str, text: str
) -> None:
    space = f"{space.partition('[')[0]}{bool(text)}"
    lost = await remember(mesh, space, "The harbour lamp is red")
    kept = await remember(mesh, space, "The harbour lamp was green once")
    harm(mesh, lost)
    for _ in range(2):
        answer = await recall(mesh, space, text)
        assert found(answer) == [kept.content]
        assert any("left out" in reason and lost.id in reason for reason in answer.degraded)
    assert not (await recall(mesh, f"{space}/elsewhere", text)).degraded


async def test_a_list_names_what_it_lacks_and_a_look_up_by_id_is_an_error(mesh: Mesh, space: str) -> None:
    lost = await remember(mesh, space, "The bridge opens at eight")
    kept = await remember(mesh, space, "The ferry leaves at nine")
    harm(mesh, lost)
    page = await mesh.list(READER, ListQuery(spaces=(space,)))
    assert [one.id for one in page.memories] == [kept.id]
    (reason,) = list_response(page).degraded_reasons
    assert lost.id in reason
    assert "mnemesh sync now" in reason
    for ids in ([lost.id], [kept.id, lost.id]):
        with pytest.raises(DataLoss, match=lost.id):
            await mesh.get(READER, ids)
    assert [one.id for one in (await mesh.get(READER, [kept.id]))[0]] == [kept.id]
