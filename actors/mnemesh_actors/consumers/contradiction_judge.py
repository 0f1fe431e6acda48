"""Judges memories that met only after their writing: memories from peers, and memories of two writers at once.

The write guard compares a text with the memories of its node at that moment. Two writers on two nodes, or two
at once on one node, miss each other there. This consumer compares such memories as soon as both are here, and links
them `contradicts`. The consumer replaces nothing, because a person or the writer decides that. Rules.

1. A pair that any link joins is not judged: somebody has said how the two belong together.
2. The link leads from the memory that was created later. Every node writes the same link, and merging leaves one.
3. A memory is judged once for its present revision, so links and votes cause no new judgement.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from mnemesh_actors.embedding.embedder import Embedder, Vector
from mnemesh_actors.ledger.commit.commands import Command, Committed, Tie
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage, LogEntry
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy import guard, standing, triggers
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.errors import Aborted, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import CONTRADICTS
from mnemesh_memory.values.model import Memory

if TYPE_CHECKING:
    from mnemesh_actors.consumers.follower import IndexFollower

# Signs the links: the node speaks for its owner, as it does for triggers.
AGENT: Final = "owner/judge"
OPERATION_BYTES: Final = 16
# Two local writers miss each other within this time, when so few entries lie between them.
AT_ONCE_MS: Final = 10_000
RECENT_ENTRIES: Final = 32
# A memory gets no more such links by this consumer, whatever others write beside it.
CONTRADICTIONS_MAX: Final = 8
JUDGED_KEPT: Final = 4096
log = structlog.get_logger("mnemesh.consumers")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeParts:
    """`index` and `embedder` are those of the vector space that answers now."""

    ledger: Handle[LedgerPort]
    embedder: Callable[[], Embedder]
    index: Callable[[], IndexFollower]
    commit: Callable[[Command], Awaitable[Committed]]
    clock: Callable[[], int]
    entropy: Callable[[int], bytes]


class ContradictionJudge:
    """A consumer whose cursor the ledger keeps. Taking a page again writes nothing new."""

    def __init__(self, parts: JudgeParts) -> None:
        self._parts = parts
        self._recent: deque[LogEntry] | None = None  # None until the entries before the first page are read
        self._judged: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # heads by id

    async def reset(self) -> None:
        """Another log goes on."""
        self._recent = None
        self._judged.clear()

    async def take(self, page: EntryPage) -> None:
        """Judge the memories of a page that met others unseen."""
        asked = await self._unseen(page)
        if not asked:
            return
        await self._indexed(page.seq)
        memories = await self._parts.ledger.read([id_ for id_ in page.changed if id_ in asked])
        fresh = [one for one in memories.values() if _is_judged(one) and self._judged.get(one.id) != one.heads]
        if not fresh:
            return
        near = await self._neighbours(fresh)
        ids = list({id_ for found in near.values() for id_ in found} - memories.keys())
        known = {**(await self._parts.ledger.read(ids) if ids else {}), **memories}
        nodes = await self._parts.ledger.first_nodes(list(known))
        for memory in fresh:
            rivals = asked[memory.id]
            others = [
                known[id_]
                for id_ in near.get(memory.id, {})
                if id_ in known and id_ != memory.id and (id_ in rivals or nodes.get(id_) != nodes.get(memory.id))
            ]
            await self._judge(memory, others, near.get(memory.id, {}))
            self._note(memory)

    def _note(self, memory: Memory) -> None:
        self._judged[memory.id] = memory.heads
        while len(self._judged) > JUDGED_KEPT:
            self._judged.popitem(last=False)

    async def _unseen(self, page: EntryPage) -> dict[str, set[str]]:
        """The memories of a page to be judged, each with those that were written here at the same time."""
        recent = self._recent
        if recent is None:
            first = page.entries[0].seq
            before = await self._parts.ledger.entries(max(0, first - 1 - RECENT_ENTRIES), RECENT_ENTRIES)
            recent = deque((one for one in before.entries if one.seq < first), RECENT_ENTRIES)
        asked: dict[str, set[str]] = {}
        for entry in page.entries:
            if not entry.erased:
                at_once = {one.id for one in recent if _at_once(one, entry)}
                if entry.origin or at_once:
                    asked.setdefault(entry.id, set()).update(at_once)
            recent.append(entry)
        self._recent = recent
        return asked

    async def _indexed(self, seq: int) -> None:
        """Return once the index holds everything up to `seq`, however long it takes. Raises Unavailable when it is
        away."""
        while (index := self._parts.index()).applied < seq:
            try:
                await index.wait_for(seq)
            except DeadlineExceeded:
                log.debug("index_awaited", seq=seq, applied=index.applied)

    async def _neighbours(self, memories: list[Memory]) -> dict[str, Mapping[str, float]]:
        """By id the memories that each may concern, with their cosines. A memory without a vector has none."""
        embedder, index = self._parts.embedder(), self._parts.index()
        hashes = {memory.id: content_hash(index_texts(memory)[0][0]) for memory in memories}
        kept = await self._parts.ledger.vectors(list(set(hashes.values())), embedder.generation)
        vectors = embedder.stored(kept)
        here = [memory for memory in memories if hashes[memory.id] in vectors]
        if not here:
            return {}
        asked: list[tuple[Vector, str]] = [(vectors[hashes[memory.id]], memory.space) for memory in here]
        words = [" ".join(guard.subject_terms(memory.content)) for memory in here]
        found: list[list[tuple[str, float]]] = await index.read(
            lambda shard: shard.neighbours_batch(asked, guard.RELATED_MAX + 1, embedder.generation, words)
        )
        return {memory.id: dict(pairs) for memory, pairs in zip(here, found, strict=True)}

    async def _judge(self, memory: Memory, others: Sequence[Memory], cosines: Mapping[str, float]) -> None:
        beside = standing.settled(others, cosines)
        open_ = [one for one in others if one.id not in beside and _may_contradict(memory, one)]
        older = [one for one in open_ if standing.contradiction(memory, one)[0] is memory]
        newer = [one for one in open_ if one not in older]
        for later, before in ((memory, older), *((one, [memory]) for one in newer)):
            if not before:
                continue
            candidates = [
                guard.Candidate(
                    id=one.id, text=one.content, kind=one.kind,
                    cosine=min(1.0, cosines[one.id if later is memory else later.id]), replaceable=False,
                )
                for one in before
            ]  # fmt: skip
            verdict = await asyncio.to_thread(guard.judge, later.content, later.kind, candidates)
            for id_ in verdict.contradicts:
                await self._link(later, next(one for one in before if one.id == id_))

    async def _link(self, later: Memory, older: Memory) -> None:
        holder, link = standing.contradiction(later, older)
        if sum(one.type == CONTRADICTS for one in holder.links) >= CONTRADICTIONS_MAX:
            return
        command = Tie(
            agent=AGENT, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=holder.id, link=link,
            put=True, heads=holder.heads,
        )  # fmt: skip
        try:
            await self._parts.commit(command)
        except (NotFound, FailedPrecondition, InvalidArgument, Aborted) as error:
            # One of the two changed, went or is full meanwhile: then the entry of that change is judged.
            log.info("contradiction_not_linked", id=holder.id, to=link.id, reason=error.message)
        else:
            log.info("contradiction_linked", id=holder.id, to=link.id)


def _at_once(one: LogEntry, other: LogEntry) -> bool:
    """Whether two writers may have missed each other here."""
    return (
        one.id != other.id
        and one.space == other.space
        and not one.erased
        and (bool(one.origin or other.origin) or (one.agent != other.agent and abs(one.at - other.at) <= AT_ONCE_MS))
    )


def _is_judged(memory: Memory) -> bool:
    return (
        memory.state == "active"
        and memory.kind not in guard.RECORDS
        and triggers.TAG not in memory.tags
        and not memory.conflicts
    )


def _may_contradict(one: Memory, other: Memory) -> bool:
    """Whether two memories of one space may say other things of the same time."""
    older, newer = sorted((one, other), key=standing.age)
    return (
        _is_judged(other)
        and one.space == other.space
        and not standing.linked(one, other)
        and (older.valid_to is None or older.valid_to > happened_at(newer))
    )
