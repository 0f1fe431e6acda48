"""The best memories of each list of a search: the same ones, whatever order they were written in.

An index ends a list within a group of equal scores, and the order of insertion says with which of them. So a list that
is cut is taken without its last group, and asked for again, longer, when too little is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from mnemesh_actors.index.engine_port import IndexBackend, QueryRequest, Range, Scored
from mnemesh_actors.index.passage_groups import SCORE_DECIMALS, Passages
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_memory.values.errors import InvalidArgument

FETCH_MARGIN_POINTS = 12
FETCH_GROWTH = (1, 4, 16)
# A stretch of time may hold so many more than wanted: more than one call writes in a millisecond.
MOMENT_POINTS = 1_000
# Times in ms are halved from here on: the year 2109. Later times are one stretch.
TIMES_MS = 2**42


def ranked(backend: IndexBackend, passages: Passages, legs: Sequence[QueryRequest]) -> list[dict[str, float]]:
    """For each leg the best memories with their scores, best first, by one batched query. More queries follow only when
    passages of one memory or equal scores at the end crowd a list."""
    for asked in legs:
        if not 1 <= asked.limit <= SEARCH_LIMIT_MAX:
            raise InvalidArgument("limit", asked.limit, f"1 to {SEARCH_LIMIT_MAX} memories")
    found: list[dict[str, float]] = [{} for _ in legs]
    # Side by side, because Edge answers those of one field together: 8 searches take 6.5 ms, in turns 9.2.
    waiting = sorted(range(len(legs)), key=lambda leg: legs[leg].using)
    for growth in FETCH_GROWTH:
        fetch = [leg.limit * growth + FETCH_MARGIN_POINTS for leg in legs]
        answers = backend.query([replace(legs[leg], limit=fetch[leg]) for leg in waiting])
        crowded = []
        for leg, hits in zip(waiting, answers, strict=True):
            cut = len(hits) == fetch[leg]
            found[leg] = passages.pool(hits, legs[leg].limit, cut)
            if cut and len(found[leg]) < legs[leg].limit:
                if growth != FETCH_GROWTH[-1]:
                    crowded.append(leg)
                elif _rounded(hits[-1 - legs[leg].limit]) == _rounded(hits[-1]):
                    found[leg] = _newest(backend, passages, legs[leg], hits)
        waiting = crowded
        if not waiting:
            break
    return found


def _newest(
    backend: IndexBackend, passages: Passages, leg: QueryRequest, cut_hits: Sequence[Scored]
) -> dict[str, float]:
    """The best of a leg when `cut_hits` end within a large group of equal scores: of that group some of the newest.

    Halves the time until it has a stretch up to now whose part of the group is whole and enough. The steps depend on
    which memories there are, never on their order. When one millisecond holds too many memories, the rest comes from
    `cut_hits`.
    """
    better, came = (passages.pool(cut_hits, leg.limit, cut) for cut in (True, False))
    score, points = _rounded(cut_hits[-1]), 2 * leg.limit + MOMENT_POINTS
    best, since, step, cut = better, 0, TIMES_MS, True
    while (step := step // 2) and len(best) < leg.limit:
        since += step if cut else -step
        where = replace(leg.filter, must=(*leg.filter.must, Range("created_at", gte=since)))
        (hits,) = backend.query([replace(leg, filter=where, limit=points)])
        cut = len(hits) == points and _rounded(hits[-1]) >= score
        if not cut:
            equal = {id_: one for id_, one in passages.pool(hits, leg.limit, cut).items() if one >= score}
            best = max(best, better | equal, key=len)
    return dict(islice((best | came).items(), leg.limit))


def _rounded(hit: Scored) -> float:
    return float(np.round(hit[1], SCORE_DECIMALS))
