"""Verdicts of the write guard at rest, on the memories of a bulk import. Nobody waits for these verdicts. Rules.

1. A memory is judged beside what the log held before it, in the order of the log, as if each were written alone. A
   pair that somebody linked is not judged. A link of the node itself says less than the verdict, and so does a mark
   `may-replace`, which is only a question.
2. The verdict is carried out in the name of the writer, with the rights of the writer.
3. A text that an older memory says already steps back for that memory, because the text is stored by now. A memory
   with fields that the older one lacks stays.
4. A forgotten memory is judged once it is restored. An imported link `both-hold` names an id of another node at first.
   The memory with the link is judged once the import has led the link to its own memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from mnemesh_actors.consumers.judge_parts import AGENT, OPERATION_BYTES, JudgeParts
from mnemesh_actors.embedding.readings import judged_at_rest
from mnemesh_actors.ledger.commands import Absorb, Committed, Judge
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.neighbourhood import candidates, says_no_more
from mnemesh_memory.values.errors import Aborted, DataLoss, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE, OPEN_TYPES
from mnemesh_memory.values.model import Caller, Memory

TRIES_MAX: Final = 3
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

    async def judge(self, waiting: Postponed, near: Mapping[str, float], known: dict[str, Memory]) -> Committed | None:
        """Judge a memory beside those of `near`, which were there before it. None when nothing is to be written. A
        change of one of the two meanwhile leads to another judgement, up to TRIES_MAX in all."""
        near = await self._decidable(waiting.id, near, known)
        for _ in range(TRIES_MAX):
            command = await self._verdict(waiting, near, known)
            if command is None:
                return None
            try:
                done = await self._parts.commit(command)
            except (NotFound, FailedPrecondition, InvalidArgument, Aborted, DataLoss) as error:
                log.info("verdict_not_carried_out", id=waiting.id, reason=error.message)
                known |= await self._parts.ledger.read([waiting.id, *near])
                continue
            if isinstance(command, Absorb):
                await self._parts.ledger.touch([command.id], command.at)
            known.update({changed.id: changed for changed in (done.memory, *done.superseded)})
            log.debug("judged_at_rest", id=waiting.id, action=done.action)
            return done
        return None

    @staticmethod
    def waits(memory: Memory | None, known: Mapping[str, Memory]) -> bool:
        """Whether a memory that was to be judged keeps its place for later. `known` has the memories here that its
        links `both-hold` lead to."""
        return memory is not None and (memory.state == "forgotten" or not _decided(memory) <= known.keys())

    async def _decidable(self, id_: str, near: Mapping[str, float], known: dict[str, Memory]) -> dict[str, float]:
        """Those of `near` that don't wait for an import to lead their links to its memories."""
        memories = [known[key] for key in (id_, *near) if key in known]
        if ends := [end for memory in memories for end in _decided(memory) if end not in known]:
            known |= await self._parts.ledger.read(ends)
        led = [memory.id for memory in memories if not _decided(memory) <= known.keys()]
        waiting = await self._parts.ledger.postponed(led) if led else {}
        return {other: cosine for other, cosine in near.items() if other not in waiting}

    async def _without_marks(self, memories: Sequence[Memory]) -> dict[str, Memory]:
        """The memories by id, without marks `may-replace`, and without the links `contradicts` of those that the node
        itself has linked."""
        contested = [memory.id for memory in memories if any(link.type == CONTRADICTS for link in memory.links)]
        linked = await self._parts.ledger.changed_by(contested, AGENT) if contested else ()
        open_types = {memory.id: OPEN_TYPES if memory.id in linked else (MAY_REPLACE,) for memory in memories}
        return {
            item.id: replace(item, links=tuple(link for link in item.links if link.type not in open_types[item.id]))
            for item in memories
        }

    async def _verdict(
        self, postponed: Postponed, near: Mapping[str, float], known: Mapping[str, Memory]
    ) -> Absorb | Judge | None:
        memory = known.get(postponed.id)
        if memory is None or memory.state != "active" or memory.forced or self.waits(memory, known):
            return None
        caller = Caller(postponed.agent, principal_of(postponed.agent), role=postponed.role)
        said = await self._without_marks([memory, *(known[id_] for id_ in near if id_ in known)])
        beside = tuple(
            replace(item, later=item.later or known[item.id].updated_at > postponed.at)
            for item in candidates(caller, said[memory.id], near, known, postponed.at)
            if not precedence.linked(said[memory.id], said[item.id])
        )
        if not beside:
            return None
        verdict = await judged_at_rest(self._parts.embedder(), memory, beside, memory.source.session)
        at, actor = self._parts.clock(), self._parts.entropy(OPERATION_BYTES)
        if verdict.action == "NOOP":
            if not says_no_more(memory, known[verdict.target_id]):
                return None
            heads = {id_: known[id_].heads for id_ in (verdict.target_id, memory.id)}
            return Absorb(
                agent=postponed.agent, at=at, actor=actor, id=verdict.target_id, others=(memory.id,), tags=memory.tags,
                heads=heads,
            )  # fmt: skip
        open_ = {link.id for link in memory.links} - {link.id for link in said[memory.id].links}
        verdict = replace(
            verdict,
            apart=(apart := tuple(id_ for id_ in verdict.apart if id_ in open_)),
            heads={**verdict.heads, **{id_: known[id_].heads for id_ in apart}},
        )
        if not (verdict.supersedes or verdict.contradicts or verdict.marked or apart):
            return None
        return Judge(agent=postponed.agent, at=at, actor=actor, id=memory.id, heads=memory.heads, verdict=verdict)


def _decided(memory: Memory) -> set[str]:
    return {link.id for link in memory.links if link.type == BOTH_HOLD}
