"""What the client gives back of sessions: the messages of TranscriptService as frozen dataclasses, as in values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptStatus:
    """How much is stored; `bytes` is the size of the file, `state` ok, busy or what is wrong with it."""

    sessions: int
    turns: int
    bytes: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTurn:
    """A turn that held credentials of these `types`, which were not stored."""

    id: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTurns:
    """What adding did: `stored` turns are new, `known` ones were there already; `turns` counts all of the session."""

    session: str
    space: str
    stored: int
    known: int
    turns: int
    masked: tuple[MaskedTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored turn; `position` counts from 1 in its session. In what a search gives, `text` is the passage that
    fits."""

    session: str
    space: str
    position: int
    id: str
    role: str
    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that was found, its relevance from 0 to 1, and the turns around it."""

    turn: Turn
    score: float
    before: tuple[Turn, ...]
    after: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTurns:
    """What a search found, best first, and the spaces that it looked in."""

    results: tuple[TurnHit, ...]
    spaces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stored session: `part_of` is the one in which it was held, `source` the program, `by` who stored it, `bytes`
    those of its texts, `masked` the turns of which something was not stored."""

    session: str
    space: str
    part_of: str
    source: str
    dir: str
    title: str
    by: str
    turns: int
    bytes: int
    masked: int
    started_at: datetime | None
    ended_at: datetime | None
    stored_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A session and some of its turns, in order."""

    session: Session
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """One page of sessions, those with the latest turns first. `cursor` is the token of the next page, "" on the
    last."""

    sessions: tuple[Session, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedSessions:
    """The sessions that are gone and how many turns they had. `pending` says what is left to be done; `backups` are
    those that may still hold them."""

    sessions: tuple[Session, ...]
    turns: int
    pending: str
    backups: tuple[str, ...]
