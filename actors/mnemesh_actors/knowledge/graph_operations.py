"""The operations on the knowledge graph. Only memories that the caller may read count."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from mnemesh_actors.knowledge.causal_search import search
from mnemesh_actors.knowledge.communities import require_library
from mnemesh_actors.knowledge.graph_follower import NAME
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.ports import LedgerRead
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.access import grants
from mnemesh_memory.graph.answers import DEAD_LINK, LIMIT, LIMIT_MAX, ORPHAN, GraphAnswer, GraphAudit, GraphFinding
from mnemesh_memory.graph.causes import HOUR_MS, WINDOW_H, WINDOW_H_MAX, CausalChain, TooLittle, chain, window_table
from mnemesh_memory.text.text import title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument, NotFound, Unavailable
from mnemesh_memory.values.model import Caller, Memory

# A question waits so long for the graph to know what was written before it.
WAIT_S: Final = 2.0
REBUILD_WAIT_S: Final = 15.0
Answer = TypeVar("Answer")


class Followers(Protocol):
    """The consumers of a node, as far as the graph needs them."""

    def again(self, name: str) -> None: ...

    async def behind(self, name: str, wait_s: float) -> int: ...


class Graphing:
    """`graph` is the actor with the file, `consumers` the followers of the log."""

    def __init__(
        self, graph: Handle[GraphStore], ledger: Handle[LedgerRead], consumers: Followers, clock: Callable[[], int]
    ) -> None:
        self._graph = graph
        self._ledger = ledger
        self._consumers = consumers
        self._clock = clock
        self._searching = asyncio.Lock()

    async def graph(
        self,
        caller: Caller,
        name: str,
        spaces: Sequence[str] = (),
        limit: int = LIMIT,
        as_of: int | None = None,
        *,
        community: bool = False,
    ) -> GraphAnswer:
        """The neighbourhood of an entity, or of the memory with that id, unique prefix or title. With `as_of` (ms) only
        what held then; with `community` also the community of now. Raises NotFound, InvalidArgument, PermissionDenied,
        and FailedPrecondition when the node lacks the library for communities."""
        if community:
            require_library()
        field_checks.bounded_text("name", name, limits.TITLE_BYTES_MAX, empty=False)
        field_checks.whole("limit", limit, 1, LIMIT_MAX)
        field_checks.moment("as_of", as_of)
        within = request_checks.within_of(spaces, caller)
        degraded = await self._behind()
        now = self._clock()
        answer = await self._sound(self._graph.entity(name, within, limit, now, as_of))
        if answer is None:
            memory = await self._memory(caller, name, spaces, within)
            answer = await self._sound(self._graph.memory(memory.id, within, limit, now, as_of))
        if community:
            around = await self._sound(self._graph.community(answer.id or answer.name, within, now))
            answer = replace(answer, community=around)
        return replace(answer, degraded=degraded)

    async def graph_audit(self, caller: Caller, spaces: Sequence[str] = (), limit: int = LIMIT) -> GraphAudit:
        """Orphans, dead links, hubs and unresolved names of `spaces`, or of all that the caller may read."""
        field_checks.whole("limit", limit, 1, LIMIT_MAX)
        within = request_checks.within_of(spaces, caller)
        degraded = await self._behind()
        audit = await self._sound(self._graph.audit(within, limit))
        unread = {id_ for finding in audit.findings if finding.type == DEAD_LINK for id_ in (finding.name,)}
        hidden = set(await self._ledger.hidden(sorted(unread), grants.readable(caller))) if unread else set()
        findings = tuple(finding for finding in audit.findings if not _is_hidden(finding, hidden))
        return replace(audit, findings=await self._with_words(findings, caller), degraded=degraded)

    async def causal_chain(
        self, caller: Caller, name: str, spaces: Sequence[str] = (), window_hours: int = WINDOW_H
    ) -> CausalChain:
        """The causes and effects of an entity, by the PC algorithm over windows of events. Raises NotFound, and
        FailedPrecondition with what is missing when the events are too few."""
        field_checks.bounded_text("name", name, limits.TITLE_BYTES_MAX, empty=False)
        field_checks.whole("window_hours", window_hours, 1, WINDOW_H_MAX)
        within = request_checks.within_of(spaces, caller)
        degraded = await self._behind()
        asked, events = await self._sound(self._graph.events(name, within))
        if not asked:
            raise NotFound("entity", name, await self._hint(name, within), field="name")
        try:
            table = await asyncio.to_thread(window_table, events, asked, window_hours * HOUR_MS)
        except TooLittle as error:
            reason = f"too little data: {error} (window_hours sets their length)"
            raise FailedPrecondition(reason, field="name", value=asked) from error
        async with self._searching:  # one at a time: it takes a core
            directed, undirected = await search(table)
        return replace(chain(table, directed, undirected), window_hours=window_hours, degraded=degraded)

    async def graph_rebuild(self, caller: Caller) -> GraphAudit:
        """Make the graph anew from the log, and its counts once everything is read again."""
        await self._graph.drop("somebody asked for it")
        self._consumers.again(NAME)
        left = await self._consumers.behind(NAME, REBUILD_WAIT_S)
        audit = await self._sound(self._graph.audit(grants.readable(caller), 1))
        degraded = (f"graph: {left} entries of the log are still to be read",) if left else ()
        return replace(audit, findings=(), degraded=degraded)

    async def _with_words(self, findings: Sequence[GraphFinding], caller: Caller) -> tuple[GraphFinding, ...]:
        """Orphans with the beginning of their text, which the graph does not keep."""
        orphans = [finding.name for finding in findings if finding.type == ORPHAN]
        memories = await self._ledger.read(orphans) if orphans else {}
        words = {
            id_: title_of(memory.content) for id_, memory in memories.items() if grants.may_read(caller, memory.space)
        }
        return tuple(
            replace(finding, detail=words.get(finding.name, finding.detail) or finding.detail)
            if finding.type == ORPHAN
            else finding
            for finding in findings
        )

    async def _memory(self, caller: Caller, name: str, spaces: Sequence[str], within: Sequence[str]) -> Memory:
        (named,) = await self._ledger.find([name], request_checks.title_spaces(spaces, caller), within)
        if isinstance(named, Memory) and named.state != "forgotten":
            return named
        if isinstance(named, InvalidArgument):
            raise named
        raise NotFound("entity or memory", name, await self._hint(name, within), field="name")

    async def _hint(self, name: str, within: Sequence[str]) -> str:
        alike = await self._sound(self._graph.alike(name, within))
        return f"near it: {', '.join(alike)}" if alike else "no memory that you may read names it"

    async def _behind(self) -> tuple[str, ...]:
        left = await self._consumers.behind(NAME, WAIT_S)
        return (f"graph: {left} entries of the log are still to be read",) if left else ()

    async def _sound(self, answer: Awaitable[Answer]) -> Answer:
        """The answer of a sound file. A damaged one is being made anew."""
        try:
            return await answer
        except DataLoss as error:
            self._consumers.again(NAME)
            raise Unavailable(f"{error.message}; ask again in a moment", part="graph") from error


def _is_hidden(finding: GraphFinding, hidden: set[str]) -> bool:
    return finding.type == DEAD_LINK and finding.name in hidden
