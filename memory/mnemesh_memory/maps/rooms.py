"""The cognitive map: memories that are used together are near each other. Pure.

A step of an agent uses some memories. Each pair of a step, and each pair with a memory of the steps shortly before, is
counted. The nearness of a memory to a start s is its successor representation (Dayan 1993; Stachenfeld et al. 2017),
the series cut off after a few terms:

    m = (1 - d) (s + d P s + d^2 P^2 s + ...)        P: the counts, each column divided by its sum

That is personalised PageRank. A pair that is not used again halves its weight each HALF_LIFE_DAYS. The weights are kept
forward (Cormode et al. 2009): a later use counts more, so that nothing has to be written again when time goes by.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.graph.pagerank import SparseRows, pagerank, sparse_rows

Used = tuple[str, str]  # id and space of a memory
TRAIL_MEMORIES: Final = 6  # before a step, by the same agent
TRAIL_MS: Final = 30 * 60_000
STEP_MEMORIES: Final = 5  # of one step, the first ones
AGENTS_MAX: Final = 1_000
HALF_LIFE_DAYS: Final = 30
DAY_MS: Final = 86_400_000
EPOCH_MS: Final = 1_767_225_600_000  # 2026-01-01; weights stay finite for 80 years around it
REASONS_MAX: Final = 3
DECIMALS: Final = 4
_APART: Final = 1e-6  # joins memories of a picture that were never used together


def forward_weight(at: int) -> float:
    """The weight of a use at a time (ms)."""
    return float(2.0 ** ((at - EPOCH_MS) / (HALF_LIFE_DAYS * DAY_MS)))


class Trails:
    """The last memories of each agent. Nothing here is kept over a restart."""

    def __init__(self) -> None:
        self._trails: OrderedDict[str, deque[tuple[Used, int]]] = OrderedDict()

    def last(self, agent: str) -> list[str]:
        """The memories that an agent used last."""
        return [id_ for (id_, _), _ in self._trails.get(agent, ())]

    def step(self, agent: str, used: Sequence[Used], now: int) -> Counter[tuple[Used, Used]]:
        """The pairs that a step of `agent` adds, each in order of ids."""
        fresh = list(dict.fromkeys(used))[:STEP_MEMORIES]
        trail = self._trails.setdefault(agent, deque(maxlen=TRAIL_MEMORIES))
        self._trails.move_to_end(agent)
        if len(self._trails) > AGENTS_MAX:
            self._trails.popitem(last=False)
        before = [memory for memory, at in trail if now - at <= TRAIL_MS and memory not in fresh]
        pairs = [*combinations(fresh, 2), *((one, other) for one in fresh for other in before)]
        kept = [(memory, at) for memory, at in trail if memory not in fresh]
        trail.clear()
        trail.extend([*kept, *((memory, now) for memory in fresh)])
        return Counter((min(pair), max(pair)) for pair in pairs)


@dataclass(frozen=True, slots=True, eq=False)
class CoAccess:
    """Pairs of memories: `ends[i]` and `others[i]` are places in `ids`, used together `counts[i]` times."""

    ids: tuple[str, ...]
    ends: NDArray[np.int64]
    others: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]

    def rows(self) -> SparseRows:
        """The pairs as a graph."""
        return sparse_rows(len(self.ids), self.ends, self.others, self.weights)

    def repeated(self, uses: int, weight: float) -> CoAccess:
        """The pairs of at least so many uses and so much weight."""
        kept = (self.counts >= uses) & (self.weights >= weight)
        return replace(
            self, ends=self.ends[kept], others=self.others[kept], weights=self.weights[kept], counts=self.counts[kept]
        )

    def strongest(self, number: int) -> dict[str, float]:
        """The memories with most weight, and this weight."""
        sums = np.bincount(np.concatenate((self.ends, self.others)), np.tile(self.weights, 2), len(self.ids))
        return {self.ids[place]: float(sums[place]) for place in np.argsort(-sums, kind="stable")[:number]}


def nearness(pairs: CoAccess, start: Mapping[str, float]) -> dict[str, float]:
    """The successor representation of each memory that the start leads to, the nearest first."""
    place = {id_: number for number, id_ in enumerate(pairs.ids)}
    known = {place[id_]: weight for id_, weight in start.items() if id_ in place}
    shares = pagerank(pairs.rows(), known)
    order = np.argsort(-shares, kind="stable")
    return {pairs.ids[number]: round(float(shares[number]), DECIMALS) for number in order if shares[number] > 0}


def reasons(pairs: CoAccess, shown: Sequence[str], start: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Why each shown memory is there: how often it was used with a start, else with another shown one."""
    among, first = set(shown), set(start)
    ways: dict[str, list[tuple[bool, int, str]]] = {id_: [] for id_ in shown}
    for end, other, count in zip(pairs.ends.tolist(), pairs.others.tolist(), pairs.counts.tolist(), strict=True):
        pair = pairs.ids[end], pairs.ids[other]
        if among.issuperset(pair):
            for id_, with_ in (pair, pair[::-1]):
                ways[id_].append((with_ not in first, -count, with_))
    texts = {}
    for id_, own in ways.items():
        direct = [way for way in own if not way[0]]
        best = sorted(direct or own)[:REASONS_MAX]
        texts[id_] = tuple(f"used with {with_}: {-count} time{'s' * (count < -1)}" for _, count, with_ in best)
    return texts


def layout(pairs: CoAccess, shown: Sequence[str]) -> dict[str, tuple[float, float]]:
    """A place from -1 to 1 on two axes for each shown memory: the second and third eigenvector of the normalised counts
    between them, so that memories that are used together lie together."""
    place = {id_: number for number, id_ in enumerate(shown)}
    weights = np.full((len(shown), len(shown)), _APART)
    scale = float(pairs.weights.max(initial=0.0)) or 1.0
    for end, other, weight in zip(pairs.ends.tolist(), pairs.others.tolist(), pairs.weights.tolist(), strict=True):
        row, column = place.get(pairs.ids[end]), place.get(pairs.ids[other])
        if row is not None and column is not None:
            weights[row, column] += weight / scale
            weights[column, row] += weight / scale
    axes = np.zeros((len(shown), 2))
    if len(shown) > 1:
        roots = np.sqrt(weights.sum(axis=1))
        _, vectors = np.linalg.eigh(weights / np.outer(roots, roots))
        scaled = vectors[:, ::-1][:, 1:3] / roots[:, None]
        for axis in range(scaled.shape[1]):
            widest = scaled[np.abs(scaled[:, axis]).argmax(), axis]  # its sign is free
            axes[:, axis] = scaled[:, axis] / widest if widest else 0.0
    return {
        id_: (round(float(x), DECIMALS), round(float(y), DECIMALS)) for id_, (x, y) in zip(shown, axes, strict=True)
    }
