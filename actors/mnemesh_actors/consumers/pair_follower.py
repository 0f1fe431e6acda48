"""Pairs of memories that may speak of one matter, read at rest for the questions to come.

The write guard links a pair only when two texts alone say enough. A question tells what they are compared by. So each
memory is read beside its nearest older ones, and recall reads the question beside the pairs that are not sure to hold
together. Every node reads the same pairs of the same log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

import structlog

from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.consumers.neighbours import NEAREST, indexed, neighbours
from mnemesh_actors.knowledge.pair_store import PairStore, ReadPair
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.judge.evidence import pair_score
from mnemesh_memory.policy.judge.worth_reading import AT_REST_MAX, AT_REST_MIN
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Memory

NAME: Final = "pairs"
# From this score on a pair is kept. Below are 36 of 348 replaced facts of eighteen histories.
KEPT_FROM: Final = -4.0
log = structlog.get_logger("mnemesh.consumers")
Texts = tuple[str, str]


class PairFollower:
    """A consumer that keeps its cursor in the file of the pairs."""

    def __init__(self, store: Handle[PairStore], parts: JudgeParts, notice: Callable[[str], None]) -> None:
        self._store = store
        self._parts = parts
        self._notice = notice

    async def take(self, page: EntryPage) -> None:
        """Read the changed memories of a page beside their nearest older ones, and beside the newer ones that they were
        read with before."""
        ids = list(dict.fromkeys(page.ids))
        known = await self._parts.ledger.read(ids)
        changed = [memory for memory in known.values() if _is_compared(memory)]
        wanted: dict[Texts, tuple[Memory, Memory, float]] = {}
        if changed and self._parts.embedder().pairs == PAIRS_READY:
            await indexed(self._parts, page.seq)
            near = await neighbours(self._parts, changed, NEAREST)
            before = await self._store.newer([memory.id for memory in changed])
            others = {*(id_ for cosines in near.values() for id_ in cosines), *(pair.newer for pair in before)}
            known |= await self._parts.ledger.read(sorted(others - known.keys()))
            again = {memory.id: [pair.newer for pair in before if pair.older == memory.id] for memory in changed}
            for memory in changed:
                for older, newer, cosine in _pairs_of(memory, near.get(memory.id, {}), again[memory.id], known):
                    wanted[older.id, newer.id] = older, newer, cosine
        pairs = await self._read(list(wanted.values()))
        await self._store.take(ids, pairs, bool(page.erased))

    async def _read(self, wanted: Sequence[tuple[Memory, Memory, float]]) -> list[ReadPair]:
        """The pairs that a question may decide. Without the model none is kept until a memory changes: a reading is a
        hint."""
        texts = [(older.content, newer.content) for older, newer, _ in wanted]
        readings = []
        try:
            async with aclosing(self._parts.embedder().read_pairs(texts, yields=True)) as calls:
                async for some in calls:
                    readings += some
        except MnemeshError as error:
            log.warning("pairs_not_read", pairs=len(texts) - len(readings), reason=error.message)
        scores = await asyncio.to_thread(
            lambda: [
                pair_score(older.content, newer.content, cosine, reading)
                for (older, newer, cosine), reading in zip(wanted, readings, strict=False)
            ]
        )
        return [
            ReadPair(older.id, newer.id, score)
            for (older, newer, _), score in zip(wanted, scores, strict=False)
            if score >= KEPT_FROM
        ]

    async def reset(self) -> None:
        """Another log goes on, or the file is new."""
        await self._store.reset(self._parts.embedder().pair_reader)
        made = await self._store.made()
        self._notice(Notice(NAME, f"the pairs of memories are read anew: {made}" if "damaged" in made else ""))

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the pairs of the log are read. Another model, or one that was not there, reads the log
        from its beginning."""
        if await self._store.reader() != self._parts.embedder().pair_reader:
            return "", 0
        return await self._store.cursor()

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        await self._store.keep_cursor(incarnation, seq)


def _pairs_of(
    memory: Memory, near: Mapping[str, float], again: Sequence[str], known: Mapping[str, Memory]
) -> list[tuple[Memory, Memory, float]]:
    """(older, newer, cosine) of a memory beside its nearest older ones, and beside the newer ones of `again`."""
    others = [
        known[id_] for id_ in sorted(near, key=lambda id_: (-near[id_], id_)) if id_ in known and id_ != memory.id
    ]
    fit = [other for other in others if _may_be_one_matter(memory, other) and near[other.id] >= AT_REST_MIN]
    older = [other for other in fit if precedence.age(other) < precedence.age(memory)][:AT_REST_MAX]
    newer = [other for other in fit if other.id in again and other not in older]
    return [
        *((other, memory, near[other.id]) for other in older),
        *((memory, other, near[other.id]) for other in newer),
    ]


def _is_compared(memory: Memory) -> bool:
    return (
        memory.state == "active"
        and memory.kind not in guard.RECORDS
        and triggers.TAG not in memory.tags
        and not memory.conflicts
    )


def _may_be_one_matter(memory: Memory, other: Memory) -> bool:
    return _is_compared(other) and other.space == memory.space and guard.may_be_read(other.content, memory.content)
