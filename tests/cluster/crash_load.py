"""Agents that write while a node, or a part of it, is killed, and a record of what they were told.

Every write carries an idempotency key and `force`, so that nothing but the key keeps a repeated one from being stored
twice. A write whose answer the kill took is of unknown outcome: it is repeated until it is answered, or, one time in
ten, given up, and may then be there or not (the distinction of Jepsen's histories).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from node_process import NodeUnderTest
from node_reads import contents, settled
from scenario_doors import Door, GrpcDoor, Refused

WRITERS = 6
GIVEN_UP_SHARE = 0.1
RESTART_S = 60.0
RETRY_S = 0.1
RECALLED_MAX = 60
# What a call may end with when its node dies under it.
CLOSE_S = 5.0
LOST = ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED")


@dataclass
class Record:
    """`acknowledged` ids by text, `given_up` texts of unknown outcome, how many writes lost an answer, and how many
    were answered from their key."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    lost: int = 0
    replayed: int = 0


class CrashLoad:
    """Writes into `space`. `node_is_up` says where the present node is; the writers find out by themselves that it is
    gone."""

    def __init__(self, space: str, seed: int) -> None:
        self.record = Record()
        self._space = space
        self._seed = seed
        self._door: GrpcDoor | None = None
        self._changed = asyncio.Condition()
        self._ending = False

    async def node_is_up(self, node: NodeUnderTest) -> None:
        """A node has started: go on there."""
        old = self._door
        async with self._changed:
            self._door = GrpcDoor(node)
            self._changed.notify_all()
        if old is not None:
            await _close(old)

    async def acknowledged_more(self, count: int) -> None:
        """Return once `count` more writes are acknowledged."""
        wanted = len(self.record.acknowledged) + count
        async with self._changed:
            async with asyncio.timeout(RESTART_S):
                await self._changed.wait_for(lambda: len(self.record.acknowledged) >= wanted)

    async def run(self) -> None:
        """Write until `end`; then every writer brings its last write to an answer."""
        try:
            async with asyncio.TaskGroup() as writers:
                for number in range(WRITERS):
                    writers.create_task(self._write(number))
        finally:
            if self._door is not None:
                await _close(self._door)

    def end(self) -> None:
        """No new writes."""
        self._ending = True

    async def _write(self, writer: int) -> None:
        chance = random.Random(f"{self._seed} {writer}")
        for number in itertools.count():
            if self._ending:
                return
            text = f"Writer {writer} notes {chance.getrandbits(64):x} as number {number}."
            await self._until_answered(text, chance)

    async def _until_answered(self, text: str, chance: random.Random) -> None:
        fields = {"content": text, "space": self._space, "force": True, "idempotency_key": uuid.uuid4().hex}
        wait = chance.choice(("durable", "indexed"))
        lost = False
        async with asyncio.timeout(RESTART_S):
            while True:
                assert self._door is not None
                door = self._door
                try:
                    answer = await door.call("remember", wait=wait, **fields)
                except Refused as refused:
                    if refused.code not in LOST:
                        raise
                else:
                    await self._note(text, answer)
                    return
                if not lost and chance.random() < GIVEN_UP_SHARE:
                    self.record.given_up.add(text)
                    return
                self.record.lost += not lost
                lost = True
                await self._next_door(door)

    async def _next_door(self, door: GrpcDoor) -> None:
        """Return when there is another one, or after RETRY_S."""
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(lambda: self._door is not door), RETRY_S)

    async def _note(self, text: str, answer: dict[str, Any]) -> None:
        assert answer["action"] == "ADD"
        self.record.replayed += answer["replayed"]
        async with self._changed:
            self.record.acknowledged[text] = answer["memory"]["id"]
            self._changed.notify_all()


async def _close(door: GrpcDoor) -> None:
    """Close a channel, bounded: grpc.aio has been seen to wait for ever for a call whose peer was killed."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(door.close(), CLOSE_S)


async def nothing_is_lost(door: Door, space: str, record: Record, seed: int) -> None:
    """What `record` promises is what the node holds in `space`, in the ledger and in recall."""
    kept = Counter(await contents(door, space))
    missing = [text for text in record.acknowledged if text not in kept]
    assert missing == [], f"{len(missing)} of {len(record.acknowledged)} acknowledged writes are lost"
    assert [text for text, times in kept.items() if times > 1] == [], "stored twice"
    assert set(kept) <= set(record.acknowledged) | record.given_up, "nobody wrote this"
    await settled(door)
    for text in random.Random(seed).sample(sorted(record.acknowledged), min(RECALLED_MAX, len(record.acknowledged))):
        answer = await door.call("recall", query=text, spaces=[space], limit=1)
        found = [(hit["id"], hit["content"]) for hit in answer["results"]]
        assert found == [(record.acknowledged[text], text)], "an acknowledged write is not recalled"
