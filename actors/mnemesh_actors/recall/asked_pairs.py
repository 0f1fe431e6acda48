"""Reads a question beside the pairs of its first results: does a newer memory answer in the place of a result?

A node keeps pairs that may speak of one matter (`consumers/pair_follower`). Two such texts alone leave open whether one
replaces the other. The question tells what they are compared by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.knowledge.pair_store import PairStore, ReadPair
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_actors.recall import newer_results
from mnemesh_actors.recall.choice import Choice
from mnemesh_actors.recall.results import FoundMemory
from mnemesh_actors.rows.row_source import RowSource
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge.asked_pairs import asked_text, comes_first
from mnemesh_memory.policy.judge.reading import Reading
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Memory, Query

# The pairs of so many first results are read, and of the newer memories that were found so. Each reading takes as long
# as embedding a text.
STEPS_MAX: Final = 2
READ_MAX: Final = 6


class AskedPairs(NamedTuple):
    """By id of each older memory the newer ones that come before it, the ids of the pairs that were read, the newer
    memories that are no results, and why pairs stayed unread."""

    first: Mapping[str, list[Memory]]
    read: frozenset[tuple[str, str]]
    further: Sequence[FoundMemory]
    unread: tuple[str, ...]


NOTHING: Final = AskedPairs({}, frozenset(), (), ())


class PairQuestions:
    """The pairs of one question. `rows` and `choice` are those of its retrieval."""

    def __init__(
        self, store: Handle[PairStore], embedder: Embedder, query: Query, rows: RowSource, choice: Choice
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._query = query
        self._rows = rows
        self._choice = choice

    async def decided(self, results: Sequence[FoundMemory], fused: Sequence[Fused], within_s: float) -> AskedPairs:
        """What the question decides of the pairs of its first results. Without the model it decides nothing."""
        if self._embedder.pairs != PAIRS_READY:
            return NOTHING
        first: dict[str, list[Memory]] = {}
        read: set[tuple[str, str]] = set()
        further: dict[str, FoundMemory] = {}
        unread: tuple[str, ...] = ()
        latest = [item.memory for item in results[: newer_results.CONTESTED_AMONG]]
        try:
            async with asyncio.timeout(within_s):
                for _ in range(STEPS_MAX):
                    asked = await self._open(latest, [*results, *further.values()], fused, READ_MAX - len(read))
                    readings = await self._readings([(older, item.memory) for older, item, _ in asked])
                    latest = []
                    for (older, newer, score), reading in zip(asked, readings, strict=True):
                        read.add((older.id, newer.memory.id))
                        if comes_first(score, reading):
                            first.setdefault(older.id, []).append(newer.memory)
                            further[newer.memory.id] = newer
                            latest.append(newer.memory)
                    if not latest:
                        break
        except TimeoutError:
            unread = ("pairs of memories: the model has not answered in time",)
        except MnemeshError as error:
            unread = (f"pairs of memories: {error.message}",)
        shown = {item.memory.id for item in results}
        return AskedPairs(
            {id_: sorted(newer, key=precedence.age, reverse=True) for id_, newer in first.items()},
            frozenset(read),
            [item for id_, item in further.items() if id_ not in shown],
            unread,
        )

    async def _open(
        self, older: Sequence[Memory], found: Sequence[FoundMemory], fused: Sequence[Fused], most: int
    ) -> list[tuple[Memory, FoundMemory, float]]:
        """Up to `most` pairs with one of `older` that nobody has decided, with their scores. The newer memory passes
        the filters of the query."""
        known = {memory.id: memory for memory in older if memory.state == "active"}
        pairs: list[ReadPair] = await self._store.newer(sorted(known)) if known else []
        items = {item.memory.id: item for item in found}
        missing = [pair.newer for pair in pairs if pair.newer not in items]
        rows = await self._rows.view(missing) if missing else {}
        contests: dict[str, list[Memory]] = {}
        for pair in pairs:
            if pair.newer in rows:
                contests.setdefault(pair.older, []).append(rows[pair.newer])
        others = newer_results.further(found, contests, fused)
        items |= {item.memory.id: item for item in await self._choice.passing(self._query, others)} if others else {}
        asked = [(known[pair.older], items[pair.newer], pair.score) for pair in pairs if pair.newer in items]
        return [pair for pair in asked if _is_open(pair[0], pair[1].memory)][:most]

    async def _readings(self, pairs: Sequence[tuple[Memory, Memory]]) -> list[Reading]:
        texts = [(asked_text(self._query.text, older.content), newer.content) for older, newer in pairs]
        readings: list[Reading] = []
        async with aclosing(self._embedder.read_pairs(texts)) as calls:
            async for some in calls:
                readings += some
        return readings


def _is_open(older: Memory, newer: Memory) -> bool:
    """Whether a question may decide between two memories. A link says already how they belong together, all but a mark
    `may-replace`."""
    return (
        newer.state == "active"
        and older.space == newer.space
        and precedence.age(older) < precedence.age(newer)
        and (older.valid_to is None or older.valid_to > happened_at(newer))
        and not precedence.stated(older, newer)
    )
