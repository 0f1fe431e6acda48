"""The knowledge operations of FakeMesh: the graph of its memories, read by the real rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemesh_memory.access import grants
from mnemesh_memory.graph.answers import (
    ORPHAN,
    GraphAnswer,
    GraphAudit,
    GraphCommunity,
    GraphEntity,
    GraphFinding,
    GraphRelation,
)
from mnemesh_memory.graph.causes import CausalChain, CausalLink
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.model import Caller, Memory


class FakeKnowledge:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]

    async def graph(
        self, caller: Caller, name: str, spaces: Sequence[str] = (), limit: int = 20, as_of: int | None = None,
        *, community: bool = False,
    ) -> GraphAnswer:  # fmt: skip
        memory = self._one(name)
        relation = GraphRelation(
            subject=memory.content[:80], type="uses", object=memory.title, memories=(memory.id,), memories_total=1,
            recorded_at=memory.created_at, valid_from=memory.created_at,
        )  # fmt: skip
        near = GraphEntity(name=memory.content[:80], kind="file", score=0.123456, memories=2)
        return GraphAnswer(
            name=memory.id, kind="memory", id=memory.id, relations=(relation,)[:limit], relations_total=1,
            entities=(near,), memories=(memory.id,),
            community=GraphCommunity(id="c-1", entities=(near.name,), entities_total=1, memories_total=1),
            degraded=("graph: 1 entries of the log are still to be read",),
        )  # fmt: skip

    async def graph_audit(self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20) -> GraphAudit:
        named = request_checks.within_of(spaces, caller)
        seen = [memory for memory in self.memories.values() if grants.any_matches(named, memory.space)]
        findings = tuple(
            GraphFinding(type=ORPHAN, name=memory.id, detail=memory.title, memories=(memory.id,)) for memory in seen
        )
        return GraphAudit(memories=len(seen), counts={ORPHAN: len(seen)}, findings=findings[:limit])

    async def causal_chain(
        self, caller: Caller, name: str, spaces: Sequence[str] = (), window_hours: int = 24
    ) -> CausalChain:
        memory = self._one(name)
        link = CausalLink(
            cause=memory.content[:80], effect=memory.title, distance=1, p_value=0.001, lift=2.5, windows=9,
            memories=(memory.id,),
        )  # fmt: skip
        return CausalChain(name=memory.title, causes=(link,), windows=60, window_hours=window_hours, events=9, names=2)

    async def graph_rebuild(self, caller: Caller) -> GraphAudit:
        return GraphAudit(memories=len(self.memories), made="somebody asked for it")
