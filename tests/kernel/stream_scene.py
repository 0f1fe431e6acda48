"""Two nodes with real ledgers and a wire in memory between them, for the tests of the shell of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from follower_scene import PATIENCE_S, Scene, played
from ledger_builders import START, Home, Pen

from mnemesh_actors.storage.data_directory import load_key
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_actors.streams.sync_port import Syncing, signing_with
from mnemesh_crdt.sync.greeting import DIALER, LISTENER, Me
from mnemesh_crdt.sync.messages import Message, Status
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import MnemeshError, Unavailable

EVERYTHING = PeerGrant(read=("*",), write=("*",), principal="", relay=True)
WIRE_MESSAGES = 4


class Wire:
    """One end of a stream in memory, which holds WIRE_MESSAGES. `cut` breaks it as a lost connection does."""

    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Message | MnemeshError | None] = asyncio.Queue(WIRE_MESSAGES)
        self.other: Wire
        self.sent: list[Message] = []
        self.broken = asyncio.Event()
        self.cut_after = -1  # messages that this end still gives

    async def send(self, message: Message) -> None:
        if self.broken.is_set():
            raise Unavailable("the wire is cut", part="peer")
        self.sent.append(message)
        if len(self.sent) == self.cut_after:
            return self.cut()
        await self.other.inbox.put(message)
        return None

    async def messages(self) -> AsyncIterator[Message]:
        cut = asyncio.ensure_future(self.broken.wait())
        try:
            while True:
                given = asyncio.ensure_future(self.inbox.get())
                try:
                    await asyncio.wait((given, cut), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not given.done():
                        given.cancel()
                if not given.done():
                    raise Unavailable("the wire is cut", part="peer")
                message = given.result()
                if isinstance(message, MnemeshError):
                    raise message
                if message is None:
                    return
                yield message
        finally:
            cut.cancel()

    def cut(self) -> None:
        self.broken.set()
        self.other.broken.set()


def wire() -> tuple[Wire, Wire]:
    """Both ends."""
    here, there = Wire(), Wire()
    here.other, there.other = there, here
    return here, there


@dataclass
class Node:
    """A ledger, and all that the shell of a stream wants of a node. `told` is every status of its streams."""

    scene: Scene
    syncing: Syncing
    told: list[Status] = field(default_factory=list)

    def shell(self, grant: PeerGrant = EVERYTHING, **more: Any) -> StreamShell:
        return StreamShell(self.syncing, Stream(self.syncing.me, grant), lambda id: f":{id}", self.told.append, **more)

    async def writes(self, *contents: str, space: str = "team/x") -> None:
        """In one commit."""
        written = await self.scene.write(*(self.scene.home.pen.create(content, space=space) for content in contents))
        self.scene.follower.publish(written.seq)

    async def texts(self) -> list[str]:
        """The content of its ledger."""
        page = await self.scene.ledger.entries(0, max(1, self.syncing.head * 2))
        return sorted(memory.content for memory in (await self.scene.ledger.read(page.ids)).values())

    async def cursors(self, other: Node) -> dict[str, int]:
        return dict(await self.syncing.ledger.cursors(f":{other.syncing.me.node_id}"))


@asynccontextmanager
async def node(path: Path, name: str) -> AsyncIterator[Node]:
    """A node in a directory of its own, whose writes are signed `name`."""
    home = Home.at(path / name)
    home.pen = Pen(agent=name)
    async with played(home) as scene:
        await scene.start()
        yield Node(scene, await syncing_of(scene))


async def syncing_of(scene: Scene, ledger: Any = None) -> Syncing:
    """This node as its peers see it. `ledger` may stand before the real ledger."""
    key: Ed25519PrivateKey = load_key(scene.home.directory.key_file)
    incarnation, head = await scene.ledger.position()
    scene.follower.publish(head)
    me = Me(
        node_id=scene.home.directory.node_id,
        key=key.public_key().public_bytes_raw(),
        incarnation=incarnation,
        life=incarnation,
    )
    return Syncing(
        ledger or scene.ledger,
        scene.follower.publish,
        scene.follower.news,
        me,
        lambda: START + 1_000_000,
        signing_with(key),
    )


@asynccontextmanager
async def meeting(
    caller: Node, called: Node, ends: tuple[Wire, Wire] | None = None, **shells: StreamShell
) -> AsyncIterator[tuple[asyncio.Task[Status], asyncio.Task[Status]]]:
    """Both shells at work on one wire; ended when the test is done with them."""
    here, there = ends or wire()
    dialer, listener = shells.get("dialer", caller.shell()), shells.get("listener", called.shell())
    cursors = await caller.cursors(called)
    tasks = (asyncio.create_task(dialer.run(DIALER, here, cursors)), asyncio.create_task(listener.run(LISTENER, there)))
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until_told(node: Node, holds: Callable[[Status], bool]) -> Status:
    """The first status from now on, the present one included, for which `holds`."""
    async with asyncio.timeout(PATIENCE_S):
        while not (node.told and holds(node.told[-1])):  # noqa: ASYNC110  a list tells nobody
            await asyncio.sleep(0.001)
    return node.told[-1]
