"""Answers of the operations that remove memories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A memory that was erased for good."""

    id: str
    space: str
    changes: int  # 0 when the memory had been erased before, or only waiting and refused changes were here.
    pending: tuple[str, ...] = ()  # Parts of the memory that leave the files of this node later.
    begun: int = 0  # Time of creation (ms), 0 when nothing here tells.
    # Not the eraser's own memory, so only nodes that believe the admins of this node erase their copy.
    as_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Many memories forgotten or purged at once."""

    matched: int  # Count of all memories of the listing.
    ids: tuple[str, ...]  # Memories removed now, or to be removed (`dry_run`).
    dry_run: bool
    refused: tuple[tuple[str, str], ...] = ()  # Pairs (id, reason) of the others.
    spaces: tuple[str, ...] = ()  # Spaces of `ids`.
    others: tuple[str, ...] = ()  # Spaces with memories of other principals among `ids`.
    oldest: int = 0  # When the first of `ids` was made (ms).
    pending: tuple[str, ...] = ()  # Parts of purged memories that leave the files of this node later.
    cursor: str = ""  # Where the next call goes on, "" when nothing is left.
    left_out: int = 0  # Count of further memories, had the listing been of every state.
