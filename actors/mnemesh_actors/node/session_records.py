"""The operations on records of sessions and on requirements. Both are memories: these store, list and settle them."""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, find
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.policy import requirements, session_runs
from mnemesh_memory.policy.requirements import Requirement
from mnemesh_memory.policy.session_runs import SessionRun, Told
from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Patch, Source


class SessionRecords:
    """`writing` stores the memories."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing
        self.operations = self.record_run, self.runs, self.settle, self.requirements

    async def record_run(self, caller: Caller, told: Told, *, space: str = "", mask: bool = False) -> SessionRun:
        """Store what a session was, as the next version of its record. The same again changes nothing. Raises
        InvalidArgument, SecretRefused, PermissionDenied."""
        where = request_checks.write_space(space, caller)
        clean = session_runs.checked(told, mask=mask)
        content, title, attrs = session_runs.text_of(clean), session_runs.title(clean), session_runs.attrs_of(clean)
        if mask:  # two harmless lines may be a credential together
            content, title = masked(content)[0], masked(title)[0]
        async with answered(self._parts, "ledger"):
            before = await self._parts.ledger.last_tagged((where,), session_runs.TAG, clean.session, caller.agent)
        if before is not None and (before.content, dict(before.attrs)) == (content, attrs):
            return session_runs.run_of(before)
        if before is not None and before.version < limits.REVISIONS_MAX:
            patch = Patch(content=content, title=title, attrs=attrs, force=True, wait="durable")
            return session_runs.run_of((await self._writing.update(caller, before.id, patch)).memory)
        draft = Draft(
            content=content, title=title, kind=session_runs.KIND, space=where, tags=(session_runs.TAG,), attrs=attrs,
            source=Source(session=clean.session), force=True, wait="durable",
            created_at=clean.started_at if clean.started_at and clean.started_at <= self._parts.clock() else None,
        )  # fmt: skip
        return session_runs.run_of((await self._writing.remember(caller, draft)).memory)

    async def runs(
        self, caller: Caller, spaces: Sequence[str] = (), *, session: str = "", limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[SessionRun, ...], str, int]:
        """A page of records, the latest first, the cursor of the next page, and how many there are."""
        asked = ListQuery(
            spaces=tuple(spaces), tags_any=(session_runs.TAG,), session=session, limit=limit, cursor=cursor
        )
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        return tuple(map(session_runs.run_of, page.memories)), page.cursor, page.total

    async def settle(self, caller: Caller, key: str, status: str, note: str = "") -> Requirement:
        """Say what became of a requirement. Raises InvalidArgument, NotFound, PermissionDenied, FailedPrecondition."""
        memory = await find(self._parts, caller, key)
        patch = requirements.settled(memory, status, note)
        if memory.state != "active":
            raise FailedPrecondition(f"id: {memory.id} is {memory.state}, and only an active memory is settled")
        return requirements.requirement_of((await self._writing.update(caller, memory.id, patch)).memory)

    async def requirements(
        self, caller: Caller, spaces: Sequence[str] = (), *, status: str = "", limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[Requirement, ...], str, int]:
        """A page of requirements, newest first, the cursor of the next page, and how many there are."""
        asked = requirements.query(spaces, status or requirements.OPEN, limit, cursor)
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        return tuple(map(requirements.requirement_of, page.memories)), page.cursor, page.total
