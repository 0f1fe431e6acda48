"""What the client gives back of a memory's past: the messages of HistoryService as frozen dataclasses, as in values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemesh.values import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One complete statement of a memory. `id` is "n@actor"; `op` is put or forget; `node` took it in first. `head`: no
    other builds on it; `shown`: its text is what the memory says."""

    id: str
    op: str
    kind: str
    title: str
    content: str
    by: str
    at: datetime | None
    parents: tuple[str, ...]
    node: str
    head: bool
    shown: bool
    importance: float | None
    tier: str
    paths: tuple[str, ...]
    source: Source | None
    valid_from: datetime | None
    valid_to: datetime | None
    keywords: tuple[str, ...]
    attrs: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One page of a memory's revisions, newest first. `cursor` is the token of the next page, "" on the last. `notes`
    say what of the memory is too much to be shown."""

    id: str
    space: str
    state: str
    revisions: tuple[Revision, ...]
    cursor: str
    total: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedLines:
    """Consecutive lines that one revision set; `first` counts from 1."""

    first: int
    text: str
    revision: str
    by: str
    at: datetime | None
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedField:
    """A field, tag or link and what last set it; `field` is a name such as title, attrs.ticket or tags.deploy."""

    field: str
    value: str
    revision: str
    by: str
    at: datetime | None
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Who last set what of `revision`: the lines of its text in order, then the other fields by name."""

    id: str
    revision: str
    lines: tuple[BlamedLines, ...]
    fields: tuple[BlamedField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A memory that says several things at once: its versions, the shown one first. `state` is active or superseded."""

    id: str
    space: str
    versions: tuple[Revision, ...]
    state: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """One page of memories in conflict, oldest first. `cursor` is the token of the next page, "" on the last."""

    conflicts: tuple[Conflict, ...]
    cursor: str
    total: int
