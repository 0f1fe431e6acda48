"""The operations on transcripts: permissions, spaces, and the texts that are never stored.

Everything goes through one store of this node. Nothing here touches ledger, index or model: what was said in a session
is no memory, and no memory is found here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.transcripts.transcript_file import FileCopy, copy, copy_file
from mnemesh_actors.transcripts.transcript_store import TranscriptStore
from mnemesh_memory.access import grants
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.transcripts import sessions
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, NotFound, PermissionDenied, shorten
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.spaces import space_path

STATUS_WAIT_S: Final = 1.0
ADMINS: Final = ("owner", "admin")


class Transcribing:
    """`store` is a handle of a TranscriptStore of `path`. `clock` gives ms since the epoch."""

    def __init__(self, store: Handle[TranscriptStore], path: Path, clock: Callable[[], int]) -> None:
        self._store = store
        self._path = path
        self._clock = clock

    async def add(self, caller: Caller, draft: sessions.TranscriptDraft) -> sessions.Added:
        """Append the turns that are not there yet. Raises InvalidArgument, PermissionDenied, SecretRefused, and
        FailedPrecondition for the session of another principal."""
        clean = sessions.draft(draft, caller)
        # In a thread, because a call of a megabyte takes a quarter of a second.
        clean, masked = await asyncio.to_thread(sessions.without_secrets, clean)
        ids = frozenset(turn.id for turn in masked)
        added = await self._store.add(clean, ids, caller.agent, self._clock())
        return replace(added, masked=masked)

    async def search(
        self, caller: Caller, query: sessions.TranscriptQuery
    ) -> tuple[tuple[sessions.TurnHit, ...], tuple[str, ...]]:
        """The turns that fit, best first, and the spaces that were searched."""
        clean = sessions.query(query, caller)
        hits = await self._store.search(clean)
        return hits, clean.spaces

    async def read(
        self, caller: Caller, session: str, space: str = "", first: int = 1, count: int = 20
    ) -> tuple[sessions.Session, tuple[sessions.Turn, ...]]:
        """A session and its turns from position `first` on. Raises NotFound, and FailedPrecondition when sessions of
        several spaces have that name and none is named."""
        field_checks.whole("first", first, 1, limits.TRANSCRIPT_SESSION_TURNS_MAX)
        field_checks.whole("count", count, 1, limits.TRANSCRIPT_READ_TURNS_MAX)
        name = sessions.session_id("session", session)
        spaces = [held.space for held in await self._called(caller, name, space, grants.READ) if held.session == name]
        if not spaces:
            raise NotFound("session", name, "the list of transcripts shows those that are there")
        if len(spaces) > 1:
            raise FailedPrecondition(
                f"session: {shorten(name)} lies in {', '.join(spaces)}; name one of these as space", field="space"
            )
        return await self._store.read(name, spaces[0], first, count)

    async def page(self, caller: Caller, query: sessions.SessionQuery) -> sessions.SessionPage:
        """One page of sessions."""
        return await self._store.page(sessions.session_query(query, caller))

    async def holds(self, patterns: tuple[str, ...]) -> bool:
        """Whether any session lies in a space under these patterns."""
        held = await self._store.spaces()
        return any(grants.any_matches(patterns, space) for space in held)

    async def erase(self, caller: Caller, session: str, space: str = "") -> sessions.ErasedSession:
        """Erase a session and its parts, in `space` or wherever the caller may. The principal that stored a session
        may, and an admin. Raises NotFound, PermissionDenied."""
        name = sessions.session_id("session", session)
        lying = await self._called(caller, name, space, grants.WRITE)
        if not any(held.session == name for held in lying):
            raise NotFound("session", name, "the list of transcripts shows those that are there")
        gone = [held for held in lying if caller.role in ADMINS or principal_of(held.by) == caller.principal]
        if not any(held.session == name for held in gone):
            by = ", ".join(sorted({principal_of(held.by) for held in lying}))
            action = f"erase the session {shorten(name)}, stored by {by},"
            raise PermissionDenied(caller.principal, action, "what it stored itself; an admin may erase all")
        folded = await self._store.erase([(held.session, held.space) for held in gone])
        return sessions.ErasedSession(
            sessions=tuple(gone),
            turns=sum(held.turns for held in gone),
            stored_at=min(held.stored_at for held in gone),
            pending="" if folded else "its bytes leave the write-ahead log with a later write",
        )

    async def status(self) -> sessions.TranscriptStatus:
        """The amount of stored turns, or the state of a store that is busy or broken."""
        try:
            async with asyncio.timeout(STATUS_WAIT_S):
                return await self._store.status()
        except TimeoutError:
            return sessions.TranscriptStatus(sessions=0, turns=0, bytes=0, state="busy")
        except MnemeshError as error:
            return sessions.TranscriptStatus(sessions=0, turns=0, bytes=0, state=error.message)

    @asynccontextmanager
    async def copied(self) -> AsyncIterator[FileCopy | None]:
        """A copy of the file as it is now, deleted at the end. None when nothing was ever stored. Writes go on. Raises
        Unavailable, DataLoss."""
        if not self._path.exists():
            yield None
            return
        target = copy_file(self._path)
        try:
            yield await asyncio.to_thread(copy, self._path, target)
        finally:
            target.unlink(missing_ok=True)

    async def _called(self, caller: Caller, name: str, space: str, need: str) -> list[sessions.Session]:
        """The sessions of that name and their parts, in `space` or wherever the caller has the need. Raises
        PermissionDenied for a space that is named and not granted."""
        if space:
            space = space_path("space", space)
            grants.require_space(caller, need, space)
        may = grants.may_write if need == grants.WRITE else grants.may_read
        called = await self._store.called(name)
        return [session for session in called if (session.space == space if space else may(caller, session.space))]
