"""How warm a memory still is: a closed formula at read time. Nothing is deleted by it and it never reorders relevance.

heat = `s * 2^(-age / (h * u * v * w))`, from five channels that nothing mixes before this line:

- Importance: strength `s = (1 + importance) / 2`, in [1/2, 1]. The share of an item that is there at all at age 0.
- Kind: half-life `h` in days, HALF_LIFE_DAYS. Exponential forgetting (Ebbinghaus 1885).
- Usage: `u = 1 + ln(1 + n)` after n accesses. Stability grows with practice, ever more slowly (Wozniak et al. 1995).
  Age counts from the last use.
- Usefulness: `v = 2^liking`, in (1/2, 2), with the votes' `liking` in (-1, 1). An item that was needed is needed again
  for longer (Anderson and Schooler 1991).
- Valence: `w = 2^(|valence| / 2)`, in [1, 1.42), with the valence of the outcome that the text tells of (valence.py).

Monotone: more use, importance or liking is never colder. No sweep stores heat, so the count of evaluations has no
effect, and a month without a node cools like any month. A time in the future counts as now. `heat_of_columns` is the
same formula over arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from mnemesh_memory.policy.dynamics.valence import stretch
from mnemesh_memory.policy.dynamics.valence import valence as valence_of
from mnemesh_memory.ranking import scores
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.heat_channels import Heat
from mnemesh_memory.values.kinds import KINDS
from mnemesh_memory.values.model import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAY_MS: Final = 86_400_000
DEFAULT_IMPORTANCE: Final = 0.5
HalfLives: TypeAlias = Mapping[str, float]
# Days; kinds that are not named do not cool.
HALF_LIFE_DAYS: Final[HalfLives] = {
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


# A filter that has read no text takes this valence: nothing is colder for it, and the text is judged later.
VALENCE_MOST: Final = 1.0
HALF_LIVES_ALLOWED: Final = "KIND=DAYS; ... with days above 0 and at most 36500, such as error=14; fact=120"
HALF_LIFE_DAYS_MAX: Final = 36_500.0


def half_lives_of(text: str) -> HalfLives:
    """The half-lives with those of a setting in the place of the usual. Raises InvalidArgument."""
    given: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        kind, sign, days = (word.strip() for word in part.partition("="))
        try:
            number = float(days)
        except ValueError:
            number = math.nan
        if kind not in KINDS or not sign or kind in given or not 0.0 < number <= HALF_LIFE_DAYS_MAX:
            raise InvalidArgument("half_lives", part, HALF_LIVES_ALLOWED)
        given[kind] = number
    return {**HALF_LIFE_DAYS, **given} if given else HALF_LIFE_DAYS


def heat(
    kind: str,
    tier: str,
    importance: float | None,
    last_used: int,
    accesses: int,
    now: int,
    liking: float = 0.0,
    valence: float = 0.0,
    half_lives: HalfLives = HALF_LIFE_DAYS,
) -> Heat:
    """Heat at `now` (ms) of a memory last used (or created) at `last_used` (ms), with its parts. Pinned ones don't
    cool."""
    pinned = tier == "pinned"
    strength = 1.0 if pinned else (1.0 + _importance(importance)) / 2.0
    half_life = 0.0 if pinned else half_lives.get(kind, 0.0)
    usage, usefulness, emotion = 1.0 + math.log1p(max(0, accesses)), math.exp2(liking), stretch(valence)
    age_days = max(0, now - last_used) / DAY_MS
    cooled = math.exp2(-age_days / (half_life * usage * usefulness * emotion)) if half_life else 1.0
    return Heat(
        value=strength * cooled,
        strength=strength,
        half_life_days=half_life,
        usage=usage,
        usefulness=usefulness,
        valence=emotion,
        age_days=age_days,
        uses=accesses,
    )


def heat_of(
    memory: Memory, used: Mapping[str, tuple[int, int]], now: int, half_lives: HalfLives = HALF_LIFE_DAYS
) -> Heat:
    """The heat of a memory with its parts. `used` has by id how often and when last a memory was shown."""
    accesses, last = used.get(memory.id, (0, 0))
    # Nobody could use a memory here before it arrived: an import with old dates is warm.
    return heat_used(memory, accesses, max(last, memory.updated_at, memory.arrived_at), now, half_lives)


def heat_used(memory: Memory, accesses: int, last: int, now: int, half_lives: HalfLives = HALF_LIFE_DAYS) -> Heat:
    """The heat of a memory with so many accesses, the last one at `last` (ms)."""
    liked, felt = scores.liking(memory.useful, memory.not_useful), valence_of(memory.content, memory.kind)
    return heat(memory.kind, memory.tier, memory.importance, last, accesses, now, liked, felt, half_lives)


# Arguments of `heat` for a memory: kind, tier, importance, last use (ms), accesses, liking, valence.
HeatRow = tuple[str, str, float | None, int, int, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatColumns:
    """Memories as columns of one length."""

    half_life_days: NDArray[np.float64]  # By kind. 0: it does not cool.
    pinned: NDArray[np.bool_]
    importance: NDArray[np.float64]  # NaN for none.
    last_used: NDArray[np.int64]  # In ms.
    accesses: NDArray[np.int64]
    liking: NDArray[np.float64]
    valence: NDArray[np.float64]


def columns_of(rows: Sequence[HeatRow]) -> HeatColumns:
    """The same memories as columns."""
    import numpy as np  # a program that only reads settings loads none

    kinds, tiers, importance, last_used, accesses, liking, valence = zip(*rows, strict=True) if rows else [()] * 7
    return HeatColumns(
        half_life_days=np.array([HALF_LIFE_DAYS.get(kind, 0.0) for kind in kinds], np.float64),
        pinned=np.array([tier == "pinned" for tier in tiers], np.bool_),
        importance=np.array(importance, np.float64),  # None becomes NaN
        last_used=np.array(last_used, np.int64),
        accesses=np.array(accesses, np.int64),
        liking=np.array(liking, np.float64),
        valence=np.array(valence, np.float64),
    )


def heat_of_columns(columns: HeatColumns, now: int) -> NDArray[np.float64]:
    """The heat of each memory at `now` (ms)."""
    import numpy as np

    importance = np.where(np.isnan(columns.importance), DEFAULT_IMPORTANCE, columns.importance)
    stability = columns.half_life_days * (1.0 + np.log1p(np.maximum(columns.accesses, 0)))
    stability *= np.exp2(columns.liking + np.abs(columns.valence) / 2.0)
    age_days = np.maximum(0, now - columns.last_used) / DAY_MS
    cooling = (stability > 0.0) & ~columns.pinned
    rate = np.divide(age_days, stability, out=np.zeros_like(age_days), where=cooling)
    strength = np.where(columns.pinned, 1.0, (1.0 + importance) / 2.0)
    heats: NDArray[np.float64] = strength * np.exp2(-rate)
    return heats


def _importance(given: float | None) -> float:
    return DEFAULT_IMPORTANCE if given is None or math.isnan(given) else given
