"""How a memory stands to others on the same thing: replaced memories, and newer contradicting memories. Pure.

Two memories with a link `contradicts` both stand until somebody decides. The newer memory holds from later and is
believed first. A link `may-replace` says the same on middling evidence: the older memory is marked less firmly. A link
`both-hold` records the decision that both are true. Then the pair is neither judged nor marked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from mnemesh_memory.policy.validity import SUPERSEDES, successors
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE, OPEN_TYPES
from mnemesh_memory.values.model import Link, Memory, Replaced
from mnemesh_memory.values.quick_copy import memory_with

# Of one memory so many of each are told, the latest.
TOLD_MAX: Final = 3
Pair: TypeAlias = frozenset[str]
Item = TypeVar("Item")


def age(memory: Memory) -> tuple[int, str]:
    """The order of two contradicting memories: the greater age is newer, on every node."""
    return happened_at(memory), memory.id


def pairs(memories: Iterable[Memory], type_: str = CONTRADICTS) -> set[Pair]:
    """The pairs that links of a type join, whichever of the two has the link."""
    return {frozenset((memory.id, link.id)) for memory in memories for link in memory.links if link.type == type_}


def contested(memories: Collection[Memory], type_: str = CONTRADICTS) -> dict[str, list[Memory]]:
    """By id of each memory that a link of a type contests the newer memories, the newest first. All are active. A
    memory that had ended when the newer memory began is not contested. A mere mark is of the two texts that the guard
    compared, so a later revision of either ends the mark."""
    known = {memory.id: memory for memory in memories if memory.state == "active"}
    newer: dict[str, list[Memory]] = {}
    for pair in pairs(memories, type_) - pairs(memories, BOTH_HOLD):
        if len(pair) == 2 and pair <= known.keys():
            older, later = sorted((known[id_] for id_ in pair), key=age)
            if not _is_open(older, later, type_):
                continue
            if older.valid_to is None or older.valid_to > happened_at(later):
                newer.setdefault(older.id, []).append(later)
    return {id_: sorted(others, key=age, reverse=True) for id_, others in newer.items()}


def _is_open(one: Memory, other: Memory, type_: str) -> bool:
    """Whether a link of a type may mark one of two. No memory replaces one of another space, so nobody could settle the
    pair. A mere mark ends with a revision after both were written."""
    revised = max(one.updated_at, other.updated_at) > max(one.created_at, other.created_at)
    return one.space == other.space and not (type_ == MAY_REPLACE and revised)


def unsettled(memories: Collection[Memory]) -> dict[str, list[Memory]]:
    """By id of each older memory the newer ones that contradict the memory, and then those that may replace it."""
    newer = contested(memories)
    for id_, likely in contested(memories, MAY_REPLACE).items():
        sure = newer.get(id_, [])
        newer[id_] = [*sure, *(memory for memory in likely if memory not in sure)]
    return newer


def undecided(one: Memory, other: Memory) -> str:
    """The surest type of link that leaves open which of two memories holds; "" when none does."""
    both = (one, other)
    if pairs(both, BOTH_HOLD):
        return ""
    pair = frozenset((one.id, other.id))
    open_types = (type_ for type_ in OPEN_TYPES if _is_open(one, other, type_))
    return next((type_ for type_ in open_types if pair in pairs(both, type_)), "")


def held_before(memories: Collection[Memory]) -> dict[str, list[Memory]]:
    """By id of each successor its superseded predecessor."""
    known = {memory.id: memory for memory in memories}
    return {
        later.id: [memory] for memory in memories if memory.state == "superseded" for later in successors(memory, known)
    }


def replacements(memory: Memory, others: Mapping[str, Memory]) -> tuple[Replaced, ...]:
    """The predecessors of a memory, and since when it holds instead."""
    olds = (others.get(link.id) for link in memory.links if link.type == SUPERSEDES)
    here = [old for old in olds if old is not None and old.space == memory.space and old.superseded_by]
    replaced = [Replaced(old.id, _since(memory, old)) for old in here]
    return tuple(sorted(replaced, key=lambda old: (-old.since, old.id))[:TOLD_MAX])


def _since(memory: Memory, old: Memory) -> int:
    if memory.valid_from is not None:
        return memory.valid_from
    return memory.created_at if old.valid_to is None else old.valid_to


def with_precedence(memories: Sequence[Memory], others: Mapping[str, Memory]) -> list[Memory]:
    """The memories with what `others`, which may be shown, say of them. A memory may name newer ones already.
    These stand first in `may_be_replaced_by`."""
    known = {**others, **{memory.id: memory for memory in memories}}.values()
    newer, likely = contested(known), contested(known, MAY_REPLACE)
    return [
        memory_with(
            memory,
            replaces=replacements(memory, others),
            older_than=tuple(later.id for later in newer.get(memory.id, ())[:TOLD_MAX]),
            may_be_replaced_by=tuple(
                dict.fromkeys(
                    (
                        *memory.may_be_replaced_by,
                        *(one.id for one in likely.get(memory.id, ()) if one not in newer.get(memory.id, ())),
                    )
                )
            )[:TOLD_MAX],
        )
        for memory in memories
    ]


def newer_first(items: Sequence[Item], ids: Sequence[str], newer: Mapping[str, Sequence[Memory]]) -> list[Item]:
    """`items` with each newer memory directly before its first contested memory. `ids` name the memories of `items`.
    Everything else keeps its order."""
    by_id = dict(zip(ids, items, strict=True))
    placed: dict[str, Item] = {}

    def place(id_: str) -> None:
        for later in newer.get(id_, ()):
            if later.id in by_id and later.id not in placed:
                place(later.id)
        placed.setdefault(id_, by_id[id_])

    for id_ in ids:
        place(id_)
    return list(placed.values())


def settled(memories: Iterable[Memory], cosines: Mapping[str, float]) -> set[str]:
    """Of each decided pair the memory that is farther from a text, by the `cosines` of both. It holds beside the nearer
    memory, so it holds beside the text too."""
    decided = pairs(memories, BOTH_HOLD)
    near = (pair for pair in decided if pair <= cosines.keys())
    return {min(pair, key=lambda id_: (cosines[id_], id_)) for pair in near}


def linked(one: Memory, other: Memory) -> bool:
    """Whether any link joins the two: somebody has said already how they belong together."""
    return _leads(one, other) or _leads(other, one)


def is_decided(one: Memory, other: Memory) -> bool:
    """Whether a link tells already that both hold, that they contradict each other, or that one replaced the other."""
    both = (one, other)
    return any(frozenset((one.id, other.id)) in pairs(both, type_) for type_ in (BOTH_HOLD, CONTRADICTS, SUPERSEDES))


def _leads(one: Memory, other: Memory) -> bool:
    return any(link.id == other.id for link in one.links)


def contradiction(one: Memory, other: Memory) -> tuple[Memory, Link]:
    """The memory that gets the link, and the link. The link leads from the memory that was created later. Two nodes
    therefore write the same link."""
    older, later = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    return later, Link(CONTRADICTS, older.id)
