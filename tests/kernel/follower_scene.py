"""A ledger, a shard and the follower between them, for the tests of the one path into the index.

The ledger is real, in a thread of its own. The shard is a double in memory and can die like a process. The model
makes vectors without meaning.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from ledger_builders import GENERATION, START, Home

from mnemesh_actors.consumers import feed_loop
from mnemesh_actors.consumers import follower as follower_module
from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import Embedder, EmbeddingPool
from mnemesh_actors.generations.active_index import IndexGeneration, Serving
from mnemesh_actors.generations.generation_file import Generation
from mnemesh_actors.index.episodes import Episode, Episodes, Place
from mnemesh_actors.index.shard import IndexItem, ShardStatus
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.node.assembly import _publishing
from mnemesh_actors.node_ports import MeshConfig, NodePorts
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Memory

PATIENCE_S = 60.0
WIDTH = 3


class Model:
    """Stands where the embedding worker's handle stands."""

    name = "embedder-0"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.faults: list[Exception] = []

    async def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        if self.faults:
            raise self.faults.pop(0)
        self.texts += texts
        return np.stack([vector_of(text) for text in texts])

    embed_questions = embed


def vector_of(text: str) -> np.ndarray[Any, Any]:
    made = np.asarray([len(text), sum(text.encode()), 1], dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


class ShardDouble:
    """Stands where the shard's handle stands: keeps items, and after a death only what was flushed."""

    name = "shard-0"

    def __init__(self) -> None:
        self.items: dict[str, IndexItem] = {}
        self.seq = 0
        self.flushed: tuple[dict[str, IndexItem], int] = ({}, 0)
        self.pages: list[int] = []
        self.opened = 0
        self.alive = False
        self.rebuilt = ""
        self.faults: list[Exception] = []
        self.flush_faults: list[Exception] = []
        self.open_faults: list[Exception] = []
        self.flushes = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def open(self) -> ShardStatus:
        if self.open_faults:
            raise self.open_faults.pop(0)
        self.alive = True
        self.opened += 1
        return ShardStatus(self.seq, len(self.items), self.rebuilt)

    async def followed(self, ids: Sequence[str], places: Sequence[tuple[Episode, Place]]) -> list[str]:
        self._needs_life()
        episodes = Episodes()
        for item in self.items.values():
            episodes.note(item)
        return episodes.after(ids, places)

    async def apply(self, items: Sequence[IndexItem], removed: Sequence[str], seq: int, after: int = 0) -> None:
        await self.gate.wait()
        self._needs_life()
        if self.faults:
            raise self.faults.pop(0)
        if self.seq < after:
            raise Unavailable(f"holds {self.seq}, not {after}", part="index")
        assert [item.seq for item in items] == sorted(item.seq for item in items)
        self.items |= {item.id: item for item in items}
        for id_ in removed:
            self.items.pop(id_, None)
        self.seq = max(self.seq, seq)
        self.pages.append(seq)

    async def flush(self) -> int:
        self._needs_life()
        if self.flush_faults:
            raise self.flush_faults.pop(0)
        self.flushed = (dict(self.items), self.seq)
        self.flushes.set()
        return self.seq

    async def count(self) -> int:
        self._needs_life()
        return len(self.items)

    def die(self) -> None:
        """As a killed process that is started anew: closed, and without what was not flushed."""
        self.alive = False
        self.items, self.seq = dict(self.flushed[0]), self.flushed[1]

    def _needs_life(self) -> None:
        if not self.alive:
            raise Unavailable("the index is not open", part="index")


class Scene:
    """A ledger, the double of a shard, a model, and the follower between them."""

    def __init__(self, home: Home, ledger: LocalHandle) -> None:
        self.home = home
        self.ledger = ledger
        self.shard = ShardDouble()
        self.model = Model()
        self.notices: list[str] = []
        self.follower = self.another_follower()

    def another_follower(self) -> IndexFollower:
        self.embedder = Embedder(EmbeddingPool([_handle(self.model)]), GENERATION, WIDTH)
        return IndexFollower(_handle(self.ledger), _handle(self.shard), self.embedder, self._noticed)

    def _noticed(self, text: str) -> None:
        if text:  # an empty one takes back what was told
            self.notices.append(text)

    def serving(self) -> Serving:
        """The parts with which operations over this scene search and embed."""
        return Serving(
            IndexGeneration(
                generation=Generation(fingerprint=GENERATION, name="fake", dimensions=WIDTH),
                embedder=self.embedder,
                follower=self.follower,
                shard=_handle(self.shard),
            )
        )

    def parts(self, **given: Any) -> NodePorts:
        """The ports of operations over this scene, with these instead. Times and chance are counted."""
        moments, chance = itertools.count(START), itertools.count()
        serving = self.serving()
        publish = _publishing(self.ledger, serving)
        usual = {
            "ledger": self.ledger, "serving": serving, "clock": lambda: next(moments), "config": MeshConfig(),
            "commits": Batcher("ledger", publish, 256, limits.INBOX_MESSAGES_MAX),
            "entropy": lambda size: hashlib.sha512(str(next(chance)).encode()).digest()[:size],
        }  # fmt: skip
        return NodePorts(**{**usual, **given})

    async def start(self) -> ShardStatus:
        status = await self.ledger.status()
        return await self.follower.start(status.seq)

    async def write(self, *commands: Command) -> Committed:
        """Commit, as a writer does, without telling the follower; the last outcome."""
        results: list[Committed | Exception] = await self.ledger.commit(commands)
        for result in results:
            if isinstance(result, Exception):
                raise result
        assert isinstance(results[-1], Committed)
        return results[-1]

    async def remember(self, content: str, **fields: Any) -> Memory:
        """Commit, publish and wait, as an acknowledged and indexed write does."""
        written = await self.write(self.home.pen.create(content, **fields))
        self.follower.publish(written.seq)
        await self.until_indexed(written.seq)
        return written.memory

    async def published(self, content: str) -> int:
        """The number of a new memory that the follower was told of, and that nobody has waited for."""
        seq = (await self.write(self.home.pen.create(content))).seq
        self.follower.publish(seq)
        return seq

    async def until_indexed(self, seq: int) -> None:
        await asyncio.wait_for(self.follower.wait_for(seq), PATIENCE_S)

    def shelved(self) -> list[str]:
        return [item.texts[0].lexical for item in self.shard.items.values()]


def _handle(actor: Any) -> Any:
    return actor


async def until(condition: Callable[[], bool]) -> None:
    """Let the others run until `condition` holds; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  what is waited for tells nobody
            await asyncio.sleep(0.001)


@asynccontextmanager
async def played(home: Home) -> AsyncIterator[Scene]:
    """A scene that is cleared away afterwards."""
    ledger = LocalHandle("ledger-0")
    await ledger.construct(Ledger, str(home.file), str(home.directory.key_file), home.directory.node_id)
    scene = Scene(home, ledger)
    try:
        yield scene
    finally:
        await scene.follower.close()
        await ledger.shut()


@pytest.fixture
async def idle(home: Home, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """A scene that tries again at once, and flushes only when it is told to. Its follower has not started."""
    monkeypatch.setattr(feed_loop, "RETRY_S", 0.0)
    monkeypatch.setattr(follower_module, "FLUSH_S", 1000.0)
    async with played(home) as made:
        yield made


@pytest.fixture
async def scene(idle: Scene) -> Scene:
    """The scene with its follower at work."""
    await idle.start()
    return idle
