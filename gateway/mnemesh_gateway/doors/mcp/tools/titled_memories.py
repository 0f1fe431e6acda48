"""Memories of a kind by their titles, for the forms of tools: the meant one, and the one that gets a revision."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemesh_gateway.operations.operation_table import by_name
from mnemesh_memory.validation.request_checks import write_space
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import memory_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def ids_of(gate: MeshGate, caller: Caller, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields `id` or `ids` as the ids of memories of a kind. A title means the latest of the spaces asked for. An
    `id` without such a memory means one of any space. Raises NotFound, and InvalidArgument for another kind or for a
    title in several other spaces."""
    name = "ids" if "ids" in fields else "id"
    keys = fields[name] if name == "ids" else [fields.get(name)]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return {}  # the operation refuses it
    spaces = {"spaces": fields["spaces"]} if "spaces" in fields else {}
    latest = await _latest(gate, caller, kind, keys, **spaces)
    if name == "id" and keys[0] not in latest:
        elsewhere = [
            memory
            async for memory in _all_of(gate, caller, kind, everywhere=True)
            if _composed(memory.title) == _composed(keys[0])
        ]
        if len({memory.space for memory in elsewhere}) > 1:
            meant = ", ".join(memory.id for memory in elsewhere)
            raise InvalidArgument(name, keys[0], f"the id of a {kind}; several spaces have this title: {meant}")
        latest |= dict.fromkeys(keys, elsewhere[0].id) if elsewhere else {}
    ids = [latest.get(key, key) for key in keys]
    get = by_name("get")
    memories = (await get.run(gate, caller, get.read_json({"ids": ids, **spaces}))).memories
    if other := next((memory for memory in memories if memory.kind != kind), None):
        raise InvalidArgument(name, other.id, f"a {kind}; this is a memory of kind {other.kind}")
    return {"ids": ids} if name == "ids" else {"id": ids[0]}


async def revision(gate: MeshGate, caller: Caller, fields: Mapping[str, Any]) -> memory_pb2.RememberResponse | None:
    """The new revision of the memory with the kind and title of `fields` in the space of the write, None without such a
    memory."""
    space, title = fields.get("space", ""), fields.get("title")
    if not isinstance(space, str) or not isinstance(title, str):
        return None  # the operation refuses it
    space = write_space(space, caller)
    before = (await _latest(gate, caller, fields["kind"], [title], spaces=[space])).get(title)
    if before is None:
        return None
    update = by_name("update")
    changed = {name: value for name, value in fields.items() if name not in ("space", "title", "kind")}
    made = await update.run(gate, caller, update.read_json({"id": before, **changed}))
    return memory_pb2.RememberResponse(
        action=made.action, memory=made.memory, reason=made.reason, replayed=made.replayed, indexed=made.indexed
    )


async def require_free(gate: MeshGate, caller: Caller, fields: Mapping[str, Any]) -> None:
    """Raises InvalidArgument when another memory of the kind of `fields` has their title in the space of `id`."""
    key, title, kind, get = fields.get("id"), fields["title"], fields["kind"], by_name("get")
    if not isinstance(key, str) or not isinstance(title, str):
        return  # the operation refuses it
    (memory,) = (await get.run(gate, caller, get.read_json({"ids": [key]}))).memories
    other = (await _latest(gate, caller, kind, [title], spaces=[memory.space])).get(title)
    if other not in (None, memory.id):
        raise InvalidArgument("title", title, f"a title that no {kind} of {memory.space} has; this is that of {other}")


async def _latest(gate: MeshGate, caller: Caller, kind: str, titles: Sequence[str], **where: Any) -> dict[str, str]:
    """The id of the latest memory of a kind by title, of those titles that one bears."""
    wanted: dict[str, list[str]] = {}
    for title in titles:
        wanted.setdefault(_composed(title), []).append(title)
    latest: dict[str, str] = {}
    async for memory in _all_of(gate, caller, kind, **where):
        latest |= dict.fromkeys(wanted.pop(_composed(memory.title), ()), memory.id)
        if not wanted:
            break
    return latest


async def _all_of(gate: MeshGate, caller: Caller, kind: str, **where: Any) -> AsyncIterator[Any]:
    """The latest memories of a kind with a title, newest first; none for a token that may not list."""
    listing = by_name("list")
    more = listing.is_for(caller)
    cursor = ""
    while more:
        asked = listing.read_json({"kinds": [kind], "limit": limits.LIST_LIMIT_MAX, "cursor": cursor, **where})
        page = await listing.run(gate, caller, asked)
        for memory in page.memories:
            if memory.title:
                yield memory
        cursor = page.cursor
        more = bool(cursor)


def _composed(title: str) -> str:
    """A title as it is compared: its accents are composed, as those of a text are."""
    return unicodedata.normalize("NFC", title).strip()
