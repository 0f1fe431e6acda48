"""What the operations that remove memories answer with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A memory that was erased for good: how many changes went, 0 when it had been erased before, or when nothing
    of it was here but changes that wait or were refused. `pending` says what of it still leaves this node's files
    later, empty when nothing is left; `begun` is when it was made (ms), 0 when nothing here tells that. `as_admin`: it
    was not the eraser's own, so that only who believes this node's admins erases it, too."""

    id: str
    space: str
    changes: int
    pending: tuple[str, ...] = ()
    begun: int = 0
    as_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Many memories at once. `matched` is how many the listing named in all; `ids` those that were forgotten or purged
    now, or would be (`dry_run`), `spaces` where these are, `others` where those of them are that the caller did not
    begin, and `oldest` when the first of them was made (ms); `refused`
    (id, reason) of those that were not, or would not be; `pending` says what of the purged leaves this node's files
    later. `cursor` is where the next call goes on, "" when nothing is left; `left_out` counts what the listing named
    besides, were it of every state."""

    matched: int
    ids: tuple[str, ...]
    dry_run: bool
    refused: tuple[tuple[str, str], ...] = ()
    spaces: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    oldest: int = 0
    pending: tuple[str, ...] = ()
    cursor: str = ""
    left_out: int = 0
