"""The actors of a node, one row each. A new actor is a class, a port and a row, which its spawn in
`node/assembly.py` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar, TypeVarTuple

from mnemesh_actors.astrocytes.astrocyte import Astrocyte
from mnemesh_actors.astrocytes.sleep_record import SleepRecord
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.index.shard_config import ShardConfig
from mnemesh_actors.knowledge.access_store import AccessStore
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.knowledge.pair_store import PairStore
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.replica_ledger import ReplicaLedger, Scout
from mnemesh_actors.models.embedding_model import ModelConfig
from mnemesh_actors.models.reranker import Reranker
from mnemesh_actors.models.worker import EmbeddingWorker
from mnemesh_actors.ports import Embed, IndexPort, LedgerPort, Rerank, ScoutPort
from mnemesh_actors.runtime.base import Handle, Place, Runtime
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.transcripts.transcript_store import TranscriptStore

Port = TypeVar("Port")
Args = TypeVarTuple("Args")
PINNED: Final = Place(pinned=True)
ROAMING: Final = Place(roams=True, works=True)
HERE: Final = Place(here=True)


@dataclass(frozen=True)  # no slots: a subscripted generic is noted on the row
class ActorRow(Generic[Port, *Args]):
    """An actor `name-0`, `name-1` and so on, made from `Args`. Its handle has the methods of `Port`."""

    name: str
    make: Callable[[*Args], Port]
    place: Place  # unless whoever makes it knows better
    restart: bool  # Ray makes it anew when its process has died
    count: int = 1  # the usual number: settings, machines and models may ask for others

    async def spawn(self, runtime: Runtime, *args: *Args, name: str = "0", place: Place | None = None) -> Handle[Port]:
        """One of them, constructed with `args`. Raises what the constructor raises."""
        place = replace(place or self.place, restarts=self.restart)
        return await runtime.spawn(f"{self.name}-{name}", self.make, *args, place=place)

    async def spawn_here(self, undo: AsyncExitStack, *args: *Args) -> Handle[Port]:
        """The only one, in this process whatever the runtime: its file lies in the data directory, and another process
        gains nothing. `undo` ends it."""
        actor: LocalHandle[Port] = LocalHandle(f"{self.name}-0")
        await actor.construct(self.make, *args)
        undo.push_async_callback(actor.shut)
        return actor

    async def spawn_each(
        self, runtime: Runtime, *args: *Args, places: Sequence[Place], suffix: str = ""
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


# Of the data directory.
LEDGER: Final = ActorRow[LedgerPort, str, str, str, int]("ledger", Ledger, PINNED, restart=True)
# On several machines, each with a directory of its own. Of a lost machine another one is made elsewhere.
REPLICA: Final = ActorRow[LedgerPort, str, int]("ledger", ReplicaLedger, Place(), restart=True, count=2)
# Of a machine, while a place is looked for.
SCOUT: Final = ActorRow[ScoutPort, str, str]("scout", Scout, Place(), restart=False)
# Of a generation. On several machines beside a ledger that is not primary.
SHARD: Final = ActorRow[IndexPort, ShardConfig]("shard", RetrievalShard, PINNED, restart=True)
# One for texts to store and one more for questions, so that a question never waits for a text.
EMBEDDER: Final = ActorRow[Embed, ModelConfig]("embedder", EmbeddingWorker, ROAMING, restart=True, count=2)
# On Ray one a machine with processors.
ASTROCYTE: Final = ActorRow[Astrocyte, bool]("astrocyte", Astrocyte, ROAMING, restart=True)
SLEEP_RECORD: Final = ActorRow[SleepRecord, str]("sleep-record", SleepRecord, HERE, restart=False)
# If configured.
RERANKER: Final = ActorRow[Rerank, ModelConfig]("reranker", Reranker, PINNED, restart=True)
TRANSCRIPTS: Final = ActorRow[TranscriptStore, str, int]("transcripts", TranscriptStore, HERE, restart=False)
# Its file can be made anew.
GRAPH: Final = ActorRow[GraphStore, str]("graph", GraphStore, HERE, restart=False)
PAIRS: Final = ActorRow[PairStore, str]("pairs", PairStore, HERE, restart=False)
# A lost file is a loss of hints.
ACCESS: Final = ActorRow[AccessStore, str]("access", AccessStore, HERE, restart=False)
ACTORS: Final = (
    LEDGER,
    REPLICA,
    SCOUT,
    SHARD,
    EMBEDDER,
    ASTROCYTE,
    SLEEP_RECORD,
    RERANKER,
    TRANSCRIPTS,
    GRAPH,
    PAIRS,
    ACCESS,
)
