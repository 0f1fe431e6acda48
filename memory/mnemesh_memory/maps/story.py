"""The story of a space: its memories as sentences in order of time. Extractive, so nothing is made up. Pure.

Every sentence is the first of a memory and cites that memory. Every decision of the stretch is told. Of other memories
the weightiest are told as far as the limit allows, each chapter getting its share. The records of sessions begin with a
heading or a last word, such as "OK.", and have no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from mnemesh_memory.maps.answers import Story, StorySentence
from mnemesh_memory.policy.sessions.session_runs import is_record
from mnemesh_memory.text.text import sentences, title_of
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.errors import shown_time
from mnemesh_memory.values.model import Memory

TOLD_CHARS: Final = 240
ID_CHARS: Final = 13  # of an id within a sentence; `ids` has the whole
DAY_MS: Final = 86_400_000
CHAPTERS_MAX: Final = 24
GAP_MIN_MS: Final = DAY_MS
DECISION: Final = "decision"
RESOLVED_BY: Final = "resolved-by"
# How much a kind belongs into a story, before the importance of the single memory is added.
WEIGHTS: Final = {"error": 2.0, "episode": 1.5, "run": 1.0, "requirement": 1.0, "summary": 1.0, "project": 1.0}
LEADS: Final = {DECISION: "Decided: ", "error": "Failed: ", "requirement": "Wanted: "}


def story(memories: Iterable[Memory], limit: int) -> Story:
    """The story of the memories, in any order given, with at most `limit` sentences besides decisions."""
    events = (memory for memory in memories if memory.state != "forgotten" and not is_record(memory))
    line = sorted(events, key=lambda memory: (_at(memory), memory.id))
    if not line:
        return Story(sentences=(), chapters=(), examined=0, left_out=0)
    starts = chapters([_at(memory) for memory in line])
    chosen = _chosen(line, starts, limit)
    places = {memory.id: place for place, memory in enumerate(chosen)}
    firsts: list[int] = []
    for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
        inside = [places[memory.id] for memory in line[start:end] if memory.id in places]
        firsts += inside[:1]
    return Story(
        sentences=tuple(_sentence(memory) for memory in chosen),
        chapters=tuple(firsts),
        examined=len(line),
        left_out=len(line) - len(chosen),
    )


def chapters(times: Sequence[int]) -> list[int]:
    """Where chapters begin in ascending times (ms): at the longest pauses of a day or more, CHAPTERS_MAX at most."""
    if not times:
        return []
    pauses = [(after - before, place) for place, (before, after) in enumerate(pairwise(times), 1)]
    longest = sorted((pause for pause in pauses if pause[0] >= GAP_MIN_MS), reverse=True)[: CHAPTERS_MAX - 1]
    return [0, *sorted(place for _, place in longest)]


def _chosen(line: Sequence[Memory], starts: Sequence[int], limit: int) -> list[Memory]:
    """All decisions, and up to `limit` others: the best of each chapter in turn."""
    queues = [
        sorted((memory for memory in line[start:end] if memory.kind != DECISION), key=_weight, reverse=True)
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True)
    ]
    chosen: set[str] = {memory.id for memory in line if memory.kind == DECISION}
    room = limit
    for rank in range(max(map(len, queues), default=0)):
        for others in queues:
            if room and rank < len(others):
                chosen.add(others[rank].id)
                room -= 1
    return [memory for memory in line if memory.id in chosen]


def _sentence(memory: Memory) -> StorySentence:
    parts = sentences(memory.content)
    text = " ".join((parts[0] if parts else memory.content).split())
    if len(text) > TOLD_CHARS:
        text = text[: TOLD_CHARS - 1].rstrip() + "…"
    ids = [memory.id]
    fixes = [link.id for link in memory.links if link.type == RESOLVED_BY][:1]
    for id_ in fixes:
        text += f" (resolved by {id_[:ID_CHARS]})"
    if memory.superseded_by:
        text += f" (replaced later by {memory.superseded_by[:ID_CHARS]})"
    elif memory.valid_to is not None:
        text += f" (until {shown_time(memory.valid_to)[:10]})"
    ids += [*fixes, *([memory.superseded_by] if memory.superseded_by else [])]
    lead = LEADS.get(memory.kind, "")
    begun = text.casefold().startswith(lead.rstrip(": ").casefold())
    return StorySentence(at=_at(memory), type=memory.kind, text=text if begun else lead + text, ids=tuple(ids))


def _at(memory: Memory) -> int:
    return happened_at(memory)


def _weight(memory: Memory) -> tuple[float, int, str]:
    """The weightiest, then the longest title-like beginning, then the order of ids."""
    importance = memory.importance if memory.importance is not None else 0.5
    return WEIGHTS.get(memory.kind, 0.0) + importance, min(len(title_of(memory.content)), TOLD_CHARS), memory.id
