"""The operations on records of sessions and on requirements. Both are memories: these store, list and settle them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mnemesh_actors.memory_lookup import find_many
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, find
from mnemesh_actors.remember.link_operations import Linking
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.policy.sessions import requirements, session_runs
from mnemesh_memory.policy.sessions.requirements import Requirement
from mnemesh_memory.policy.sessions.session_runs import SessionRun, Told
from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
)
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Memory, Patch, Source

SETTLE_TRIES: Final = 4
PROMPT: Final = "prompt"
# The type of the link from a record to the prompt that the session followed.
FOLLOWS: Final = "depends-on"


class SessionRecords:
    """`writing` stores the memories, `linking` leads from a record to its prompt."""

    def __init__(self, parts: NodePorts, writing: Writing, linking: Linking) -> None:
        self._parts = parts
        self._writing = writing
        self._linking = linking
        self.operations = self.record_run, self.runs, self.settle, self.requirements

    async def record_run(self, caller: Caller, told: Told, *, space: str = "", mask: bool = False) -> SessionRun:
        """Store what a session was, as the next version of its record, with a link to the prompt that it followed. The
        same again changes nothing, and a forgotten record stays forgotten until there is more to tell. Raises
        InvalidArgument, NotFound, SecretRefused, PermissionDenied."""
        where = request_checks.write_space(space, caller)
        clean = session_runs.checked(told, mask=mask)
        prompt = await self._prompt(caller, clean, where)
        clean = replace(clean, prompt_id=prompt)
        content, title = session_runs.text_of(clean), session_runs.title(clean)
        if mask:  # two harmless lines may be a credential together
            content, title = masked(content)[0], masked(title)[0]
        draft = Draft(
            content=content, title=title, kind=session_runs.KIND, space=where, tags=(session_runs.TAG,),
            attrs=session_runs.attrs_of(clean), source=Source(session=clean.session), force=True, wait="durable",
            created_at=clean.started_at if clean.started_at and clean.started_at <= self._parts.clock() else None,
        )  # fmt: skip
        try:
            memory = await self._recorded(caller, draft, named=bool(told.prompt_id))
        except AlreadyExists:  # another call began the record meanwhile
            memory = await self._recorded(caller, draft, named=bool(told.prompt_id))
        run = session_runs.run_of(memory)
        if prompt and run.prompt_id == prompt and memory.state == "active":
            await self._linking.link(caller, memory.id, FOLLOWS, prompt, wait="durable")
        return run

    async def _prompt(self, caller: Caller, told: Told, space: str) -> str:
        """The id of the prompt that a session followed: the named one, or the latest of its space that was stored with
        the session; "" for none."""
        async with answered(self._parts, "ledger"):
            if not told.prompt_id:
                stored = ListQuery(spaces=(space,), kinds=(PROMPT,), session=told.session, limit=1)
                page = await self._parts.ledger.page(request_checks.list_query(stored, caller))
                return next((memory.id for memory in page.memories), "")
            (named,) = await find_many(self._parts, caller, [told.prompt_id], spaces=(space,))
        if isinstance(named, NotFound | InvalidArgument):
            raise named.named("prompt_id")
        if isinstance(named, MnemeshError):
            raise named
        if named.kind != PROMPT:
            raise InvalidArgument("prompt_id", f"a memory of kind {named.kind}", f"a memory of kind {PROMPT}")
        return named.id

    async def _recorded(self, caller: Caller, draft: Draft, *, named: bool) -> Memory:
        """The record as the draft tells it, with the prompt of the record before unless one is `named`. The commit
        decides which of two calls begins a record, by the key."""
        session = draft.source.session
        gone = ListQuery(
            spaces=(draft.space,), kinds=(draft.kind,), tags_any=draft.tags, session=session, agent=caller.agent,
            state="forgotten", limit=limits.LIST_LIMIT_MAX,
        )  # fmt: skip
        async with answered(self._parts, "ledger"):
            before = await self._parts.ledger.last_tagged(
                (draft.space,), session_runs.TAG, session, caller.agent, session_runs.KIND
            )
            forgotten = () if before else (await self._parts.ledger.page(gone)).memories
        if before is not None and not named:
            draft = replace(draft, attrs=session_runs.with_prompt(draft.attrs, before.attrs))
        said = draft.content, dict(draft.attrs)
        for one in (before, *forgotten):
            if one is not None and (one.content, dict(one.attrs)) == said:
                return one
        if before is not None and before.version < limits.REVISIONS_MAX:
            patch = Patch(content=draft.content, title=draft.title, attrs=draft.attrs, force=True, wait="durable")
            return (await self._writing.update(caller, before.id, patch)).memory
        after = next((one.id for one in (before, *forgotten) if one is not None), "")
        key = session_runs.key_of(draft.space, session, after)
        return (await self._writing.remember(caller, replace(draft, idempotency_key=key))).memory

    async def runs(
        self, caller: Caller, spaces: Sequence[str] = (), *, session: str = "", limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[SessionRun, ...], str, int]:
        """A page of records, the latest first, the cursor of the next page, and how many there are."""
        asked = ListQuery(
            spaces=tuple(spaces), kinds=(session_runs.KIND,), tags_any=(session_runs.TAG,), session=session,
            limit=limit, cursor=cursor,
        )  # fmt: skip
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        return tuple(map(session_runs.run_of, page.memories)), page.cursor, page.total

    async def settle(self, caller: Caller, key: str, status: str, note: str = "") -> Requirement:
        """Say what became of a requirement. Raises InvalidArgument, NotFound, PermissionDenied, FailedPrecondition."""
        for _ in range(SETTLE_TRIES - 1):
            try:
                return await self._settled(caller, key, status, note)
            except Aborted:  # somebody else changed the memory meanwhile, perhaps its tags
                continue
        return await self._settled(caller, key, status, note)

    async def _settled(self, caller: Caller, key: str, status: str, note: str) -> Requirement:
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
