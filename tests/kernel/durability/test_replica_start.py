"""The ledgers of a node on several machines."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from follower_scene import until
from ledger_builders import Pen

from mnemesh_actors.ledger.commands import Committed
from mnemesh_actors.ledger.replica_ledger import Scout, site_root
from mnemesh_actors.replication.replica_record import REPLICAS_FILE, Known, ReplicaRecord, read_record, refuse_elsewhere
from mnemesh_actors.replication.replicas import REPLICAS, Fleet
from mnemesh_actors.runtime.base import ANYWHERE, Machine, Place
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.local import LocalHandle, LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_crdt.changes.envelope import node_id_of
from mnemesh_crdt.sync.greeting import Me, StreamRefused, check_hello, hello_of
from mnemesh_crdt.sync.proof import NONCE_BYTES
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant, any_matches, check_pattern
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable

PATIENCE_S = 60.0
NEVER_S = 3600.0
ONE, TWO, THREE = (Known(name, f"10.0.0.{at}", f"/srv/{name}") for at, name in enumerate(("one", "two", "three"), 1))


def test_a_start_waits_for_the_primary_and_for_ledgers_that_are_ahead_of_it() -> None:
    record = ReplicaRecord("one", (ONE, TWO, Known("three", "10.0.0.3", "/srv/three", ahead=True)))
    assert [known.node_id for known in record.awaited({"two"})] == ["one", "three"]
    assert [known.node_id for known in record.awaited({"one"})] == ["three"]
    assert record.awaited({"one", "three"}) == ()
    assert ReplicaRecord().awaited(()) == ()


def test_a_ledger_that_was_level_with_the_primary_stands_for_it() -> None:
    record = ReplicaRecord("one", (ONE, TWO)).following("one", [ONE, TWO], (), {"two"}, REPLICAS)
    assert record.awaited({"two"}) == ()
    assert record.first({"two": 4, "three": 9}) == "two"
    assert [known.node_id for known in record.awaited({"three"})] == ["one"]
    alone = record.following("one", [ONE, TWO], (), (), REPLICAS)
    assert [known.node_id for known in alone.awaited({"two"})] == ["one"]


def test_the_former_primary_goes_on_then_one_that_is_ahead_then_the_longest_log() -> None:
    record = ReplicaRecord("one", (ONE, TWO, Known("three", "10.0.0.3", "/srv/three", ahead=True)))
    assert record.first({"one": 3, "two": 9, "three": 9}) == "one"
    assert record.first({"two": 9, "three": 4}) == "three"
    assert record.first({"two": 9, "four": 10}) == "four"


def test_a_ledger_that_is_ahead_stays_noted_and_one_that_is_merely_away_goes_once_there_are_enough() -> None:
    record = ReplicaRecord("one", (ONE, TWO))
    assert [known.node_id for known in record.following("one", [ONE], (), (), REPLICAS).replicas] == ["one", "two"]
    assert [known.node_id for known in record.following("one", [ONE, THREE], (), (), REPLICAS).replicas] == [
        "one",
        "three",
    ]
    ahead = record.following("one", [ONE, THREE], {"two"}, (), REPLICAS)
    assert [(known.node_id, known.ahead) for known in ahead.replicas] == [
        ("one", False), ("three", False), ("two", True),
    ]  # fmt: skip
    assert not any(known.ahead for known in ahead.following("one", [ONE, TWO], (), (), REPLICAS).replicas)


def test_a_record_is_read_as_it_was_written_and_one_of_an_earlier_version_too(tmp_path: Path) -> None:
    record = ReplicaRecord("one", (ONE, Known("two", "10.0.0.2", "/srv/two", ahead=True)))
    record.write(tmp_path)
    assert read_record(tmp_path) == record
    file = tmp_path / "replicas.json"
    value = json.loads(file.read_text())
    for replica in value["replicas"]:
        del replica["ahead"], replica["level"]
    file.write_text(json.dumps(value))
    assert read_record(tmp_path) == ReplicaRecord("one", (ONE, TWO))


class Machines(LocalRuntime):
    """Machines at 10.0.0.x, of which those in `up` are in the cluster. The others, and those that are `dead`, refuse
    every call."""

    def __init__(self, up: set[int]) -> None:
        super().__init__()
        self.up = up
        self.dead: set[int] = set()

    async def machines(self) -> tuple[Machine, ...]:
        return tuple(Machine(f"m{number}", f"10.0.0.{number}") for number in sorted(self.up))

    async def spawn(self, name: str, cls: type, *args: Any, place: Place = ANYWHERE) -> Any:
        handle = await super().spawn(name, cls, *args)
        return _OnMachine(handle, self, int(place.machine.removeprefix("m")))

    async def drop(self, handle: Any) -> None:
        await super().drop(handle.of)


class _OnMachine:
    def __init__(self, of: LocalHandle, machines: Machines, number: int) -> None:
        self.of = of
        self.name = of.name
        self._machines = machines
        self._number = number

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any) -> Any:
            if self._number not in self._machines.up - self._machines.dead:
                raise Unavailable("gone", part=self.name)
            return await getattr(self.of, method)(*args)

        return call


class Life:
    """One life of a node after the other, with the same directories."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.pen = Pen()
        self.notices: list[str] = []
        self.fleet: Fleet
        self.runtime: Machines
        self._noise = itertools.count(1)

    async def begin(
        self, up: set[int], wait_s: float = NEVER_S, come: set[int] | None = None, scrub_after_s: float = NEVER_S
    ) -> None:
        """Start with the machines `up`. The machines `come` join during the wait."""
        self.runtime = Machines(set(up))
        self.fleet = Fleet(
            open_directory(self._path / "node"), self.runtime, str(self._path / "{ip}"), lambda: self.pen.now,
            lambda size: next(self._noise).to_bytes(size, "big"), self.notices.append, wait_s, NEVER_S, scrub_after_s,
        )  # fmt: skip
        finding = asyncio.ensure_future(self.fleet.awaited(await self.runtime.machines()))
        if come is not None:
            await until(lambda: len(self.fleet._sites) == len(up))
            self.runtime.up |= come
        await self.fleet.open(await asyncio.wait_for(finding, PATIENCE_S))

    async def die(self) -> None:
        """The necessary note stands before the acknowledgement."""
        await self.fleet.close()
        await self.runtime.close()

    async def write(self, text: str) -> Committed:
        (result,) = await self.fleet.ledger.commit([self.pen.create(text, idempotency_key=text)])
        assert isinstance(result, Committed)
        return result

    @property
    def primary(self) -> int:
        return int(self.fleet.ledger.primary.machine.removeprefix("m"))

    async def on_two(self) -> None:
        await until(lambda: not self.fleet.ledger.degraded)

    async def begin_on_two(self) -> None:
        await self.begin({1, 2})
        await self.on_two()


@pytest_asyncio.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    life = Life(tmp_path)
    yield life
    await life.die()


def harm_everywhere(path: Path, id_: str) -> None:
    for file in path.glob("10.0.0.*/*/ledger/0.sqlite"):
        with closing(sqlite3.connect(file)) as db:
            db.execute("UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?", (id_,))
            db.commit()


async def test_each_ledger_scrubs_its_own_disk_and_the_status_tells_of_both(life: Life, tmp_path: Path) -> None:
    await life.begin_on_two()
    written = await life.write("on both")
    await until(lambda: all(one.acked >= written.seq for one in life.fleet.ledger._others()))
    await life.die()
    harm_everywhere(tmp_path, written.memory.id)
    await life.begin({1, 2}, scrub_after_s=0)
    for scrubber in life.fleet._scrubbers.values():
        await asyncio.wait_for(scrubber.passes.acquire(), PATIENCE_S)
    alarms = (await life.fleet.ledger.status()).alarms
    assert sum("made anew from the log" in alarm and written.memory.id in alarm for alarm in alarms) == 2
    other = life.fleet.ledger._others()[0]
    assert (await other.handle.read([written.memory.id]))[written.memory.id].content == "on both"
    assert sum(alarm.startswith(f"ledger {other.place}: ") for alarm in alarms) == 1


async def written_by_one_alone(life: Life) -> tuple[int, int]:
    """A node whose primary died while its other ledger went on alone: the dead machine, and the complete one."""
    await life.begin_on_two()
    await life.write("on both")
    died = life.primary
    life.runtime.up.discard(died)
    assert (await life.write("on the other alone")).action == "ADD"
    return died, life.primary


async def test_a_move_of_the_primary_is_on_disk_before_the_next_acknowledgement(life: Life, tmp_path: Path) -> None:
    _, alone = await written_by_one_alone(life)
    assert read_record(tmp_path / "node").primary == life.fleet.ledger.primary.identity.node_id
    assert life.fleet.ledger.primary.machine == f"m{alone}"


async def test_a_start_waits_for_the_ledger_that_went_on_alone_though_an_older_one_joins_first(life: Life) -> None:
    died, alone = await written_by_one_alone(life)
    await life.die()
    await life.begin({died}, come={alone})
    assert life.primary == alone
    assert (await life.write("on the other alone")).replayed
    await life.on_two()


async def test_without_it_the_start_goes_on_as_degraded_until_it_is_back(life: Life, tmp_path: Path) -> None:
    died, alone = await written_by_one_alone(life)
    away = life.fleet.ledger.primary.identity.node_id
    await life.die()
    await life.begin({died}, wait_s=0.0)
    state = (await life.fleet.ledger.status()).state
    assert "acknowledged writes may be missing" in state
    assert f"10.0.0.{alone}" in state
    assert "may be missing" in (await life.write("meanwhile")).reason
    assert any("may be missing" in notice for notice in life.notices)
    await life.die()
    await life.begin({died}, wait_s=0.0)  # its knowledge of the lack survives another start
    assert [known.node_id for known in read_record(tmp_path / "node").replicas if known.ahead] == [away]
    life.runtime.up.add(alone)
    await life.on_two()
    assert not any(known.ahead for known in read_record(tmp_path / "node").replicas)
    assert (await life.write("on the other alone")).replayed


async def test_a_primary_that_took_writes_alone_and_is_lost_is_missing_until_it_is_back(life: Life) -> None:
    await life.begin_on_two()
    first = life.primary
    life.runtime.dead = {1, 2} - {first}
    assert "on one machine only" in (await life.write("on the first alone")).reason
    life.runtime.dead = {first}
    assert "may be missing" in (await life.write("on the second alone")).reason
    life.runtime.dead = set()
    await life.on_two()
    assert (await life.write("on the first alone")).replayed


async def test_a_primary_that_is_lost_with_the_node_is_not_waited_for_when_the_other_has_all(life: Life) -> None:
    await life.begin_on_two()
    await life.write("on both")
    lost = life.primary
    await life.die()
    await life.begin({1, 2} - {lost})
    assert (await life.write("on both")).replayed
    assert "may be missing" not in life.fleet.ledger.degraded


async def test_what_one_alone_acknowledged_is_noted_before_its_writer_hears(life: Life, tmp_path: Path) -> None:
    await life.begin_on_two()
    await life.write("on both")
    assert any(known.level for known in read_record(tmp_path / "node").replicas)
    first = life.primary
    life.runtime.dead = {1, 2} - {first}
    await life.write("on the first alone")
    assert not any(known.level for known in read_record(tmp_path / "node").replicas)
    await life.die()
    await life.begin({1, 2} - {first}, come={first})
    assert life.primary == first


# ---- replicas --------------------------------------------------------------------------------------------------------
# Where the ledgers of a node on several machines are looked for, and what is refused.


ALL = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)
ORDINARY = PeerGrant(read=("*",), write=("*",), principal="ana", relay=True)


def me(name: str) -> Me:
    key = name.encode().ljust(32, b".")
    return Me(node_id=node_id_of(key), key=key, incarnation=name, life=name)


def test_every_space_is_between_the_ledgers_of_a_node_and_nobody_can_be_granted_it() -> None:
    with pytest.raises(InvalidArgument):
        check_pattern("spaces", EVERY_SPACE)
    assert any_matches((EVERY_SPACE,), "@owner/notes")
    hello = hello_of(me("far"), ALL, {}, bytes(NONCE_BYTES))
    check_hello(hello, me("near"), "", ALL)
    with pytest.raises(StreamRefused):
        check_hello(hello, me("near"), "", ORDINARY)


def test_a_machine_tells_its_disk_and_whether_the_node_has_a_ledger_there(tmp_path: Path) -> None:
    root = str(tmp_path / "{ip}")
    first = Scout(root, "10.0.0.1").look("node")
    assert (first.taken, first.directory) == (False, str(tmp_path / "10.0.0.1" / "node"))
    Path(first.directory).mkdir()
    again = Scout(root, "10.0.0.1").look("node")
    assert (again.taken, again.disk) == (True, first.disk)
    assert Scout(root, "10.0.0.2").look("node").disk != first.disk


def test_without_a_setting_ledgers_lie_in_the_home_of_rays_user() -> None:
    assert site_root("", "10.0.0.1") == Path.home() / ".local/share/mnemesh-replicas"


def test_a_node_whose_memories_lie_on_other_machines_is_not_started_without_them(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    refuse_elsewhere(directory)
    replica = {"node_id": "a", "address": "10.0.0.1", "directory": "/srv/a"}
    (tmp_path / REPLICAS_FILE).write_text(json.dumps({"primary": "a", "replicas": [replica]}))
    with pytest.raises(FailedPrecondition, match=r"/srv/a on 10\.0\.0\.1"):
        refuse_elsewhere(directory)
    (tmp_path / REPLICAS_FILE).write_text("{")
    with pytest.raises(FailedPrecondition, match="is damaged"):
        read_record(tmp_path)


async def test_who_waits_for_news_is_woken_when_the_numbers_begin_anew() -> None:
    news = LogHead(10)
    waiting = news.after(10)
    news.restart(3)
    with pytest.raises(StopIteration):  # returns at once: nothing is left to wait for
        news.after(2).send(None)
    waiting.close()
    assert (news.head, news.epoch) == (3, 1)
