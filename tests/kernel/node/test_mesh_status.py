"""The mesh's account of itself, and of the neighbours of a text."""

from __future__ import annotations

import asyncio

import pytest

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.transcripts.sessions import TranscriptDraft, TurnDraft
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded
from mnemesh_memory.values.model import Caller, Draft, Written

CALLER = Caller("owner/tester", "owner")


async def test_an_index_that_catches_up_is_behind_however_little(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    await mesh.remember(CALLER, Draft(content="The index holds this."))
    assert (await mesh.status()).index[0].state == "ok"
    follower = mesh._parts.follower
    monkeypatch.setattr(follower, "_goal", follower.applied + 1)
    status = await mesh.status()
    assert (status.index[0].state, status.index[0].lag, status.state) == ("behind", 0, "ready")


async def test_a_ledger_that_says_nothing_is_a_fault_that_is_told_in_time_however_many_ask(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await mesh.ledger_fault() == ""
    asked, ask = 0, mesh._ask_ledger
    on = asyncio.Event()

    async def silent() -> None:
        await on.wait()

    async def counted() -> str:  # the node's own parts ask the ledger for its position as well
        nonlocal asked
        asked += 1
        return await ask()

    monkeypatch.setattr(mesh, "_ask_ledger", counted)
    monkeypatch.setattr(limits, "LEDGER_ANSWER_S", 0.05)
    monkeypatch.setattr(limits, "LEDGER_STATUS_S", 0.05)
    monkeypatch.setitem(mesh._parts.ledger.__dict__, "position", silent)
    monkeypatch.setitem(mesh._parts.ledger.__dict__, "status", silent)
    told = await asyncio.gather(*(mesh.ledger_fault() for _ in range(20)))
    assert set(told) == {"the ledger has not answered within 0.05 s"}
    assert asked == 1
    with pytest.raises(DeadlineExceeded, match="the ledger has not answered"):
        await mesh.status()
    monkeypatch.undo()
    assert await mesh.ledger_fault() == ""


async def test_far_memories_are_no_neighbours_and_near_ones_are(mesh: Mesh) -> None:
    first = await mesh.remember(CALLER, Draft(content="Postgres keeps the payments.", space="near"))
    far = await mesh.remember(CALLER, Draft(content="The cat sleeps on the sofa.", space="near"))
    assert far.related == ()
    assert 0.5 < far.novelty < 1.0, "it still is how far the nearest is"
    checked = await mesh.check(CALLER, Draft(content="The payments are kept in Postgres.", space="near"))
    assert [item.id for item in checked.related] == [first.memory.id]


@pytest.mark.parametrize("below", ["", "/notes", "/notes/2026"])
@pytest.mark.parametrize("left", ["memory", "erased memory", "session"])
async def test_a_private_space_is_inhabited_by_anything_in_it_or_below(mesh: Mesh, left: str, below: str) -> None:
    name = f"{left}{below}".replace(" ", "-").replace("/", "-")
    caller, space = Caller(f"{name}/cli", name, role="owner"), f"@{name}{below}"
    assert not await mesh.inhabited(name)
    if left == "session":
        turn = TurnDraft(id="u1", role="user", text="zebra")
        await mesh.transcripts.add(caller, TranscriptDraft(session="s1", space=space, turns=(turn,)))
    else:
        written = await mesh.remember(caller, Draft(content=f"zebra {space}", space=space))
        if left == "erased memory":
            await mesh.purge(caller, written.memory.id)
    assert await mesh.inhabited(name)
    assert not await mesh.inhabited(name[:-1])
    assert not await mesh.inhabited(f"{name}-2")


async def test_two_near_texts_of_one_batch_hear_of_each_other(mesh: Mesh) -> None:
    first, far, second = await mesh.remember_batch(
        CALLER,
        [
            Draft(content="Postgres keeps the invoices.", space="batch"),
            Draft(content="The cat sleeps on the sofa.", space="batch"),
            Draft(content="The invoices are kept in Postgres.", space="batch"),
        ],
    )
    assert isinstance(first, Written)
    assert isinstance(far, Written)
    assert isinstance(second, Written)
    assert (first.related, far.related) == ((), ())
    assert [one.id for one in second.related] == [first.memory.id]
    assert second.novelty == pytest.approx(1 - second.related[0].similarity)
