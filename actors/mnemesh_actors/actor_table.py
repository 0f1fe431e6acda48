"""The actors of a node, one row each. A new actor is a class, a port and a row. `start` wires from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from mnemesh_actors.astrocytes.astrocyte import Astrocyte
from mnemesh_actors.astrocytes.sleep_record import SleepRecord
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.knowledge.access_store import AccessStore
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.replica_ledger import ReplicaLedger, Scout
from mnemesh_actors.models.reranker import Reranker
from mnemesh_actors.models.worker import EmbeddingWorker
from mnemesh_actors.ports import Embed, IndexPort, LedgerPort, Rerank, ScoutPort
from mnemesh_actors.runtime.base import Handle, Place, Runtime
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.transcripts.transcript_store import TranscriptStore

Port = TypeVar("Port")
PINNED: Final = Place(pinned=True)


@dataclass(frozen=True)  # no slots: a subscripted generic is noted on the row
class ActorRow(Generic[Port]):
    """An actor `name-0`, `name-1` and so on. Its handle has the methods of `Port`."""

    name: str
    make: Callable[..., Port]
    place: Place  # unless whoever makes it knows better

    @property
    def _cls(self) -> type[Port]:
        """A class is a callable that makes its port."""
        return cast("type[Port]", self.make)

    async def spawn(self, runtime: Runtime, *args: Any, name: str = "0", place: Place | None = None) -> Handle[Port]:
        """One of them, constructed with `args`. Raises what the constructor raises."""
        return await runtime.spawn(f"{self.name}-{name}", self._cls, *args, place=place or self.place)

    async def spawn_here(self, undo: AsyncExitStack, *args: Any) -> Handle[Port]:
        """The only one, in this process whatever the runtime: its file lies in the data directory, and another process
        gains nothing. `undo` ends it."""
        actor: LocalHandle[Port] = LocalHandle(f"{self.name}-0")
        await actor.construct(self._cls, *args)
        undo.push_async_callback(actor.shut)
        return actor

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


# One, on the machine of the data directory. Restarts in place, from its files.
LEDGER: Final = ActorRow[LedgerPort]("ledger", Ledger, PINNED)
# One a machine, two at least. Restarts in place, or is made on another machine.
REPLICA: Final = ActorRow[LedgerPort]("ledger", ReplicaLedger, Place())
# One a machine while a place is looked for. Never restarts.
SCOUT: Final = ActorRow[ScoutPort]("scout", Scout, Place())
# One a generation, beside a ledger that is not primary. Restarts empty or from its files.
SHARD: Final = ActorRow[IndexPort]("shard", RetrievalShard, PINNED)
# `embedding_workers` of them. Restarts on any machine.
EMBEDDER: Final = ActorRow[Embed]("embedder", EmbeddingWorker, Place(roams=True, works=True))
# `astrocyte_workers` of them. Restarts on any machine.
ASTROCYTE: Final = ActorRow[Astrocyte]("astrocyte", Astrocyte, Place(roams=True, works=True))
# One, in the process of the doors.
SLEEP_RECORD: Final = ActorRow[SleepRecord]("sleep-record", SleepRecord, Place(here=True))
# One if configured, on the machine of the data directory. Restarts in place.
RERANKER: Final = ActorRow[Rerank]("reranker", Reranker, PINNED)
# One, in the process of the doors.
TRANSCRIPTS: Final = ActorRow[TranscriptStore]("transcripts", TranscriptStore, Place(here=True))
# One, in the process of the doors: its file can be made anew.
GRAPH: Final = ActorRow[GraphStore]("graph", GraphStore, Place(here=True))
# One, in the process of the doors: a lost file is a loss of hints.
ACCESS: Final = ActorRow[AccessStore]("access", AccessStore, Place(here=True))
