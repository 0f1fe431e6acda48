"""Who hears what on a stream: the spaces that both sides cover, the authors that the listener asked for, and the keys.

A node says what its grant for the peer and the peer's own wishes both cover, and nothing else, whatever a page of its
log holds. The name of a feed stands for exactly that, so that a cursor never outlives a change of it. Every batch
carries the keys of all its entries' nodes and can be judged alone: what became of an earlier one, which may have been
lost, dropped or refused, is nothing that the sender knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import BELOW, EVERY_SHARED, any_matches, principal_of


class Audience:
    """One peer as a listener: `patterns` of spaces and, unless it is "", the one principal whose agents' entries it
    takes (`only_by`)."""

    def __init__(self, patterns: tuple[str, ...] = (), only_by: str = "") -> None:
        self.patterns = patterns
        self._only_by = only_by

    def allowed(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Only what the peer may have leaves, whatever the page holds."""
        only = self._only_by
        return tuple(
            one
            for one in entries
            if any_matches(self.patterns, one.space) and (not only or principal_of(one.agent) == only)
        )


def keys_of(entries: Iterable[Entry], keys: Mapping[str, bytes]) -> dict[str, bytes]:
    """Of the public keys by node those of the entries' nodes: of nobody else does the peer hear."""
    return {node: keys[node] for node in sorted({one.node for one in entries} & keys.keys())}


def common_patterns(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    """Patterns of the spaces that both sides cover, sorted, without those that others cover."""
    other = tuple(right)
    both = {q if _covers(p, q) else p for p in left for q in other if _covers(p, q) or _covers(q, p)}
    return tuple(sorted(p for p in both if not any(q != p and _covers(q, p) for q in both)))


def feed_name(incarnation: str, patterns: tuple[str, ...], only_by: str) -> str:
    """The name of what a log of that incarnation has for a peer that gets these spaces and authors."""
    scope = hashlib.sha256("\n".join([only_by, *patterns]).encode()).hexdigest()[:16]
    return f"{incarnation}/{scope}"


def _covers(wide: str, narrow: str) -> bool:
    if narrow.startswith("@") or wide == narrow:
        return wide == narrow or (wide.startswith("@") and narrow.startswith(wide + "/"))
    return wide == EVERY_SHARED or (wide.endswith(BELOW) and narrow.startswith(wide[:-1]))
