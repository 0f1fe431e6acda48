"""The operations on rules of recall.

A rule is an ordinary memory with a tag and attributes. So peers get it, it has a history, and a purge erases it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import find
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.policy.rules import stored_rules
from mnemesh_memory.policy.rules.stored_rules import TAG, StoredRule
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.model import Caller, Draft, ListQuery

KIND = "preference"  # which does not cool


class Ruling:
    """`writing` stores the memories."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing
        self._table = parts.rules

    async def add(
        self,
        caller: Caller,
        condition: str,
        effect: str,
        *,
        reason: str = "",
        space: str = "",
        directory: str = "",
        file: str = "",
    ) -> StoredRule:
        """Store a rule of a space. Raises InvalidArgument, SecretRefused, PermissionDenied, FailedPrecondition (a space
        with too many)."""
        rule = stored_rules.checked(condition, effect, directory, file)
        where = request_checks.write_space(space, caller)
        self._table.check_room(where)
        draft = Draft(
            content=reason if reason.strip() else f"Rule of recall: {rule.text}", kind=KIND, space=where, tags=(TAG,),
            attrs=stored_rules.attrs_of(rule), force=True,
        )  # fmt: skip
        memory = (await self._writing.remember(caller, draft)).memory
        self._table.take(memory)
        made = stored_rules.shown(memory)
        assert made is not None
        return made

    async def page(
        self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[StoredRule, ...], str, int]:
        """A page of rules, newest first, the cursor of the next page, and how many there are. The rules of the node's
        settings come before the first page."""
        asked = ListQuery(spaces=tuple(spaces), tags_any=(TAG,), limit=limit, cursor=cursor)
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        rules = (stored_rules.shown(memory) for memory in page.memories)
        settings = () if cursor else tuple(map(stored_rules.of_settings, self._parts.config.rules))
        counted = (self._table.counting(rule) for rule in rules if rule is not None)
        return (*settings, *counted), page.cursor, page.total + len(settings)

    async def delete(self, caller: Caller, key: str) -> StoredRule:
        """End a rule: its memory is forgotten. Raises NotFound, PermissionDenied, FailedPrecondition (no rule)."""
        memory = await find(self._parts, caller, key)
        rule = stored_rules.shown(memory)
        if rule is None:
            raise FailedPrecondition(f"id: {memory.id} is no rule", field="id", value=memory.id)
        await self._writing.forget(caller, memory.id)
        self._table.end(memory.id)
        return rule
