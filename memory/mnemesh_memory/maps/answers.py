"""The answers about a whole space. Plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SENTENCES: Final = 40
SENTENCES_MAX: Final = 200
CLUSTERS: Final = 12
CLUSTERS_MAX: Final = 100
MEMBERS: Final = 20
MEMBERS_MAX: Final = 200
GAPS: Final = 20
GAPS_MAX: Final = 100
POINTS: Final = 10
POINTS_MAX: Final = 200
LEVELS: Final = (1, 2, 3)
LEVEL: Final = 2
EXAMPLES_MAX: Final = 3
# Types of gaps: a name that nobody explains, and a question that nobody answered.
GAP_TYPES: Final = ("unexplained", "question")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorySentence:
    """One event of a story. `ids` are the memories that it is taken from."""

    at: int
    type: str  # decision, error, or the kind of the memory
    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened in some spaces, in order of time. `chapters` are positions of first sentences."""

    sentences: tuple[StorySentence, ...]
    chapters: tuple[int, ...]
    examined: int
    left_out: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Memories of one topic. `id` stays while the memory in its middle does. `score`: how well it answers."""

    id: str
    level: int
    label: str
    size: int
    memories: tuple[str, ...]
    examples: tuple[str, ...]
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """The topics of some spaces at one level."""

    clusters: tuple[Cluster, ...]
    total: int
    examined: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drilled:
    """A topic, the topics within, and its memories, the most typical first."""

    cluster: Cluster
    children: tuple[Cluster, ...]
    memories: tuple[str, ...]
    examples: tuple[str, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPoint:
    """A name or a question that memories leave open."""

    type: str
    text: str
    count: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """What the memories of some spaces leave open, the most used first."""

    gaps: tuple[OpenPoint, ...]
    total: int
    examined: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How well memories cover a question: `coverage` in [0, 1], the probability that an answer is here, the terms that
    no good result holds, and the best."""

    coverage: float
    abstain: bool
    answered: float = 0.0
    missing_terms: tuple[str, ...]
    ids: tuple[str, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """A memory on the map. `x` and `y`: its place from -1 to 1, where near points are used together. `start`: the room
    is the one around it."""

    id: str
    text: str
    score: float
    x: float
    y: float
    start: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The memories that are used together with some, these first, then the nearest. `examined`: pairs looked at."""

    points: tuple[MapPoint, ...]
    examined: int
    degraded: tuple[str, ...] = ()
