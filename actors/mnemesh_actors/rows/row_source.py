"""The memories of one recall as a reader sees them: here as they are now, in PastRows as they were at a moment.

Nothing that holds a RowSource asks for which time it reads. The index knows today's texts alone, so the words of
reworded memories are counted here. Their meaning stays that of today, because no vector of an older text is kept.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final, TypeAlias, TypeVar

from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.index.shard import Search
from mnemesh_actors.ledger.store.reads import chain_ends
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.rows.display import displayed
from mnemesh_memory.policy.validity import replaced
from mnemesh_memory.ranking.answers import left_out
from mnemesh_memory.ranking.candidates import Candidate, Candidates
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.traits import traits_of
from mnemesh_memory.values.errors import MnemeshError, NotFound, count_of, shown_time
from mnemesh_memory.values.memory_links import ATTACHED_TYPES, MAY_REPLACE, OUT
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query

# So many changed texts are read as they stood, the last change first, and so many of today's best matches. A few are
# read at a time, and none after READING_S.
CHANGED_MAX = 200
READING_S = 0.2
# So many matches are counted here too, so that the best count alike in both. A match with only a frequent word of the
# question stands lower here, where nearly every counted text holds the word.
MEASURES = 20
# About 50 ms of encoding, which nothing interrupts.
CHARS_MAX = 400_000
# Their part of the characters that are counted at once. The rest is for the changed texts.
MEASURES_CHARS = CHARS_MAX // 4
# A call that reads rows of the past has so many ids and so much time.
READ_AT_ONCE = 8
READ_AT_ONCE_S = 0.02
# Index and view hold today's words and states: filters on fields that may have had other values are left out.
_OPEN: Final[dict[str, Any]] = {
    "kinds": (),
    "tags_any": (),
    "tags_all": (),
    "tags_none": (),
    "window": None,
    "hidden": (),
}
# Memory, type, direction and the id of the other end.
Tie: TypeAlias = tuple[str, str, str, str]
Portion = TypeVar("Portion")
FORGOTTEN: Final = "it was forgotten; `restore` brings it back, include_forgotten shows it"


class RowSource:
    """Rows of some spaces, from the view of the ledger."""

    # Whether index and view hold these very rows. Otherwise most filters are judged after the reading.
    _indexed = True

    def __init__(self, parts: NodePorts, spaces: tuple[str, ...]) -> None:
        self._parts = parts
        self._spaces = spaces
        self._lost: dict[str, None] = {}
        self._rows: dict[str, Memory | None] = {}  # Each row is read once.
        self._ties: dict[str, list[Tie]] = {}
        self._chains: dict[str, Memory] = {}
        self._walked: set[str] = set()
        self.unread: Collection[str] = ()  # Ids that the time for reading did not reach.

    @property
    def left_out(self) -> tuple[str, ...]:
        """Reasons for missing memories: damage, or the end of the time for reading."""
        return left_out(list(self._lost))

    async def _note_lost(self, absent: Sequence[str]) -> None:
        """Memories among `absent` that are damaged may belong to the answer."""
        if absent:
            self._lost |= dict.fromkeys(await self._parts.ledger.lost(absent, self._spaces, not self._indexed))

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Rows by id; unknown ids are absent."""
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._rows]
        if wanted:
            rows = await self._parts.ledger.read(wanted)
            self._rows |= {id_: rows.get(id_) for id_ in wanted}
            await self._note_lost([id_ for id_ in wanted if id_ not in rows])
        return {id_: memory for id_ in ids if (memory := self._rows[id_]) is not None}

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        """The last successor of each of these, by the id of the old memory."""
        # Mostly the next memory is the last: a row by its id, and no walk that may be long.
        following = await self.view([memory.superseded_by for memory in old if memory.superseded_by])
        first = {memory.id: following[by] for memory in old if (by := memory.superseded_by) in following}
        far = [id_ for id_, memory in first.items() if memory.state == "superseded"]
        if not far:
            return first
        ends = await self._parts.ledger.successors(far)
        return {id_: end for id_, memory in first.items() if (end := ends.get(id_) if id_ in far else memory)}

    async def chains(self, memories: Iterable[Memory]) -> Mapping[str, Memory]:
        """These memories, all successors, and everything that the successors replaced."""
        # A predecessor comes without its own predecessors and successors.
        if left := [memory.id for memory in memories if memory.id not in self._walked]:
            self._chains |= await self._parts.ledger.chains(left)
            for id_ in left:
                while id_ in self._chains and id_ not in self._walked:
                    self._walked.add(id_)
                    id_ = self._chains[id_].superseded_by
        return self._chains

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        """The links of these memories."""
        ids = [memory.id for memory in memories]
        if left := [id_ for id_ in ids if id_ not in self._ties]:
            ties: dict[str, list[Tie]] = {id_: [] for id_ in left}
            for tie in await self._parts.ledger.ties(left):
                ties[tie[0]].append(tie)
            self._ties |= ties
        return [tie for id_ in ids for tie in self._ties[id_]]

    async def page(self, listing: ListQuery) -> Page:
        """A page of a listing, as `listed`."""
        page = await self._parts.ledger.page(self.listed(listing))
        self._lost |= dict.fromkeys(page.lost)
        return page

    def listed(self, listing: ListQuery) -> ListQuery:
        """The listing with the filters that the view can judge for these rows."""
        return listing

    async def matching(self, query: Query) -> tuple[list[str], list[str]] | None:
        """Ids that pass the filters of a query, and ids that lead to such; None when they are judged one by one."""
        return await self._parts.ledger.matching(query, self._parts.clock())

    def searched(self, search: Search) -> Search:
        """The search with the filters that the index can judge for these rows."""
        return search

    async def forms(self, memories: Sequence[Memory], question: str) -> list[Memory]:
        """These memories in the form in which they are shown."""
        return await displayed(self._parts, memories, question)

    async def present(self, items: Sequence[Memory | MnemeshError], forgotten: bool) -> list[Memory | MnemeshError]:
        """Of memories that are there now those that a reader sees: forgotten ones only when asked."""
        return [present(item, forgotten) for item in items]

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        """The candidates with the words of these rows, and a note on texts that were not looked at. Nothing is read
        after `by`, in the event loop's time."""
        return candidates, ()


def present(item: Memory | MnemeshError, forgotten: bool, why: str = FORGOTTEN) -> Memory | MnemeshError:
    """The item, or NotFound with the reason for a forgotten memory that nobody asked for."""
    if isinstance(item, Memory) and item.state == "forgotten" and not forgotten:
        return NotFound("memory", item.id, why)
    return item


def rows_of(parts: NodePorts, spaces: tuple[str, ...], as_of: int | None, by: float = math.inf) -> RowSource:
    """The rows of now, or of the moment `as_of` (ms). Of the past nothing is read after `by`, in the event loop's
    time."""
    return RowSource(parts, spaces) if as_of is None else PastRows(parts, spaces, as_of, by)


class PastRows(RowSource):
    """Rows of the moment `at` (ms), read until `by`, in the event loop's time.

    A row of the past is made out of a history. That takes a millisecond and more for each revision, up to tenths of a
    second, and the ledger does nothing else meanwhile. So a call ends after READ_AT_ONCE_S, and writers get in between.
    A recall reads each row once, and none when the time for reading is over.
    """

    _indexed = False

    def __init__(self, parts: NodePorts, spaces: tuple[str, ...], at: int, by: float) -> None:
        super().__init__(parts, spaces)
        self._at = at
        self._by = by

    @property
    def left_out(self) -> tuple[str, ...]:
        if not self.unread:
            return super().left_out
        number = count_of(len(self.unread), "memory")
        reason = f"as_of: the time was over before {number} could be read as of then, which may belong here"
        return (*super().left_out, reason)

    async def view(self, ids: Sequence[str]) -> dict[str, Memory]:
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._rows]
        rows, unread = await read_then(self._parts, wanted, self._at, self._by)
        self.unread = {*unread, *self.unread} - rows.keys()
        self._rows |= {id_: rows.get(id_) for id_ in wanted if id_ not in self.unread}
        await self._note_lost([id_ for id_ in wanted if id_ not in rows and id_ not in unread])
        return {id_: memory for id_ in ids if (memory := self._rows.get(id_)) is not None}

    async def ends(self, old: Sequence[Memory]) -> dict[str, Memory]:
        chain = await self._successors(old)
        last = chain_ends([memory.id for memory in old], lambda id_: _next(chain, id_))
        return {id_: chain[end] for id_, end in last.items() if end in chain and chain[end].state != "superseded"}

    async def chains(self, memories: Iterable[Memory]) -> Mapping[str, Memory]:
        chain = await self._successors(memories)
        return {**await self.view(sorted(replaced(chain.values()) - chain.keys())), **chain}

    async def _successors(self, memories: Iterable[Memory]) -> dict[str, Memory]:
        """These memories, and all their successors."""
        last = {memory.id: memory for memory in memories}
        chain = dict(last)
        while todo := {memory.superseded_by for memory in last.values() if memory.superseded_by} - chain.keys():
            last = await self.view(sorted(todo))
            chain |= last
        return chain

    async def ties(self, memories: Sequence[Memory]) -> list[Tie]:
        return [
            (memory.id, link.type, OUT, link.id)
            for memory in memories
            for link in memory.links
            if link.type in (*ATTACHED_TYPES, MAY_REPLACE)
        ]

    async def page(self, listing: ListQuery) -> Page:
        page = await super().page(listing)
        ids = [memory.id for memory in page.memories]
        rows = await self.view(ids)
        return replace(page, memories=tuple(rows[id_] for id_ in ids if id_ in rows))

    async def matching(self, query: Query) -> None:
        return None

    def searched(self, search: Search) -> Search:
        # Filters are judged after the search, so as many candidates as the index gives are asked for.
        return replace(
            search, before=self._before(search.before), include_archive=True, include_forgotten=True, windows=False,
            limit=SEARCH_LIMIT_MAX, words_limit=SEARCH_LIMIT_MAX, **_OPEN,
        )  # fmt: skip

    async def forms(self, memories: Sequence[Memory], question: str) -> list[Memory]:
        return []  # the past is told as it was

    async def present(self, items: Sequence[Memory | MnemeshError], forgotten: bool) -> list[Memory | MnemeshError]:
        at, ids = shown_time(self._at), [item.id for item in items if isinstance(item, Memory)]
        then, _ = await read_then(self._parts, ids, self._at)
        known = {id_: then.get(id_) or NotFound("memory", id_, f"it was not there yet at {at}") for id_ in ids}
        why = f"at {at} it was forgotten; include_forgotten shows it"
        return [present(known[item.id], forgotten, why) if isinstance(item, Memory) else item for item in items]

    def listed(self, listing: ListQuery) -> ListQuery:
        return replace(listing, before=self._before(listing.before), state="all", **_OPEN)

    def _before(self, before: int | None) -> int:
        return self._at + 1 if before is None else min(before, self._at + 1)

    async def worded(
        self, text: str, listing: ListQuery, candidates: Candidates, by: float
    ) -> tuple[Candidates, tuple[str, ...]]:
        return await as_worded(self._parts, text, self.listed(listing), self._at, candidates, by)


def _next(chain: Mapping[str, Memory], id_: str) -> str:
    return chain[id_].superseded_by if id_ in chain and chain[id_].state == "superseded" else ""


async def as_worded(
    parts: NodePorts, text: str, listing: ListQuery, at: int, candidates: Candidates, by: float
) -> tuple[Candidates, tuple[str, ...]]:
    """`candidates` with the words as they stood at `at` (ms), and a note on texts that were not looked at. Nothing is
    read after `by`, in the event loop's time."""
    best = sorted((candidate.bm25, candidate.id) for candidate in candidates if candidate.bm25 is not None)[::-1]
    since = await parts.ledger.changed(replace(listing, limit=CHANGED_MAX), at, [id_ for _, id_ in best])
    until = min(by, asyncio.get_running_loop().time() + READING_S)
    texts, read_all = await reworded_then(parts, since.ids, at, until)
    unread = {*since.unread, *since.ids[read_all:]}
    more = since.more or read_all < len(since.ids)
    if not (texts or unread):
        return candidates, _note(CHANGED_MAX) if more else ()
    reworded = {memory.id: memory for memory in texts}
    other = reworded.keys() | unread
    measures = {id_: bm25 for bm25, id_ in best if id_ not in other}
    read = await parts.ledger.read(list(measures)[:MEASURES])
    beside = _short([read[id_] for id_ in measures if id_ in read])
    counted, here = await asyncio.to_thread(scored, text, [*beside, *texts])
    words = {item.id: item.bm25 for item in here if item.bm25 is not None}
    both = read.keys() & words.keys()
    scale = max(measures[id_] for id_ in both) / max(words[id_] for id_ in both) if both else 1.0
    rows = {row.id: row._replace(bm25=None) if row.id in other else row for row in candidates}
    for id_, memory in reworded.items():
        matched = words[id_] * scale if id_ in words else None
        rows[id_] = rows.get(id_, Candidate(id_))._replace(bm25=matched, traits=traits_of(memory))
    number = min(CHANGED_MAX, counted - len(beside))
    beyond = _note(number) if more or number < len(reworded) else ()
    return Candidates.of(row for row in rows.values() if row.dense is not None or row.bm25 is not None), beyond


def _short(memories: Sequence[Memory]) -> list[Memory]:
    """The first memory, and as many of the next as fit into MEASURES_CHARS with it."""
    ends = accumulate(len(memory.content) for memory in memories)
    fitting = sum(end <= MEASURES_CHARS for end in ends)
    return list(memories[: max(1, fitting)])


def _note(number: int) -> tuple[str, ...]:
    which = f"the last {number} alone" if number else "none"
    return (f"as_of: of the texts that were changed since, words are matched in {which}",)


async def read_then(
    parts: NodePorts, ids: Sequence[str], at: int, by: float = math.inf
) -> tuple[dict[str, Memory], list[str]]:
    """Memories as they were recorded at `at` (ms), without those that were not there yet. Then the ids that were not
    looked at, because nothing is read after `by`, in the event loop's time."""

    async def read(some: Sequence[str]) -> tuple[dict[str, Memory], int]:
        return await parts.ledger.read_some_as_of(some, at, READ_AT_ONCE_S, parts.clock())

    portions, number = await _portions(ids, by, read)
    return {id_: memory for portion in portions for id_, memory in portion.items()}, list(ids[number:])


async def reworded_then(parts: NodePorts, ids: Sequence[str], at: int, by: float) -> tuple[list[Memory], int]:
    """Of the first of `ids` the memories with another text at `at` (ms), and how many were looked at."""

    async def read(some: Sequence[str]) -> tuple[list[Memory], int]:
        return await parts.ledger.reworded(some, at, READ_AT_ONCE_S, parts.clock())

    portions, number = await _portions(ids, by, read)
    return [memory for portion in portions for memory in portion], number


async def _portions(
    ids: Sequence[str], by: float, read: Callable[[Sequence[str]], Awaitable[tuple[Portion, int]]]
) -> tuple[list[Portion], int]:
    """The answers of `read` to a few ids at a time, and the number of ids read in time."""
    now = asyncio.get_running_loop().time
    portions: list[Portion] = []
    done = 0
    while done < len(ids) and now() <= by:
        portion, number = await read(ids[done : done + READ_AT_ONCE])
        portions.append(portion)
        done += number
    return portions, done


def scored(text: str, memories: Sequence[Memory]) -> tuple[int, list[Candidate]]:
    """BM25 over a handful of memories, for texts that the index cannot be asked about. Terms, weights and statistics
    are those of the index, over fewer memories, each by itself.

    Gives how many of the memories were counted (the first ones, up to CHARS_MAX). Then the ones that share a term with
    `text`, each with the BM25 score of its best passage."""
    from mnemesh_actors.index.bm25 import Bm25Encoder  # loads Edge, which a node on Ray keeps elsewhere

    encoder = Bm25Encoder()
    asked = set(encoder.query(text).indices)
    passages: list[tuple[str, dict[int, float]]] = []
    holders: Counter[int] = Counter()
    chars = counted = 0
    for memory in memories:
        chars += len(memory.content)
        if chars > CHARS_MAX and counted:
            break
        counted += 1
        for _, words in index_texts(memory):
            terms = encoder.document(words)
            wanted = {term: weight for term, weight in zip(terms.indices, terms.values, strict=True) if term in asked}
            passages.append((memory.id, wanted))
            holders.update(wanted.keys())
    # Robertson and Zaragoza 2009 in Lucene's form, as Qdrant has it.
    rarity = {term: math.log(1 + (len(passages) - number + 0.5) / (number + 0.5)) for term, number in holders.items()}
    best: dict[str, float] = {}
    for id_, wanted in passages:
        if wanted:
            best[id_] = max(best.get(id_, 0.0), sum(weight * rarity[term] for term, weight in wanted.items()))
    traits = {memory.id: traits_of(memory) for memory in memories[:counted] if memory.id in best}
    return counted, [Candidate(id_, None, score, None, traits[id_]) for id_, score in sorted(best.items())]
