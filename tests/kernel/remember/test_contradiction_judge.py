"""Memories of two writers at once are judged as soon as both are here: one link, nobody's memory replaced, no loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from recall_scene import READER, Here, judge_of, judged, running

from mnemesh_actors.consumers import contradiction_judge
from mnemesh_actors.ledger.commands import Committed, Create
from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS
from mnemesh_memory.values.model import Caller, Link, Memory, Patch

ANA = Caller("ana", "ana", role="writer", spaces=("test", "test/*"))
BOB = Caller("bob", "bob", role="writer", spaces=("test", "test/*"))


@asynccontextmanager
async def unseen(mesh: Mesh) -> AsyncIterator[None]:
    """Forced texts are stored as if the guard had judged each beside nothing, so they have no mark."""
    commits = mesh._parts.commits

    async def unmarked(commands: Sequence[Create]) -> list[Committed | BaseException]:
        return await submit_many([replace(one, draft=replace(one.draft, force=False)) for one in commands])

    submit_many = commits.submit_many
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commits, "submit_many", unmarked)
        yield


async def at_once(here: Here, one: str, other: str) -> tuple[Memory, Memory]:
    """Two memories of two writers, neither of whom has seen the other's."""
    async with unseen(here.mesh):
        done = await asyncio.gather(
            here.mesh.remember(ANA, here.draft(one, force=True)), here.mesh.remember(BOB, here.draft(other, force=True))
        )
    older, newer = sorted((found.memory for found in done), key=lambda memory: (memory.created_at, memory.id))
    return older, newer


async def links_of(here: Here, *memories: Memory) -> list[tuple[Link, ...]]:
    found, _ = await here.mesh.get(READER, [memory.id for memory in memories])
    return [memory.links for memory in found]


async def test_two_writers_at_once_end_in_one_link_and_both_stand(here: Here) -> None:
    older, newer = await at_once(here, "The search cluster has 3 nodes", "The search cluster has 5 nodes")
    await judged(here.mesh)
    assert await links_of(here, older, newer) == [(), (Link(CONTRADICTS, older.id),)]
    found, _ = await here.mesh.get(READER, [older.id, newer.id])
    assert [memory.state for memory in found] == ["active", "active"]
    page = await here.mesh.history(READER, newer.id)
    assert page.total == 1, "a link is no revision"


async def test_a_forced_text_is_not_judged_until_its_words_change(here: Here) -> None:
    older = await here.mesh.remember(ANA, here.draft("The ferry dock has 3 gates"))
    newer = await here.mesh.remember(BOB, here.draft("The ferry dock has 5 gates", force=True))
    await here.mesh.update(ANA, newer.memory.id, Patch(importance=0.9))
    await judged(here.mesh)
    assert await links_of(here, older.memory, newer.memory) == [(), ()]
    await here.mesh.update(BOB, newer.memory.id, Patch(content="The ferry dock has 6 gates"))
    await judged(here.mesh)
    assert await links_of(here, older.memory, newer.memory) == [(), (Link(CONTRADICTS, older.memory.id),)]


async def test_its_own_links_and_a_decision_cause_no_new_judgement(here: Here) -> None:
    older, newer = await at_once(here, "The lease of the harbour ends in 2031", "The lease of the harbour ends in 2035")
    await judged(here.mesh)
    _, head = await here.mesh._parts.ledger.position()
    await judged(here.mesh)
    assert (await here.mesh._parts.ledger.position())[1] == head
    await here.mesh.unlink(READER, newer.id, CONTRADICTS, older.id)
    await here.mesh.rate(BOB, older.id, useful=True)
    await judged(here.mesh)
    assert await links_of(here, older, newer) == [(), (Link(BOTH_HOLD, older.id),)]


async def test_a_pair_that_somebody_linked_and_distinct_facts_are_left_alone(here: Here) -> None:
    async with unseen(here.mesh):
        first = await here.mesh.remember(ANA, here.draft("The pump runs at 40 bar", force=True))
        second = await here.mesh.remember(
            BOB, here.draft("The pump runs at 60 bar", force=True, links=(Link("see-also", first.memory.id),))
        )
        tea = await here.mesh.remember(ANA, here.draft("Ana drinks tea", force=True))
        gate = await here.mesh.remember(BOB, here.draft("The gate of quay nine opens at 5", force=True))
    await judged(here.mesh)
    memories = (first.memory, second.memory, tea.memory, gate.memory)
    assert [len(links) for links in await links_of(here, *memories)] == [0, 1, 0, 0]


async def test_a_fault_of_the_index_and_a_restart_lose_no_judgement(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        here = Here(mesh, "test")
        judge_of(mesh)._able.clear()  # as if it had not come round to it before the end
        older, newer = await at_once(here, "The search cluster has 3 nodes", "The search cluster has 5 nodes")
        assert await links_of(here, older, newer) == [(), ()]
    async with running(tmp_path) as here.mesh:
        await judged(here.mesh)
        assert await links_of(here, older, newer) == [(), (Link(CONTRADICTS, older.id),)]


async def test_a_damaged_memory_that_should_hold_a_link_holds_up_no_other(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        here = Here(mesh, "test")
        judge_of(mesh)._able.clear()
        _, damaged = await at_once(here, "The search cluster has 3 nodes", "The search cluster has 5 nodes")
    with closing(sqlite3.connect(tmp_path / "ledger" / "0.sqlite")) as db:
        db.execute("UPDATE entry SET raw = x'00' WHERE doc = ?", (damaged.id,))
        db.commit()
    async with running(tmp_path) as here.mesh:
        older, newer = await at_once(
            here, "The lease of the harbour ends in 2031", "The lease of the harbour ends in 2035"
        )
        await judged(here.mesh)
        assert await links_of(here, damaged, older, newer) == [(), (), (Link(CONTRADICTS, older.id),)]


async def test_many_texts_against_one_get_a_bounded_number_of_links(here: Here) -> None:
    most = contradiction_judge.CONTRADICTIONS_MAX
    texts = [f"The billing service stores invoices in database number {number}" for number in range(most + 4)]
    drafts = [here.draft(text, force=True) for text in texts]
    writers = (ANA, BOB)
    async with unseen(here.mesh):
        done = await asyncio.gather(*(here.mesh.remember(writers[n % 2], draft) for n, draft in enumerate(drafts)))
    await judged(here.mesh)
    for links in await links_of(here, *(one.memory for one in done)):
        assert len(links) <= most


async def test_a_hostile_text_is_judged_within_the_bounds_of_the_guard(here: Here) -> None:
    hostile = "The search cluster has 3 nodes. " * 900
    older, newer = await at_once(here, hostile[:30_000], "The search cluster has 5 nodes")
    await judged(here.mesh)
    found, _ = await here.mesh.get(READER, [older.id, newer.id])
    assert [memory.state for memory in found] == ["active", "active"]
    assert all(len(memory.links) <= guard.CONTRADICTS_MAX for memory in found)


async def test_a_memory_that_another_writer_has_changed_steps_back_for_nobody_but_its_writer(here: Here) -> None:
    mine = await here.mesh.remember(ANA, here.draft("Session tokens expire after 40 minutes"))
    await here.mesh.update(BOB, mine.memory.id, Patch(content="Session tokens expire after 50 minutes"))
    done = await here.mesh.remember(ANA, here.draft("Session tokens expire after 60 minutes"))
    assert (done.action, done.memory.links) == ("ADD", (Link(CONTRADICTS, mine.memory.id),))
    assert "another writer's" in done.reason
    ((stands,), _) = await here.mesh.get(READER, [mine.memory.id])
    assert stands.state == "active"


async def test_a_retried_command_answers_what_its_commit_has_done(here: Here) -> None:
    old = await here.mesh.remember(ANA, here.draft("Session tokens expire after 40 minutes"))
    sent: list[Create] = []
    commits = here.mesh._parts.commits
    submit_many = commits.submit_many

    async def noted(commands: Sequence[Create]) -> list[Committed | BaseException]:
        sent.extend(commands)
        return await submit_many(commands)

    here.patch.setattr(commits, "submit_many", noted)
    await here.mesh.update(BOB, old.memory.id, Patch(content="Session tokens expire after 50 minutes"))
    done = await here.mesh.remember(ANA, here.draft("Session tokens expire after 60 minutes"))
    assert done.action == "ADD"
    assert sent[-1].replaces
    again = await commits.submit(sent[-1])
    assert (again.action, again.replayed, again.memory.id) == ("ADD", True, done.memory.id)
