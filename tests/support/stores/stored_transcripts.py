"""Transcripts without a node: the real operations over a real store, in memory or in a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mnemesh_actors.transcripts.transcript_operations import Transcribing
from mnemesh_actors.transcripts.transcript_store import TranscriptStore
from mnemesh_memory.transcripts.sessions import TranscriptDraft, TurnDraft

START_MS = 1_700_000_000_000


class Direct:
    """A handle whose calls run at once, in the caller's thread."""

    name = "actor-0"

    def __init__(self, actor: object) -> None:
        self._actor = actor

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any) -> Any:
            return getattr(self._actor, method)(*args)

        return call


def operations(path: Path) -> Transcribing:
    """Over the file `path`, at START_MS."""
    return Transcribing(Direct(TranscriptStore(str(path))), path, lambda: START_MS)


def transcribing() -> Transcribing:
    """In memory, with one session, `first` in `@owner`."""
    store = TranscriptStore(":memory:")
    turn = TurnDraft(id="u1", role="user", text="use pnpm, not npm", at=START_MS)
    store.add(TranscriptDraft(session="first", space="@owner", turns=(turn,)), (), "owner/cli", START_MS)
    return Transcribing(Direct(store), Path(":memory:"), lambda: START_MS)
