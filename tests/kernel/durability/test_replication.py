"""Two or three ledgers as one: no acknowledged write is lost with a machine. Faults are injected into the handles;
the ledgers are real."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from follower_scene import until
from ledger_builders import Home, Pen

from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.replication.members import Member, Move
from mnemesh_actors.replication.replicated_ledger import ReplicatedLedger
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_memory.values.errors import MnemeshError, Unavailable

NEVER_S = 3600.0


class Machine:
    """A ledger's handle on a machine that can fail: `dead` refuses calls and `hung` answers none. The answer to
    `loses` is lost after its effect, with the machine, and the answer to `ends_with` is its last."""

    def __init__(self, name: str, home: Home) -> None:
        self.name = name
        self.home = home
        self.state = "ok"
        self.loses = self.ends_with = ""
        self.calls: list[str] = []
        self._healed = asyncio.Event()
        self._handle = LocalHandle(name)

    async def start(self) -> Member:
        home = self.home
        await self._handle.construct(Ledger, str(home.file), str(home.directory.key_file), home.directory.node_id)
        return Member(self, await self._handle.identity(), machine=self.name)

    def heal(self) -> None:
        self.state = "ok"
        self._healed.set()
        self._healed = asyncio.Event()

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method.startswith("_"):
            raise AttributeError(method)

        async def call(*args: Any) -> Any:
            self.calls.append(method)
            if self.state == "dead":
                raise Unavailable("gone", part=self.name)
            if self.state == "hung":
                await self._healed.wait()
            answer = await getattr(self._handle, method)(*args)
            if method == self.loses:
                self.loses, self.state = "", "dead"
                raise Unavailable("gone", part=self.name)
            if method == self.ends_with:
                self.ends_with, self.state = "", "dead"
            return answer

        return call

    async def shut(self) -> None:
        await self._handle.shut()


@dataclass
class Cluster:
    machines: list[Machine]
    ledger: ReplicatedLedger
    pen: Pen = field(default_factory=Pen)
    notices: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    published: list[int] = field(default_factory=list)

    async def done(self, *commands: Command) -> list[Committed]:
        results = await self.ledger.commit(commands)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return [result for result in results if isinstance(result, Committed)]

    async def on_two(self, healed: int | None = None) -> None:
        """Wait until every write is on two machines, after that one has come back."""
        if healed is not None:
            self.machines[healed].heal()
        await until(lambda: not self.ledger.degraded)

    async def contents(self, machine: Machine) -> dict[str, str]:
        state = machine.state
        machine.state = "ok"
        page = await machine.entries(0, 10_000)
        read = await machine.read(page.ids)
        machine.state = state
        return {id_: memory.content for id_, memory in read.items()}


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Cluster]]]:
    made: list[Cluster] = []

    async def build(count: int = 2, **more: float) -> Cluster:
        machines = [Machine(f"ledger-{number}", Home.at(tmp_path / str(number))) for number in range(count)]
        members = [await machine.start() for machine in machines]
        pen = Pen()
        notices: list[str] = []
        noise = (hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(60_000))
        ledger = ReplicatedLedger(
            members, members[0], lambda: pen.now, lambda size: next(noise)[:size], notices.append,
            **{"ack_s": NEVER_S, "hung_s": NEVER_S, **more},
        )  # fmt: skip
        cluster = Cluster(machines, ledger, pen, notices)
        made.append(cluster)
        ledger.follow(cluster.published.append, cluster.moves.append)
        await ledger.start()
        await cluster.on_two()
        return cluster

    yield build
    for cluster in made:
        await cluster.ledger.close()
        for machine in cluster.machines:
            machine.heal()
            await machine.shut()


async def test_a_write_whose_ledger_dies_right_after_it_is_repeated_by_the_other_before_its_answer(make: Any) -> None:
    cluster = await make(ack_s=0.05)
    first, second = cluster.machines
    first.ends_with = "commit"
    (written,) = await cluster.done(cluster.pen.create("survives"))
    assert await cluster.contents(second) == {written.memory.id: "survives"}
    (memory,) = (await cluster.ledger.read([written.memory.id])).values()
    first.heal()
    await cluster.on_two()
    second.ends_with = "commit"
    (revised,) = await cluster.done(cluster.pen.revise(memory, content="revised"))
    assert await cluster.contents(first) == {written.memory.id: "revised"}
    assert revised.memory.content == "revised"


async def test_an_acknowledged_write_is_on_both_machines(make: Any) -> None:
    cluster = await make()
    (written,) = await cluster.done(cluster.pen.create("kept twice"))
    assert written.reason == "new in this space"
    for machine in cluster.machines:
        assert await cluster.contents(machine) == {written.memory.id: "kept twice"}
    status = await cluster.ledger.status()
    assert status.state == "ok"
    assert [(one.role, one.seq, one.lag, one.state) for one in status.replicas] == [
        ("primary", 1, 0, "ok"),
        ("secondary", 1, 0, "ok"),
    ]
    ids = {one.node_id for one in status.replicas} | {one.incarnation for one in status.replicas}
    assert len(ids) == 4


async def test_private_spaces_are_replicated_too(make: Any) -> None:
    cluster = await make()
    (written,) = await cluster.done(cluster.pen.create("for me alone", space="@owner"))
    assert await cluster.contents(cluster.machines[1]) == {written.memory.id: "for me alone"}


async def test_a_write_without_the_second_machine_says_degraded_and_the_next_one_does_not_wait(make: Any) -> None:
    cluster = await make(ack_s=0.05)
    cluster.machines[1].state = "hung"
    (first,) = await cluster.done(cluster.pen.create("one"))
    assert "degraded: on one machine only" in first.reason
    assert (await cluster.ledger.status()).state.startswith("degraded")
    cluster.ledger._ack_s = NEVER_S
    (second,) = await cluster.done(cluster.pen.create("two"))
    assert "degraded" in second.reason
    await cluster.on_two(healed=1)
    assert len(await cluster.contents(cluster.machines[1])) == 2
    assert [notice.partition(":")[0] for notice in cluster.notices] == [
        "ledger degraded",
        "ledger on two machines again",
    ]


@pytest.mark.parametrize("fault", ["dead", "hung"])
async def test_when_the_primary_is_gone_the_other_goes_on_with_every_acknowledged_write(make: Any, fault: str) -> None:
    cluster = await make()
    before = [(await cluster.done(cluster.pen.create(f"before {n}")))[0].memory.id for n in range(5)]
    # Only now, so a disk with one slow moment never counts as a hung machine.
    cluster.ledger._hung_s = cluster.ledger._ack_s = 0.5
    cluster.machines[0].state = fault
    (after,) = await cluster.done(cluster.pen.create("after"))
    assert "degraded" in after.reason
    assert set(await cluster.ledger.read([*before, after.memory.id])) == {*before, after.memory.id}
    (move,) = cluster.moves
    assert move.incarnation == cluster.ledger.members[1].identity.incarnation
    assert (move.head, move.known(5), move.known(3)) == (5, 5, 3)
    await cluster.on_two(healed=0)
    assert await cluster.contents(cluster.machines[0]) == await cluster.contents(cluster.machines[1])


@pytest.mark.parametrize("late", [False, True])
async def test_a_write_whose_answer_went_with_the_machine_is_answered_from_the_others_log(
    make: Any, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = await make()
    (memory,) = await cluster.done(cluster.pen.create("first"))
    other = cluster.machines[1]
    known, arriving = other.known, [True] * late

    async def asked(actors: Sequence[bytes]) -> list[bool]:
        answer: list[bool] = await known(actors)
        if arriving:  # the entries come right after the question for them
            arriving.clear()
            await other.commit(commands)
        return answer

    monkeypatch.setattr(other, "known", asked, raising=False)
    cluster.machines[0].loses = "sync_page"  # the entry is on its way when the machine dies
    commands = [cluster.pen.create("kept", idempotency_key="k"), cluster.pen.revise(memory.memory, content="second")]
    results = await cluster.done(*commands)
    assert [result.action for result in results] == ["ADD", "UPDATE"]
    there = await cluster.contents(cluster.machines[1])
    assert sorted(there.values()) == ["kept", "second"]
    again = (await cluster.done(cluster.pen.create("kept", idempotency_key="k")))[0]
    assert (again.replayed, again.memory.id) == (True, results[0].memory.id)
    await cluster.on_two(healed=0)
    assert await cluster.contents(cluster.machines[0]) == await cluster.contents(cluster.machines[1])


@pytest.mark.parametrize("lost", ["commit", "sync_page"])
async def test_a_new_memory_that_both_machines_wrote_is_one_without_a_conflict(make: Any, lost: str) -> None:
    cluster = await make()
    cluster.machines[0].loses = lost
    (written,) = await cluster.done(cluster.pen.create("written twice", force=True))
    assert cluster.ledger.primary is cluster.ledger.members[1]
    await cluster.on_two(healed=0)
    for machine in cluster.machines:
        assert await cluster.contents(machine) == {written.memory.id: "written twice"}
        found = await machine.read([written.memory.id])
        assert found[written.memory.id].conflicts == ()


async def test_idempotency_keys_hold_on_the_machine_that_goes_on(make: Any) -> None:
    cluster = await make()
    (first,) = await cluster.done(cluster.pen.create("x", idempotency_key="a", force=True))
    (changed,) = await cluster.done(cluster.pen.revise(first.memory, content="y", idempotency_key="b"))
    cluster.machines[0].state = "dead"
    (again,) = await cluster.done(cluster.pen.create("x", idempotency_key="a", force=True))
    (also,) = await cluster.done(cluster.pen.revise(first.memory, content="y", idempotency_key="b"))
    assert (again.replayed, again.memory.id, also.replayed, also.memory.version) == (True, first.memory.id, True, 2)
    assert changed.memory.version == 2


async def test_a_new_machine_fills_from_the_other_with_its_keys(make: Any, tmp_path: Path) -> None:
    cluster = await make(ack_s=0.05)
    for first in range(0, 600, 50):
        numbers = range(first, first + 50)
        await cluster.done(*(cluster.pen.create(f"memory {n}", idempotency_key=f"key {n}") for n in numbers))
    cluster.machines[1].state = "dead"
    await cluster.done(cluster.pen.create("written on one machine"))
    await cluster.ledger.leave(cluster.ledger.members[1])
    fresh = Machine("ledger-new", Home.at(tmp_path / "new"))
    cluster.machines.append(fresh)
    await cluster.ledger.join(await fresh.start())
    await cluster.on_two()
    assert await cluster.contents(fresh) == await cluster.contents(cluster.machines[0])
    cluster.machines[0].state = "dead"
    (again,) = await cluster.done(cluster.pen.create("memory 7", idempotency_key="key 7"))
    assert again.replayed


async def test_what_only_the_dead_machine_had_comes_back_with_it(make: Any) -> None:
    cluster = await make(ack_s=0.05)
    cluster.machines[1].state = "dead"
    (alone,) = await cluster.done(cluster.pen.create("on the first alone"))
    assert "degraded" in alone.reason
    cluster.machines[0].state = "dead"
    cluster.machines[1].heal()
    (other,) = await cluster.done(cluster.pen.create("on the second alone"))
    assert set(await cluster.ledger.read([alone.memory.id, other.memory.id])) == {other.memory.id}
    await cluster.on_two(healed=0)
    assert set(await cluster.ledger.read([alone.memory.id, other.memory.id])) == {alone.memory.id, other.memory.id}
    assert cluster.published[-1] == 2  # so that the index and the watchers learn of it
    (third,) = await cluster.done(cluster.pen.create("then on both"))
    assert third.seq == 3


async def test_with_no_machine_left_a_call_says_so_and_the_first_to_return_serves(make: Any) -> None:
    cluster = await make(ack_s=0.05)
    (kept,) = await cluster.done(cluster.pen.create("kept"))
    for machine in cluster.machines:
        machine.state = "dead"
    with pytest.raises(MnemeshError, match="gone"):
        await cluster.ledger.commit([cluster.pen.create("refused")])
    cluster.machines[1].heal()
    assert set(await cluster.ledger.read([kept.memory.id])) == {kept.memory.id}


async def test_an_erasure_is_on_both_machines_before_it_is_acknowledged(make: Any) -> None:
    cluster = await make()
    (written,) = await cluster.done(cluster.pen.create("to be erased"))
    command = Erase(agent="owner/test", at=cluster.pen.now, actor=b"e" * 16, id=written.memory.id, as_admin=True)
    gone = await cluster.ledger.erase(command)
    assert gone.changes == 1
    for machine in cluster.machines:
        assert await cluster.contents(machine) == {}


async def test_an_erasure_while_the_second_machine_is_dead_says_that_it_is_on_one_only(make: Any) -> None:
    cluster = await make(ack_s=0.05)
    (written,) = await cluster.done(cluster.pen.create("to be erased"))
    cluster.machines[1].state = "dead"
    command = Erase(agent="owner/test", at=cluster.pen.now, actor=b"e" * 16, id=written.memory.id, as_admin=True)
    gone = await cluster.ledger.erase(command)
    assert gone.changes == 1
    assert gone.alone.startswith("degraded: on one machine only, ")
    assert await cluster.contents(cluster.machines[1]) == {written.memory.id: "to be erased"}
    await cluster.on_two(healed=1)
    cluster.ledger._ack_s = NEVER_S
    again = await cluster.ledger.erase(command)
    assert (again.changes, again.alone) == (0, "")
    assert await cluster.contents(cluster.machines[1]) == {}


async def test_with_three_machines_one_that_hangs_is_not_waited_for(make: Any) -> None:
    cluster = await make(3)
    await until(lambda: len(cluster.ledger._current()) == 2)
    cluster.machines[2].state = "hung"
    (written,) = await cluster.done(cluster.pen.create("on two of three"))
    assert "degraded" not in written.reason
    cluster.machines[0].state = "dead"
    (again,) = await cluster.done(cluster.pen.create("on two of three"))
    assert again.memory.id == written.memory.id
    assert cluster.ledger.primary is cluster.ledger.members[1]
