"""Attributes that the node gives a meaning to, and the trust classes of memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The attribute of a pinned memory that says why it is pinned.
ANCHOR: Final = "anchor"
# Attributes that record the files of a text.
STALE_PREFIX: Final = "ref."
# How far a memory can be trusted by its origin, most first, and the attribute that records a class.
TRUST_CLASSES: Final = ("own", "granted", "peer", "imported")
TRUST_ATTR: Final = "trust"


@dataclass(frozen=True, slots=True)
class Trusted:
    """Memories of these trust classes, for a reader on a node."""

    classes: tuple[str, ...]
    principal: str
    node: str
