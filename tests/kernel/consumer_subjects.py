"""The consumers under the contract of `test_consumers.py`: each derives the texts of all memories from the log.

`crash_at` stops a subject for good at its n-th point, as a kill does: before, between and after all steps.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any, Protocol

from follower_scene import Scene, ShardDouble

from mnemesh_actors.consumers.consumer import ConsumerRunner
from mnemesh_actors.consumers.feed_loop import FeedLoop
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ports import CursorStore
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.runtime.budget import Budget, Foreground

PAGE_ENTRIES = 2
CURSORS = itertools.count()


class Relay:
    """Stands where the ledger's handle stands, as that of several machines does: another ledger may take over."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger

    def __getattr__(self, method: str) -> Any:
        return getattr(self.ledger, method)


class Points:
    """Counts the points that a subject passes; the one at `crash_at` is never passed."""

    def __init__(self) -> None:
        self.passed, self.crash_at = 0, 0
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.faults: list[Exception] = []

    async def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.crash_at:
            self.reached.set()
            await asyncio.Event().wait()
        await self.gate.wait()


class Tally:
    """A consumer that keeps the texts of all memories. The cursor is in the ledger."""

    def __init__(self, ledger: Any, points: Points) -> None:
        self.ledger, self.points = ledger, points
        self.texts: dict[str, str] = {}
        self.pages: list[tuple[int, ...]] = []
        self.resets = 0

    async def take(self, page: EntryPage) -> None:
        await self.points()
        if self.points.faults:
            raise self.points.faults.pop(0)
        self.pages.append(tuple(entry.seq for entry in page.entries))
        memories = await self.ledger.read(page.changed)
        for id_, memory in memories.items():
            await self.points()
            self.texts[id_] = memory.content
        for id_ in page.erased:
            await self.points()
            self.texts.pop(id_, None)
        await self.points()

    async def reset(self) -> None:
        await self.points()
        self.texts.clear()
        self.resets += 1


class Bookkeeper(Tally):
    """A consumer that keeps its cursor itself."""

    kept = ("", 0)

    async def cursor(self, name: str) -> tuple[str, int]:
        return self.kept

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        await self.points()
        self.kept = (incarnation, seq)
        await self.points()


class Subject(Protocol):
    """A consumer as the contract sees it."""

    name: str
    points: Points
    notices: list[str]
    loop: FeedLoop

    async def start(self) -> None: ...

    async def kill(self) -> None: ...

    def publish(self, seq: int) -> None: ...

    def move(self, incarnation: str, head: int, known: int) -> None: ...

    def texts(self) -> dict[str, str]: ...

    def pages(self) -> Sequence[int]:
        """The last entries of the pages that were taken in since the last start."""


class RunnerSubject:
    """A consumer behind `ConsumerRunner`. Its derived data survives a kill."""

    def __init__(self, scene: Scene, consumer: type[Tally], foreground: Foreground, share: float = 1.0) -> None:
        self.name = consumer.__name__
        self.points, self.notices = Points(), list[str]()
        self.ledger: Any = Relay(scene.ledger)
        self.news = LogHead()
        self.tally = consumer(self.ledger, self.points)
        self.cursor = f"tally {next(CURSORS)}"
        self.budget = Budget(foreground, share)
        self.loop: ConsumerRunner = self._runner()

    def _runner(self) -> ConsumerRunner:
        made = ConsumerRunner(
            self.cursor, self.tally, self.ledger, self.news, self.notices.append, PAGE_ENTRIES, self.budget
        )
        assert isinstance(self.tally, CursorStore) == isinstance(self.tally, Bookkeeper)
        return made

    async def start(self) -> None:
        self.points.crash_at, self.tally.pages = 0, []
        self.loop = self._runner()
        self.loop.start()

    async def kill(self) -> None:
        await self.loop.close()

    def publish(self, seq: int) -> None:
        self.news.tell(seq)

    def move(self, incarnation: str, head: int, known: int) -> None:
        self.news.restart(head)
        self.loop.move(incarnation, head, lambda seq: min(seq, known))

    def texts(self) -> dict[str, str]:
        return self.tally.texts

    def pages(self) -> list[int]:
        return [page[-1] for page in self.tally.pages]


class IndexSubject:
    """The index. A kill leaves what the shard has flushed."""

    name = "index"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.notices = scene.notices
        scene.ledger = Relay(scene.ledger)  # type: ignore[assignment]
        scene.shard = PointedShard()
        self.points = scene.shard.points

    @property
    def loop(self) -> FeedLoop:
        return self.scene.follower

    async def start(self) -> None:
        self.points.crash_at, self.scene.shard.pages = 0, []
        self.scene.follower = self.scene.another_follower()
        self.scene.follower._page_entries = PAGE_ENTRIES
        await self.scene.start()

    async def kill(self) -> None:
        await self.scene.follower.close()
        self.scene.shard.die()

    def publish(self, seq: int) -> None:
        self.scene.follower.publish(seq)

    def move(self, incarnation: str, head: int, known: int) -> None:
        self.scene.follower.move(incarnation, head, lambda seq: min(seq, known))

    def texts(self) -> dict[str, str]:
        return {item.id: item.texts[0].lexical for item in self.scene.shard.items.values()}

    def pages(self) -> list[int]:
        return self.scene.shard.pages


class PointedShard(ShardDouble):
    """A double that flushes after every other page."""

    def __init__(self) -> None:
        super().__init__()
        self.points = Points()

    async def apply(self, *page: Any) -> None:
        await self.points()
        if self.points.faults:
            raise self.points.faults.pop(0)
        await super().apply(*page)
        await self.points()
        if self.points.passed % 4:
            await self.flush()

    async def rebase(self, incarnation: str, seq: int, before: int) -> Any:
        self.seq = seq
        return await self.open()


async def read_all(ledger: Any) -> dict[str, str]:
    """The texts of all memories, as the ledger has them."""
    page = await ledger.entries(0, 10_000)
    return {id_: memory.content for id_, memory in (await ledger.read(page.ids)).items()}
