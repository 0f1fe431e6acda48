"""The operations on sessions of FakeMesh: the real policy over its dict, and no answers of an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mnemesh_memory.policy.sessions import checkpoints, requirements, session_context, session_runs
from mnemesh_memory.policy.sessions.checkpoints import Checkpoint, Standing
from mnemesh_memory.policy.sessions.requirements import Requirement
from mnemesh_memory.policy.sessions.session_context import PINNED, RECENT, ContextQuery, SessionContext
from mnemesh_memory.policy.sessions.session_runs import SessionRun, Told
from mnemesh_memory.values.model import Caller, Draft, Memory, Source, Written


class FakeSessions:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    remember: Callable[..., object]
    _one: Callable[[str], Memory]

    async def checkpoint(
        self, caller: Caller, standing: Standing, *, session: str, space: str, merge: bool, mask: bool
    ) -> Checkpoint:
        clean = checkpoints.checked(standing, mask=mask)
        draft = Draft(
            content=checkpoints.text_of(clean), space=space, tags=(checkpoints.TAG,), source=Source(session=session)
        )
        done = await self.remember(caller, draft)  # type: ignore[misc]
        assert isinstance(done, Written)
        return checkpoints.checkpoint_of(done.memory)

    async def resume(
        self, caller: Caller, spaces: Sequence[str], *, session: str, agent: str, budget: int
    ) -> tuple[Checkpoint | None, SessionContext]:
        found = [memory for memory in self.memories.values() if checkpoints.TAG in memory.tags]
        return (checkpoints.checkpoint_of(found[-1]) if found else None), self._chosen(budget)

    async def context(self, caller: Caller, asked: ContextQuery) -> SessionContext:
        return self._chosen(asked.budget)

    def _chosen(self, budget: int) -> SessionContext:
        memories = list(self.memories.values())
        pinned = [memory for memory in memories if memory.tier == "pinned"]
        return session_context.chosen({PINNED: pinned, RECENT: memories}, (), budget, 0)

    async def record_run(self, caller: Caller, told: Told, *, space: str, mask: bool) -> SessionRun:
        clean = session_runs.checked(told, mask=mask)
        draft = Draft(
            content=session_runs.text_of(clean), space=space, kind=session_runs.KIND, tags=(session_runs.TAG,),
            attrs=session_runs.attrs_of(clean), source=Source(session=clean.session),
        )  # fmt: skip
        done = await self.remember(caller, draft)  # type: ignore[misc]
        assert isinstance(done, Written)
        return session_runs.run_of(done.memory)

    async def runs(
        self, caller: Caller, spaces: Sequence[str], *, session: str, limit: int, cursor: str
    ) -> tuple[tuple[SessionRun, ...], str, int]:
        found = [session_runs.run_of(memory) for memory in self.memories.values() if session_runs.TAG in memory.tags]
        return tuple(found), "", len(found)

    async def settle(self, caller: Caller, key: str, status: str, note: str) -> Requirement:
        memory = self._one(key)
        requirements.settled(replace(memory, kind=requirements.KIND), status, note)
        return requirements.requirement_of(replace(memory, tags=(status,)))

    async def requirements(
        self, caller: Caller, spaces: Sequence[str], *, status: str, limit: int, cursor: str
    ) -> tuple[tuple[Requirement, ...], str, int]:
        found = tuple(requirements.requirement_of(memory) for memory in self.memories.values())
        return found, "", len(found)
