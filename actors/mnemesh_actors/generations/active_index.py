"""The generation in use, and beside it the next one in the making.

A model and the index of its vectors change together, in one step, or a question would meet vectors of another model. A
caller that embeds and then asks holds on to one generation throughout. The shard refuses a vector of another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.consumers.handover import page_of
from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.generations.generation_file import Generation
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.models.embedding_model import NO_PREFIXES
from mnemesh_actors.ports import IndexPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.values.model_status import ModelStatus


@dataclass(eq=False, kw_only=True)
class IndexGeneration:
    """A model and the index with its vectors.

    `shard` is the actor of the index. `source` says where the model was found, `backend` the kind of index.
    """

    generation: Generation
    embedder: Embedder
    follower: IndexFollower
    shard: Handle[IndexPort]
    source: str = ""
    backend: str = "edge"
    _users: int = field(default=0, init=False)
    _left: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    @contextmanager
    def held(self) -> Iterator[IndexGeneration]:
        """It stays while somebody is inside."""
        self._users += 1
        try:
            yield self
        finally:
            self._users -= 1
            self._left.set()

    async def unused(self) -> None:
        """Return once nobody is inside."""
        while self._users:
            self._left.clear()
            await self._left.wait()


def model_status(generation: Generation, index_generation: IndexGeneration | None) -> ModelStatus:
    """The model of a generation, whose index may not be open yet."""
    prefixes = index_generation.embedder.prefixes if index_generation else NO_PREFIXES
    return ModelStatus(
        generation=generation.fingerprint,
        name=generation.name,
        dimensions=generation.dimensions,
        source=index_generation.source if index_generation else "",
        query_prefix=prefixes.query,
        passage_prefix=prefixes.passage,
        precision=generation.precision,
        pairs=index_generation.embedder.pairs_fault or index_generation.embedder.pairs if index_generation else "",
        questions=index_generation.embedder.questions if index_generation else "",
    )


class Serving:
    """The generation for searching and embedding now. Tells both generations how far the ledger is."""

    def __init__(self, current: IndexGeneration) -> None:
        self.current = current
        self.next: IndexGeneration | None = None
        self.unreached: Callable[[], str] = lambda: ""  # why an index on disk may still hold what was erased

    def switch(self) -> IndexGeneration:
        """The next generation answers from now on; the one that did."""
        assert self.next is not None
        left, self.current, self.next = self.current, self.next, None
        self.current.embedder.yields_to = None
        return left

    @property
    def goal(self) -> int:
        """The sequence number that the next generation must reach before it may answer: the known end of the ledger."""
        return max(follower.head for follower in self._followers())

    def _followers(self) -> tuple[IndexFollower, ...]:
        return (self.current.follower,) if self.next is None else (self.current.follower, self.next.follower)

    def committed(self, commands: Sequence[Command], results: Sequence[Committed | Exception]) -> None:
        """A commit was answered. New vectors go to the matching generation. The other one reads the feed."""
        seq = max((result.seq for result in results if isinstance(result, Committed)), default=0)
        follower, made = self.current.follower, self.current.embedder.generation
        follower.publish(seq, page_of(commands, results, follower.head, made))
        if self.next is not None:
            self.next.follower.publish(seq)

    def expect(self, commands: Sequence[Command], results: Sequence[Committed | Exception]) -> None:
        """A commit that is on one machine and not published yet."""
        follower, made = self.current.follower, self.current.embedder.generation
        follower.expect(page_of(commands, results, follower.head, made))

    def publish(self, seq: int) -> None:
        """The ledger has committed up to `seq`."""
        for follower in self._followers():
            follower.publish(seq)

    def look(self) -> None:
        """The ledger may have more than was published."""
        for follower in self._followers():
            follower.look()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """Another ledger goes on; see IndexFollower.move."""
        for follower in self._followers():
            follower.move(incarnation, head, known)

    def forget(self) -> None:
        """Drop all texts from the caches of the models: a memory was erased."""
        for index_generation in (self.current, self.next):
            if index_generation is not None:
                index_generation.embedder.forget()
