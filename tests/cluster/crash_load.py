"""Agents that write while a node, or a part of it, is killed, and a record of the answers.

They remember, update, forget, restore and repeat present texts. Every write of a text carries an idempotency key, and
a new text `force`, so only the key prevents a second copy. A write without an answer is of unknown outcome, as in
Jepsen's histories. Most are repeated until an answer comes. One in ten is given up, and may have been carried out or
not. A memory belongs to one writer, who knows the right state.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from node_process import NodeUnderTest
from node_reads import eventually, memories, settled
from scenario_doors import Door, GrpcDoor, Refused

WRITERS = 6
GIVEN_UP_SHARE = 0.1
RESTART_S = 120.0
RETRY_S = 0.1
RECALLED_MAX = 60
OLDER_RECALLED_MAX = 10  # after one restart, beside what was acknowledged since the last
# The share of each kind of write, where a memory is there for it.
SHARES = {"remember": 5, "update": 2, "forget": 1, "restore": 1, "duplicate": 1}
# LOST: the codes of a call whose node dies.
CLOSE_S = 5.0
AHEAD = "the index is ahead of the ledger"
NOT_FOUND = "an acknowledged write is not found"
LOST = ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED")


@dataclass(frozen=True)
class Told:
    """A memory as its writer knows it: text, state, and how many revisions led there."""

    content: str
    state: str = "active"
    version: int = 1


@dataclass
class Record:
    """The knowledge of the writers.

    `memories` by id: the possible states, only one unless a change was given up. `given_up` are texts that may be
    stored or not. `answers` counts acknowledged writes by operation, `lost` writes without an answer, `replayed`
    answers from the key. `under_way` are memories with a change that has no answer yet. `fresh` are memories with an
    acknowledged change that `found_again` has not looked for yet.
    """

    memories: dict[str, set[Told]] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    under_way: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    replayed: int = 0

    def in_state(self, state: str, ids: Sequence[str] | None = None) -> dict[str, Told]:
        """The memories, of `ids` if given, that are in `state` for certain."""
        ways = {id_: self.memories[id_] for id_ in (self.memories if ids is None else ids)}
        only = {id_: next(iter(way)) for id_, way in ways.items() if len(way) == 1}
        return {id_: told for id_, told in only.items() if told.state == state}


class CrashLoad:
    """Writes into `space`. `node_is_up` says where the present node is; the writers find out by themselves that it is
    gone."""

    def __init__(self, space: str, seed: int) -> None:
        self.record = Record()
        self._space = space
        self._seed = seed
        self._door: GrpcDoor | None = None
        self._doors: list[GrpcDoor] = []
        self._changed = asyncio.Condition()
        self._ending = False
        self._failed = False
        self._doing: dict[str, str] = {}  # what each writer's task waits for

    async def node_is_up(self, node: NodeUnderTest) -> None:
        """A node has started: go on there."""
        async with self._changed:
            self._door = GrpcDoor(node)
            # An old one is closed at the end only: grpc.aio never ends a call whose channel was closed meanwhile.
            self._doors.append(self._door)
            self._changed.notify_all()

    async def acknowledged_more(self, count: int) -> None:
        """Return once `count` more writes are acknowledged."""
        wanted = self.record.answers.total() + count
        try:
            async with self._changed, asyncio.timeout(RESTART_S):
                await self._changed.wait_for(lambda: self._failed or self.record.answers.total() >= wanted)
        except TimeoutError:
            raise AssertionError(f"no {count} answers within {RESTART_S:g} s; the writers: {self._doing}") from None
        assert not self._failed, "a writer was told what it should not be"

    async def run(self) -> None:
        """Write until `end`; then every writer brings its last write to an answer."""
        try:
            async with asyncio.TaskGroup() as writers:
                for number in range(WRITERS):
                    writers.create_task(self._write(number))
        except BaseExceptionGroup:
            async with self._changed:
                self._failed = True
                self._changed.notify_all()
            raise
        finally:
            for door in self._doors:
                await _close(door)

    def end(self) -> None:
        """No new writes."""
        self._ending = True

    async def _write(self, writer: int) -> None:
        chance = random.Random(f"{self._seed} {writer}")
        mine: list[str] = []
        for number in itertools.count():
            if self._ending:
                return
            text = f"Writer {writer} notes {chance.getrandbits(64):x} as number {number}."
            (operation,) = chance.choices(list(SHARES), list(SHARES.values()))
            able = self.record.in_state("forgotten" if operation == "restore" else "active", mine)
            if operation == "remember" or not able:
                mine += await self._remember(text, chance)
            elif operation == "duplicate":
                await self._repeat(*chance.choice(list(able.items())), chance)
            else:
                await self._change(operation, *chance.choice(list(able.items())), text, chance)

    async def _remember(self, text: str, chance: random.Random) -> list[str]:
        """The id of the new memory, when it was told."""
        fields = {"content": text, "space": self._space, "force": True, "idempotency_key": uuid.uuid4().hex}
        answer = await self._until_answered("remember", fields, chance)
        if answer is None:
            self.record.given_up.add(text)
            return []
        assert answer["action"] == "ADD"
        id_ = answer["memory"]["id"]
        self.record.memories[id_] = {Told(text)}
        self.record.fresh.add(id_)
        await self._count("remember")
        return [id_]

    async def _repeat(self, id_: str, told: Told, chance: random.Random) -> None:
        """Say again what is there: nothing may change, whatever the outcome."""
        fields = {"content": told.content, "space": self._space}
        answer = await self._until_answered("remember", fields, chance)
        if answer is not None:
            assert (answer["action"], answer["memory"]["id"]) == ("NOOP", id_), answer
            await self._count("duplicate")

    async def _change(self, operation: str, id_: str, told: Told, text: str, chance: random.Random) -> None:
        fields = {"id": id_}
        if operation == "update":
            fields |= {"content": text, "idempotency_key": uuid.uuid4().hex}
            after = replace(told, content=text, version=told.version + 1)
        else:
            after = replace(
                told, state={"forget": "forgotten", "restore": "active"}[operation], version=told.version + 1
            )
        lost = self.record.lost
        self.record.under_way.add(id_)
        try:
            answer = await self._until_answered(operation, fields, chance)
        finally:
            self.record.under_way.discard(id_)
        if answer is None:
            self.record.memories[id_] = {told, after}
            return
        # A write without a key that was carried out before its answer was lost changes nothing when repeated.
        expected = {operation.upper()} | ({"NOOP"} if operation != "update" and self.record.lost > lost else set())
        assert answer["action"] in expected, answer
        memory = answer["memory"]
        assert (memory["content"], memory["state"]) == (after.content, after.state), answer
        self.record.memories[id_] = {after}
        self.record.fresh.add(id_)
        await self._count(operation)

    async def _until_answered(
        self, operation: str, fields: dict[str, Any], chance: random.Random
    ) -> dict[str, Any] | None:
        """The answer, or None when the write was given up."""
        wait = chance.choice(("durable", "indexed"))
        lost = False
        async with asyncio.timeout(RESTART_S):
            while True:
                assert self._door is not None
                door = self._door
                self._note(f"{operation} at {door.address}")
                try:
                    answer = await door.call(operation, wait=wait, **fields)
                except Refused as refused:
                    self._note(f"after {operation} at {door.address}: {refused}")
                    if refused.code not in LOST:
                        raise
                else:
                    self.record.replayed += answer.get("replayed", False)
                    return answer
                if not lost and chance.random() < GIVEN_UP_SHARE:
                    return None
                self.record.lost += not lost
                lost = True
                await self._next_door(door)

    def _note(self, what: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._doing[task.get_name()] = f"{time.monotonic():.1f} {what}"

    async def _count(self, operation: str) -> None:
        async with self._changed:
            self.record.answers[operation] += 1
            self._changed.notify_all()

    async def _next_door(self, door: GrpcDoor) -> None:
        """Return when there is another one, or after RETRY_S."""
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(lambda: self._door is not door), RETRY_S)


async def _close(door: GrpcDoor) -> None:
    """Close a channel, bounded: grpc.aio has been seen to wait for ever for a call whose peer was killed."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(door.close(), CLOSE_S)


async def nothing_is_lost(door: Door, space: str, record: Record, seed: int) -> None:
    """The node holds in `space` exactly the promises of `record`, in the ledger and in recall."""
    kept = {memory["id"]: memory for memory in await memories(door, space, "all")}
    found = {id_: Told(memory["content"], memory["state"], memory["version"]) for id_, memory in kept.items()}
    wrong = {id_: (found.get(id_), ways) for id_, ways in record.memories.items() if found.get(id_) not in ways}
    assert wrong == {}, f"{len(wrong)} of {len(record.memories)} memories are not as acknowledged: {_first(wrong)}"
    assert [text for text, times in Counter(told.content for told in found.values()).items() if times > 1] == [], (
        "stored twice"
    )
    others = {told for id_, told in found.items() if id_ not in record.memories}
    assert others - {Told(text) for text in record.given_up} == set(), "nobody wrote this"
    await settled(door)
    status = await door.call("status")
    assert all(index["seq"] <= status["ledger"]["seq"] for index in status["index"]), AHEAD
    chance = random.Random(seed)
    for id_, told in record.in_state("active").items():
        assert await _recalled(door, space, told.content) == [(id_, told.content)], NOT_FOUND
    for id_, told in _some(record.in_state("forgotten"), RECALLED_MAX, chance):
        assert id_ not in dict(await _recalled(door, space, told.content)), "a forgotten memory is found"


async def found_again(door: Door, space: str, record: Record, chance: random.Random, most: int = RECALLED_MAX) -> int:
    """After a restart the index is not ahead of the ledger, and recall finds active memories of `record`: at most
    `most` of those acknowledged since the last look, and some older ones. Gives the number of memories looked for.
    Writers may go on: a memory that is changed meanwhile counts for nothing."""
    before = await door.call("status")
    now = await door.call("status")  # by then the ledger has what the index had before
    assert all(index["seq"] <= now["ledger"]["seq"] for index in before["index"]), AHEAD
    fresh, record.fresh = sorted(record.fresh), set()
    older = _some(record.in_state("active", sorted(set(record.memories) - set(fresh))), OLDER_RECALLED_MAX, chance)
    newer = _some(record.in_state("active", fresh), most, chance)  # more only where writers go on meanwhile
    sure = dict((*newer, *older))
    sure = {id_: told for id_, told in sure.items() if id_ not in record.under_way}
    goal = now["ledger"]["seq"]

    def taken_in(status: dict[str, Any]) -> bool:
        return all(index["seq"] >= goal for index in status["index"])

    await eventually(lambda: door.call("status"), taken_in, f"the index has {goal}", RESTART_S)
    looked_for = 0
    for id_, told in sure.items():
        recalled = await _recalled(door, space, told.content)
        if id_ not in record.under_way and record.memories[id_] == {told}:
            assert recalled == [(id_, told.content)], NOT_FOUND
            looked_for += 1
    return looked_for


def _first(wrong: dict[str, tuple[Told | None, set[Told]]]) -> str:
    return "".join(f"{id_} is {found}, may be {ways}" for id_, (found, ways) in list(wrong.items())[:1])


def _some(told: dict[str, Told], count: int, chance: random.Random) -> list[tuple[str, Told]]:
    return chance.sample(sorted(told.items(), key=lambda pair: pair[0]), min(count, len(told)))


async def _recalled(door: Door, space: str, text: str) -> list[tuple[str, str]]:
    answer = await door.call("recall", query=text, spaces=[space], limit=1)
    return [(hit["id"], hit["content"]) for hit in answer["results"]]
