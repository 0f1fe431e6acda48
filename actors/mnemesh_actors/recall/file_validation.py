"""The operation validate: the files that memories name, compared with what they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemesh_actors.files.project_files import FileState
from mnemesh_actors.memory_lookup import find_one
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access import grants
from mnemesh_memory.policy import file_references
from mnemesh_memory.text.text import title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller, ListQuery, Memory

LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """A memory and the files that it names."""

    id: str
    title: str
    space: str
    references: tuple[FileState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A page of memories that name files. `roots` are the folders of their projects here, for the owner alone."""

    memories: tuple[Validated, ...]
    examined: int
    cursor: str
    roots: tuple[str, ...]


class Validating:
    """The operation of one node."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts

    async def validate(
        self, caller: Caller, key: str = "", spaces: Sequence[str] = (), limit: int = LIMIT, cursor: str = ""
    ) -> Validation:
        """The files that one memory names, or those of a page of spaces. Raises NotFound, InvalidArgument,
        PermissionDenied."""
        field_checks.whole("limit", limit, 1, limits.LIST_LIMIT_MAX)
        await self._parts.files.learn(caller)
        if key and (spaces or cursor):
            raise InvalidArgument("id", key, "an id or spaces, not both")
        if key:
            return await self._of(caller, (await find_one(self._parts, caller, key),), "")
        asked = request_checks.list_query(ListQuery(spaces=tuple(spaces), limit=limit, cursor=cursor), caller)
        page = await self._parts.ledger.page(asked)
        return await self._of(caller, page.memories, page.cursor)

    async def _of(self, caller: Caller, memories: Sequence[Memory], cursor: str) -> Validation:
        naming = [memory for memory in memories if file_references.recorded(memory.attrs)]
        states = await self._parts.files.states(naming)
        places = dict.fromkeys(root for memory in naming for root in self._parts.files.roots.of(memory.space))
        return Validation(
            memories=tuple(
                Validated(
                    id=memory.id, title=memory.title or title_of(memory.content), space=memory.space, references=found
                )
                for memory, found in zip(naming, states, strict=True)
            ),
            examined=len(memories),
            cursor=cursor,
            roots=tuple(places) if caller.role == grants.OWNER else (),
        )
