"""Verdicts of the write guard at rest, on the memories of a bulk import. Nobody waits for these verdicts. Rules.

1. A memory is judged beside what the log held before it, in the order of the log, as if each were written alone.
2. The verdict is carried out in the name of the writer, with the rights of the writer.
3. A text that an older memory says already steps back for that memory, because the text is stored by now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from mnemesh_actors.consumers.judge_parts import OPERATION_BYTES, JudgeParts
from mnemesh_actors.ledger.commit.commands import Absorb, Committed, Judge
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy import guard
from mnemesh_memory.policy.neighbourhood import candidates
from mnemesh_memory.values.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.model import Caller, Memory

log = structlog.get_logger("mnemesh.consumers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """A memory without a verdict: its writer, and the time of the write (ms)."""

    id: str
    agent: str
    role: str
    at: int


class PostponedVerdicts:
    """Judges memories one after the other. `known` is kept as the ledger has it."""

    def __init__(self, parts: JudgeParts) -> None:
        self._parts = parts

    async def judge(self, one: Postponed, near: Mapping[str, float], known: dict[str, Memory]) -> Committed | None:
        """Judge a memory beside those of `near`, which were there before it. None when nothing is to be written."""
        memory = known.get(one.id)
        if memory is None or memory.state != "active" or memory.forced:
            return None
        caller = Caller(one.agent, principal_of(one.agent), role=one.role)
        beside = [
            replace(item, later=item.later or known[item.id].updated_at > one.at)
            for item in candidates(caller, memory, near, known, one.at)
        ]
        if not beside:
            return None
        verdict = await asyncio.to_thread(guard.judge, memory.content, memory.kind, beside, memory.source.session)
        command = self._command(one, memory, verdict)
        if command is None:
            return None
        try:
            done = await self._parts.commit(command)
            if isinstance(command, Absorb):
                await self._parts.ledger.touch([command.id], command.at)
        except (NotFound, FailedPrecondition, InvalidArgument, Aborted) as error:
            # Somebody changed one of the two meanwhile, and has decided so.
            log.info("verdict_not_carried_out", id=memory.id, action=verdict.action, reason=error.message)
            return None
        known.update({changed.id: changed for changed in (done.memory, *done.superseded)})
        log.debug("judged_at_rest", id=memory.id, action=verdict.action, target=verdict.target_id)
        return done

    def _command(self, one: Postponed, memory: Memory, verdict: guard.Verdict) -> Absorb | Judge | None:
        at, actor = self._parts.clock(), self._parts.entropy(OPERATION_BYTES)
        if verdict.action == "NOOP":
            return Absorb(agent=one.agent, at=at, actor=actor, id=verdict.target_id, others=(memory.id,))
        if not (verdict.supersedes or verdict.contradicts or verdict.asked):
            return None
        return Judge(agent=one.agent, at=at, actor=actor, id=memory.id, heads=memory.heads, verdict=verdict)
