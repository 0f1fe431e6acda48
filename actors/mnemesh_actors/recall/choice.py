"""Choice of the candidates that stand in an answer: their rows are read, and the ledger has the last word.

WorldTime judges `valid_at`, the time of the world at which a question asks. An unread row judges nothing: a memory that
hangs on it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.results import FoundMemory, end_of_equals, redirected, with_ratings
from mnemesh_actors.rows.row_source import RowSource
from mnemesh_memory.policy import trust
from mnemesh_memory.policy.dynamics.heat import heat_of
from mnemesh_memory.policy.validity import held, replaced, stood_instead, successors
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.validation.filters import passes
from mnemesh_memory.values.model import Memory, Query


class WorldTime:
    """The judge of one query over its rows."""

    def __init__(self, query: Query, rows: RowSource) -> None:
        self._moment = query.valid_at
        self._said = query.asked_at if query.valid_at is None else None  # What held then stays; nothing is left out.
        self._alone = query.include_superseded
        self._rows = rows

    async def standing(self, memories: Iterable[Memory]) -> set[str]:
        """Ids of the memories that held and were not replaced by another that held; none without a time."""
        asked = list(memories)
        moment = self._moment
        if moment is None and self._said is not None:
            moment, asked = (
                self._said,
                [memory for memory in asked if memory.state == "superseded" and happened_at(memory) <= self._said],
            )
        if moment is None or not asked:
            return set()
        others = await self._rows.chains(asked)
        instead = {} if self._alone else stood_instead(asked, moment, others)
        return {
            memory.id
            for memory in asked
            if memory.id not in instead
            and held(memory, moment, others)
            and not self._hangs_on_unread(memory, others, alone=self._alone)
        }

    async def passing(self, memories: Sequence[Memory]) -> Collection[str]:
        """Ids of the memories that may be shown."""
        return {memory.id for memory in memories} if self._moment is None else await self.standing(memories)

    async def instead(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """By the id of each superseded memory, its successor of that time; without a time, the last one."""
        if self._moment is None:
            return await self._rows.ends(old)
        others = await self._rows.chains(old)
        decided = [memory for memory in old if not self._hangs_on_unread(memory, others)]
        return stood_instead(decided, self._moment, others)

    def _hangs_on_unread(self, memory: Memory, others: Mapping[str, Memory], *, alone: bool = False) -> bool:
        """Whether an unread memory decides when this one began or, but for `alone`, may have held instead."""
        unread = self._rows.unread
        if not unread:
            return False
        chain = (memory,) if alone else (memory, *successors(memory, others))
        return any(
            (not alone and link.superseded_by in unread)
            or (link.valid_from is None and not replaced((link,)).isdisjoint(unread))
            for link in chain
        )


# Read beyond the limit in one step: some candidates are redirected or filtered away.
READ_MARGIN = 2
BEST_FOR_COVERAGE = 3


class Choice:
    """The choice among candidates for one query and its rows."""

    def __init__(self, parts: NodePorts, query: Query, rows: RowSource) -> None:
        self._parts = parts
        self._rows = rows
        self._world_time = WorldTime(query, rows)

    async def pick(self, query: Query, fused: Sequence[Fused]) -> tuple[list[FoundMemory], list[FoundMemory], int]:
        """Enough memories to show, best first, whatever `min_score` says of them; the best of these; and the number of
        candidates that gave way to a successor.

        Rows are read a step at a time, because most candidates are never shown. Another order needs all rows, and
        candidates exactly as good as the last one are read too."""
        by_relevance = query.sort == "relevance"
        step = query.limit + READ_MARGIN if by_relevance else len(fused)
        shown: set[str] = set()
        kept: list[FoundMemory] = []
        best: list[FoundMemory] = []
        matches: list[float] = []
        at = old = 0
        end = step
        while part := fused[at:end]:
            memories = await self._rows.view([item.id for item in part])
            pairs = [(item, memories[item.id]) for item in part if item.id in memories]
            standing = await self._world_time.standing(memories.values())
            if not query.include_superseded:
                old += sum(memory.state == "superseded" and memory.id not in standing for _, memory in pairs)
            candidates = with_ratings(await self._redirected(query, pairs, fused, shown, standing))
            passing = await self.passing(query, candidates)
            best = best or passing[:BEST_FOR_COVERAGE]
            kept += passing
            match = {item.id: item.score for item in part}
            matches += [match[item.fused.id] for item in kept[len(matches) :]]
            if self._rows.unread:
                break
            enough = by_relevance and len(kept) >= query.limit
            at, end = end, end_of_equals(fused, end, matches[query.limit - 1]) if enough else end + step
        return kept, best, old

    async def passing(self, query: Query, candidates: Sequence[FoundMemory]) -> list[FoundMemory]:
        """The candidates that pass all filters but `min_score`. The ledger judges last, also after the index."""
        kept = [item for item in candidates if passes(query, item.memory)]
        standing = await self._world_time.passing([item.memory for item in kept])
        kept = [item for item in kept if item.memory.id in standing]
        if query.trusted is not None and kept:
            asked = query.trusted
            brought = set(await self._parts.ledger.from_peers([item.memory.id for item in kept], asked.node))
            kept = [
                item for item in kept
                if trust.of(item.memory, item.memory.id in brought, asked.principal) in asked.classes
            ]  # fmt: skip
        if query.min_heat > 0 and kept:
            now = self._parts.clock()
            used = await self._parts.ledger.activity([item.memory.id for item in kept])
            kept = [
                item
                for item in kept
                if heat_of(item.memory, used, now, self._parts.config.half_lives).value >= query.min_heat
            ]
        return kept

    async def _redirected(
        self,
        query: Query,
        pairs: Sequence[tuple[Fused, Memory]],
        fused: Sequence[Fused],
        shown: set[str],
        standing: set[str],
    ) -> list[FoundMemory]:
        """The results of `pairs`, a part of the candidates. A superseded memory gives way to its successor, unless its
        id is in `standing`."""
        if query.include_superseded:
            return [FoundMemory(memory, fit) for fit, memory in pairs]
        old = [memory for _, memory in pairs if memory.state == "superseded" and memory.id not in standing]
        return redirected(pairs, await self._world_time.instead(old), fused, shown, standing)
