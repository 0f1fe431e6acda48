"""What the node says of its backups."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was made: where it lies on the node's machine, and what it holds. `state` is made, unfinished or
    gone from where it was written; `seq` is the ledger's last number in it, `memories` counts the active ones, `bytes`
    and `sha256` (hex) are the file's."""

    path: str
    state: str
    created_at: datetime | None
    node_id: str
    incarnation: str
    seq: int
    memories: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBackup:
    """A backup that was made just now."""

    backup: Backup


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """The backups that a node remembers to have made, the latest first."""

    backups: tuple[Backup, ...]
