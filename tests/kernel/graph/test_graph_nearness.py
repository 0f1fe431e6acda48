"""Personalised PageRank: a share is a share, near is nearer than far, and a hub is not everybody's neighbour."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.graph.pagerank import DAMPING, pagerank, sparse_rows


def graph(nodes: int, edges: list[tuple[int, int]]) -> object:
    ends = np.array([one for one, _ in edges], dtype=np.int64)
    others = np.array([other for _, other in edges], dtype=np.int64)
    return sparse_rows(nodes, ends, others, np.ones(len(edges)))


def dense(nodes: int, edges: list[tuple[int, int]], seed: int) -> np.ndarray:
    """The same by the equation, in full."""
    weights = np.zeros((nodes, nodes))
    for one, other in edges:
        weights[one, other] += 1
        weights[other, one] += 1
    sums = weights.sum(axis=0)
    step = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    start = np.zeros(nodes)
    start[seed] = 1.0
    return np.linalg.solve(np.eye(nodes) - DAMPING * step, (1 - DAMPING) * start)


EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] != pair[1]), max_size=40)


@settings(max_examples=100, deadline=None)
@given(EDGES, st.integers(0, 11))
def test_shares_are_those_of_the_equation_and_sum_up_to_one_at_most(edges: list[tuple[int, int]], seed: int) -> None:
    shares = pagerank(graph(12, edges), {seed: 1.0})  # type: ignore[arg-type]
    assert shares.min() >= 0
    assert shares.sum() <= 1 + 1e-9
    alone = not any(seed in edge for edge in edges)
    if not alone:
        assert np.abs(shares - dense(12, edges, seed)).sum() <= 0.06


def test_a_neighbour_of_the_start_is_nearer_than_a_hub_behind_it() -> None:
    hub, start, near = 0, 1, 2
    edges = [(start, near), (start, hub), *((hub, leaf) for leaf in range(3, 60))]
    shares = pagerank(graph(60, edges), {start: 1.0})  # type: ignore[arg-type]
    assert shares[near] > shares[3] * 10


def test_an_empty_graph_and_a_start_without_edges_give_what_they_have() -> None:
    assert pagerank(graph(0, []), {}).tolist() == []  # type: ignore[arg-type]
    assert pagerank(graph(3, [(0, 1)]), {2: 1.0})[:2].tolist() == [0.0, 0.0]  # type: ignore[arg-type]
