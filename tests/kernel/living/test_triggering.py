"""Triggers over a real mesh: who makes them fire, and what of them outlives the node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from doubles import failing
from follower_scene import until
from recall_scene import READER, Here, running

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.policy.rules.triggers import FIRED_TAG, TAG, Trigger
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, PermissionDenied, Unavailable
from mnemesh_memory.values.model import Caller, Draft, Patch, Query, Source

ANA = Caller("ana", "ana", role="writer", spaces=("team",))
RITA = Caller("rita", "rita", role="reader", spaces=("team",))
BOB = Caller("bob", "bob", role="writer", spaces=("other",))


async def add(mesh: Mesh, space: str, on: str = "keyword", pattern: str = "deploy", **more: bool) -> Trigger:
    return await mesh.create_trigger(READER, on, pattern, content=f"about {pattern}", space=space, **more)


async def asked(mesh: Mesh, space: str, text: str = "how to deploy", caller: Caller = READER) -> tuple[str, ...]:
    return (await mesh.recall(caller, Query(text=text, spaces=(space,)))).triggered


async def test_a_fired_trigger_says_so_in_its_memory_and_list(here: Here) -> None:
    trigger = await add(here.mesh, here.space)
    assert await asked(here.mesh, here.space) == (trigger.id,)
    await here.mesh._triggering.close()
    (memory,), _ = await here.mesh.get(READER, [trigger.id])
    assert (memory.tags, memory.version) == ((TAG, FIRED_TAG), 1)
    ((listed,), _, _) = await here.mesh.list_triggers(READER, (here.space,))
    assert listed.fired
    await here.mesh.create_trigger(READER, "keyword", "deploy", key=trigger.id)
    assert await asked(here.mesh, here.space) == (trigger.id,)


async def test_the_text_of_a_trigger_fires_itself_neither_when_stored_nor_when_stored_again(here: Here) -> None:
    trigger = await here.mesh.create_trigger(
        READER, "keyword", "deploy", content="ask before a deploy", space=here.space
    )
    again = await here.mesh.remember(READER, here.draft("ask before a deploy"))
    assert (again.action, again.memory.id, again.triggered) == ("NOOP", trigger.id, ())
    assert (await here.mesh.remember(READER, here.draft("the deploy failed"))).triggered == (trigger.id,)


async def test_a_batch_fires_a_trigger_by_its_first_text_only(here: Here) -> None:
    trigger = await add(here.mesh, here.space)
    done = await here.mesh.remember_batch(READER, [here.draft(f"deploy number {number}") for number in range(3)])
    assert [one.triggered for one in done] == [(trigger.id,), (), ()]
    often = await add(here.mesh, here.space, pattern="rollback", repeating=True)
    answers = await here.mesh.recall_batch(READER, [Query(text="rollback", spaces=(here.space,))] * 2)
    assert [answer.triggered for answer in answers] == [(often.id,), (often.id,)]


async def test_a_folder_fires_by_where_a_memory_was_written_and_where_a_question_looks(here: Here) -> None:
    trigger = await add(here.mesh, here.space, "directory", "/srv/app", repeating=True)
    done = await here.mesh.remember(READER, here.draft("a note", source=Source(dir="/srv/app/sub")))
    assert done.triggered == (trigger.id,)
    for more in ({"source_dir": "/srv/app"}, {"paths": ("/srv/app/a.py",)}):
        assert (await here.recall("a note", **more)).triggered == (trigger.id,)
    assert (await here.recall("a note")).triggered == ()


async def test_a_time_fires_at_the_first_call_after_it(here: Here) -> None:
    trigger = await add(here.mesh, here.space, "time", "1s")
    now = here.mesh._parts.clock()
    assert await asked(here.mesh, here.space, "anything") == ()
    here.patch.setattr(here.mesh._triggering, "_parts", replace(here.mesh._parts, clock=lambda: now + 2000))
    assert await asked(here.mesh, here.space, "anything") == (trigger.id,)


async def test_only_readers_of_its_space_make_a_trigger_fire(mesh: Mesh) -> None:
    trigger = await mesh.create_trigger(ANA, "keyword", "kiln", content="ask ana", space="team")
    assert (await mesh.remember(BOB, Draft(content="the kiln is hot", space="other"))).triggered == ()
    with pytest.raises(PermissionDenied):
        await asked(mesh, "team", "kiln", BOB)
    with pytest.raises(PermissionDenied):
        await mesh.list_triggers(BOB, ("team",))
    for caller in (BOB, RITA):
        with pytest.raises(PermissionDenied):
            await mesh.create_trigger(caller, "keyword", "x", content="x", space="team")
    with pytest.raises(PermissionDenied):
        await mesh.delete_trigger(RITA, trigger.id)
    assert await asked(mesh, "team", "kiln", RITA) == (trigger.id,)
    await mesh._triggering.close()
    (memory,), _ = await mesh.get(ANA, [trigger.id])
    assert (memory.tags, memory.by) == ((TAG, FIRED_TAG), "ana")


async def test_the_private_space_of_a_writer_fires_by_a_write_elsewhere(mesh: Mesh) -> None:
    trigger = await mesh.create_trigger(ANA, "keyword", "glaze", content="mine alone", space="@ana")
    assert (await mesh.remember(READER, Draft(content="the glaze cracks", space="team"))).triggered == ()
    assert (await mesh.remember(ANA, Draft(content="the glaze is dry", space="team"))).triggered == (trigger.id,)


async def test_whatever_changes_the_memory_changes_the_trigger(here: Here) -> None:
    table, trigger = here.mesh._parts.triggers, await add(here.mesh, here.space)
    for end, begin in (
        (here.mesh.forget(READER, trigger.id), here.mesh.restore(READER, trigger.id)),
        (
            here.mesh.update(READER, trigger.id, Patch(tags=())),
            here.mesh.update(READER, trigger.id, Patch(tags=(TAG,))),
        ),
    ):
        await end
        await until(lambda: table.count(here.space) == 0)
        await begin
        await until(lambda: table.count(here.space) == 1)
    await here.mesh.purge(READER, trigger.id)
    await until(lambda: table.count(here.space) == 0)


async def test_a_space_takes_no_more_triggers_than_its_limit(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRIGGERS_MAX", 1)
    await add(here.mesh, here.space)
    with pytest.raises(FailedPrecondition, match="1 armed triggers"):
        await add(here.mesh, here.space)


async def test_triggers_outlive_the_node_and_those_that_fired_stay_fired(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        once, other, often = (
            await add(mesh, "team"), await add(mesh, "@owner", pattern="kiln"), await add(mesh, "team", repeating=True),
        )  # fmt: skip
        assert await asked(mesh, "team") == (once.id, often.id)
    async with running(tmp_path) as mesh:
        assert len(mesh._parts.triggers) == 2
        assert await asked(mesh, "team") == (often.id,)
        assert await asked(mesh, "@owner", "kiln") == (other.id,)


async def test_a_firing_that_the_ledger_does_not_take_is_repeated_once_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        trigger = await add(mesh, "team")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mesh._parts.commits, "submit", failing(Unavailable("the ledger is away")))
            assert await asked(mesh, "team") == (trigger.id,)
            await mesh._triggering.close()
        assert await asked(mesh, "team") == ()
    async with running(tmp_path) as mesh:
        assert await asked(mesh, "team") == (trigger.id,)
    async with running(tmp_path) as mesh:
        assert await asked(mesh, "team") == ()
