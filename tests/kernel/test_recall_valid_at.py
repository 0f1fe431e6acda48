"""What held in the world at a moment, of memories that replaced one another in a chain."""

from __future__ import annotations

import time

import pytest
from test_recalling import READER, found, recall, remember
from test_recalling import mesh as mesh
from test_recalling import module as module
from test_recalling import space as space

from mnemesh_actors import query_plan, recalling
from mnemesh_actors.mesh import Mesh
from mnemesh_memory.model import Draft, ListQuery, Memory

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def test_a_late_index_leaves_time_to_read_what_stood_there_then(
    mesh: Mesh, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        last = await remember(mesh, space, f"Turbine {number} is checked in May")
    monkeypatch.setattr(recalling, "INDEX_SHARE", 0.0)
    answer = await recall(mesh, space, "turbine", mode="keyword", as_of=last.updated_at)
    assert len(answer.results) == 3
    assert answer.degraded[0].startswith("index: it has not answered in time")
