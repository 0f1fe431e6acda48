"""Finding the memory that a caller means. What it may not read is not there: NotFound, as for what never was."""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access import grants
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values.errors import MnemeshError, NotFound
from mnemesh_memory.values.model import Caller, Memory


async def find_many(
    parts: NodePorts, caller: Caller, keys: Sequence[str], *, forgotten: bool = False, spaces: Sequence[str] = ()
) -> list[Memory | MnemeshError]:
    """A memory for each id, unique prefix or title, or the reason why not; forgotten ones only when asked."""
    for key in keys:
        field_checks.bounded_text("id", key, 200, empty=False)
    found = await parts.ledger.find(list(keys), request_checks.title_spaces(spaces, caller), grants.readable(caller))
    return [_shown(item, forgotten) for item in found]


async def find_one(parts: NodePorts, caller: Caller, key: str, *, forgotten: bool = False) -> Memory:
    """The memory that `key` names, to be read. Raises NotFound or InvalidArgument."""
    (found,) = await find_many(parts, caller, [key], forgotten=forgotten)
    if isinstance(found, MnemeshError):
        raise found
    return found


def _shown(item: Memory | MnemeshError, forgotten: bool) -> Memory | MnemeshError:
    if isinstance(item, Memory) and item.state == "forgotten" and not forgotten:
        return NotFound("memory", item.id, "it was forgotten; `restore` brings it back, include_forgotten shows it")
    return item
