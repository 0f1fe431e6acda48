"""The audience of a stream: the spaces that both sides cover, the authors that the listener asked for, and the keys.

A node says only entries that its grant for the peer and the peer's own wishes both cover, whatever a page of its log
holds. The name of a feed stands for exactly this choice, so a cursor never outlives a change of the choice. Every batch
carries the keys of all its entries' nodes and can be judged alone. The sender does not know the fate of an earlier
batch, which may be lost, dropped or refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import BELOW, EVERY_SHARED, any_matches, principal_of


@dataclass(frozen=True, slots=True)
class Audience:
    """One peer as a listener: `patterns` of spaces, and `only_by`, the only principal whose agents' entries the peer
    takes, "" for all."""

    patterns: tuple[str, ...] = ()
    only_by: str = ""

    def allowed(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Only what the peer may have leaves, whatever the page holds."""
        in_spaces = (entry for entry in entries if any_matches(self.patterns, entry.space))
        return tuple(entry for entry in in_spaces if self.only_by in ("", principal_of(entry.agent)))


def keys_of(entries: Iterable[Entry], keys: Mapping[str, bytes]) -> dict[str, bytes]:
    """The public keys of the entries' nodes alone, by node: the peer hears of nobody else."""
    return {node: keys[node] for node in sorted({entry.node for entry in entries} & keys.keys())}


def common_patterns(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    """Patterns of the spaces that both sides cover, sorted, without patterns that others cover."""
    other = tuple(right)
    both = {q if _covers(p, q) else p for p in left for q in other if _covers(p, q) or _covers(q, p)}
    return tuple(sorted(p for p in both if not any(q != p and _covers(q, p) for q in both)))


def feed_name(incarnation: str, patterns: tuple[str, ...], only_by: str) -> str:
    """The name of the feed of a log of that incarnation for a peer with these spaces and authors."""
    scope = hashlib.sha256("\n".join([only_by, *patterns]).encode()).hexdigest()[:16]
    return f"{incarnation}/{scope}"


def _covers(wide: str, narrow: str) -> bool:
    if narrow.startswith("@") or wide == narrow:
        return wide == narrow or (wide.startswith("@") and narrow.startswith(wide + "/"))
    return wide == EVERY_SHARED or (wide.endswith(BELOW) and narrow.startswith(wide[:-1]))
