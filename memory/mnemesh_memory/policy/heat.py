"""How warm a memory still is: a closed formula at read time. Nothing is deleted by it and it never reorders relevance.

heat = `s * 2^(-age / (h * u * v))`, from four channels that nothing mixes before this line:

- Importance: strength `s = (1 + importance) / 2`, in [1/2, 1]. The share of an item that is there at all at age 0.
- Kind: half-life `h` in days, HALF_LIFE_DAYS. Exponential forgetting (Ebbinghaus 1885).
- Usage: `u = 1 + ln(1 + n)` after n accesses. Stability grows with practice, ever more slowly (Wozniak et al. 1995).
  Age counts from the last use.
- Usefulness: `v = 2^liking`, in (1/2, 2), with the votes' `liking` in (-1, 1). An item that was needed is needed again
  for longer (Anderson and Schooler 1991).

Monotone: more use, importance or liking is never colder. No sweep stores heat, so the count of evaluations has no
effect, and a month without a node cools like any month. A time in the future counts as now. `heat_of_columns` is the
same formula over arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAY_MS: Final = 86_400_000
DEFAULT_IMPORTANCE: Final = 0.5
# Days; kinds that are not named do not cool.
HALF_LIFE_DAYS: Final = {
    "decision": 90.0,
    "error": 30.0,
    "reference": 180.0,
    "project": 60.0,
    "fact": 90.0,
    "episode": 14.0,
    "pattern": 180.0,
    "prompt": 180.0,
    "run": 30.0,
    "summary": 90.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The heat of a memory with its channels."""

    value: float  # In [0, 1].
    strength: float  # By importance. 1 for a pinned memory.
    half_life_days: float  # Of the kind, without the other channels. 0: it does not cool.
    usage: float  # Factor on the half-life, from 1 on.
    usefulness: float  # Factor on the half-life, between 1/2 and 2.
    age_days: float  # Since the last use, or else the last change.
    uses: int


def heat_parts(
    kind: str, tier: str, importance: float | None, last_used: int, accesses: int, now: int, liking: float = 0.0
) -> Heat:
    """Heat at `now` (ms) of a memory last used (or created) at `last_used` (ms). Pinned ones don't cool."""
    pinned = tier == "pinned"
    strength = 1.0 if pinned else (1.0 + _importance(importance)) / 2.0
    half_life = 0.0 if pinned else HALF_LIFE_DAYS.get(kind, 0.0)
    usage, usefulness = 1.0 + math.log1p(max(0, accesses)), math.exp2(liking)
    age_days = max(0, now - last_used) / DAY_MS
    cooled = math.exp2(-age_days / (half_life * usage * usefulness)) if half_life else 1.0
    return Heat(
        value=strength * cooled,
        strength=strength,
        half_life_days=half_life,
        usage=usage,
        usefulness=usefulness,
        age_days=age_days,
        uses=accesses,
    )


def heat(
    kind: str, tier: str, importance: float | None, last_used: int, accesses: int, now: int, liking: float = 0.0
) -> float:
    """`heat_parts`, in [0, 1], without its parts."""
    return heat_parts(kind, tier, importance, last_used, accesses, now, liking).value


# What `heat` takes of a memory: kind, tier, importance, last use (ms), accesses, liking.
HeatRow = tuple[str, str, float | None, int, int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatColumns:
    """Memories as columns of one length."""

    half_life_days: NDArray[np.float64]  # By kind. 0: it does not cool.
    pinned: NDArray[np.bool_]
    importance: NDArray[np.float64]  # NaN for none.
    last_used: NDArray[np.int64]  # In ms.
    accesses: NDArray[np.int64]
    liking: NDArray[np.float64]


def columns_of(rows: Sequence[HeatRow]) -> HeatColumns:
    """The same memories as columns."""
    import numpy as np  # a program that only reads settings loads none

    kinds, tiers, importance, last_used, accesses, liking = zip(*rows, strict=True) if rows else [()] * 6
    return HeatColumns(
        half_life_days=np.array([HALF_LIFE_DAYS.get(kind, 0.0) for kind in kinds], np.float64),
        pinned=np.array([tier == "pinned" for tier in tiers], np.bool_),
        importance=np.array(importance, np.float64),  # None becomes NaN
        last_used=np.array(last_used, np.int64),
        accesses=np.array(accesses, np.int64),
        liking=np.array(liking, np.float64),
    )


def heat_of_columns(columns: HeatColumns, now: int) -> NDArray[np.float64]:
    """The heat of each memory at `now` (ms)."""
    import numpy as np

    importance = np.where(np.isnan(columns.importance), DEFAULT_IMPORTANCE, columns.importance)
    stability = columns.half_life_days * (1.0 + np.log1p(np.maximum(columns.accesses, 0))) * np.exp2(columns.liking)
    age_days = np.maximum(0, now - columns.last_used) / DAY_MS
    cooling = (stability > 0.0) & ~columns.pinned
    rate = np.divide(age_days, stability, out=np.zeros_like(age_days), where=cooling)
    strength = np.where(columns.pinned, 1.0, (1.0 + importance) / 2.0)
    heats: NDArray[np.float64] = strength * np.exp2(-rate)
    return heats


def _importance(given: float | None) -> float:
    return DEFAULT_IMPORTANCE if given is None or math.isnan(given) else given
