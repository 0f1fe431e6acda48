"""Carries steps out and takes them back, through the ledger's ordinary writes.

Each step has one author of its change, made of run and number. So a step that is sent twice, after a kill or a lost
answer, is found in the ledger and written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemesh_actors.ledger.commands import Absorb, Command, Committed, Create, Forget, KeptVectors, Part, Tie
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import committed, committed_many, embedded
from mnemesh_memory.consolidation.derived_id import step_actor
from mnemesh_memory.consolidation.steps import (
    APPLIED,
    EPISODES,
    MERGE,
    PLANNED,
    PROMOTE,
    PROMOTED,
    REFUSED,
    UNDONE,
    Promotion,
    Run,
    Step,
)
from mnemesh_memory.consolidation.steps import LINK as LINK_STEP
from mnemesh_memory.policy.trust import recording
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
    PermissionDenied,
)
from mnemesh_memory.values.ids import fingerprint
from mnemesh_memory.values.memory_links import DERIVED_FROM, SEE_ALSO
from mnemesh_memory.values.model import Draft, Link

# The memories are other ones by now. Any other error ends the run, and the next run goes on.
_OVERTAKEN = (NotFound, FailedPrecondition, InvalidArgument, PermissionDenied, AlreadyExists)


async def apply(
    parts: NodePorts, run: Run, steps: Sequence[tuple[int, Step]], facts: Mapping[str, Promotion]
) -> list[tuple[str, str]]:
    """The state of each (number, step) after all were carried out in order by one commit, and a remark. Raises
    MnemeshError when a part of the node is down."""
    planned = [await _planned(parts, run, number, step, facts) for number, step in steps]
    asked = [command for part in planned if isinstance(part, list) for command in part]
    done = iter(await committed_many(parts, asked) if asked else ())
    return [part if isinstance(part, tuple) else _whole([_outcome(next(done)) for _ in part]) for part in planned]


async def undo(parts: NodePorts, run: Run, number: int, step: Step) -> tuple[str, str]:
    """The state of a step after it was taken back, and a remark."""
    at, agent = parts.clock(), run.by
    actor = step_actor(f"{run.id}/undo", number)
    try:
        if step.action == MERGE:
            await committed(
                parts, Part(agent=agent, at=at, actor=actor, id=step.id, others=step.others, tags=step.tags)
            )
        elif step.action == PROMOTE:
            await committed(parts, Forget(agent=agent, at=at, actor=actor, id=step.id))
        else:
            for place, link in enumerate(_links(step)):
                writer = step_actor(f"{run.id}/undo/{place}", number)
                await committed(parts, Tie(agent=agent, at=at, actor=writer, id=step.id, link=link, put=False))
    except _OVERTAKEN as error:
        if step.state == PLANNED:  # it was never carried out
            return REFUSED, ""
        return step.state, f"; not undone: {_said(error)}"
    return UNDONE, ""


def _said(error: MnemeshError) -> str:
    """An error without the words of a memory."""
    return error.code.lower().replace("_", " ")


async def _planned(
    parts: NodePorts, run: Run, number: int, step: Step, facts: Mapping[str, Promotion]
) -> list[Command] | tuple[str, str]:
    """The commands of a step, or its state and a remark without any."""
    if step.action != PROMOTE:
        return _commands(parts, run, number, step)
    if step.id not in facts:  # planned before a kill: the next look at its episodes proposes it again
        known = await parts.ledger.read([step.id])
        return (APPLIED, "") if step.id in known else (REFUSED, "; planned anew after a kill")
    try:
        return [await _create(parts, run, facts[step.id])]
    except _OVERTAKEN as error:
        return _refused(error)


def _outcome(done: Committed | BaseException) -> tuple[str, str]:
    if isinstance(done, _OVERTAKEN):
        return _refused(done)
    if isinstance(done, BaseException):
        raise done
    return (REFUSED, "; nothing was left to do") if done.action == "NOOP" else (APPLIED, "")


def _refused(error: MnemeshError) -> tuple[str, str]:
    return REFUSED, f"; refused: {_said(error)}"


def _whole(outcomes: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The outcome of a step, out of those of its commands: applied when one of them was."""
    return next((outcome for outcome in outcomes if outcome[0] == APPLIED), outcomes[0])


def _links(step: Step) -> list[Link]:
    type_ = SEE_ALSO if step.action == LINK_STEP else DERIVED_FROM
    return [Link(type_, other) for other in step.others]


def _commands(parts: NodePorts, run: Run, number: int, step: Step) -> list[Command]:
    at, agent = parts.clock(), run.by
    if step.action == MERGE:
        actor = step_actor(run.id, number)
        return [Absorb(agent=agent, at=at, actor=actor, id=step.id, others=step.others, tags=step.tags)]
    return [
        Tie(agent=agent, at=at, actor=step_actor(f"{run.id}/{place}", number), id=step.id, link=link, put=True)
        for place, link in enumerate(_links(step))
    ]


async def _create(parts: NodePorts, run: Run, fact: Promotion) -> Create:
    """The command that begins a promoted fact: on every node of the principal the same change."""
    draft = Draft(
        content=fact.content,
        kind=fact.kind,
        space=run.space,
        tags=fact.tags,
        attrs=recording({PROMOTED: EPISODES}, [fact.trust]),
        links=tuple(Link(DERIVED_FROM, source) for source in fact.sources),
        force=True,  # its text is one of its sources'
        created_at=fact.at,
    )
    texts = [dense for dense, _ in index_texts(draft)]
    with parts.serving.current.held() as index_generation:
        made = await embedded(parts, index_generation.embedder, texts)
        items = tuple((content_hash(text), vector.tobytes()) for text, vector in zip(texts, made, strict=True))
        vectors = KeptVectors(generation=index_generation.embedder.generation, items=items)
    return Create(
        agent=run.by,
        at=fact.at,
        actor=fact.actor,
        draft=draft,
        id=fact.id,
        spare_id=fact.id,
        duplicate_key=duplicate_key(fact.content),
        fingerprint=fingerprint(draft),
        vectors=vectors,
        mark=fact.mark,
    )
