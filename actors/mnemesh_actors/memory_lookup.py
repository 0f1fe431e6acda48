"""The memories that a caller may see. Others do not exist for it: NotFound, as for an unknown id."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.rows.row_source import RowSource, Tie, present
from mnemesh_memory.access import grants
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.validity import replaced
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.memory_links import OPEN_TYPES
from mnemesh_memory.values.model import Caller, ListQuery, Memory, Page


async def find_many(
    parts: NodePorts, caller: Caller, keys: Sequence[str], *, forgotten: bool = False, spaces: Sequence[str] = ()
) -> list[Memory | MnemeshError]:
    """A memory for each id, unique prefix or title, or the reason why not; forgotten ones only when asked."""
    for key in keys:
        field_checks.bounded_text("id", key, 200, empty=False)
    items = await parts.ledger.find(list(keys), request_checks.title_spaces(spaces, caller), grants.readable(caller))
    return [present(item, forgotten) for item in items]


async def find_one(parts: NodePorts, caller: Caller, key: str, *, forgotten: bool = False) -> Memory:
    """The memory that `key` names, to be read. Raises NotFound or InvalidArgument."""
    (memory,) = await find_many(parts, caller, [key], forgotten=forgotten)
    if isinstance(memory, MnemeshError):
        raise memory
    return memory


async def hidden(parts: NodePorts, caller: Caller, ids: Iterable[str]) -> set[str]:
    """The memories of `ids` that lie where the caller may not read."""
    asked, within = list(ids), grants.readable(caller)
    if not asked or grants.EVERY_SPACE in within:
        return set()
    return set(await parts.ledger.hidden(asked, within))


async def granted(
    parts: NodePorts,
    caller: Caller,
    memories: Sequence[Memory],
    rows: RowSource | None = None,
    ties: Sequence[Tie] | None = None,
) -> list[Memory]:
    """`memories` as the caller may see each: without links to unreadable memories, and with marks from readable
    neighbours. A mark names a replaced memory or a newer contradiction. `rows` are of now by
    default, and `ties` those of the memories, when they are read already."""
    unseen = await hidden(parts, caller, {link.id for memory in memories for link in memory.links})
    shown = [_without(memory, unseen) for memory in memories] if unseen else list(memories)
    tied = [memory for memory in shown if memory.tied]
    if not tied:
        return shown
    annotated = precedence.with_precedence(
        tied, await beside(caller, rows or RowSource(parts, grants.readable(caller)), tied, ties)
    )
    by_id = {memory.id: memory for memory in annotated}
    return [by_id.get(memory.id, memory) for memory in shown]


async def beside(
    caller: Caller, rows: RowSource, memories: Sequence[Memory], ties: Sequence[Tie] | None = None
) -> dict[str, Memory]:
    """The readable memories that `memories` replaced, and those that contradict or may replace them, by id, together
    with them."""
    known = {memory.id: memory for memory in memories}
    followed = await rows.ties(memories) if ties is None else ties
    wanted = {other for _, type_, _, other in followed if type_ in OPEN_TYPES}
    others = await rows.view(sorted((wanted | replaced(memories)) - known.keys()))
    return known | {id_: memory for id_, memory in others.items() if grants.may_read(caller, memory.space)}


def _without(memory: Memory, unseen: set[str]) -> Memory:
    kept = tuple(link for link in memory.links if link.id not in unseen)
    by = "" if memory.superseded_by in unseen else memory.superseded_by
    return memory if len(kept) == len(memory.links) else replace(memory, links=kept, superseded_by=by)


async def newest_pages(parts: NodePorts, query: ListQuery, most: int) -> AsyncIterator[Page]:
    """The pages of a listing, up to `most` memories."""
    for _ in range(most // query.limit):
        page = await parts.ledger.page(query)
        yield page
        if not page.cursor:
            return
        query = replace(query, cursor=page.cursor)
