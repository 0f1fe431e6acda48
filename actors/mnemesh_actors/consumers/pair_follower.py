"""Pairs of memories that may speak of one matter, read at rest for the questions to come.

The write guard links a pair only when two texts alone say enough. A question tells what they are compared by. So each
memory is read beside its nearest older ones, and recall reads the question beside the pairs that are not sure to hold
together.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.consumers.neighbours import NEAREST, indexed, is_compared, neighbours
from mnemesh_actors.knowledge.pair_store import PairStore, ReadPair, SeenMemory
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.judge.evidence import pair_score
from mnemesh_memory.policy.judge.reading import KEPT_FROM, Reading
from mnemesh_memory.policy.judge.worth_reading import AT_REST_MAX, AT_REST_MIN
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Memory

NAME: Final = "pairs"
WIDER: Final = 4 * NEAREST  # neighbours, where too few of the nearest are older
TextPair = tuple[Memory, Memory, float]  # older, newer, cosine


class PairFollower:
    """A consumer that keeps its cursor in the file of the pairs."""

    def __init__(self, store: Handle[PairStore], parts: JudgeParts, notice: Callable[[str], None]) -> None:
        self._store = store
        self._parts = parts
        self._notice = notice

    async def take(self, page: EntryPage) -> None:
        """Read the memories of a page whose text, time or state is another one than before. Raises DataLoss for another
        model than that of the file: the log is read from its beginning then."""
        if page.erased:  # first, as it waits for no index and no model
            await self._store.take({}, list(page.erased), [], True)
        reader, ids = self._parts.embedder().pair_reader, list(dict.fromkeys(page.changed))
        if not ids:
            return
        known = await self._parts.ledger.read(ids)
        digests = {memory.id: _digest(memory) for memory in known.values() if is_compared(memory)}
        seen = await self._store.seen(ids)
        changed = [known[id_] for id_ in ids if id_ in digests and digests[id_] != seen.get(id_)]
        gone = [id_ for id_ in ids if id_ not in digests]
        if not reader:
            await self._store.read_by("")
            await self._store.take({}, [*gone, *(memory.id for memory in changed)], [], False)
            return
        if reader != await self._store.reader():
            raise DataLoss("the pairs of memories were read by another model", field="model", value=reader)
        if changed:
            await indexed(self._parts, page.seq)
        pairs = await self._read(await self._pairs(changed, known))
        now_seen = {memory.id: SeenMemory(memory.space, digests[memory.id]) for memory in changed}
        await self._store.take(now_seen, gone, pairs, False)

    async def _pairs(self, changed: Sequence[Memory], known: dict[str, Memory]) -> list[TextPair]:
        """Each changed memory beside its nearest older ones. A memory that came or changed late also stands beside the
        nearest newer ones that were read before."""
        pairs: dict[tuple[str, str], TextPair] = {}
        limit, asked = NEAREST, list(changed)
        for _ in range(2):  # many later texts may lie nearer: then more are asked for once
            near = await neighbours(self._parts, asked, limit)
            others = {id_ for cosines in near.values() for id_ in cosines}
            known |= await self._parts.ledger.read(sorted(others - known.keys()))
            seen = await self._store.seen(sorted(others))
            few = []
            for memory in asked:
                found = _pairs_of(memory, near.get(memory.id, {}), known, seen)
                pairs |= {(older.id, newer.id): (older, newer, cosine) for older, newer, cosine in found}
                older = sum(newer is memory for _, newer, _ in found)
                if older < AT_REST_MAX and not memory.forced and len(near.get(memory.id, {})) >= limit:
                    few.append(memory)
            limit, asked = WIDER, few
        return list(pairs.values())

    async def _read(self, wanted: Sequence[TextPair]) -> list[ReadPair]:
        """The pairs that a question may decide. Raises what the model raised."""
        texts = [(older.content, newer.content) for older, newer, _ in wanted]
        readings: list[Reading] = []
        async with aclosing(self._parts.embedder().read_pairs(texts, yields=True)) as calls:
            async for some in calls:
                readings += some
        return await asyncio.to_thread(_kept, wanted, readings)

    async def reset(self) -> None:
        """Another log goes on, another model reads, or the file is new."""
        await self._store.reset(self._parts.embedder().pair_reader)
        made = await self._store.made()
        self._notice(Notice(NAME, f"the pairs of memories are read anew: {made}" if "damaged" in made else ""))

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the pairs of the log are read. Another model reads the log from its beginning. Without
        one the file stays."""
        reader = self._parts.embedder().pair_reader
        return ("", 0) if reader and reader != await self._store.reader() else await self._store.cursor()

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        await self._store.keep_cursor(incarnation, seq)


def _kept(wanted: Sequence[TextPair], readings: Sequence[Reading]) -> list[ReadPair]:
    scored = [
        ReadPair(older.id, newer.id, pair_score(older.content, newer.content, min(1.0, cosine), reading))
        for (older, newer, cosine), reading in zip(wanted, readings, strict=True)
    ]
    return [pair for pair in scored if pair.score >= KEPT_FROM]


def _pairs_of(
    memory: Memory, near: Mapping[str, float], known: Mapping[str, Memory], seen: Collection[str]
) -> list[TextPair]:
    """A memory beside its nearest older ones, and beside the nearest newer ones of `seen`. A forced one is
    never the newer."""
    others = [known[id_] for id_ in sorted(near, key=lambda id_: (-near[id_], id_)) if id_ in known]
    fit = [other for other in others if _may_be_one_matter(memory, other) and near[other.id] >= AT_REST_MIN]
    before = [other for other in fit if precedence.age(other) < precedence.age(memory)]
    older = [] if memory.forced else before
    newer = [other for other in fit if other not in before and other.id in seen and not other.forced]
    return [
        *((other, memory, near[other.id]) for other in older[:AT_REST_MAX]),
        *((memory, other, near[other.id]) for other in newer[:AT_REST_MAX]),
    ]


def _digest(memory: Memory) -> bytes:
    """Of what a pair depends on."""
    told = [memory.content, memory.space, memory.kind, *precedence.age(memory)]
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=8).digest()


def _may_be_one_matter(memory: Memory, other: Memory) -> bool:
    return (
        other.id != memory.id
        and is_compared(other)
        and other.space == memory.space
        and guard.may_be_read(other.content, memory.content)
    )
