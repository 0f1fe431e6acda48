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
from mnemesh_actors.rows.past_reads import reworded_then
from mnemesh_actors.rows.word_counts import CHARS_MAX, scored
from mnemesh_memory.ranking.candidates import Candidate, Candidates
from mnemesh_memory.text.traits import traits_of
from mnemesh_memory.values.model import ListQuery, Memory

# So many changed texts are read as they stood, the last change first, and so many of today's best matches. A few are
# read at a time, and none after READING_S.
CHANGED_MAX = 200
READING_S = 0.2
# So many matches are counted here too, so that the best count alike in both. A match with only a frequent word of the
# question stands lower here, where nearly every counted text holds the word.
MEASURES = 20
# Their part of the characters that are counted at once. The rest is for the changed texts.
MEASURES_CHARS = CHARS_MAX // 4


async def as_worded(
    parts: NodePorts, text: str, listing: ListQuery, at: int, found: Candidates, by: float
) -> tuple[Candidates, tuple[str, ...]]:
    """`found` with the words as they stood at `at` (ms), and a note on texts that were not looked at. Nothing is read
    after `by`, in the event loop's time."""
    best = sorted((one.bm25, one.id) for one in found if one.bm25 is not None)[::-1]
    since = await parts.ledger.changed(replace(listing, limit=CHANGED_MAX), at, [id_ for _, id_ in best])
    until = min(by, asyncio.get_running_loop().time() + READING_S)
    texts, read_all = await reworded_then(parts, since.ids, at, until)
    unread = {*since.unread, *since.ids[read_all:]}
    more = since.more or read_all < len(since.ids)
    if not (texts or unread):
        return found, _told(CHANGED_MAX) if more else ()
    reworded = {memory.id: memory for memory in texts}
    other = reworded.keys() | unread
    measures = {id_: bm25 for bm25, id_ in best if id_ not in other}
    read = await parts.ledger.read(list(measures)[:MEASURES])
    beside = _short([read[id_] for id_ in measures if id_ in read])
    counted, here = await asyncio.to_thread(scored, text, [*beside, *texts])
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


def _told(number: int) -> tuple[str, ...]:
    which = f"the last {number} alone" if number else "none"
    return (f"as_of: of the texts that were changed since, words are matched in {which}",)
