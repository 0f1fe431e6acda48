"""The graph follows the log: each changed memory is read as it is now, its former share of the graph goes."""

from __future__ import annotations

from collections.abc import Callable

from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.notices import Notice
from mnemesh_actors.ports import LedgerRead
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy.validity import SUPERSEDES
from mnemesh_memory.values.model import Memory

NAME = "graph"


class GraphFollower:
    """A consumer that keeps its cursor in the file of the graph."""

    def __init__(self, graph: Handle[GraphStore], ledger: Handle[LedgerRead], notice: Callable[[str], None]) -> None:
        self._graph = graph
        self._ledger = ledger
        self._notice = notice

    async def take(self, page: EntryPage) -> None:
        """Take in a page, and the memories that its memories replaced or replace no more."""
        ids = dict.fromkeys(page.ids)
        memories = await self._ledger.read(list(ids))
        touched = {link.id for memory in memories.values() for link in memory.links if link.type == SUPERSEDES}
        touched |= set(await self._graph.ended_by(list(ids)))
        if others := sorted(touched - ids.keys()):
            ids |= dict.fromkeys(others)
            memories |= await self._ledger.read(others)
        ends = await self._ends(memories)
        kept = [memory for memory in memories.values() if memory.state != "forgotten"]
        gone = [id_ for id_ in ids if id_ not in {memory.id for memory in kept}]
        await self._graph.take(kept, ends, gone, bool(page.erased))

    async def _ends(self, memories: dict[str, Memory]) -> dict[str, int]:
        """When the statement of each superseded memory ended (ms)."""
        wanted = {memory.superseded_by for memory in memories.values() if memory.superseded_by}
        missing = sorted(wanted - memories.keys())
        successors = memories | (await self._ledger.read(missing) if missing else {})
        ends = {}
        for memory in memories.values():
            successor = successors.get(memory.superseded_by)
            if successor is not None:
                ends[memory.id] = successor.created_at if successor.valid_from is None else successor.valid_from
        return ends

    async def reset(self) -> None:
        """Another log goes on, or the file is new."""
        await self._graph.reset()
        made = await self._graph.made()
        self._notice(
            Notice(NAME, f"the knowledge graph is made anew from the log: {made}" if "damaged" in made else "")
        )

    async def cursor(self, name: str) -> tuple[str, int]:
        """The place up to which the graph knows the log."""
        return await self._graph.cursor()

    async def keep_cursor(self, name: str, incarnation: str, seq: int) -> None:
        """Note the place."""
        await self._graph.keep_cursor(incarnation, seq)
