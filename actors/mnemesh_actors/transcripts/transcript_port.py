"""The boundary of the transcript actor, apart from `ports`: transcripts see neither memories nor their index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from mnemesh_memory.transcripts.sessions import (
    Added,
    Session,
    SessionPage,
    SessionQuery,
    TranscriptDraft,
    TranscriptQuery,
    TranscriptStatus,
    Turn,
    TurnHit,
)


class TranscriptPort(Protocol):
    """The transcripts of a node."""

    def close(self) -> None: ...

    def add(self, draft: TranscriptDraft, masked: Collection[str], agent: str, now: int) -> Added: ...

    def search(self, query: TranscriptQuery) -> tuple[TurnHit, ...]: ...

    def read(self, session: str, space: str, first: int, count: int) -> tuple[Session, tuple[Turn, ...]]: ...

    def page(self, query: SessionQuery) -> SessionPage: ...

    def spaces(self) -> tuple[str, ...]: ...

    def called(self, session: str) -> tuple[Session, ...]: ...

    def erase(self, sessions: Sequence[tuple[str, str]]) -> bool: ...

    def status(self) -> TranscriptStatus: ...
