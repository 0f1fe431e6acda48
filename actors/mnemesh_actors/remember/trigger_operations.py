"""The operations on triggers, and the look at them after `remember` and `recall`.

A trigger is an ordinary memory with a tag and attributes, so peers get it, and it has a history and can be forgotten.
An answer waits for no write: that a trigger has fired is committed beside it. A kill before that commit lets the
trigger fire once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import structlog

from mnemesh_actors.ledger.commands import Mark
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import committed, find, refuse_move
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.runtime.tasks import begin_beside
from mnemesh_memory.access import grants
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.policy.rules.triggers import FIRED_TAG, TAG, Occasion, Trigger
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Memory, Patch, Query, Written

# The writer of "it has fired" when a reader made the trigger fire.
NODE_AGENT: Final = "owner/triggers"
log = structlog.get_logger("mnemesh.triggers")


class Triggering:
    """`writing` stores the memories."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing
        self._table = parts.triggers
        self._noting: set[asyncio.Task[None]] = set()

    # ---- operations -------------------------------------------------------------------------------------------

    async def create(
        self,
        caller: Caller,
        on: str,
        pattern: str,
        *,
        content: str = "",
        key: str = "",
        space: str = "",
        repeating: bool = False,
    ) -> Trigger:
        """Store a text as a trigger, or make the memory `key` one, also one that has fired. Raises InvalidArgument,
        SecretRefused, NotFound, PermissionDenied, FailedPrecondition (a space with too many)."""
        asked = triggers.condition(on, pattern, repeating, self._parts.clock())
        if bool(content) == bool(key):
            raise InvalidArgument("content", "both or neither", "one of content and id", missing=True)
        if key:
            memory = await self._made_of(caller, key, space, asked)
        else:
            where = request_checks.write_space(space, caller)
            self._table.check_room(where, asked)
            draft = Draft(
                content=content, space=where, tags=(TAG,), attrs=triggers.attrs_of(asked, own=True), force=True
            )
            memory = (await self._writing.remember(caller, draft)).memory
        self._table.rearm(memory)
        trigger = triggers.trigger_of(memory)
        assert trigger is not None
        return trigger

    async def _made_of(self, caller: Caller, key: str, space: str, asked: triggers.Condition) -> Memory:
        memory = await find(self._parts, caller, key)
        refuse_move(memory, space)
        if memory.state != "active":
            raise FailedPrecondition(f"id: {memory.id} is {memory.state}, and only an active memory is a trigger")
        self._table.check_room(memory.space, asked)
        own = memory.attrs.get(triggers.OWN) == triggers.YES
        attrs = triggers.without_trigger(memory.attrs) | triggers.attrs_of(asked, own=own)
        tags = (*(tag for tag in memory.tags if tag not in (TAG, FIRED_TAG)), TAG)
        return (await self._writing.update(caller, memory.id, Patch(attrs=attrs, tags=tags))).memory

    async def page(
        self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[Trigger, ...], str, int]:
        """A page of triggers, fired ones too, newest first, the cursor of the next page, and how many there are."""
        asked = ListQuery(spaces=tuple(spaces), tags_any=(TAG,), limit=limit, cursor=cursor)
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        parsed = (triggers.trigger_of(memory) for memory in page.memories)
        return tuple(trigger for trigger in parsed if trigger is not None), page.cursor, page.total

    async def delete(self, caller: Caller, key: str) -> tuple[Trigger, bool]:
        """End a trigger. A text that was stored as a trigger is forgotten, another memory stays. Gives the trigger and
        whether its memory stays. Raises NotFound, PermissionDenied, FailedPrecondition (no trigger)."""
        memory = await find(self._parts, caller, key)
        trigger = triggers.trigger_of(memory)
        if trigger is None:
            raise FailedPrecondition(f"id: {memory.id} is no trigger", field="id", value=memory.id)
        if trigger.own:
            await self._writing.forget(caller, memory.id)
        else:
            tags = tuple(tag for tag in memory.tags if tag not in (TAG, FIRED_TAG))
            patch = Patch(attrs=triggers.without_trigger(memory.attrs), tags=tags)
            await self._writing.update(caller, memory.id, patch)
        self._table.discard(memory.id)
        return trigger, not trigger.own

    # ---- firing -----------------------------------------------------------------------------------------------

    def remembered(self, caller: Caller, draft: Draft, done: Written) -> Written:
        """The outcome with the triggers that the text fires. A replay fires none."""
        if not len(self._table) or done.replayed:
            return done
        memory = done.memory
        occasion = Occasion(
            text=f"{draft.title}\n{draft.content}",
            spaces=(memory.space, caller.private_space),
            now=self._parts.clock(),
            paths=draft.paths,
            folder=draft.source.dir,
            id=memory.id,
        )
        return replace(done, triggered=self._fired(caller, occasion))

    def recalled(self, caller: Caller, query: Query, spaces: Sequence[str]) -> tuple[str, ...]:
        """The triggers that a question to these spaces fires."""
        if not len(self._table):
            return ()
        now, where = self._parts.clock(), tuple(spaces)
        return self._fired(caller, Occasion(query.text, where, now, query.paths, query.source_dir))

    def _fired(self, caller: Caller, occasion: Occasion) -> tuple[str, ...]:
        fired = self._table.fired(occasion)
        if once := [trigger for trigger in fired if not trigger.repeating]:
            begin_beside(self._noting, self._note(caller, once), "note-triggers")
        return tuple(trigger.id for trigger in fired)

    async def _note(self, caller: Caller, fired: Iterable[Trigger]) -> None:
        for trigger in fired:
            writes = grants.may_write(caller, trigger.space)
            writer = caller if writes else replace(caller, agent=NODE_AGENT)
            try:
                await committed(self._parts, Mark(**self._parts.stamp(writer), id=trigger.id, tag=FIRED_TAG))
            except MnemeshError as error:  # it fires once more after a restart
                log.warning("trigger_not_noted", id=trigger.id, reason=error.message)

    async def close(self) -> None:
        """Let the notes that are on their way be written."""
        await asyncio.gather(*self._noting, return_exceptions=True)
