"""What the operations that remove memories answer with: the messages as frozen dataclasses, as in values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A memory that a call over many left, or would leave, as it was, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Many memories at once: how many the filters name in all, those that were forgotten or purged now or would be
    (`dry_run`), and those that were, or would be, refused. Of a purge: `pending` says what leaves the node's files
    later, `backups` which of its backups may hold some of them, `not_told` which peers do not hear of it, and keep what
    they have; `left_out` counts the forgotten and superseded ones that the filters would name besides, and that stay.
    `cursor` is the token of the call that goes on, "" when nothing is left."""

    matched: int
    ids: tuple[str, ...]
    dry_run: bool
    refused: tuple[Refused, ...]
    pending: tuple[str, ...]
    backups: tuple[str, ...]
    not_told: tuple[str, ...]
    cursor: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A memory that was erased for good: how many changes went, 0 when it had been erased before. `pending` says what
    of it still leaves the node's files later, "" when nothing is left; `backups` are those of the node that may hold it
    still; `not_told` names peers that do not hear of it from here, and keep what they have."""

    id: str
    space: str
    changes: int
    pending: str
    backups: tuple[str, ...]
    not_told: tuple[str, ...]


def joined(first: Bulk, later: Bulk) -> Bulk:
    """What two calls with the same filters did together, the one after the other."""
    return replace(
        first,
        ids=_all(first.ids, later.ids),
        refused=_all(first.refused, later.refused),
        pending=_all(first.pending, later.pending),
        backups=_all(first.backups, later.backups),
        not_told=_all(first.not_told, later.not_told),
        cursor=later.cursor,
    )


def _all(one: tuple[Item, ...], other: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys((*one, *other)))
