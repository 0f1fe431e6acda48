"""`python -m bench.training.pair_judge`: train the trees by which the write guard judges a pair, and write their data
file.

The pairs are those of tests/data/guard (`given`, `tuned`, `made`, `wide_a`, `wide_b`) and of the given histories of
tests/data/team. Files held out are never read. Each threshold comes from pairs of a hand that the trees had not seen.
Five hands wrote the pairs, the histories, the facts made for training, and the two files of wide wording.

J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29 (2001).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from bench.texts.corpora import TEAM
from numpy.typing import NDArray

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_memory.policy.judge.contest import FORMS, TREES_FILE, form_of, is_refused
from mnemesh_memory.policy.judge.guard import RECORDS
from mnemesh_memory.policy.judge.pair_features import StatementPair, features
from mnemesh_memory.policy.judge.slots import statement

GUARD: Final = TEAM.parent / "guard"
TARGET: Final = Path(__file__).resolve().parents[2] / "memory" / "mnemesh_memory" / TREES_FILE
CONTESTED: Final = ("update", "contradiction")
SAME: Final = ("duplicate", "paraphrase")
# The hand that wrote the pairs of a kind.
HANDS: Final = {
    **dict.fromkeys(("pairs", "repeated", "reversed", "strangers"), "a"),
    "histories": "b",
    "made": "c",
    "wide a": "d",
    "wide b": "e",
    "repeated wide a": "d",
    "repeated wide b": "e",
}
# Kinds as a memory meets them, from which the thresholds come.
NATURAL: Final = ("pairs", "histories", "wide a", "wide b")
WIDE: Final = ("wide_a", "wide_b")
# Trees of several seeds are averaged, because the rarest errors hang on chance.
SEEDS: Final = (7, 8, 9)
TREES: Final = 120
DEPTH: Final = 6
RATE: Final = 0.1
ROWS_SHARE: Final = 0.7
FEATURES_SHARE: Final = 0.2
LEAF_ROWS_MIN: Final = 3
LEAST_GAIN: Final = 1e-3
DIGITS: Final = 4  # Of thresholds and weights.
RIDGE: Final = 1.0
BINS: Final = 24
STRANGERS_COSINE_MIN: Final = 0.3
STRANGERS_COSINE_MAX: Final = 0.5
STRANGERS_MAX: Final = 600
# Texts of one team that are no pair of values, and nearer than this, are pairs of distinct facts.
TEAM_COSINE_MIN: Final = 0.35
TEAM_CHARS_MAX: Final = 400
# The shares of distinct pairs that are linked or replaced wrongly, by trees that saw no pair of the same hand.
# By form, so that the surer forms of a pair are judged at lower likelihoods.
LINKED_WRONGLY: Final = {"told": 0.0055, "alike": 0.0065, "apart": 0.008}
REPLACED_WRONGLY: Final = {"told": 0.0055, "alike": 0.0025, "apart": 0.002}
# The shares that are only marked wrongly.
MARKED_WRONGLY: Final = {"told": 0.0015, "alike": 0.0025, "apart": 0.016}
# The share of those of which the writer is asked without need.
ASKED_NEEDLESSLY: Final = 0.25

Floats = NDArray[np.float64]


class Labelled(NamedTuple):
    """Two texts, and whether the newer one gives another value of the older one."""

    older: str
    newer: str
    contested: bool
    kind: str  # One of HANDS.


# A leaf is its weight. A node is (feature, threshold, lower side, upper side).
Tree = float | tuple[int, float, "Tree", "Tree"]


def pairs(vectors: dict[str, Floats]) -> list[Labelled]:
    """All pairs to learn from."""
    found = [_labelled(row, "pairs", "repeated") for half in ("given", "tuned") for row in _rows(half)]
    for file in WIDE:
        name = file.replace("_", " ")
        found += [_labelled(row, name, f"repeated {name}") for row in _rows(file)]
    # A fact behind its own detail takes nothing back, and two values contradict each other in both orders.
    back = [
        Labelled(row["newer"], row["older"], row["label"] == "contradiction", "reversed")
        for half in ("given", "tuned")
        for row in _rows(half)
        if row["label"] not in ("update", "distinct")
    ]
    return found + back + list(_strangers(vectors)) + list(_made(vectors)) + list(_team(vectors))


def _labelled(row: Mapping[str, str], kind: str, same: str) -> Labelled:
    return Labelled(row["older"], row["newer"], row["label"] in CONTESTED, same if row["label"] in SAME else kind)


def _rows(half: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GUARD / f"{half}.jsonl").read_text("utf-8").splitlines()]


def _strangers(vectors: dict[str, Floats]) -> Iterator[Labelled]:
    """Texts of two pairs of one batch that share some words and speak of two things."""
    found = []
    for half in ("given", "tuned"):
        rows = _rows(half)
        before, after = (np.stack([vectors[row[side]] for row in rows]) for side in ("older", "newer"))
        near, subjects = before @ after.T, before @ before.T
        apart = (near >= STRANGERS_COSINE_MIN) & (subjects < STRANGERS_COSINE_MAX) & (near < STRANGERS_COSINE_MAX)
        found += [
            Labelled(rows[one]["older"], rows[other]["newer"], False, "strangers")
            for one, other in np.argwhere(apart)
            if rows[one]["id"][0] == rows[other]["id"][0]
        ]
    chosen = np.random.default_rng(SEEDS[0]).permutation(len(found))[:STRANGERS_MAX]
    return iter([found[number] for number in np.sort(chosen)])


def _made(vectors: dict[str, Floats]) -> Iterator[Labelled]:
    """Facts with another value and with a detail, and near facts of one team beside each other."""
    rows = _rows("made")
    for row in rows:
        if "newer" in row:
            yield Labelled(row["older"], row["newer"], row["label"] in CONTESTED, "made")
            continue
        yield Labelled(row["fact"], row["other"], True, "made")
        yield Labelled(row["fact"], row["detail"], False, "made")
        yield Labelled(row["detail"], row["fact"], False, "made")
        for later in rows:
            if later["team"] == row["team"] and later is not row and "fact" in later:
                for text in (later["other"], later["detail"]):
                    if _near(vectors, row["fact"], text):
                        yield Labelled(row["fact"], text, False, "made")


def _team(vectors: dict[str, Floats]) -> Iterator[Labelled]:
    """Memories of a team with their successors, and with near memories of other facts."""
    for path in sorted(TEAM.glob("given_*.json")):
        memories = json.loads(path.read_text("utf-8"))["memories"]
        before: dict[str, str | None] = {memory["id"]: memory["supersedes"] for memory in memories}
        short = [one for one in memories if one["kind"] not in RECORDS and len(one["content"]) <= TEAM_CHARS_MAX]
        for number, newer in enumerate(short):
            chain, last = set(), newer["supersedes"]
            while last:
                chain.add(last)
                last = before[last]
            for older in short[:number]:
                if older["id"] == newer["supersedes"]:
                    yield Labelled(older["content"], newer["content"], True, "histories")
                elif older["id"] not in chain and _near(vectors, older["content"], newer["content"]):
                    yield Labelled(older["content"], newer["content"], False, "histories")


def _near(vectors: dict[str, Floats], one: str, other: str) -> bool:
    return float(vectors[one] @ vectors[other]) >= TEAM_COSINE_MIN


def texts() -> list[str]:
    """All texts of the pairs."""
    sides = ("older", "newer", "fact", "other", "detail")
    rows = (row for file in ("given", "tuned", "made", *WIDE) for row in _rows(file))
    found = {row[side] for row in rows for side in sides if side in row}
    for path in TEAM.glob("given_*.json"):
        found.update(memory["content"] for memory in json.loads(path.read_text("utf-8"))["memories"])
    return sorted(found)


def embedded(wanted: Sequence[str]) -> dict[str, Floats]:
    """The unit vector of each text."""
    with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        vectors = worker.embed(list(wanted)).astype(np.float64)
    return dict(zip(wanted, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), strict=True))


class Booster:
    """Boosted trees of one depth over binned features, with the logistic loss."""

    def __init__(self, table: Floats, truth: NDArray[np.bool_]) -> None:
        self._truth = truth.astype(np.float64)
        self._table = table
        self._edges = [_edges(column) for column in table.T]
        self._binned = np.stack(
            [np.searchsorted(edges, column) for edges, column in zip(self._edges, table.T, strict=True)], axis=1
        )
        share = self._truth.mean()
        self.bias = float(np.log(share / (1 - share)))
        self.trees: list[Tree] = []

    def fit(self) -> None:
        for seed in SEEDS:
            self._fit(seed)

    def _fit(self, seed: int) -> None:
        chance = np.random.default_rng(seed)
        score = np.full(len(self._truth), self.bias)
        rows = len(self._binned)
        for _ in range(TREES):
            seen = np.flatnonzero(chance.random(rows) < ROWS_SHARE)
            likelihood = 1 / (1 + np.exp(-score))
            slope, curve = self._truth - likelihood, likelihood * (1 - likelihood)
            tree = self._grown(slope, curve, seen, chance, DEPTH)
            self.trees.append(tree)
            score += _weights(tree, self._table) * len(SEEDS)

    def _grown(
        self, slope: Floats, curve: Floats, rows: NDArray[np.int64], chance: np.random.Generator, depth: int
    ) -> Tree:
        """A tree over some rows. Each node asks a sample of the features."""
        columns = self._binned.shape[1]
        asked = chance.choice(columns, max(1, round(columns * FEATURES_SHARE)), replace=False)
        split = self._best(slope, curve, rows, asked) if depth and len(rows) >= 2 * LEAF_ROWS_MIN else None
        if split is None:
            return round(float(RATE / len(SEEDS) * slope[rows].sum() / (curve[rows].sum() + RIDGE)), DIGITS)
        feature, bin_ = split
        above = self._binned[rows, feature] > bin_
        lower, upper = (self._grown(slope, curve, rows[side], chance, depth - 1) for side in (~above, above))
        return feature, float(self._edges[feature][bin_]), lower, upper

    def _best(
        self, slope: Floats, curve: Floats, rows: NDArray[np.int64], asked: NDArray[np.int64]
    ) -> tuple[int, int] | None:
        """The feature and the last bin of the lower side of the best split; None when no split is better."""
        total, weight = slope[rows].sum(), curve[rows].sum()
        best, found = total * total / (weight + RIDGE) + LEAST_GAIN, None
        for feature in asked:
            bins, size = self._binned[rows, feature], len(self._edges[feature])
            if not size:
                continue
            low, light, few = (
                np.cumsum(np.bincount(bins, values, size + 1))[:-1] for values in (slope[rows], curve[rows], None)
            )
            gain = low**2 / (light + RIDGE) + (total - low) ** 2 / (weight - light + RIDGE)
            gain[(few < LEAF_ROWS_MIN) | (len(rows) - few < LEAF_ROWS_MIN)] = -np.inf
            at = int(np.argmax(gain))
            if gain[at] > best:
                best, found = float(gain[at]), (int(feature), at)
        return found

    def likelihood(self, table: Floats) -> Floats:
        score = self.bias + sum(_weights(tree, table) for tree in self.trees)
        return np.asarray(1 / (1 + np.exp(-score)))


def _weights(tree: Tree, table: Floats) -> Floats:
    """The weight of the leaf of each row."""
    if isinstance(tree, float):
        return np.full(len(table), tree)
    feature, threshold, lower, upper = tree
    found, above = np.empty(len(table)), table[:, feature] > threshold
    found[above], found[~above] = _weights(upper, table[above]), _weights(lower, table[~above])
    return found


def _edges(column: Floats) -> Floats:
    """Thresholds between the values of a feature, at most BINS, with few digits."""
    values = np.unique(column)
    between = (values[1:] + values[:-1]) / 2
    if len(between) > BINS:
        between = np.quantile(column, np.linspace(0, 1, BINS + 2)[1:-1])
    return np.unique(np.round(between, DIGITS))


def unseen(table: Floats, truth: NDArray[np.bool_], hands: NDArray[np.str_]) -> Floats:
    """The likelihood of each pair by trees that saw no pair of its hand."""
    found = np.zeros(len(truth))
    for hand in np.unique(hands):
        here = hands == hand
        booster = Booster(table[~here], truth[~here])
        booster.fit()
        found[here] = booster.likelihood(table[here])
    return found


def threshold(distinct: Floats, number: float) -> float:
    """The likelihood that this number of the distinct pairs exceeds."""
    return round(float(np.sort(distinct)[::-1][int(number)]) + 1e-4, 4)


def main(argv: Sequence[str]) -> int:
    """Train, print the figures of unseen groups, write the data file."""
    parser = argparse.ArgumentParser(prog="bench.training.pair_judge", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    vectors = embedded(texts())
    labelled = pairs(vectors)
    beside = [
        StatementPair(statement(one.older), statement(one.newer), float(vectors[one.older] @ vectors[one.newer]))
        for one in labelled
    ]
    numbers = [features(pair) for pair in beside]
    names = list(numbers[0])
    table = np.array([[row[name] for name in names] for row in numbers])
    truth = np.array([one.contested for one in labelled])
    kinds = np.array([one.kind for one in labelled])
    forms = np.array([form_of(pair) for pair in beside])
    found = unseen(table, truth, np.array([HANDS[one.kind] for one in labelled]))
    found[[is_refused(pair) for pair in beside]] = 0.0
    distinct = np.isin(kinds, NATURAL) & ~truth
    ask = threshold(found[distinct], ASKED_NEEDLESSLY * distinct.sum())
    limits = {
        form: [
            threshold(found[distinct & (forms == form)], share * distinct.sum())
            for share in (LINKED_WRONGLY[form] + MARKED_WRONGLY[form], LINKED_WRONGLY[form], REPLACED_WRONGLY[form])
        ]
        for form in FORMS
    }
    mark, link, replace = (np.array([limits[form][at] for form in forms]) for at in range(3))
    for kind in np.unique(kinds):
        here = kinds == kind
        shares = [_share((found >= at)[here & side]) for at in (ask, mark, link, replace) for side in (truth, ~truth)]
        print(
            f"{kind:15} {here.sum():5} pairs: asked {shares[0]}, needlessly {shares[1]};"
            f" marked or linked {shares[2]}, wrongly {shares[3]}; linked {shares[4]}, wrongly {shares[5]};"
            f" replaced {shares[6]}, wrongly {shares[7]}"
        )
    booster = Booster(table, truth)
    booster.fit()
    if not options.dry_run:
        TARGET.write_text(_written(names, booster, {"ask": ask, **limits}, labelled), "utf-8")
    return 0


def _share(values: NDArray[np.bool_]) -> str:
    return f"{values.mean():.3f}" if len(values) else "-"


def _written(
    names: list[str], booster: Booster, thresholds: Mapping[str, float | list[float]], labelled: list[Labelled]
) -> str:
    """The data file: what it was made of, the thresholds, then a line for each tree."""
    digest = hashlib.sha256(json.dumps(labelled).encode()).hexdigest()[:12]
    head = {
        "made by": f"python -m bench.training.pair_judge, seeds {SEEDS}",
        "made of": f"{len(labelled)} pairs, sha256 {digest}",
        "bias": round(booster.bias, 4),
        **thresholds,
        "features": names,
    }
    trees = [json.dumps(tree, separators=(",", ":")) for tree in booster.trees]
    return json.dumps(head, indent=1)[:-2] + ',\n "trees": [\n' + ",\n".join(trees) + "\n ]\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
