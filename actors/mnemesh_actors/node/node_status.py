"""The status of index, model and the index's consumers, as `Mesh.status` shows them."""

from __future__ import annotations

from collections.abc import Iterator

from mnemesh_actors.consumers.consumer import status_of
from mnemesh_actors.consumers.consumer_table import INDEX, NEXT_INDEX
from mnemesh_actors.generations.active_index import IndexGeneration, Serving
from mnemesh_actors.index.shard import ShardStatus
from mnemesh_actors.recall.search_calls import LAG_TOLERATED_ENTRIES
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import IndexStatus
from mnemesh_memory.values.model_status import ConsumerStatus


async def index_status(index_generation: IndexGeneration) -> IndexStatus:
    """The index that answers."""
    follower = index_generation.follower
    behind = follower.catching_up or follower.lag > LAG_TOLERATED_ENTRIES
    state, points = follower.fault or ("behind" if behind else "ok"), 0
    try:
        shard: ShardStatus = await follower.read(lambda shard: shard.status())
        points = shard.points
    except MnemeshError as error:
        state = error.message
    return IndexStatus(
        name=f"shard-0{index_generation.generation.suffix}",
        backend=index_generation.backend,
        seq=follower.applied,
        lag=follower.lag,
        points=points,
        state=state,
    )


def index_consumers(serving: Serving) -> Iterator[ConsumerStatus]:
    """The place in the log of the present index, and of the next one beside it."""
    yield status_of(INDEX.name, serving.current.follower)
    if serving.next is not None:
        yield status_of(NEXT_INDEX.name, serving.next.follower)
