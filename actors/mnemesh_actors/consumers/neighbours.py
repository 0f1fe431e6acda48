"""The nearest memories of stored memories, for consumers that compare texts at rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Final

import structlog

from mnemesh_actors.consumers.judge_parts import JudgeParts
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.ports import IndexPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.judge.slots import subject_terms
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument
from mnemesh_memory.values.model import Memory

# So many neighbours of a memory are looked at first.
NEAREST: Final = 2 * guard.RELATED_MAX + 1
NEIGHBOURS_ASKED: Final = 8
log = structlog.get_logger("mnemesh.consumers")


async def indexed(parts: JudgeParts, seq: int) -> None:
    """Return once the index holds everything up to `seq`, however long it takes. Raises Unavailable when it is away."""
    while (index := parts.index()).applied < seq:
        try:
            await index.wait_for(seq)
        except DeadlineExceeded:
            log.debug("index_awaited", seq=seq, applied=index.applied)


async def neighbours(
    parts: JudgeParts, memories: Sequence[Memory], limit: int, until: int | None = None
) -> dict[str, Mapping[str, float]]:
    """By id the memories that each may concern, with their cosines. A memory without a vector has none, nor has a
    memory that the index refuses to compare: asking again would hold up every later entry. With `until` (ms) a large
    index leaves out memories that were created later."""
    if not memories:
        return {}
    embedder, index = parts.embedder(), parts.index()
    hashes = {memory.id: content_hash(index_texts(memory)[0][0]) for memory in memories}
    kept = await parts.ledger.vectors(list(set(hashes.values())), embedder.generation)
    vectors = embedder.stored(kept)
    found: dict[str, Mapping[str, float]] = {}
    here = [memory for memory in memories if hashes[memory.id] in vectors]
    # The index compares so few texts one by one, and answers whoever waits between two questions.
    waiting = deque(here[start : start + NEIGHBOURS_ASKED] for start in range(0, len(here), NEIGHBOURS_ASKED))
    while waiting:
        part = waiting.popleft()
        asked = [(vectors[hashes[memory.id]], memory.space) for memory in part]
        words = [" ".join(subject_terms(memory.content)) for memory in part]
        question = partial(_ask, asked, limit, embedder.generation, words, until)
        try:
            near: list[list[tuple[str, float]]] = await index.read(question)
        except InvalidArgument as error:
            if len(part) > 1:
                waiting.extend([memory] for memory in part)
            else:
                log.warning("memory_not_compared", id=part[0].id, reason=error.message)
            continue
        found |= {memory.id: dict(pairs) for memory, pairs in zip(part, near, strict=True)}
    return found


def is_compared(memory: Memory) -> bool:
    """Whether a memory states something that another one may contradict."""
    return (
        memory.state == "active"
        and memory.kind not in guard.RECORDS
        and triggers.TAG not in memory.tags
        and not memory.conflicts
    )


def _ask(
    asked: Sequence[tuple[Vector, str]],
    limit: int,
    generation: str,
    words: Sequence[str],
    until: int | None,
    shard: Handle[IndexPort],
) -> Awaitable[list[list[tuple[str, float]]]]:
    return shard.neighbours_batch(asked, limit, generation, words, 0, until)
