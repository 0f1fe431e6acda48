"""What the heat of many memories costs, without a node.

    python -m bench.speed.heat

prints the best of some runs of the formula over columns.
"""

from __future__ import annotations

import sys
import time
from typing import Final

import numpy as np

from mnemesh_memory.policy.dynamics.heat import DAY_MS, HALF_LIFE_DAYS, HeatColumns, heat_of_columns

MEMORIES: Final = 100_000
RUNS: Final = 20
LIMIT_MS: Final = 20.0


def main() -> int:
    """Print the time of one evaluation. The exit status says whether it is within the limit."""
    random, now = np.random.default_rng(1), 4_000 * DAY_MS
    columns = HeatColumns(
        half_life_days=random.choice([0.0, *HALF_LIFE_DAYS.values()], MEMORIES),
        pinned=random.random(MEMORIES) < 0.01,
        importance=np.where(random.random(MEMORIES) < 0.5, np.nan, random.random(MEMORIES)),
        last_used=random.integers(0, now, MEMORIES),
        accesses=random.integers(0, 100, MEMORIES),
        liking=random.uniform(-1.0, 1.0, MEMORIES),
        valence=random.uniform(-1.0, 1.0, MEMORIES),
    )
    best = min(_timed(columns, now) for _ in range(RUNS))
    print(f"heat of {MEMORIES:,} memories: {best:.1f} ms (limit {LIMIT_MS:g} ms)")
    return int(best > LIMIT_MS)


def _timed(columns: HeatColumns, now: int) -> float:
    start = time.perf_counter()
    heat_of_columns(columns, now)
    return 1_000 * (time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
