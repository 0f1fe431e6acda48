"""The operations on a memory's past: history, blame, reading as of a time, rollback, conflicts, resolve.

Nothing is undone: going back writes a new revision that names every head its writer saw. The ledger decides inside the
commit whether these are still the heads; when another edit came between, the write is refused and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mnemesh_actors.ledger.commands import Decide, Resolve, Rollback
from mnemesh_actors.ledger.commit.history_writes import Past, no_conflict
from mnemesh_actors.memory_lookup import find_one
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, find, vectors_of_change
from mnemesh_actors.remember.writes import Writing
from mnemesh_crdt.document.blame import blamed
from mnemesh_crdt.document.revisions import named, shown
from mnemesh_crdt.document.shape import FORGET
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import Caller, Memory, Patch, Revision, Written
from mnemesh_memory.values.past import BOTH, Blame, ConflictPage, HistoryPage

PAGE = 20
MARKS_PAGE = 5  # Marks are many and seldom urgent, so few of them make a page unless the caller names its size.


class HistoryOperations:
    """`writing` tells the outcome of a write, as it does for its own."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing

    async def history(self, caller: Caller, key: str, limit: int = PAGE, cursor: str = "") -> HistoryPage:
        """Revisions, newest first; also of a forgotten memory. Raises NotFound or InvalidArgument."""
        field_checks.whole("limit", limit, 1, limits.LIST_LIMIT_MAX)
        after = field_checks.revision_key("cursor", cursor) if cursor else ""
        memory = await find_one(self._parts, caller, key, forgotten=True)
        return await self._parts.ledger.history(memory.id, limit, after)

    async def blame(self, caller: Caller, key: str, revision: str = "") -> Blame:
        """The author of each line and field of a revision, by default of the shown one; also of a forgotten memory.
        Raises NotFound or InvalidArgument."""
        wanted = field_checks.revision_key("revision", revision) if revision else ""
        memory = await find_one(self._parts, caller, key, forgotten=True)
        past = await self._parts.ledger.past(memory.id)
        # Comparing many long texts takes a while, and the node has other callers.
        return await asyncio.to_thread(_blame, memory, past, wanted)

    async def conflicts(
        self, caller: Caller, spaces: Sequence[str] = (), limit: int | None = None, cursor: str = ""
    ) -> ConflictPage:
        """Memories in conflict, oldest first, also superseded ones, of `spaces` or of all that the caller may read.
        Pairs of memories that contradict each other follow, and mere marks are last. Without a `limit` a page has at
        most MARKS_PAGE marks."""
        most = PAGE if limit is None else limit
        field_checks.whole("limit", most, 1, limits.LIST_LIMIT_MAX)
        named_ = request_checks.within_of(spaces, caller)
        marks = MARKS_PAGE if limit is None else most
        return await self._parts.ledger.conflicts(named_, most, cursor, marks)

    async def rollback(
        self, caller: Caller, key: str, to: str, *, expected_heads: Sequence[str] = (), wait: str = "indexed"
    ) -> Written:
        """Say again what an older revision said. NOOP when the memory says just that. Raises NotFound,
        InvalidArgument, FailedPrecondition (forgotten), AlreadyExists (another memory says it), Aborted (other
        heads)."""
        wanted = field_checks.revision_key("to", to)
        seen = field_checks.heads("expected_heads", expected_heads)
        memory = await find(self._parts, caller, key, forgotten=True)
        revision = await self._revision(memory, "to", wanted)
        command = Rollback(
            **self._parts.stamp(caller),
            id=memory.id,
            to=revision.id,
            expected_heads=seen or memory.heads,
            vectors=await vectors_of_change(self._parts, memory, _saying(memory, revision.title, revision.content)),
        )
        return await self._writing.commit(caller, command, wait)

    async def resolve(
        self,
        caller: Caller,
        key: str,
        *,
        keep: str = "",
        content: str | None = None,
        expected_heads: Sequence[str] = (),
        other: str = "",
        wait: str = "indexed",
    ) -> Written:
        """End a conflict: keep one head, or say `content` instead of all (the other fields are the shown head's). With
        `other`, a memory that contradicts this one, `keep` the one that holds, or BOTH. Raises NotFound,
        InvalidArgument, SecretRefused, FailedPrecondition (no conflict), Aborted (other heads)."""
        if bool(keep) == (content is not None):
            said = "both keep and content" if keep else "neither keep nor content"
            raise InvalidArgument("keep", said, "one of keep and content", missing=not keep)
        if other:
            return await self._decide(caller, key, other, keep, wait)
        wanted = field_checks.revision_key("keep", keep) if keep else ""
        clean = request_checks.patch(Patch(content=content)).content if content is not None else None
        seen = field_checks.heads("expected_heads", expected_heads)
        memory = await find(self._parts, caller, key, forgotten=True)
        if not memory.conflicts:
            raise no_conflict(memory)
        kept = await self._revision(memory, "keep", wanted or memory.heads[0])
        after = _saying(memory, kept.title, kept.content if clean is None else clean)
        command = Resolve(
            **self._parts.stamp(caller),
            id=memory.id,
            keep=kept.id,
            content=clean,
            expected_heads=seen or memory.heads,
            vectors=await vectors_of_change(self._parts, memory, after),
        )
        return await self._writing.commit(caller, command, wait)

    async def _decide(self, caller: Caller, key: str, other: str, keep: str, wait: str) -> Written:
        """Decide between two memories that contradict each other. Raises NotFound, InvalidArgument, PermissionDenied,
        FailedPrecondition (they do not contradict each other)."""
        memory = await find(self._parts, caller, key)
        try:
            against = await find(self._parts, caller, other)
            named_ = {key: memory, BOTH: memory, other: against}
            kept = named_[keep] if keep in named_ else await find(self._parts, caller, keep)
        except (NotFound, InvalidArgument) as error:
            raise error.named("other") from None
        if kept.id not in (memory.id, against.id):
            raise InvalidArgument("keep", keep, f"{memory.id}, {against.id} or {BOTH}", missing=not keep)
        command = Decide(
            **self._parts.stamp(caller), id=memory.id, other=against.id, keep="" if keep == BOTH else kept.id
        )
        return await self._writing.commit(caller, command, wait)

    async def _revision(self, memory: Memory, field: str, key: str) -> Revision:
        async with answered(self._parts, "ledger"):
            return await self._parts.ledger.revision(memory.id, field, key)


def _saying(memory: Memory, title: str, content: str) -> Memory:
    """`memory` when it says this and nothing else."""
    return replace(memory, title=title, content=content, conflicts=())


def _blame(memory: Memory, past: Past, wanted: str) -> Blame:
    state, origins = past
    of = named(state, "revision", wanted) if wanted else shown(state)
    if of.op == FORGET:
        raise InvalidArgument("revision", of.id, "a revision that says something; in this one the memory is forgotten")
    lines, fields = blamed(state, of.id, origins)
    return Blame(memory=memory, revision=of.id, lines=lines, fields=fields)
