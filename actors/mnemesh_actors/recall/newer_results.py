"""The order of results that contest each other: the newer one before the older one. Pure.

Of two memories that contradict each other the newer one comes first, however little of the question it matches: in far
words a new value has no word of the old one. A mark `may-replace` is wrong more often. There the newer memory comes
first when it may answer the question by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mnemesh_actors.recall.results import FoundMemory, evidence_of
from mnemesh_memory.policy.precedence import newer_first
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.relevance import probability
from mnemesh_memory.values.model import Memory, Query

# Of so many of the first results the newer memories are looked for beyond the answer.
CONTESTED_AMONG: Final = 3
# Of the probability that the older memory answers: a newer one that merely may replace it comes first from here on.
LIKELY_SHARE_MIN: Final = 0.03
NEWER: Final = "newer"


def further(
    results: Sequence[FoundMemory], contesting: Mapping[str, Sequence[Memory]], fused: Sequence[Fused]
) -> list[FoundMemory]:
    """The memories of `contesting` that are no results, as results: with their own match, or with that of the older
    memory (by its id), which leads to them. `fused` are all candidates."""
    matches = {item.id: item for item in fused}
    here = {item.memory.id for item in results}
    found: dict[str, FoundMemory] = {}
    for item in results:
        for memory in contesting.get(item.memory.id, ()):
            if memory.id not in here and memory.id not in found:
                own = matches.get(memory.id)
                found[memory.id] = FoundMemory(memory, own) if own else FoundMemory(memory, item.fused, item.memory)
    return list(found.values())


def answering(
    query: Query,
    results: Sequence[FoundMemory],
    surely: Mapping[str, Sequence[Memory]],
    likely: Mapping[str, Sequence[Memory]],
) -> dict[str, list[Memory]]:
    """By id of each older memory the newer ones that come before it: all that contradict it (`surely`), and those that
    may replace it (`likely`) and match the question by themselves."""
    newer = {id_: list(memories) for id_, memories in surely.items()}
    if likely:
        ids = [item.memory.id for item in results if not item.origin]
        own = [item for item in results if not item.origin]
        answers = dict(zip(ids, map(probability, evidence_of(query, own)), strict=True))
        for id_, memories in likely.items():
            least = LIKELY_SHARE_MIN * answers.get(id_, 1.0)
            said = newer.setdefault(id_, [])
            said += [one for one in memories if one not in said and answers.get(one.id, 0.0) >= least]
    return newer


def newest_first(
    results: Sequence[FoundMemory], more: Sequence[FoundMemory], newer: Mapping[str, Sequence[Memory]]
) -> list[FoundMemory]:
    """The results with each memory of `newer` directly before the older one whose id it is under, also those of `more`,
    of which no others are shown. What moved up has the score of its new place."""
    wanted = {memory.id for memories in newer.values() for memory in memories}
    items = [*results, *(item for item in more if item.memory.id in wanted)]
    moved = newer_first(items, [item.memory.id for item in items], newer)
    shown: list[FoundMemory] = []
    for place, item in enumerate(moved):
        floor = max((below.fused.score for below in moved[place + 1 :]), default=0.0)
        if floor > item.fused.score and item.memory.id in wanted:
            more_parts = {**item.fused.more, NEWER: floor - item.fused.score}
            item = replace(item, fused=item.fused._replace(score=floor, more=more_parts))
        shown.append(item)
    return shown
