"""Repeated episodes become one fact: complementary learning with a check of consistency.

A group is at least `promote_min` episodes of several sessions about one event. Any disagreement of values, names or
negation in the group stops the promotion. The text is a sentence of the most central episode, never a new one. The
episodes stay, and the fact names them in `derived-from` links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from mnemesh_memory.consolidation.agreement import ComparedText, consistent, overlap, read
from mnemesh_memory.consolidation.derived_id import promotion
from mnemesh_memory.consolidation.domains import Domain, domain_of, named
from mnemesh_memory.consolidation.steps import EXTEND, MERGE, PROMOTE, Portion, Promotion, Step
from mnemesh_memory.policy.judge.slots import sentences
from mnemesh_memory.policy.trust import least
from mnemesh_memory.values.limits import LINKS_MAX
from mnemesh_memory.values.model import Memory

EPISODE: Final = "episode"
PROMOTED_KIND: Final = "fact"
SESSIONS_MIN: Final = 2
GROUP_MAX: Final = 24
# Two episodes are about one event from this cosine on, or from the lower one with as many words in common.
NEAR_COSINE: Final = 0.8
TOPIC_COSINE: Final = 0.55
TOPIC_OVERLAP: Final = 0.5
TOPIC_SHARED: Final = 0.35  # of the words of both
# An episode this near with other values speaks against a group, also when it is not a member.
OBJECTS_COSINE: Final = 0.62


@dataclass(frozen=True, slots=True)
class _Episode:
    memory: Memory
    reading: ComparedText


def promotions(portion: Portion) -> Iterator[tuple[Step, Promotion | None]]:
    """A step for each consistent group: a new fact, or further sources of a fact that is there."""
    for group in _groups(portion):
        domain = _domain(group)
        if len(group) < domain.promote_min or len({episode.memory.source.session for episode in group}) < SESSIONS_MIN:
            continue
        if not _agree(portion, group):
            continue
        yield from _step(portion, domain, group)


def _groups(portion: Portion) -> list[list[_Episode]]:
    """The connected groups of episodes about one event, each with a fresh member."""
    episodes = {
        id_: _Episode(memory, read(memory.content))
        for id_, memory in sorted(portion.memories.items())
        if memory.kind == EPISODE and memory.state == "active" and not memory.conflicts
    }
    parent = {id_: id_ for id_ in episodes}

    def root(id_: str) -> str:
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for id_ in portion.fresh:
        if id_ not in episodes:
            continue
        for other, cosine in portion.near.get(id_, ()):
            if other in episodes and _one_topic(episodes[id_], episodes[other], cosine):
                left, right = sorted((root(id_), root(other)))
                parent[right] = left
    groups: dict[str, list[_Episode]] = {}
    for id_, episode in episodes.items():
        groups.setdefault(root(id_), []).append(episode)
    fresh = set(portion.fresh)
    return [group[:GROUP_MAX] for group in groups.values() if any(episode.memory.id in fresh for episode in group)]


def _one_topic(one: _Episode, other: _Episode, cosine: float) -> bool:
    if cosine >= NEAR_COSINE:
        return True
    first, second = one.reading, other.reading
    shared = len(first.keys & second.keys) / max(1, len(first.keys | second.keys))
    return cosine >= TOPIC_COSINE and overlap(first, second) >= TOPIC_OVERLAP and shared >= TOPIC_SHARED


def _agree(portion: Portion, group: Sequence[_Episode]) -> bool:
    """Whether no member disagrees with another, and no episode beside the group with a member."""
    cosines = {(id_, other): cosine for id_, near in portion.near.items() for other, cosine in near}

    def cosine(one: _Episode, other: _Episode) -> float:
        ids = one.memory.id, other.memory.id
        return cosines.get(ids, cosines.get(ids[::-1], TOPIC_COSINE))

    if not all(consistent(one.reading, other.reading, cosine(one, other)) for one, other in combinations(group, 2)):
        return False
    members = {episode.memory.id: episode for episode in group}
    for id_, member in members.items():
        for other, near in portion.near.get(id_, ()):
            memory = portion.memories.get(other)
            if near < OBJECTS_COSINE or other in members or memory is None or memory.kind != EPISODE:
                continue
            beside = read(memory.content)
            if overlap(member.reading, beside) >= TOPIC_OVERLAP and not consistent(member.reading, beside, near):
                return False
    return True


def _step(portion: Portion, domain: Domain, group: Sequence[_Episode]) -> Iterator[tuple[Step, Promotion | None]]:
    ids = tuple(sorted(episode.memory.id for episode in group))
    known = sorted({fact for id_ in ids for fact in portion.derived.get(id_, ())})
    if known:
        active = [fact for fact in known if fact in portion.memories and portion.memories[fact].state == "active"]
        if active:  # of facts that nodes promoted apart the one of the least id stays, everywhere
            fact = portion.memories[active[0]]
            if active[1:]:
                why = f"{len(active)} facts derive from episodes that agree"
                yield Step(action=MERGE, id=fact.id, others=tuple(active[1:]), why=why, domain=domain.name), None
            lacking = [id_ for id_ in ids if all(link.id != id_ for link in fact.links)]
            if lacking and len(fact.links) + len(lacking) <= LINKS_MAX:
                why = f"{len(lacking)} more episodes agree with the fact"
                yield Step(action=EXTEND, id=fact.id, others=tuple(lacking), why=why, domain=domain.name), None
        return  # a fact that was forgotten, undone or replaced is not made again
    sessions = len({episode.memory.source.session for episode in group})
    made = promotion(
        portion.space,
        portion.principal,
        content=_sentence(group),
        kind=PROMOTED_KIND,
        tags=_common_tags(group),
        sources=ids[:LINKS_MAX],
        at=max(episode.memory.created_at for episode in group),
        trust=least(portion.trust.get(id_, "") for id_ in ids),
    )
    why = f"{len(ids)} episodes of {sessions} sessions agree; the text is a sentence of one of these"
    yield Step(action=PROMOTE, id=made.id, others=made.sources, why=why, domain=domain.name), made


def _domain(group: Sequence[_Episode]) -> Domain:
    """The domain of most members, so that it depends on the group alone."""
    names = Counter(domain_of(episode.memory).name for episode in group)
    return named(min(names, key=lambda name: (-names[name], name)))


def _common_tags(group: Sequence[_Episode]) -> tuple[str, ...]:
    common = set(group[0].memory.tags)
    for episode in group[1:]:
        common &= set(episode.memory.tags)
    return tuple(sorted(common))


def _sentence(group: Sequence[_Episode]) -> str:
    """The sentence that shares most with the other episodes, of the most central episode."""

    def shared(reading: ComparedText) -> float:
        union = sum(len(reading.keys | episode.reading.keys) for episode in group)
        return sum(len(reading.keys & episode.reading.keys) for episode in group) / union if union else 0.0

    medoid = max(group, key=lambda episode: (shared(episode.reading), -len(episode.memory.content), episode.memory.id))
    text = medoid.memory.content.strip()
    return max(sentences(text), key=lambda part: shared(read(part)), default=text)
