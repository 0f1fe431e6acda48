"""How near the nodes of a graph are to some of them: personalised PageRank over compressed sparse rows.

    x = (1 - d) s + d W D^-1 x        s: the start, W: symmetric weights, D: their sums (Haveliwala, WWW 2002)

A start node gets a share again in each step, so distant hubs stay behind near neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

DAMPING: Final = 0.85
# The order of the leading nodes stands by then.
STEPS_MAX: Final = 20
TOLERANCE: Final = 1e-3  # of the sum of all changes in a step
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """A symmetric graph of `nodes` nodes. Row i has the neighbours `targets[offsets[i]:offsets[i + 1]]`."""

    nodes: int
    offsets: Places
    targets: Places
    steps: Floats  # the share of itself that each target gives to the row


def sparse_rows(nodes: int, ends: Places, others: Places, weights: Floats) -> SparseRows:
    """The rows of a graph with an edge between `ends[i]` and `others[i]` for each i."""
    rows = np.concatenate((ends, others))
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=nodes)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
    both = np.concatenate((weights, weights)).astype(np.float64)
    sums: Floats = np.bincount(rows, weights=both, minlength=nodes).astype(np.float64)
    targets = np.concatenate((others, ends))[order]
    steps: Floats = both[order] / np.where(sums > 0, sums, 1.0)[targets]
    return SparseRows(nodes, offsets, targets, steps)


def pagerank(graph: SparseRows, start: Mapping[int, float], damping: float = DAMPING) -> Floats:
    """The share of each node, from `start` with weights of any sum. The shares sum up to 1 at most."""
    seeds = np.zeros(graph.nodes)
    for node, weight in start.items():
        seeds[node] = weight
    if not graph.nodes or not (total := float(seeds.sum())):
        return seeds
    seeds /= total
    filled = np.flatnonzero(np.diff(graph.offsets))
    if not len(filled):
        return seeds
    begins = graph.offsets[filled]
    shares = seeds.copy()
    for _ in range(STEPS_MAX):
        flow = np.take(shares, graph.targets) * graph.steps
        following = (1.0 - damping) * seeds
        following[filled] += damping * np.add.reduceat(flow, begins)
        change = float(np.abs(following - shares).sum())
        shares = following
        if change < TOLERANCE:
            break
    return shares
