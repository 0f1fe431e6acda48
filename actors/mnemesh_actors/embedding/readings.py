"""Readings for the write guard: texts beside their candidates, read by a model. The rules decide without a reading.

A model that fails or is late costs a verdict its readings and never a write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_memory.policy.judge import guard, worth_reading
from mnemesh_memory.policy.judge.reading import Reading
from mnemesh_memory.policy.judge.worth_reading import to_read
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Memory

log = structlog.get_logger("mnemesh.guard")


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text for the guard, of a draft or of a memory: with its candidates, and the evidence of their words."""

    text: str
    kind: str
    session: str
    candidates: tuple[guard.OlderText, ...]
    seen: guard.Seen


async def read(
    embedder: Embedder, texts: Sequence[JudgedText], within_s: float, *, at_rest: bool = False
) -> list[tuple[guard.OlderText, ...]]:
    """The candidates of each text, those that are worth it with a reading. `at_rest` leaves the loop and the model to
    others."""
    given = [item.candidates for item in texts]
    if embedder.pairs != PAIRS_READY:
        return given
    wanted = await asyncio.to_thread(_wanted, texts, widely=True) if at_rest else _wanted(texts)
    if not wanted:
        return given
    pairs = [(candidate.text, texts[at].text) for at, candidate in wanted]
    came: list[Reading] = []
    try:
        async with asyncio.timeout(within_s), aclosing(embedder.read_pairs(pairs, yields=at_rest)) as calls:
            async for some in calls:
                came += some
    except TimeoutError:
        reason = f"the model has not answered within {within_s:g} s"
        log.warning("texts_not_read", pairs=len(pairs) - len(came), reason=reason)
    except MnemeshError as error:
        log.warning("texts_not_read", pairs=len(pairs) - len(came), reason=error.message)
    # A batch that is out of time keeps the readings that have come.
    readings = {(at, candidate.id): reading for (at, candidate), reading in zip(wanted, came, strict=False)}
    return [
        tuple(replace(candidate, read=readings.get((at, candidate.id), candidate.read)) for candidate in candidates)
        for at, candidates in enumerate(given)
    ]


def _wanted(texts: Sequence[JudgedText], *, widely: bool = False) -> list[tuple[int, guard.OlderText]]:
    return [
        (at, candidate)
        for at, item in enumerate(texts)
        for candidate in to_read(item.text, item.kind, item.candidates, item.session, item.seen, widely=widely)
    ]


def is_left_unread(
    embedder: Embedder, text: JudgedText, beside: Sequence[guard.OlderText], verdict: guard.Verdict
) -> bool:
    """Whether the verdict on a text misses a reading that the model would do at rest."""
    ready = embedder.pairs == PAIRS_READY
    return ready and worth_reading.is_left_unread(text.text, text.kind, beside, verdict, text.seen)


async def judged_at_rest(
    embedder: Embedder, memory: Memory, candidates: tuple[guard.OlderText, ...], session: str = ""
) -> guard.Verdict:
    """The verdict on a stored memory, for which nobody waits. The event loop and the model are left to others."""
    unread = JudgedText(memory.content, memory.kind, session, candidates, {})
    (beside,) = await read(embedder, [unread], limits.WRITE_TIMEOUT_S, at_rest=True)
    verdict = await asyncio.to_thread(guard.judge, memory.content, memory.kind, beside, session, unread.seen)
    return replace(verdict, apart=guard.read_apart(memory.content, beside, unread.seen))
