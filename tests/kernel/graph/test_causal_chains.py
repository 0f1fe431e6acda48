"""Causes out of events: nearer to the known graph than chance and than correlation, and silent without data."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from mnemesh_actors.knowledge import causal_search
from mnemesh_memory.graph.causes import (
    ALPHA,
    HOUR_MS,
    OCCURRENCES_MIN,
    WINDOWS_MIN,
    Event,
    TooLittle,
    chain,
    significance,
    window_table,
)
from mnemesh_memory.values.errors import FailedPrecondition

DAY_MS = 24 * HOUR_MS
Graph = set[tuple[int, int]]
# Known graphs: a chain, a fork, a collider, and two causes of one cause.
GRAPHS: dict[str, tuple[int, Graph]] = {
    "chain": (4, {(0, 1), (1, 2), (2, 3)}),
    "fork": (4, {(0, 1), (0, 2), (0, 3)}),
    "collider": (4, {(0, 3), (1, 3), (2, 3)}),
    "tree": (6, {(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)}),
}
WINDOWS = 600


def process(nodes: int, edges: Graph, seed: int) -> list[Event]:
    """Events of a noisy-or process with these edges, an effect minutes after its causes."""
    chance = np.random.default_rng(seed)
    events = []
    for window in range(WINDOWS):
        at: dict[int, int] = {}
        for node in range(nodes):
            causes = [at[one] for one, other in edges if other == node and one in at]
            triggered = [moment for moment in causes if chance.random() < 0.75]
            rate = 0.2 if not any(other == node for _, other in edges) else 0.04
            if triggered or chance.random() < rate:
                start = max(triggered) if triggered else int(chance.integers(0, 12 * HOUR_MS))
                at[node] = start + int(chance.integers(60_000, HOUR_MS))
        events += [Event(window * DAY_MS + moment, f"m{window}-{node}", (f"n{node}",)) for node, moment in at.items()]
    return events


def searched(events: Sequence[Event], asked: str) -> tuple[Graph, Graph, object]:
    table = window_table(events, asked, DAY_MS)
    question = {"rows": table.present.astype(int), "forbidden": table.forbidden, "alpha": ALPHA}
    edges = causal_search.causal_edges(question)
    numbers = [int(name[1:]) for name in table.names]
    directed = {(numbers[one], numbers[other]) for one, other in edges["directed"]}
    undirected = {(numbers[one], numbers[other]) for one, other in edges["undirected"]}
    return directed, undirected, chain(table, edges["directed"], edges["undirected"])


def distance(nodes: int, graph: Graph, undirected: Graph, truth: Graph) -> int:
    """The structural Hamming distance: pairs of nodes whose edge is another one."""

    def mark(pair: tuple[int, int], edges: Graph, open_: Graph) -> int:
        if pair in open_ or pair[::-1] in open_:
            return 3
        return 1 if pair in edges else 2 if pair[::-1] in edges else 0

    pairs = itertools.combinations(range(nodes), 2)
    return sum(mark(pair, graph, undirected) != mark(pair, truth, set()) for pair in pairs)


def correlated(events: Sequence[Event], nodes: int) -> Graph:
    """Every significant pair, in the order of the numbers, which is the true order here."""
    table = window_table(events, "n0", DAY_MS)
    column = {name: place for place, name in enumerate(table.names)}
    return {
        (one, other)
        for one, other in itertools.combinations(range(nodes), 2)
        if significance(table.present[:, column[f"n{one}"]], table.present[:, column[f"n{other}"]])[0] < ALPHA
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_is_nearer_to_the_truth_than_chance_and_than_correlation(name: str) -> None:
    nodes, truth = GRAPHS[name]
    ours = random_ = correlation = 0
    for seed in range(4):
        events = process(nodes, truth, seed)
        directed, undirected, _ = searched(events, "n0")
        ours += distance(nodes, directed, undirected, truth)
        correlation += distance(nodes, correlated(events, nodes), set(), truth)
        pairs = list(itertools.combinations(range(nodes), 2))
        chosen = np.random.default_rng(seed).choice(len(pairs), size=len(truth), replace=False)
        random_ += distance(nodes, {pairs[place] for place in chosen}, set(), truth)
    assert ours <= 4, "one pair a run at most"
    assert ours < random_
    assert ours <= correlation
    if name in ("chain", "fork", "tree"):
        assert ours < correlation, "what shares a cause, or a cause of a cause, is correlated too"


def test_a_chain_has_ancestors_and_descendants_with_their_evidence() -> None:
    _, truth = GRAPHS["chain"]
    _, _, answer = searched(process(4, truth, 7), "n2")
    causes = [(link.cause, link.effect, link.distance) for link in answer.causes]  # type: ignore[attr-defined]
    effects = [(link.cause, link.effect, link.distance) for link in answer.effects]  # type: ignore[attr-defined]
    assert causes == [("n1", "n2", 1), ("n0", "n1", 2)]
    assert effects == [("n2", "n3", 1)]
    (first, *_) = answer.causes  # type: ignore[attr-defined]
    assert first.p_value < ALPHA
    assert first.lift > 1
    assert {memory.rpartition("-")[2] for memory in first.memories} == {"1", "2"}


def test_independent_names_have_no_causes() -> None:
    directed, undirected, answer = searched(process(5, set(), 3), "n1")
    assert len(directed) + len(undirected) <= 1
    assert answer.causes == ()  # type: ignore[attr-defined]


def test_too_little_data_is_refused_and_the_refusal_says_how_much_is_missing() -> None:
    few = [Event(day * DAY_MS, f"m{day}", ("a", "b")) for day in range(10)]
    with pytest.raises(TooLittle, match=f"span 10 windows of 24 h; {WINDOWS_MIN - 10} more are needed"):
        window_table(few, "a", DAY_MS)
    rare = [Event(day * DAY_MS, f"m{day}", ("b",) if day % 20 else ("a",)) for day in range(100)]
    with pytest.raises(TooLittle, match=f"a is in 5 of 100 windows of 24 h; {OCCURRENCES_MIN - 5} more are needed"):
        window_table(rare, "a", DAY_MS)
    with pytest.raises(TooLittle, match="no events"):
        window_table([], "a", DAY_MS)
    alone = [Event(day * DAY_MS, f"m{day}", ("a",)) for day in range(0, 100, 2)]
    with pytest.raises(TooLittle, match="no other name"):
        window_table(alone, "a", DAY_MS)


def test_names_that_always_come_together_are_one_variable() -> None:
    events = [Event(day * DAY_MS, f"m{day}", ("a", "twin")) for day in range(0, 200, 3)]
    events += [Event(day * DAY_MS + 1, f"b{day}", ("b",)) for day in range(0, 200, 5)]
    assert window_table(events, "twin", DAY_MS).names == ("twin", "b")


async def test_the_search_in_a_process_of_its_own_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = window_table(process(4, GRAPHS["chain"][1], 1), "n0", DAY_MS)
    here = causal_search.causal_edges({"rows": table.present.astype(int), "forbidden": table.forbidden, "alpha": ALPHA})
    directed, undirected = await causal_search.search(table)
    assert (directed, undirected) == (here["directed"], here["undirected"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FailedPrecondition, match=r"pip install 'mnemesh\[sleep\]'"):
        await causal_search.search(table)
