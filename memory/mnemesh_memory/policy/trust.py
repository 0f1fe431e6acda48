"""How far a reader can trust a memory by its origin: one of a closed list of classes. Pure.

The class of a memory is the least trusted of two: where it began, and what its attribute `trust` records. A memory that
is derived from others, copied from them or put in their place records the least trusted of these. So a copy gains
nothing, also when its source is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.values.marks import TRUST_ATTR, TRUST_CLASSES, Trusted
from mnemesh_memory.values.model import Caller, Draft, Memory, MemoryFilter

OWN, GRANTED, PEER, IMPORTED = TRUST_CLASSES
AnyFilter = TypeVar("AnyFilter", bound=MemoryFilter)
# Links that say where a statement comes from.
SOURCES: Final = ("derived-from", "copied-from")


def least(classes: Iterable[str]) -> str:
    """The least trusted of these; OWN for none. Another word counts as OWN: it lowers nothing."""
    return max((name for name in classes if name in TRUST_CLASSES), key=TRUST_CLASSES.index, default=OWN)


def class_of(by: str, brought: bool, attrs: Mapping[str, str], principal: str) -> str:
    """The class of a memory for the reader `principal`. `brought`: a peer brought it."""
    origin = PEER if brought else OWN if principal_of(by) == principal else GRANTED
    return least((origin, attrs.get(TRUST_ATTR, "")))


def of(memory: Memory, brought: bool, principal: str) -> str:
    """The class of a memory as it is read."""
    return class_of(memory.by, brought, memory.attrs, principal)


def sources(draft: Draft) -> tuple[str, ...]:
    """The memories that a draft comes from or replaces, as the draft names them."""
    linked = (link.id for link in draft.links if link.type in SOURCES)
    return tuple(dict.fromkeys((*linked, *draft.supersedes)))


def recording(attrs: Mapping[str, str], classes: Iterable[str]) -> dict[str, str]:
    """`attrs` with the least trusted of these classes and the recorded one."""
    kept = {name: value for name, value in attrs.items() if name != TRUST_ATTR}
    lowest = least((attrs.get(TRUST_ATTR, ""), *classes))
    return kept if lowest == OWN else kept | {TRUST_ATTR: lowest}


def asked_of(query: AnyFilter, caller: Caller, node: str) -> AnyFilter:
    """The checked filters with the reader of their trust classes."""
    return replace(query, trusted=Trusted(query.trust, caller.principal, node)) if query.trust else query
