"""Judges memories after their writing: of a bulk import, from peers, and of two writers at once.

The write guard compares a text with the memories of its node at that moment. Two writers on two nodes, or two
at once on one node, miss each other there. This consumer compares such memories as soon as both are here, and links
them `contradicts`. Such a pair is replaced by a person or the writer alone. A bulk import asked for the verdicts of
the guard, so its memories get the whole verdict (`postponed_verdicts.py`). Rules.

1. A pair that any link joins is not judged: somebody has said how the two belong together.
2. The link leads from the memory that was created later. Every node writes the same link, and merging leaves one.
3. A memory is judged once for its present revision, so links and votes cause no new judgement.
4. A text that its writer stored with `force` is not judged. A later text is judged beside it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import structlog

from mnemesh_actors.consumers.judge_parts import AGENT, OPERATION_BYTES, JudgeParts
from mnemesh_actors.consumers.neighbours import NEAREST, indexed, is_compared, neighbours
from mnemesh_actors.consumers.postponed_verdicts import Postponed, PostponedVerdicts
from mnemesh_actors.embedding.readings import judged_at_rest
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.ledger.commands import Tie
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage, LogEntry
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge import guard, worth_reading
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.errors import (
    Aborted,
    DataLoss,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from mnemesh_memory.values.memory_links import CONTRADICTS
from mnemesh_memory.values.model import Memory

# Two local writers miss each other within this time, when so few entries lie between them.
AT_ONCE_MS: Final = 10_000
RECENT_ENTRIES: Final = 32
# A memory gets no more such links by this consumer, whatever others write beside it.
CONTRADICTIONS_MAX: Final = 8
JUDGED_KEPT: Final = 4096
# As many neighbours of a memory as a search may give at most.
WIDEST: Final = SEARCH_LIMIT_MAX
Firsts: TypeAlias = dict[str, tuple[int, str]]  # By id the number of the first entry and the node that accepted it.
log = structlog.get_logger("mnemesh.consumers")


class ContradictionJudge:
    """A consumer whose cursor the ledger keeps. Taking a page again writes nothing new."""

    def __init__(self, parts: JudgeParts) -> None:
        self._parts = parts
        self._recent: deque[LogEntry] | None = None  # None until the entries before the first page are read
        self._verdicts = PostponedVerdicts(parts)
        self._judged: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # heads by id
        self._latest: int | None = None  # time of an entry so far (ms), once a text was postponed

    async def reset(self) -> None:
        """Another log goes on."""
        self._recent = self._latest = None
        self._judged.clear()

    async def take(self, page: EntryPage) -> None:
        """Judge the memories of a page that met others unseen, after those of a bulk import."""
        postponed = await self._postponed(page)
        asked = await self._unseen(page)
        if not (asked or postponed):
            return
        await indexed(self._parts, page.seq)
        ids = [id_ for id_ in page.changed if id_ in asked or id_ in postponed]
        known: dict[str, Memory] = await self._parts.ledger.read(ids)
        fresh = [memory for memory in known.values() if memory.id in asked and self._is_fresh(memory)]
        late = [known[id_] for id_ in postponed if id_ in known]
        near = await neighbours(self._parts, fresh, NEAREST)
        firsts: Firsts = {}
        before = await self._before(late, await neighbours(self._parts, late, NEAREST, self._latest), firsts)
        await self._read(known, (id_ for memory in fresh for id_ in near.get(memory.id, ())))
        await self._read(known, (id_ for cosines in before.values() for id_ in cosines))
        await self._learn(firsts, known)
        begin = page.entries[0].seq
        # A restored memory says no more than it said when it was written.
        waiting = [
            replace(postponed[old.id], at=old.created_at) if firsts[old.id][0] < begin else postponed[old.id]
            for old in late
        ]
        await self._judge_in_order(waiting, before, known)
        if done := [id_ for id_ in postponed if not self._verdicts.waits(known.get(id_), known)]:
            await self._parts.ledger.judged(done)
        for memory in fresh:
            rivals, cosines = asked[memory.id], near.get(memory.id, {})
            others = [
                known[id_]
                for id_ in cosines
                if id_ in known and id_ != memory.id and (id_ in rivals or firsts[id_][1] != firsts[memory.id][1])
            ]
            await self._judge(known[memory.id], others, cosines)
            self._note(memory)

    def _is_fresh(self, memory: Memory) -> bool:
        return is_compared(memory) and not memory.forced and self._judged.get(memory.id) != memory.heads

    async def _judge_in_order(
        self, waiting: Sequence[Postponed], before: dict[str, dict[str, float]], known: dict[str, Memory]
    ) -> None:
        """Carry out the verdict on each memory beside those `before` it. A verdict that closes a neighbour of a later
        memory leaves room for another neighbour."""
        closed: set[str] = set()
        seq = 0
        for postponed in waiting:
            if not closed.isdisjoint(before[postponed.id]):
                await indexed(self._parts, seq)
                near = await neighbours(self._parts, [known[postponed.id]], NEAREST, self._latest)
                before |= await self._before([known[postponed.id]], near, {})
                await self._read(known, before[postponed.id])
            if (done := await self._verdicts.judge(postponed, before[postponed.id], known)) is not None:
                closed |= {old.id for old in done.superseded}
                seq = done.seq

    async def _read(self, known: dict[str, Memory], ids: Iterable[str]) -> None:
        if new := list(dict.fromkeys(id_ for id_ in ids if id_ not in known)):
            known |= await self._parts.ledger.read(new)

    async def _learn(self, firsts: Firsts, ids: Iterable[str]) -> None:
        if new := list(dict.fromkeys(id_ for id_ in ids if id_ not in firsts)):
            firsts |= await self._parts.ledger.first_entries(new)

    async def _before(
        self, memories: Sequence[Memory], near: Mapping[str, Mapping[str, float]], firsts: Firsts
    ) -> dict[str, dict[str, float]]:
        """Of the neighbours of each memory the nearest that the log held before it. Many later texts may lie nearer, so
        more neighbours are asked for while all that are known are near."""
        limit, wider, nearest = NEAREST, list(memories), dict[str, dict[str, float]]()
        while wider:
            await self._learn(firsts, (id_ for memory in wider for id_ in (memory.id, *near.get(memory.id, ()))))
            for memory in wider:
                ordered = sorted(near.get(memory.id, {}).items(), key=lambda pair: (-pair[1], pair[0]))
                earlier = [pair for pair in ordered if pair[0] in firsts and firsts[pair[0]] < firsts[memory.id]]
                nearest[memory.id] = {
                    id_: cosine for id_, cosine in earlier[:NEAREST] if cosine >= worth_reading.AT_REST_MIN
                }
            wider = [
                memory
                for memory in wider
                if limit < WIDEST
                and len(nearest[memory.id]) < guard.RELATED_MAX
                and sum(cosine >= guard.NEAR_MIN for cosine in near.get(memory.id, {}).values()) >= limit
            ]
            limit = min(4 * limit, WIDEST)
            near = await neighbours(self._parts, wider, limit, self._latest)
        return nearest

    async def _postponed(self, page: EntryPage) -> dict[str, Postponed]:
        """The memories of a page that wait for a verdict, in the order of the log."""
        waiting = await self._parts.ledger.postponed(page.changed) if page.changed else {}
        if self._latest is not None:
            self._latest = max((self._latest, *(entry.at for entry in page.entries)))
        elif waiting:
            self._latest = await self._parts.ledger.latest_time(page.seq)
        first = {entry.id: entry.at for entry in reversed(page.entries)}
        return {
            id_: Postponed(id=id_, agent=waiting[id_][0], role=waiting[id_][1], at=first[id_])
            for id_ in page.changed
            if id_ in waiting
        }

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
            recent = deque((entry for entry in before.entries if entry.seq < first), RECENT_ENTRIES)
        asked: dict[str, set[str]] = {}
        for entry in page.entries:
            if not entry.erased:
                at_once = {other.id for other in recent if _at_once(other, entry)}
                if entry.origin or at_once:
                    asked.setdefault(entry.id, set()).update(at_once)
            recent.append(entry)
        self._recent = recent
        return asked

    async def _judge(self, memory: Memory, others: Sequence[Memory], cosines: Mapping[str, float]) -> None:
        beside = precedence.settled(others, cosines)
        open_ = [other for other in others if other.id not in beside and _may_contradict(memory, other)]
        older = [other for other in open_ if precedence.contradiction(memory, other)[0] is memory]
        newer = [other for other in open_ if other not in older]
        for later, before in ((memory, older), *((other, [memory]) for other in newer)):
            if not before or later.forced:
                continue
            candidates = tuple(
                guard.OlderText(
                    id=other.id, text=other.content, kind=other.kind,
                    cosine=min(1.0, cosines[other.id if later is memory else later.id]), replaceable=False,
                )
                for other in before
            )  # fmt: skip
            verdict = await judged_at_rest(self._parts.embedder(), later, candidates)
            for id_ in verdict.contradicts:
                await self._link(later, next(other for other in before if other.id == id_))

    async def _link(self, later: Memory, older: Memory) -> None:
        holder, link = precedence.contradiction(later, older)
        if sum(own.type == CONTRADICTS for own in holder.links) >= CONTRADICTIONS_MAX:
            return
        command = Tie(
            agent=AGENT, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=holder.id, link=link,
            put=True, heads=holder.heads,
        )  # fmt: skip
        try:
            await self._parts.commit(command)
        except (NotFound, FailedPrecondition, InvalidArgument, Aborted, DataLoss) as error:
            # One of the two changed, went, is full or damaged meanwhile: then the entry of that change is judged.
            log.info("contradiction_not_linked", id=holder.id, to=link.id, reason=error.message)
        else:
            log.info("contradiction_linked", id=holder.id, to=link.id)


def _at_once(one: LogEntry, other: LogEntry) -> bool:
    """Whether two writers may have missed each other here."""
    return (
        one.id != other.id
        and one.space == other.space
        and not one.erased
        # The peer that brought both judges those two.
        and (
            one.origin != other.origin
            or (not one.origin and one.agent != other.agent and abs(one.at - other.at) <= AT_ONCE_MS)
        )
    )


def _may_contradict(one: Memory, other: Memory) -> bool:
    """Whether two memories of one space may say other things of the same time."""
    older, newer = sorted((one, other), key=precedence.age)
    return (
        is_compared(other)
        and one.space == other.space
        and not precedence.linked(one, other)
        and (older.valid_to is None or older.valid_to > happened_at(newer))
    )
