"""The steps of a write that wait for another part of the node, each bounded by `write_timeout_s` without progress.

Before the commit, who runs out of time is told that nothing was stored. A begun commit is never stopped. A caller that
stops waiting is told how to learn its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

from mnemesh_actors.embedding.embedder import CALL_BYTES_MAX, Embedder, Vector, bytes_of
from mnemesh_actors.ledger.commands import Command, Committed, Create, KeptVectors, Lookup, Revise
from mnemesh_actors.memory_lookup import find_one
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access import grants
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.errors import DeadlineExceeded, FailedPrecondition, MnemeshError, shorten
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch

NOTHING_STORED = "nothing was stored; try again"
# Embedded at a time and then counted as progress: as much as one call of the model takes.
EMBEDDED_BYTES = CALL_BYTES_MAX


@asynccontextmanager
async def answered(
    parts: NodePorts, part: str, outcome: str = NOTHING_STORED, share: float = 1.0
) -> AsyncIterator[Callable[[], None]]:
    """The block has that `share` of `write_timeout_s`, and as long again after each call of the yielded function, which
    marks progress of `part`. Raises DeadlineExceeded with `outcome`."""
    limit_s = parts.config.write_timeout_s * share
    now = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(limit_s) as limit:
            yield lambda: limit.reschedule(now() + limit_s)
    except TimeoutError:
        raise DeadlineExceeded(f"the {part} has not answered within {limit_s:g} s; {outcome}", part=part) from None


async def find(parts: NodePorts, caller: Caller, key: str, *, forgotten: bool = False) -> Memory:
    """The memory that `key` names, to be changed. Raises as `find_one` does, and PermissionDenied when the caller may
    only read the memory."""
    async with answered(parts, "ledger"):
        memory = await find_one(parts, caller, key, forgotten=forgotten)
    grants.require_space(caller, grants.WRITE, memory.space)
    return memory


async def replayed(parts: NodePorts, caller: Caller, key: str, mark: bytes) -> Committed | None:
    """The earlier outcome of the idempotency key. Asked before a title or prefix is looked up, because the write itself
    may have changed what that names. Raises AlreadyExists for another request."""
    lookup = Lookup(caller.agent, "", "", key, mark, True, parts.clock())
    async with answered(parts, "ledger"):
        ((done,), _) = await parts.ledger.prepare([lookup], [], parts.embedder.generation)
    if isinstance(done, MnemeshError):
        raise done
    if done is not None:  # what was written then may lie where the caller may write no more
        grants.require_space(caller, grants.WRITE, done.memory.space)
    return done


async def replaced_by(parts: NodePorts, new: Memory, key: str) -> Memory:
    """The memory that `new` replaced when `key` was its name, or `new` itself without a predecessor."""
    ids = [link.id for link in new.links if link.type == "supersedes"]
    async with answered(parts, "ledger", f"stored before as {new.id}"):
        read = await parts.ledger.read(ids) if ids else {}
    # A link may come from another node and name anything; a memory is replaced in its own space.
    olds = [read[id_] for id_ in ids if id_ in read and read[id_].space == new.space]
    named = (old for old in olds if old.id.startswith(key.strip().lower()) or old.title == key)
    return next(named, olds[0] if olds else new)


async def embedded(parts: NodePorts, embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """The vectors of `texts`, in order, a portion at a time, with as many portions at once as the model has workers. A
    long text takes long, so only standing still is a fault."""
    portions = list(_portions(texts))
    made: list[list[Vector]] = [[] for _ in portions]
    left = iter(enumerate(portions))
    async with answered(parts, "embedder") as progress:
        if len(portions) == 1:  # in this task: another one costs two turns of the event loop
            return await embedder.embed(portions[0])

        async def lane() -> None:
            for at, portion in left:
                made[at] = await embedder.embed(portion)
                progress()

        lanes = [asyncio.ensure_future(lane()) for _ in range(min(embedder.lanes, len(portions)))]
        try:
            await asyncio.gather(*lanes)
        finally:  # what one could not embed is wanted of none
            for task in lanes:
                task.cancel()
    return [vector for portion in made for vector in portion]


def refuse_move(memory: Memory, space: str) -> None:
    """Raise FailedPrecondition for a memory of another space than the named one."""
    if space and space != memory.space:
        raise FailedPrecondition(
            f"space: {memory.id} lies in {memory.space} and a memory never changes its space",
            field="space",
            value=space,
            limit=memory.space,
        )


async def vectors_of_change(parts: NodePorts, before: Memory, after: Memory) -> KeptVectors:
    """The vectors of the texts that are new in `after`, and the hashes of texts in `before` alone."""
    old, new = ({content_hash(dense): dense for dense, _ in index_texts(memory)} for memory in (before, after))
    fresh = [digest for digest in new if digest not in old]
    with parts.serving.current.held() as index_generation:
        made = await embedded(parts, index_generation.embedder, [new[digest] for digest in fresh])
    return KeptVectors(
        generation=index_generation.embedder.generation,
        items=tuple((digest, vector.tobytes()) for digest, vector in zip(fresh, made, strict=True)),
        stale=tuple(digest for digest in old if digest not in new),
    )


async def committed(parts: NodePorts, command: Command) -> Committed:
    """The outcome of the commit."""
    async with answered(parts, "ledger", f"this may or may not have been stored; {_way_to_learn(command)}"):
        return await parts.commits.submit(command)


async def committed_many(parts: NodePorts, commands: Sequence[Command]) -> list[Committed | BaseException]:
    """The outcome of each commit."""
    way = _way_to_learn(commands[0])
    async with answered(parts, "ledger", f"this may or may not have been stored; {way}"):
        return await parts.commits.submit_many(commands)


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """`texts` in order, in lists of at most EMBEDDED_BYTES together, or of one text."""
    portion: list[str] = []
    size = 0
    for text in texts:
        if portion and size + bytes_of(text) > EMBEDDED_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(text)
        size += bytes_of(text)
    if portion:
        yield portion


def _way_to_learn(command: Command) -> str:
    """How a writer who got no answer finds out, without writing twice."""
    match command:
        case Create(draft=Draft(idempotency_key=key)) | Revise(patch=Patch(idempotency_key=key)) if key:
            return f"send it again with the same idempotency_key {shorten(key)}: that tells, and never writes twice"
        case Create(draft=Draft(force=True)):
            return "list the newest memories before you send it again; an idempotency_key would have told"
        case Revise(id=id_):
            return f"read {id_} before you send it again; an idempotency_key would have told"
        case Create():
            return "send it again to see: the same text is never stored twice"
    return "send it again to see: that does it once only"
