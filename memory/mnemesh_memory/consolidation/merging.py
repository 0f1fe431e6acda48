"""Duplicates of a portion: which memory stays and which step back. A merge hides a memory and purges nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemesh_memory.consolidation.agreement import restates, same_digits
from mnemesh_memory.consolidation.domains import Domain
from mnemesh_memory.consolidation.steps import MERGE, PROMOTED, Portion, Step
from mnemesh_memory.policy.judge.guard import RECORDS
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values.model import Memory

# One merge takes so many memories in.
LOSERS_MAX: Final = 16


def merges(portion: Portion, domain: Domain) -> Iterator[Step]:
    """A merge for each group of fresh memories and neighbours that say the same. The oldest stays."""
    done: set[str] = set()
    equal: dict[str, list[str]] = {}
    for known in portion.memories.values():
        equal.setdefault(_key(known), []).append(known.id)
    for id_ in portion.fresh:
        memory = portion.memories.get(id_)
        if memory is None or id_ in done or not _mergeable(memory):
            continue
        near = {other: cosine for other, cosine in portion.near.get(id_, ()) if other in portion.memories}
        near |= dict.fromkeys(equal[_key(memory)], 1.0)  # also those beyond the nearest
        near.pop(id_, None)
        twins = [
            other
            for other, cosine in ((portion.memories[other], cosine) for other, cosine in near.items())
            if other.id not in done
            and cosine >= domain.merge_cosine
            and _mergeable(other)
            and _alike(memory, other)
            and _says_the_same(memory, other)
        ]
        if not twins:
            continue
        first, *rest = sorted((memory, *twins), key=_rank)
        losers = [other for other in rest if _says_the_same(first, other)]
        if losers:
            done.update(other.id for other in (first, *losers))
            for start in range(0, len(losers), LOSERS_MAX):
                part = losers[start : start + LOSERS_MAX]
                yield _merge(first, part, domain.name, "say the same: numbers, names and negation agree")
    yield from _promotions(portion, domain)


def _promotions(portion: Portion, domain: Domain) -> Iterator[Step]:
    """Facts that two nodes promoted from groups with a common member: the one of the least id stays, everywhere."""
    done: set[str] = set()
    for id_ in portion.fresh:
        memory = portion.memories.get(id_)
        if memory is None or not is_promotion(memory):
            continue
        rivals = {
            derived
            for link in memory.links
            if link.type == "derived-from"
            for derived in portion.derived.get(link.id, ())
        }
        active = sorted({id_, *(other for other in rivals if is_promotion(portion.memories.get(other)))})
        losers = [portion.memories[other] for other in active[1:] if other not in done]
        if losers:
            done.update(active)
            yield _merge(portion.memories[active[0]], losers, domain.name, "derive from the same episodes")


def is_promotion(memory: Memory | None) -> bool:
    """Whether a memory is an active fact that consolidation promoted."""
    return memory is not None and memory.state == "active" and PROMOTED in memory.attrs


def _merge(first: Memory, losers: list[Memory], domain: str, why: str) -> Step:
    lacking = {tag for other in losers for tag in other.tags} - set(first.tags)
    ids = tuple(other.id for other in losers)
    reason = f"{1 + len(ids)} memories {why}"
    return Step(action=MERGE, id=first.id, others=ids, why=reason, domain=domain, tags=tuple(sorted(lacking)))


def _mergeable(memory: Memory) -> bool:
    return (
        memory.state == "active"
        and memory.kind not in RECORDS
        and memory.tier != "pinned"
        and not memory.conflicts
        and triggers.TAG not in memory.tags
        and PROMOTED not in memory.attrs
    )


def _says_the_same(one: Memory, other: Memory) -> bool:
    """Whether the texts are one statement. Errors are told apart by their numbers, however these are written."""
    if one.content == other.content:
        return True
    exact = one.kind != "error" or same_digits(one.content, other.content)
    return exact and restates(one.content, other.content)


def _alike(one: Memory, other: Memory) -> bool:
    """Whether everything but text and tags is equal."""
    fields = ("kind", "valid_from", "valid_to", "paths", "attrs")
    return all(getattr(one, name) == getattr(other, name) for name in fields) and one.source.dir == other.source.dir


def _key(memory: Memory) -> str:
    return duplicate_key(memory.content)


def _rank(memory: Memory) -> tuple[int, str]:
    return memory.created_at, memory.id
