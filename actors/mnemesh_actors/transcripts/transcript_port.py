"""The boundary of the transcript actor, apart from `ports`: transcripts see neither memories nor their index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from mnemesh_memory.transcripts import sessions


class TranscriptPort(Protocol):
    """The transcripts of a node."""

    def close(self) -> None: ...

    def add(self, draft: sessions.TranscriptDraft, masked: Collection[str], agent: str, now: int) -> sessions.Added: ...

    def search(self, query: sessions.TranscriptQuery) -> tuple[sessions.TurnHit, ...]: ...

    def read(
        self, session: str, space: str, first: int, count: int
    ) -> tuple[sessions.Session, tuple[sessions.Turn, ...]]: ...

    def page(self, query: sessions.SessionQuery) -> sessions.SessionPage: ...

    def spaces(self) -> tuple[str, ...]: ...

    def called(self, session: str) -> tuple[sessions.Session, ...]: ...

    def erase(self, named: Sequence[tuple[str, str]]) -> bool: ...

    def status(self) -> sessions.TranscriptStatus: ...
