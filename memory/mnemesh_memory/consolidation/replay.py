"""Replay: salient related pairs of a portion, proposed as `see-also` links. Replay never makes a memory.

A pair is salient when both memories are important or of a kind that others build on. Bounds keep a space from being
tied together: one link for each fresh memory, and PAIRS_MAX for a portion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemesh_memory.consolidation.agreement import contested, overlap, read, restates
from mnemesh_memory.consolidation.domains import Domain
from mnemesh_memory.consolidation.steps import LINK, Portion, Step
from mnemesh_memory.policy.dynamics.heat import DEFAULT_IMPORTANCE
from mnemesh_memory.policy.judge.guard import RECORDS
from mnemesh_memory.values.memory_links import MAY_REPLACE
from mnemesh_memory.values.model import Memory

PAIRS_MAX: Final = 16
SALIENT_MIN: Final = 0.6
# So many words in common make a pair one topic, beside likeness.
SHARED_MIN: Final = 2
_WEIGHTY: Final = {"decision": 0.2, "error": 0.2, "requirement": 0.15, "procedure": 0.1, "pattern": 0.1}


def salience(memory: Memory) -> float:
    """From 0 to 1: importance, weight of the kind, votes."""
    importance = DEFAULT_IMPORTANCE if memory.importance is None else memory.importance
    voted = 0.1 if memory.useful > memory.not_useful else 0.0
    return min(1.0, importance + _WEIGHTY.get(memory.kind, 0.0) + voted)


def links(portion: Portion, domain: Domain, merged: set[str]) -> Iterator[Step]:
    """A `see-also` link for salient pairs that nothing ties yet, the most salient first. `merged` step back."""
    pairs: list[tuple[float, str, str]] = []
    taken: set[frozenset[str]] = set()
    for id_ in portion.fresh:
        memory = portion.memories.get(id_)
        if memory is None or not _may_link(memory) or id_ in merged:
            continue
        for other, cosine in portion.near.get(id_, ()):
            end = portion.memories.get(other)
            if end is None or other in merged or not _may_link(end) or cosine < domain.link_cosine:
                continue
            pair = frozenset((id_, other))
            if pair not in taken and not _tied(memory, end) and _about_one_thing(memory, end, cosine):
                taken.add(pair)
                pairs.append((salience(memory) * salience(end) * cosine, id_, other))
                break
    for _, id_, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:PAIRS_MAX]:
        yield Step(action=LINK, id=id_, others=(other,), why="salient, near and not linked yet", domain=domain.name)


def _may_link(memory: Memory) -> bool:
    return memory.state == "active" and memory.kind not in RECORDS and salience(memory) >= SALIENT_MIN


def _tied(one: Memory, other: Memory) -> bool:
    """Whether somebody joined the two. A mere mark of the guard says nothing of how they belong together."""
    ends = ((one, other), (other, one))
    return any(link.id == end.id and link.type != MAY_REPLACE for memory, end in ends for link in memory.links)


def _about_one_thing(one: Memory, other: Memory, cosine: float) -> bool:
    first, second = read(one.content), read(other.content)
    shared = len(first.keys & second.keys)
    if shared < SHARED_MIN or overlap(first, second) >= 1.0 or restates(one.content, other.content):
        return False
    return not contested(one.content, other.content, cosine)
