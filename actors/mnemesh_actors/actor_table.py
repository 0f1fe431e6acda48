"""The actors of a node, one row each. A new actor is one class, one port and one row. `start` wires from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.replica_ledger import ReplicaLedger, Scout
from mnemesh_actors.models.reranker import Reranker
from mnemesh_actors.models.worker import EmbeddingWorker
from mnemesh_actors.ports import Embed, IndexPort, LedgerPort, Rerank, ScoutPort
from mnemesh_actors.runtime.base import Handle, Place, Runtime
from mnemesh_actors.transcripts.transcript_port import TranscriptPort
from mnemesh_actors.transcripts.transcript_store import TranscriptStore

Port = TypeVar("Port")
PINNED: Final = Place(pinned=True)


@dataclass(frozen=True)  # no slots: a subscripted generic is noted on the row
class ActorRow(Generic[Port]):
    """An actor `name-0`, `name-1` and so on. Its handle has the methods of `Port`."""

    name: str
    make: Callable[..., Port]
    count: str
    place: Place  # unless whoever makes it knows better
    where: str
    restart: str

    async def spawn(self, runtime: Runtime, *args: Any, name: str = "0", place: Place | None = None) -> Handle[Port]:
        """One of them, constructed with `args`. Raises what the constructor raises."""
        cls: type[Port] = self.make  # type: ignore[assignment]  # a class is a callable that makes its port
        return await runtime.spawn(f"{self.name}-{name}", cls, *args, place=place or self.place)

    async def spawn_each(
        self, runtime: Runtime, *args: Any, places: Sequence[Place], suffix: str = ""
    ) -> list[Handle[Port]]:
        """One at each place. When one can't be made, none is left."""
        made: list[Handle[Port]] = []
        try:
            for number, place in enumerate(places):
                made.append(await self.spawn(runtime, *args, name=f"{number}{suffix}", place=place))
        except BaseException:  # boundary: the others are ended, then the error goes on
            for actor in made:
                await runtime.drop(actor)
            raise
        return made


LEDGER: Final = ActorRow[LedgerPort](
    "ledger", Ledger, "one", PINNED, "the machine of the data directory", "in place, from its files"
)
REPLICA: Final = ActorRow[LedgerPort](
    "ledger", ReplicaLedger, "one a machine, two at least", Place(), "its own machine", "in place, or made on another"
)
SCOUT: Final = ActorRow[ScoutPort](
    "scout", Scout, "one a machine while a place is looked for", Place(), "that machine", "not at all"
)
SHARD: Final = ActorRow[IndexPort](
    "shard",
    RetrievalShard,
    "one a generation",
    PINNED,
    "beside a ledger that is not primary",
    "empty or from its files",
)
EMBEDDER: Final = ActorRow[Embed](
    "embedder", EmbeddingWorker, "`embedding_workers`", Place(roams=True, works=True), "any machine", "anywhere"
)
RERANKER: Final = ActorRow[Rerank](
    "reranker", Reranker, "one if configured", PINNED, "the machine of the data directory", "in place"
)
TRANSCRIPTS: Final = ActorRow[TranscriptPort](
    "transcripts", TranscriptStore, "one", Place(here=True), "the process of the doors", "with the node"
)
ACTORS: Final[tuple[ActorRow[Any], ...]] = (LEDGER, REPLICA, SCOUT, SHARD, EMBEDDER, RERANKER, TRANSCRIPTS)
