"""The places of a node's ledgers on several Ray machines: finds them, makes missing ones, replaces lost ones.

    <ray_replica_dir>/machine        names the disk: two Ray nodes that share it are one machine
    <ray_replica_dir>/<node id>/     a data directory with a key, an id and a log of its own
    <data_dir>/replicas.json         where they were last, and who was primary

A machine holds one ledger of a node at most, and finds it again after a restart. A ledger with entries in the data
directory, from a time without other machines, is one of them for good. Nothing here deletes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from mnemesh_actors.actor_table import LEDGER, REPLICA, SCOUT
from mnemesh_actors.ledger.replica_ledger import Site
from mnemesh_actors.notices import Notice
from mnemesh_actors.replication.members import Member
from mnemesh_actors.replication.replica_record import REPLICAS_FILE, Known, has_entries, places, read_record
from mnemesh_actors.replication.replicated_ledger import ReplicatedLedger
from mnemesh_actors.replication.scrubber import FIRST_AFTER_S, Scrubber
from mnemesh_actors.runtime.base import Machine, Place, Runtime
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.storage.data_directory import DataDirectory
from mnemesh_memory.values.errors import MnemeshError, Unavailable

REPLICAS: Final = REPLICA.count
# A machine that is started again within this time finds its own ledger, and nothing has to be filled.
REPLACE_AFTER_S: Final = 5.0
# How long a start waits for ledgers that may hold more, and how often it looks.
LEDGER_WAIT_S: Final = 30.0
POLL_S: Final = 0.5
WATCH_S: Final = 1.0
log = structlog.get_logger("mnemesh.replication")


@dataclass(eq=False)
class Fleet:
    """The ledgers of one node. `open` finds or makes the ledgers. Then `ledger` stands for all, and lost ones are
    replaced."""

    directory: DataDirectory
    runtime: Runtime
    root: str
    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
    notice: Callable[[str], None]
    wait_s: float = LEDGER_WAIT_S
    replace_after_s: float = REPLACE_AFTER_S
    scrub_after_s: float = FIRST_AFTER_S

    def __post_init__(self) -> None:
        self._watch: asyncio.Task[None] | None = None
        self._short_since = asyncio.get_running_loop().time()
        self._sites: dict[str, Site] = {}  # by machine
        self._record = read_record(self.directory.path)
        self._unwritten = False
        self._scrubbers: dict[str, Scrubber] = {}  # by the id of the ledger, each for its own disk
        self.ledger: ReplicatedLedger

    async def awaited(self, machines: Sequence[Machine]) -> Sequence[Machine]:
        """The machines of the cluster, once every ledger that may hold acknowledged writes is there, or after
        `wait_s`."""
        until = asyncio.get_running_loop().time() + self.wait_s
        said = False
        while True:
            await self._look([machine for machine in machines if machine.id not in self._sites])
            here = {machine.id for machine in machines}
            present = {site.ledger for machine, site in self._sites.items() if machine in here}
            if self._has_home():
                present.add(self.directory.node_id)
            away = self._record.awaited(present)
            if not away or asyncio.get_running_loop().time() >= until:
                return machines
            if not said:
                log.info("ledgers_awaited", ledgers=places(away), seconds_max=self.wait_s)
                said = True
            await asyncio.sleep(POLL_S)
            with suppress(Unavailable):  # Ray did not say in time which machines there are
                machines = await self.runtime.machines()

    async def open(self, machines: Sequence[Machine]) -> ReplicatedLedger:
        """Every ledger that is found, and new ones up to REPLICAS when there never were any. Raises Unavailable when
        none of those that there were is in the cluster."""
        known = self._record.replicas
        sites = await self._sites_of(machines)
        members = [await self._home()] if self._has_home() else []
        for machine, site in sites:
            if site.taken:
                members.append(await self._member(machine, site))
        if known and not members:
            raise Unavailable(
                f"no machine that holds this node's memories is in the Ray cluster; they were in {places(known)}. "
                "Start one of them, with the same ray_replica_dir",
                part="ledger",
            )
        # Those of others first: this machine has the doors to serve, and goes with them.
        for machine, site in [*sites[1:], *sites[:1]]:
            if len(members) < (1 if known else REPLICAS) and not site.taken:
                members.append(await self._member(machine, site))
        heads = {member.identity.node_id: (await member.handle.position())[1] for member in members}
        first = self._record.first(heads)
        primary = next(member for member in members if member.identity.node_id == first)
        missing = {replica.node_id: replica.place for replica in self._record.awaited(heads)}
        missing |= {replica.node_id: replica.place for replica in known if replica.ahead and replica.node_id != first}
        self.ledger = ReplicatedLedger(
            members, primary, self.clock, self.entropy, self.notice, noted=self._write, missing=missing
        )
        await self.ledger.start()
        for member in members:
            self._scrub(member)
        self._write()
        self._watch = asyncio.create_task(self._watch_machines(), name="replica-watch")
        self._watch.add_done_callback(self._ended)
        return self.ledger

    async def close(self) -> None:
        """Stop watching and the streams. The runtime ends the ledgers."""
        await cancelled(self._watch)
        for scrubber in self._scrubbers.values():
            await scrubber.close()
        await self.ledger.close()
        self._write()

    def _scrub(self, member: Member) -> None:
        self._scrubbers[member.identity.node_id] = Scrubber(member.handle, self.scrub_after_s).start()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("replica_watch_ended", exc_info=error)
            self.notice(f"lost ledgers are not replaced any more, by a fault of ours: {error!r}; restart the node")

    # ---- finding and making -----------------------------------------------------------------------------------

    def _has_home(self) -> bool:
        return has_entries(self.directory)

    async def _home(self) -> Member:
        home = self.directory
        path = str(home.ledger(0))
        handle = await LEDGER.spawn(self.runtime, path, str(home.key_file), home.node_id, home.reserve_bytes)
        here = (await self.runtime.machines())[0]
        return Member(handle, await handle.identity(), machine=here.id, place=f"{here.address}:{path}")

    async def _look(self, machines: Sequence[Machine]) -> None:
        """Note the sites of the machines. A machine that does not answer is left out."""
        sites = await asyncio.gather(*map(self._scouted, machines))
        self._sites |= {machine.id: site for machine, site in zip(machines, sites, strict=True) if site is not None}

    async def _sites_of(self, machines: Sequence[Machine]) -> list[tuple[Machine, Site]]:
        """The sites of the machines, one for each disk."""
        await self._look([machine for machine in machines if machine.id not in self._sites])
        by_disk: dict[str, tuple[Machine, Site]] = {}
        for machine in machines:
            if (site := self._sites.get(machine.id)) is not None:
                by_disk.setdefault(site.disk, (machine, site))
        return list(by_disk.values())

    async def _scouted(self, machine: Machine) -> Site | None:
        subject = f"machine {machine.address}"
        try:
            place = Place(machine=machine.id)
            scout = await SCOUT.spawn(self.runtime, self.root, machine.address, name=machine.id[:12], place=place)
            try:
                site = await asyncio.wait_for(scout.look(self.directory.node_id), 10.0)
            finally:
                await self.runtime.drop(scout)
        except (MnemeshError, TimeoutError) as error:
            log.warning("machine_not_usable", machine=machine.id, reason=str(error))
            self.notice(Notice(subject, f"machine {machine.address} holds no ledger: {error}"))
            return None
        self.notice(Notice(subject, ""))
        return site

    async def _member(self, machine: Machine, site: Site) -> Member:
        reserve, name, place = self.directory.reserve_bytes, f"0@{machine.id[:12]}", Place(machine=machine.id)
        handle = await REPLICA.spawn(self.runtime, site.directory, reserve, name=name, place=place)
        identity = await handle.identity()
        log.info("replica_opened", replica=identity.node_id, machine=machine.address, new=not site.taken)
        return Member(handle, identity, machine=machine.id, place=f"{machine.address}:{site.directory}")

    # ---- replacing --------------------------------------------------------------------------------------------

    async def _watch_machines(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                if self._unwritten:
                    self._write()
                machines = await self.runtime.machines()
                await self._let_go(machines)
                await self._take_on(machines)
            except (MnemeshError, TimeoutError) as error:
                log.warning("machines_not_known", reason=str(error))

    async def _let_go(self, machines: Sequence[Machine]) -> None:
        alive = {machine.id for machine in machines}
        for member in [member for member in self.ledger.members if member.machine not in alive]:
            await self.ledger.leave(member)
            if member not in self.ledger.members:
                id_ = member.identity.node_id
                self.notice(Notice(f"ledger {id_}", f"machine of ledger {id_[:12]} is gone ({member.place})"))
                await self._scrubbers.pop(id_).close()
                await self.runtime.drop(member.handle)
                self._write()

    async def _take_on(self, machines: Sequence[Machine]) -> None:
        """Ledgers that came back with their machines, and a new ledger when there have been too few for a while."""
        now = asyncio.get_running_loop().time()
        if len(self.ledger.members) >= REPLICAS:
            self._short_since = now
        used = {self._disk(member.machine) for member in self.ledger.members}
        for machine, site in await self._sites_of([new for new in machines if new.id not in self._sites]):
            if site.taken and site.disk not in used:
                await self._add(machine, site)
        if len(self.ledger.members) < REPLICAS and now - self._short_since >= self.replace_after_s:
            free = [machine for machine in [*machines[1:], *machines[:1]] if self._disk(machine.id) not in {"", *used}]
            await self._look(free[:1])
            for machine, site in await self._sites_of(free[:1]):
                await self._add(machine, site)

    def _disk(self, machine: str) -> str:
        """The name of its disk, "" before the first look."""
        return self._sites[machine].disk if machine in self._sites else ""

    async def _add(self, machine: Machine, site: Site) -> None:
        member = await self._member(machine, site)
        await self.ledger.join(member)
        self._scrub(member)
        how = "came back" if site.taken else "is new"
        id_ = member.identity.node_id
        self.notice(Notice(f"ledger {id_}", f"ledger {id_[:12]} {how} ({member.place})"))
        self._write()

    def _write(self) -> None:
        """Note the places of the ledgers, the primary, and the ledgers that may hold more. A disk that does not take it
        is told, and asked again."""
        members = [
            Known(member.identity.node_id, member.place.partition(":")[0], member.place.partition(":")[2])
            for member in self.ledger.members
        ]
        primary = self.ledger.primary.identity.node_id
        ahead, level = self.ledger.missing, self.ledger.level
        self._record = self._record.following(primary, members, ahead, level, REPLICAS)
        try:
            self._record.write(self.directory.path)
        except OSError as error:
            if not self._unwritten:
                log.error("replicas_not_noted", reason=str(error))
                reason = (
                    f"{REPLICAS_FILE} can't be written ({error}): make room in {self.directory.path} before the node "
                    "is started again, or it may begin with an older ledger"
                )
                self.notice(Notice(REPLICAS_FILE, reason))
            self._unwritten = True
        else:
            if self._unwritten:
                self.notice(Notice(REPLICAS_FILE, ""))
            self._unwritten = False
