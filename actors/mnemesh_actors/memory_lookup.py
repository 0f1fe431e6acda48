"""The memories that a caller may see. Others do not exist for it: NotFound, as for an unknown id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

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


async def hidden(parts: NodePorts, caller: Caller, ids: Iterable[str]) -> set[str]:
    """The memories of `ids` that lie where the caller may not read."""
    asked = list(ids)
    return set(await parts.ledger.hidden(asked, grants.readable(caller))) if asked else set()


async def granted(parts: NodePorts, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
    """`memories` without links to memories that the caller may not read."""
    unseen = await hidden(parts, caller, {link.id for memory in memories for link in memory.links})
    return [_without(memory, unseen) for memory in memories] if unseen else list(memories)


def _shown(item: Memory | MnemeshError, forgotten: bool) -> Memory | MnemeshError:
    if isinstance(item, Memory) and item.state == "forgotten" and not forgotten:
        return NotFound("memory", item.id, "it was forgotten; `restore` brings it back, include_forgotten shows it")
    return item


def _without(memory: Memory, unseen: set[str]) -> Memory:
    kept = tuple(link for link in memory.links if link.id not in unseen)
    by = "" if memory.superseded_by in unseen else memory.superseded_by
    return memory if len(kept) == len(memory.links) else replace(memory, links=kept, superseded_by=by)
