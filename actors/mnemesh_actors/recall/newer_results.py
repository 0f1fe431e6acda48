"""The order of results that contest each other: the newer one before the older one. Pure.

Of two memories that contradict each other the newer one comes first, even when it has no word of the question. A mark
`may-replace` is wrong more often, so a marked memory steps back only for a newer one that matches a little by itself.
The older memory leads to the newer one. The newer one then has the older one's match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mnemesh_actors.recall.results import FoundMemory, evidence_of
from mnemesh_memory.policy.judge.doubts import is_asked_by_label
from mnemesh_memory.policy.precedence import age, newer_first
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.relevance import probability
from mnemesh_memory.values.model import Memory, Query
from mnemesh_memory.values.quick_copy import memory_with

# Newer memories beyond the answer are looked for beside so many of the first results, in so many steps.
CONTESTED_AMONG: Final = 3
STEPS_MAX: Final = 3
# Before an older memory come so many newer ones: a matter with many words on it leaves room for the rest of an answer.
NEWER_MAX: Final = 2
# A mark brings a newer memory first from this share of the older one's probability to answer.
LIKELY_SHARE_MIN: Final = 0.03
NEWER: Final = "newer"
Contests = Mapping[str, Sequence[Memory]]  # By id of each older memory the newer ones, the newest first.
NONE: Final[Contests] = {}


def further(results: Sequence[FoundMemory], contests: Contests, fused: Sequence[Fused]) -> list[FoundMemory]:
    """The newer memories of `contests` that are no results. Each has its own match, or else that of the older memory
    that leads to it. `fused` are all candidates."""
    matches = {item.id: item for item in fused}
    seen = {item.memory.id for item in results}
    reached = list(results)
    for item in reached:
        for memory in contests.get(item.memory.id, ()):
            if memory.id not in seen:
                seen.add(memory.id)
                own = matches.get(memory.id)
                reached.append(FoundMemory(memory, own) if own else _led_by(item, memory))
    return reached[len(results) :]


def answering(
    query: Query, results: Sequence[FoundMemory], surely: Contests, likely: Contests, asked: Contests = NONE
) -> dict[str, list[Memory]]:
    """By id of each result up to NEWER_MAX newer results that come before it. A chain of contradictions (`surely`) is
    followed to its end, newest first. Behind the chain come memories with a mark (`likely`). Each has LIKELY_SHARE_MIN
    of the marked memory's probability to answer. With them come those that the question itself puts first (`asked`).
    None speaks of another thing than the question names with the older memory: who asks for gate 3 means no gate 4."""
    ids = [item.memory.id for item in results]
    answers = dict(zip(ids, map(probability, evidence_of(query, results)), strict=True)) if likely else {}
    sure = {id_: [memory for memory in surely.get(id_, ()) if memory.id in ids] for id_ in ids}
    least = {id_: LIKELY_SHARE_MIN * answer for id_, answer in answers.items()}
    texts = {item.memory.id: item.memory.content for item in results}
    may = {
        id_: [
            *asked.get(id_, ()),
            *(one for one in likely.get(id_, ()) if answers.get(one.id, 0.0) >= least[id_] > 0),
        ]
        for id_ in ids
    }

    def fits(older: str, one: Memory) -> bool:
        return one.id in texts and not is_asked_by_label(query.text, texts[older], one.content)

    fitting = {id_: [*sure[id_], *(one for one in may[id_] if fits(id_, one))] for id_ in ids}
    newer: dict[str, list[Memory]] = {}
    for id_ in ids:
        said = _reached(id_, sure)
        said += [memory for memory in _reached(id_, fitting) if memory not in said]
        if said:
            newer[id_] = said[:NEWER_MAX]
    return newer


def _reached(id_: str, newer: Contests) -> list[Memory]:
    """All memories that a memory leads to in any number of steps, the newest first."""
    found: dict[str, Memory] = {}
    ways = [id_]
    for way in ways:
        for memory in newer.get(way, ()):
            if memory.id not in found and memory.id != id_:
                found[memory.id] = memory
                ways.append(memory.id)
    return sorted(found.values(), key=age, reverse=True)


def _led_by(older: FoundMemory, memory: Memory) -> FoundMemory:
    return FoundMemory(memory, older.fused, older.origin or older.memory)


def led(results: Sequence[FoundMemory], newer: Contests) -> list[FoundMemory]:
    """The results, where a newer memory has the match of an older one that leads to it, if that match is better."""
    items = {item.memory.id: item for item in results}
    ways = list(items)
    while ways:
        id_ = ways.pop()
        for memory in newer.get(id_, ()):
            older, own = items[id_], items[memory.id]
            if own.fused.score < older.fused.score:
                items[memory.id] = _led_by(older, own.memory)
                ways.append(memory.id)
    return list(items.values())


def told(results: Sequence[FoundMemory], asked: Contests, newer: Contests) -> list[FoundMemory]:
    """The results, where an older memory says which newer one the question puts first (`asked`), if that one comes
    first."""
    return [
        replace(item, memory=memory_with(item.memory, may_be_replaced_by=tuple(said)))
        if (said := [one.id for one in asked.get(item.memory.id, ()) if one in newer.get(item.memory.id, ())])
        else item
        for item in results
    ]


def newest_first(results: Sequence[FoundMemory], more: Sequence[FoundMemory], newer: Contests) -> list[FoundMemory]:
    """The results with each memory of `newer` directly before the result whose id it is under. Of `more` only such
    memories are shown. What moved up has the score of its new place."""
    wanted = {memory.id for item in results for memory in _reached(item.memory.id, newer)}
    items = [*results, *(item for item in more if item.memory.id in wanted)]
    moved = newer_first(items, [item.memory.id for item in items], newer)
    shown: list[FoundMemory] = []
    for place, item in enumerate(moved):
        floor = max((below.fused.score for below in moved[place + 1 :]), default=0.0)
        if floor > item.fused.score and item.memory.id in wanted:
            parts = {**item.fused.more, NEWER: floor - item.fused.score}
            item = replace(item, fused=item.fused._replace(score=floor, more=parts))
        shown.append(item)
    return shown
