"""A recall of the past finds texts by the words that stood in them then, and by no others.

Each test has a space of its own.
"""

from __future__ import annotations

import pytest
from test_recalling import READER, chain, found, recall, remember
from test_recalling import mesh as mesh
from test_recalling import space as space

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.past import reading_then, worded_then
from mnemesh_actors.recall import picking, words
from mnemesh_memory.values.model import Memory, Patch

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
