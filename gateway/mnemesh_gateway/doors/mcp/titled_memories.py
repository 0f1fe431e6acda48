"""Memories of a kind by their titles, for the forms of tools: the meant one, and the one that gets a revision."""

from __future__ import annotations

from collections.abc import Mapping
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
    latest = {memory.title: memory.id for memory in reversed(await _all_of(gate, caller, kind, **spaces))}
    if name == "id" and keys[0] not in latest:
        elsewhere = [one for one in await _all_of(gate, caller, kind, everywhere=True) if one.title == keys[0]]
        if len({memory.space for memory in elsewhere}) > 1:
            meant = ", ".join(memory.id for memory in elsewhere)
            raise InvalidArgument(name, keys[0], f"the id of a {kind}; several spaces have this title: {meant}")
        latest |= {memory.title: memory.id for memory in reversed(elsewhere)}
    ids = [latest.get(key, key) for key in keys]
    get = by_name("get")
    found = (await get.run(gate, caller, get.read_json({"ids": ids, **spaces}))).memories
    if other := next((memory for memory in found if memory.kind != kind), None):
        raise InvalidArgument(name, other.id, f"a {kind}; this is a memory of kind {other.kind}")
    return {"ids": ids} if name == "ids" else {"id": ids[0]}


async def revision(gate: MeshGate, caller: Caller, fields: Mapping[str, Any]) -> memory_pb2.RememberResponse | None:
    """The new revision of the memory with the kind and title of `fields` in the space of the write, None without such a
    memory."""
    space, title = fields.get("space", ""), fields.get("title")
    if not isinstance(space, str) or not isinstance(title, str):
        return None  # the operation refuses it
    space = write_space(space, caller)
    known = await _all_of(gate, caller, fields["kind"], spaces=[space])
    before = next((memory for memory in known if (memory.space, memory.title) == (space, title.strip())), None)
    if before is None:
        return None
    update = by_name("update")
    changed = {name: value for name, value in fields.items() if name not in ("space", "title", "kind")}
    made = await update.run(gate, caller, update.read_json({"id": before.id, **changed}))
    return memory_pb2.RememberResponse(
        action=made.action, memory=made.memory, reason=made.reason, replayed=made.replayed, indexed=made.indexed
    )


async def _all_of(gate: MeshGate, caller: Caller, kind: str, **where: Any) -> list[Any]:
    """The latest memories of a kind with a title, newest first; none for a token that may not list."""
    listing = by_name("list")
    if not listing.is_for(caller):
        return []
    asked = listing.read_json({"kinds": [kind], "limit": limits.LIST_LIMIT_MAX, **where})
    return [memory for memory in (await listing.run(gate, caller, asked)).memories if memory.title]
