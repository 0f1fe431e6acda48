"""Choice of the candidates that stand in an answer: their rows are read, and the ledger has the last word.

A row of the past is made out of a history, which is slow. Each is read once for a recall, and none when the time for
reading is over. The answer says when rows were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mnemesh_actors.ledger.store.reads import chain_ends
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.past.reading_then import read_then
from mnemesh_actors.recall.results import Found, end_of_equals, heat_of, redirected
from mnemesh_memory.policy.validity import held, replaced, stood_instead, successors
from mnemesh_memory.ranking.answers import left_out
from mnemesh_memory.ranking.fusion import Fused
from mnemesh_memory.validation.filters import passes
from mnemesh_memory.values.errors import count_of
from mnemesh_memory.values.model import Memory, Query

# Read beyond the limit in one step: some candidates are redirected or filtered away.
READ_MARGIN = 2
BEST_FOR_COVERAGE = 3


class Picking:
    """The rows of one recall, which asks of `query.as_of`, None for now. Of the past nothing is read after `by`, in
    the event loop's time."""

    def __init__(self, parts: NodePorts, query: Query, by: float) -> None:
        self._parts = parts
        self._as_of = query.as_of
        self._spaces = query.spaces
        self._by = by
        self._chains: dict[str, Memory] = {}
        self._reached: set[str] = set()
        self._then: dict[str, Memory | None] = {}
        self._unread: set[str] = set()
        self._lost: dict[str, None] = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Reasons for missing memories: damage, or the end of the time for reading."""
        lost = left_out(list(self._lost))
        if not self._unread:
            return lost
        number = count_of(len(self._unread), "memory")
        return (*lost, f"as_of: the time was over before {number} could be read as of then, which may belong here")

    @property
    def late(self) -> bool:
        """Whether the time for reading was over."""
        return bool(self._unread)

    def note_lost(self, ids: Iterable[str]) -> None:
        """These memories are damaged and may belong to the answer."""
        self._lost |= dict.fromkeys(ids)

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Rows by id, as of now or of then; unknown ids are absent."""
        if self._as_of is None or not ids:
            now = await self._parts.ledger.read(ids) if ids else {}
            await self._look_for([id_ for id_ in ids if id_ not in now])
            return now
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._then]
        found, unread = await read_then(self._parts, wanted, self._as_of, self._by)
        self._unread = (self._unread - found.keys()) | set(unread)
        self._then |= {id_: found.get(id_) for id_ in wanted if id_ not in self._unread}
        await self._look_for([id_ for id_ in wanted if id_ not in found and id_ not in unread])
        return {id_: memory for id_ in ids if (memory := self._then.get(id_)) is not None}

    async def _look_for(self, absent: Sequence[str]) -> None:
        """Note the memories among `absent` that are missing because of damage."""
        if absent:
            past = self._as_of is not None
            self.note_lost(await self._parts.ledger.lost(absent, self._spaces, past))

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """Where the chain of successors of each of these ends."""
        ids = [memory.id for memory in old]
        if not ids or self._as_of is None:
            return await self._parts.ledger.successors(ids) if ids else {}
        chain = await self._chain(old)
        ends = chain_ends(ids, lambda id_: _next(chain, id_))
        return {id_: chain[end] for id_, end in ends.items() if end in chain and chain[end].state != "superseded"}

    async def pick(self, query: Query, fused: Sequence[Fused]) -> tuple[list[Found], list[Found], int]:
        """Enough memories to show, best first; the best that pass all filters but `min_score`; and the number of
        candidates that gave way to a successor.

        Rows are read a step at a time, because most candidates are never shown. Another order needs all rows, and
        candidates exactly as good as the last one are read too."""
        by_relevance = query.sort == "relevance"
        step = query.limit + READ_MARGIN if by_relevance else len(fused)
        shown: set[str] = set()
        kept: list[Found] = []
        best: list[Found] = []
        matches: list[float] = []
        at = old = 0
        end = step
        while part := fused[at:end]:
            memories = await self.view([item.id for item in part])
            pairs = [(item, memories[item.id]) for item in part if item.id in memories]
            still = await self._still(query, memories.values())
            if query.as_of is None and not query.include_superseded:
                old += sum(memory.state == "superseded" and memory.id not in still for _, memory in pairs)
            found = [item.rated() for item in await self._redirected(query, pairs, fused, shown, still)]
            passing = await self.keep(query, found)
            best = best or passing[:BEST_FOR_COVERAGE]
            kept += [item for item in passing if item.fused.score >= query.min_score]
            match = {item.id: item.score for item in part}
            matches += [match[item.fused.id] for item in kept[len(matches) :]]
            if self._unread:
                break
            enough = by_relevance and len(kept) >= query.limit
            at, end = end, end_of_equals(fused, end, matches[query.limit - 1]) if enough else end + step
        return kept, best, old

    async def keep(self, query: Query, found: Sequence[Found]) -> list[Found]:
        """The candidates that pass all filters but `min_score`. The ledger judges last, also after the index."""
        kept = [item for item in found if passes(query, item.memory)]
        if query.valid_at is not None:
            still = await self._still(query, [item.memory for item in kept])
            kept = [item for item in kept if item.memory.id in still]
        if query.min_heat > 0 and kept:
            now = self._parts.clock()
            used = await self._parts.ledger.activity([item.memory.id for item in kept])
            kept = [item for item in kept if heat_of(item.memory, used, now) >= query.min_heat]
        return kept

    async def _still(self, query: Query, memories: Iterable[Memory]) -> set[str]:
        """Ids of the memories that held at `valid_at` and were not replaced by another that held then; none without
        `valid_at`."""
        if query.valid_at is None:
            return set()
        asked = list(memories)
        others = await self._others(asked)
        alone = query.include_superseded
        instead = {} if alone else stood_instead(asked, query.valid_at, others)
        return {
            one.id
            for one in asked
            if one.id not in instead
            and held(one, query.valid_at, others)
            and not self._undecided(one, others, alone=alone)
        }

    def _undecided(self, memory: Memory, others: Mapping[str, Memory], *, alone: bool = False) -> bool:
        """Whether an unread memory decides when this one began or, but for `alone`, may have held instead."""
        unread = self._unread
        if not unread:
            return False
        way = (memory,) if alone else (memory, *successors(memory, others))
        return any(
            (not alone and one.superseded_by in unread)
            or (one.valid_from is None and not unread.isdisjoint(replaced((one,))))
            for one in way
        )

    async def _others(self, memories: Sequence[Memory]) -> Mapping[str, Memory]:
        """These memories, all successors, and everything that the successors replaced: the base for judging
        validity."""
        if self._as_of is None:
            # A predecessor comes without its own predecessors and successors.
            if left := [memory.id for memory in memories if memory.id not in self._reached]:
                self._chains |= await self._parts.ledger.chains(left)
                for id_ in left:
                    while id_ in self._chains and id_ not in self._reached:
                        self._reached.add(id_)
                        id_ = self._chains[id_].superseded_by
            return self._chains
        chain = await self._chain(memories)
        return {**await self.view(sorted(replaced(chain.values()) - chain.keys())), **chain}

    async def _chain(self, memories: Iterable[Memory]) -> dict[str, Memory]:
        """These memories as of then, and all their successors."""
        last = {memory.id: memory for memory in memories}
        chain = dict(last)
        while todo := {one.superseded_by for one in last.values() if one.superseded_by} - chain.keys():
            last = await self.view(sorted(todo))
            chain |= last
        return chain

    async def _redirected(
        self,
        query: Query,
        pairs: Sequence[tuple[Fused, Memory]],
        fused: Sequence[Fused],
        shown: set[str],
        still: set[str],
    ) -> list[Found]:
        """The results of `pairs`, a part of the candidates. A superseded memory gives way to its successor of then or
        now, unless its id is in `still`."""
        if query.include_superseded:
            return [Found(memory, fit) for fit, memory in pairs]
        old = [memory for _, memory in pairs if memory.state == "superseded" and memory.id not in still]
        if query.valid_at is None:
            return redirected(pairs, await self.ends(old), fused, shown, still)
        others = await self._others(old)
        decided = [one for one in old if not self._undecided(one, others)]
        then = stood_instead(decided, query.valid_at, others)
        return redirected(pairs, then, fused, shown, still)


def _next(chain: dict[str, Memory], id_: str) -> str:
    return chain[id_].superseded_by if id_ in chain and chain[id_].state == "superseded" else ""
