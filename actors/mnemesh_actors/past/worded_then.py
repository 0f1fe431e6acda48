"""The finds of the index for a question about the past, with the words of the texts of that time.

The index knows today's texts alone. The words of reworded memories are counted here. Their meaning stays that of today,
because no vector of an older text is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.past.reading_then import READ_AT_ONCE_S, in_steps
from mnemesh_actors.recall.query_plan import listing_of
from mnemesh_actors.recall.words import CHARS_MAX, scored
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.fusion import Candidate
from mnemesh_memory.text.traits import traits_of
from mnemesh_memory.values.model import Memory, Query

# So many changed texts are read as they stood, the last change first, and so many of today's best matches. A few are
# read at a time, and none after READING_S.
CHANGED_MAX = 200
READING_S = 0.2
# So many matches are counted here too, so that the best count alike in both. A match with only a frequent word of the
# question stands lower here, where nearly every counted text holds the word.
MEASURES = 20
# Their part of the characters that are counted at once. The rest is for the changed texts.
MEASURES_CHARS = CHARS_MAX // 4


async def as_worded(parts: NodePorts, query: Query, found: Candidates, by: float) -> tuple[Candidates, tuple[str, ...]]:
    """`found` with the words as they stood at `query.as_of`, and what was not looked at. Nothing is read after `by`, in
    the event loop's time."""
    assert query.as_of is not None
    best = sorted((one.bm25, one.id) for one in found if one.bm25 is not None)[::-1]
    listing = replace(listing_of(query), limit=CHANGED_MAX)
    since = await parts.ledger.changed(listing, query.as_of, [id_ for _, id_ in best])
    texts, read_all = await _texts(parts, since.ids, query.as_of, by)
    unread = {*since.unread, *since.ids[read_all:]}
    more = since.more or read_all < len(since.ids)
    if not (texts or unread):
        return found, _told(CHANGED_MAX) if more else ()
    reworded = {memory.id: memory for memory in texts}
    other = reworded.keys() | unread
    measures = {id_: bm25 for bm25, id_ in best if id_ not in other}
    read = await parts.ledger.read(list(measures)[:MEASURES])
    beside = _short([read[id_] for id_ in measures if id_ in read])
    counted, here = await asyncio.to_thread(scored, query.text, [*beside, *texts])
    words = {one.id: one.bm25 for one in here if one.bm25 is not None}
    both = read.keys() & words.keys()
    scale = max(measures[id_] for id_ in both) / max(words[id_] for id_ in both) if both else 1.0
    rows = {one.id: one._replace(bm25=None) if one.id in other else one for one in found}
    for id_, memory in reworded.items():
        matched = words[id_] * scale if id_ in words else None
        rows[id_] = rows.get(id_, Candidate(id_))._replace(bm25=matched, traits=traits_of(memory))
    number = min(CHANGED_MAX, counted - len(beside))
    beyond = _told(number) if more or number < len(reworded) else ()
    return Candidates.of(one for one in rows.values() if one.dense is not None or one.bm25 is not None), beyond


def _short(memories: Sequence[Memory]) -> list[Memory]:
    """The first memory, and as many of the next as fit into MEASURES_CHARS with it."""
    ends = accumulate(len(one.content) for one in memories)
    fitting = sum(end <= MEASURES_CHARS for end in ends)
    return list(memories[: max(1, fitting)])


async def _texts(parts: NodePorts, ids: Sequence[str], at: int, by: float) -> tuple[list[Memory], int]:
    """Of the first of `ids` those that were worded otherwise, and how many were looked at."""
    texts: list[Memory] = []

    async def read(some: Sequence[str]) -> int:
        found, number = await parts.ledger.reworded(some, at, READ_AT_ONCE_S, parts.clock())
        texts.extend(found)
        return number

    return texts, await in_steps(ids, min(by, asyncio.get_running_loop().time() + READING_S), read)


def _told(number: int) -> tuple[str, ...]:
    which = f"the last {number} alone" if number else "none"
    return (f"as_of: of the texts that were changed since, words are matched in {which}",)
