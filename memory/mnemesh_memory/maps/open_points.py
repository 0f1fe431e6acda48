"""Points that memories leave open: names that none explains, and questions that none answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemesh_memory.consolidation.steps import Gap
from mnemesh_memory.maps.answers import GAP_TYPES, GAPS_MAX, OpenPoint
from mnemesh_memory.policy.sessions import checkpoints
from mnemesh_memory.policy.sessions.session_context import QUESTION_TAGS
from mnemesh_memory.text.text import title_of
from mnemesh_memory.values.model import Memory

UNEXPLAINED, QUESTION = GAP_TYPES
ANSWERED_BY = "resolved-by"


def open_points(memories: Iterable[Memory], unexplained: Sequence[Gap]) -> list[OpenPoint]:
    """The names that most memories use first, then questions, the newest first."""
    names = [OpenPoint(type=UNEXPLAINED, text=gap.text, count=gap.count, ids=gap.ids) for gap in unexplained]
    asked = sorted(filter(is_open, memories), key=lambda memory: (-memory.created_at, memory.id))
    questions = [OpenPoint(type=QUESTION, text=title_of(memory.content), count=1, ids=(memory.id,)) for memory in asked]
    return [*names, *questions[:GAPS_MAX]]


def is_open(memory: Memory) -> bool:
    """Whether the memory is a question that no link answers. A checkpoint lists its questions and is none."""
    if checkpoints.TAG in memory.tags or any(link.type == ANSWERED_BY for link in memory.links):
        return False
    return any(tag in memory.tags for tag in QUESTION_TAGS) or memory.content.rstrip().endswith("?")
