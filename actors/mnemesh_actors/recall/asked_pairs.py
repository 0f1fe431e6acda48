"""Reads a question beside the pairs of its first result: does a newer memory answer in the place of that one?

A node keeps pairs that may speak of one matter (`consumers/pair_follower`). Two such texts alone leave open whether one
replaces the other. The question tells what they are compared by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from math import inf
from typing import Final, NamedTuple

from mnemesh_actors.consumers.neighbours import is_compared
from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.knowledge.pair_store import PairStore
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_actors.recall import newer_results
from mnemesh_actors.recall.choice import Choice
from mnemesh_actors.recall.results import FoundMemory
from mnemesh_actors.rows.row_source import RowSource
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge.guard import may_be_read
from mnemesh_memory.policy.judge.reading import (
    ASKED_COSINE_MIN,
    BEHIND_SCORE,
    AskedReading,
    asked_odds,
    asked_text,
    first_from,
)
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.errors import MnemeshError, Unavailable
from mnemesh_memory.values.memory_links import MAY_REPLACE, SUPERSEDES
from mnemesh_memory.values.model import Memory, Query

# So many kept pairs of the first result are read, the likeliest. Of the next BEHIND_MAX results the newer ones are
# read. A reading takes longer than embedding a text.
READ_MAX: Final = 4
BEHIND_MAX: Final = 3


class AskedPairs(NamedTuple):
    """The newer memories that a question puts first."""

    first: Mapping[str, list[Memory]]  # By id of the first result the newer memory that comes before it.
    read: frozenset[tuple[str, str]]  # The ids of the pairs, older and newer.
    further: Sequence[FoundMemory]  # The newer memory, when it is no result.
    unread: tuple[str, ...]  # Why pairs stayed unread.


NOTHING: Final = AskedPairs({}, frozenset(), (), ())


class PairQuestions:
    """The pairs of one question. `rows` and `choice` are those of its retrieval."""

    def __init__(
        self, store: Handle[PairStore], embedder: Embedder, query: Query, rows: RowSource, choice: Choice, now: int
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._query = query
        self._rows = rows
        self._choice = choice
        self._now = now

    async def decided(self, results: Sequence[FoundMemory], fused: Sequence[Fused], within_s: float) -> AskedPairs:
        """The newer memory that the question puts before its first result, today. Without the model there is none."""
        query = self._query
        ended = query.window is not None and query.window.before is not None and query.window.before <= self._now
        another_time = ended or (query.asked_at, query.valid_at, query.as_of) != (None, None, None)
        if self._embedder.pairs != PAIRS_READY or another_time or query.sort != "relevance" or query.by_match_alone:
            return NOTHING
        if not results or not is_compared(results[0].memory):
            return NOTHING
        older = results[0].memory
        open_: list[tuple[FoundMemory, float]] = []
        readings: list[AskedReading] = []
        least, unread = inf, ""
        try:
            async with asyncio.timeout(within_s):
                open_ = await self._open(older, results, fused)
                if not open_:
                    return NOTHING
                least = first_from(await self._store.counted(older.space))
                asked = asked_text(query.text, older.content)
                if self._embedder.asked != PAIRS_READY:
                    raise Unavailable(self._embedder.asked)
                pairs = [(asked, item.memory.content) for item, _ in open_]
                async with aclosing(self._embedder.read_asked(pairs)) as calls:
                    async for some in calls:
                        readings += some
        except TimeoutError:
            unread = "pairs of memories: the model has not answered in time"
        except MnemeshError as error:
            unread = f"pairs of memories: {error.message}"
        # The likeliest pairs are read first, so those that were read in time decide.
        return _decision(older, results, list(zip(open_, readings, strict=False)), least, (unread,) if unread else ())

    async def _open(
        self, older: Memory, results: Sequence[FoundMemory], fused: Sequence[Fused]
    ) -> list[tuple[FoundMemory, float]]:
        """Newer memories with the scores of their pairs. All pass the filters of the query, none is far from the
        question, and nobody has set one beside an older memory yet. Up to READ_MAX are of kept pairs, and up to
        BEHIND_MAX are results behind the first. Such results are left out in a search by words, beside a linked memory,
        and behind one that has replaced another."""
        cosines = {item.id: item.cosine for item in fused if item.cosine is not None}

        def is_far(id_: str) -> bool:
            # A memory that is no candidate is far. A search by words alone has no cosines, so nothing is far there.
            return bool(cosines) and cosines.get(id_, -1.0) < ASKED_COSINE_MIN

        scores = {pair.newer: pair.score for pair in await self._store.newer(older.id) if not is_far(pair.newer)}
        items = {item.memory.id: item for item in results}
        if missing := [id_ for id_ in scores if id_ not in items]:
            rows = await self._rows.view(missing)
            others = newer_results.further(results, {older.id: list(rows.values())}, fused)
            items |= {item.memory.id: item for item in await self._choice.passing(self._query, others)}
        kept = [
            (items[id_], score)
            for id_, score in scores.items()
            if id_ in items and self._is_open(older, items[id_].memory)
        ][:READ_MAX]
        by_words = self._query.mode == "keyword"  # A search by words keeps the order of words.
        among = () if by_words or _replaces(older) else results[1 : 1 + BEHIND_MAX]
        seen = {item.memory.id for item, _ in kept}
        behind = [
            (item, scores.get(item.memory.id, BEHIND_SCORE))
            for item in among
            if item.memory.id not in seen
            and not is_far(item.memory.id)
            and not _are_linked(older, item.memory)
            and self._is_open(older, item.memory)
        ]
        return [*kept, *behind]

    def _is_open(self, older: Memory, newer: Memory) -> bool:
        """Whether the question may decide between two memories that hold now, and the model has room for all three
        texts. A forced memory replaces nothing, as its writer said. A memory that has replaced another one has its
        place."""
        return (
            is_compared(newer)
            and not newer.forced
            and not _replaces(newer)
            and older.space == newer.space
            and precedence.age(older) < precedence.age(newer)
            and happened_at(newer) <= self._now
            and all(one.valid_to is None or one.valid_to > self._now for one in (older, newer))
            and not precedence.is_decided(older, newer)
            and may_be_read(asked_text(self._query.text, older.content), newer.content)
        )


def _decision(
    older: Memory,
    results: Sequence[FoundMemory],
    read: Sequence[tuple[tuple[FoundMemory, float], AskedReading]],
    least: float,
    unread: tuple[str, ...],
) -> AskedPairs:
    """The likeliest of the pairs that were read, when it is likely enough."""
    odds = [asked_odds(pair, reading) if reading.whole else -inf for (_, pair), reading in read]
    pairs = frozenset((older.id, item.memory.id) for (item, _), _ in read)
    if max(odds, default=-inf) < least:
        return AskedPairs({}, pairs, (), unread)
    newer = read[odds.index(max(odds))][0][0]
    among = any(item.memory.id == newer.memory.id for item in results)
    return AskedPairs({older.id: [newer.memory]}, pairs, () if among else (newer,), unread)


def _are_linked(older: Memory, newer: Memory) -> bool:
    """Whether somebody has said how the two belong together, as a fix with its problem. A mark is only a question."""
    ends = ((older, newer.id), (newer, older.id))
    return any(link.id == id_ and link.type != MAY_REPLACE for memory, id_ in ends for link in memory.links)


def _replaces(memory: Memory) -> bool:
    return any(link.type == SUPERSEDES for link in memory.links)
