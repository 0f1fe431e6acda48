"""How warm a memory still is: a closed formula at read time. Nothing is deleted by it and it never reorders relevance.

heat = `s * 2^(-age / (h(kind) * (1 + ln(1 + n))))`, with strength s = `(1 + importance) / 2` in [1/2, 1], age since the
last use, n accesses and half-life h of the kind. This is exponential forgetting with a stability that grows with
practice (Ebbinghaus 1885; Wozniak et al. 1995). Monotone: more use is never colder.
"""

from __future__ import annotations

import math
from typing import Final

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


def heat(kind: str, tier: str, importance: float | None, last_used: int, accesses: int, now: int) -> float:
    """Heat in [0, 1] at `now` (ms) of a memory last used (or created) at `last_used` (ms). Pinned ones don't cool."""
    if tier == "pinned":
        return 1.0
    strength = (1.0 + (DEFAULT_IMPORTANCE if importance is None else importance)) / 2.0
    half_life = HALF_LIFE_DAYS.get(kind)
    if half_life is None:
        return strength
    age_days = max(0, now - last_used) / DAY_MS
    return strength * math.exp2(-age_days / (half_life * (1.0 + math.log1p(accesses))))
