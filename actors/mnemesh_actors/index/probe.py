"""A look at an index that was just opened: does it hold and find what it says?"""

from __future__ import annotations

from mnemesh_actors.index.engine_port import Filter, HasId, IndexBackend, MatchAny, QueryRequest
from mnemesh_actors.index.points import DENSE
from mnemesh_actors.index.scope import SCOPE
from mnemesh_actors.storage.index_state import IndexMeta
from mnemesh_memory.values.errors import DataLoss


def probe(backend: IndexBackend, meta: IndexMeta) -> None:
    """Edge opens some damaged directories without a word and then finds less. Raises DataLoss for such a directory: one
    present point must be found, and the count must be right after a clean close."""
    points = backend.count()
    if meta.points is not None and points != meta.points:
        raise DataLoss(f"the index holds {points} points where {meta.points} were stored")
    records, _ = backend.scroll(Filter(), 1, with_vectors=True)
    if len(records) != min(points, 1):
        raise DataLoss(f"the index counts {points} points and shows none")
    for record in records:
        vector, words = record.vectors.get(DENSE), record.payload.get(SCOPE)
        if vector is None or not isinstance(words, tuple):
            raise DataLoss(f"the index has lost vector or space of the point {record.id}")
        where = Filter(must=(HasId((record.id,)), MatchAny(SCOPE, words)))
        (hits,) = backend.query([QueryRequest(vector, DENSE, 1, where)])
        if [id_ for id_, _ in hits] != [record.id]:
            raise DataLoss(f"the index does not find the point {record.id} by its own vector")
