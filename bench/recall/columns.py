"""The candidates of many questions as columns of numbers, so that weights are tried in numpy alone.

A signal's column is the score of `fuse` with all the weight of a part on that signal. The score is then the sum of
`fuse`. Quoted phrases and a question's stretch of time are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from bench.texts.locomo_data import TOP
from numpy.typing import NDArray

from mnemesh_actors.recall.choice import BEST_FOR_COVERAGE
from mnemesh_memory.ranking.candidates import CandidateColumns, Candidates
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.ranking.fusion import fuse, scaled_weights
from mnemesh_memory.ranking.scores import FULL_EVIDENCE, SCORE_DECIMALS
from mnemesh_memory.ranking.signals import DEFAULT_MIX, DEFAULT_WEIGHTS, SIGNALS
from mnemesh_memory.text.traits import question_of

Column = NDArray[np.float64]
Values = NDArray[np.float32]  # half the memory, and twice as fast
Mask = NDArray[np.bool_]

PARTS: Final = ("dense", "bm25", "form")
# Columns without a use in recall: the cosine of the question and an embedded window of the session. The first window is
# a memory with the two before it, the second a memory with both neighbours.
EMBEDDED: Final = ("embedded window", "embedded neighbours")
# A mix holds these together below 1.
FORM_MAX: Final = 0.99
_NONE: Final = dict.fromkeys(SIGNALS, 0.0)
_ABSENT: Final = np.float32(-1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """`dense`: the weight of meaning against words, in [0, 1]. `of`: a weight for every signal, by name. The weights of
    each of the parts `dense` and `bm25` sum to 1, those of `form` to less."""

    dense: float
    of: Mapping[str, float]


def default_weights() -> Weights:
    """What recall uses."""
    return Weights(scaled_weights({})["dense"], DEFAULT_MIX)


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """The candidates of q questions, c at most for one, in the order of their ids. `shown` (q, c): the places taken.
    `values` (signals, q, c): a column for each of `parts()`. `proof` (q, c): the coverage of a candidate alone."""

    shown: Mask
    values: Values
    proof: Column

    def scores(self, weights: Weights) -> Values:
        """The relevance of each, (q, c); negative where there is none."""
        scale = {"dense": weights.dense, "bm25": 1.0 - weights.dense, "form": 1.0}
        rows = np.zeros((2, len(self.values)), np.float32)  # evidence, and what form makes good
        for at, (name, part) in enumerate(parts().items()):
            rows[int(part == "form"), at] = weights.of.get(name, 0.0) * scale[part]
        evidence, form = np.tensordot(rows, self.values, 1)
        np.minimum(evidence, 1.0, out=evidence)
        form *= np.minimum(1.0, evidence / FULL_EVIDENCE) * (1.0 - evidence)
        score: Values = np.round(np.minimum(1.0, evidence + form), SCORE_DECIMALS)
        return np.where(self.shown, score, _ABSENT)

    def coverage(self, weights: Weights) -> Column:
        """How well the best results answer, (q,)."""
        score = self.scores(weights)
        best = np.argsort(-score, axis=1, kind="stable")[:, :BEST_FOR_COVERAGE]
        proof = np.where(np.take_along_axis(self.shown, best, 1), np.take_along_axis(self.proof, best, 1), 0.0)
        found: Column = proof.max(axis=1, initial=0.0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Questions of one unit with their candidates `here` and, for coverage, in a conversation `elsewhere`. `right` (q,
    c) marks evidence, `session` (q, c) candidates in a session with evidence. `pieces` (q,) counts the evidence,
    candidate or not."""

    talk: NDArray[np.str_]
    multi_hop: Mask
    pieces: Column
    right: Mask
    session: Mask
    here: Pools
    elsewhere: Pools

    def __len__(self) -> int:
        return len(self.talk)

    def of(self, names: Sequence[str]) -> Questions:
        """Those of these conversations."""
        rows = np.isin(self.talk, names)
        return Questions(*(_cut(getattr(self, one.name), rows) for one in fields(self)))

    def figures(self, weights: Weights) -> dict[str, Column]:
        """The score of each question by figure, (q,) each; NaN for a figure of another kind of question."""
        score = self.here.scores(weights)
        asked, place = np.nonzero(self.right & self.here.shown)
        theirs = score[asked]
        own = theirs[np.arange(len(asked)), place][:, np.newaxis]
        before = (theirs > own) | ((theirs == own) & (np.arange(score.shape[1]) < place[:, np.newaxis]))
        rank = 1 + before.sum(axis=1)
        best = np.full(len(self), np.inf)
        np.minimum.at(best, asked, rank)
        found = np.bincount(asked, rank <= TOP, len(self)) / self.pieces
        first = score.argmax(axis=1)[:, np.newaxis]
        return {
            "hit@10": (best <= TOP).astype(float),
            "coverage@10": found,
            "MRR": np.where(best <= TOP, 1.0 / best, 0.0),
            "multi-hop coverage@10": np.where(self.multi_hop, found, np.nan),
            "session hit@1": np.take_along_axis(self.session, first, 1)[:, 0].astype(float),
        }

    def save(self, path: Path) -> None:
        """Keep them in a file, which is replaced."""
        with path.open("wb") as file:
            np.savez(file, **_arrays(self))

    @classmethod
    def load(cls, path: Path) -> Questions:
        """What `save` kept."""
        with np.load(path) as file:
            found: dict[str, Any] = {name: file[name] for name in file.files}
        for name in ("here", "elsewhere"):
            found[name] = Pools(*(found.pop(f"{name} {one.name}") for one in fields(Pools)))
        return cls(**found)


def parts() -> dict[str, str]:
    """Every column of `Pools.values` with the part of the score that it is counted in."""
    return signal_parts() | dict.fromkeys(EMBEDDED, "dense")


def signal_parts() -> dict[str, str]:
    """The signals of recall among them."""
    return {name: row.part for name, row in SIGNALS.items()}


def values_of(pool: Candidates, text: str, embedded: Column) -> Column:
    """The value of each signal for each candidate, (n, signals). `embedded`: (n, len(EMBEDDED)) cosines."""
    share = scaled_weights({})
    measured = CandidateColumns(pool, question_of(text))
    columns = []
    for name, part in signal_parts().items():
        mix = {**_NONE, name: 1.0}
        if part == "form":
            columns.append(np.where(pool.traits["told"], SIGNALS[name].value(measured), 0.0))
        else:
            told = fuse(pool, {}, None, mix)
            columns.append(np.nan_to_num({"dense": told.dense, "bm25": told.bm25}[part]) / share[part])
    meant = ~np.isnan(fuse(pool).dense)
    columns += [np.where(meant, np.maximum(0.0, column), 0.0) for column in embedded.T]
    return np.stack(columns, axis=1)


def proof_of(pool: Candidates, text: str, texts: Sequence[str]) -> Column:
    """The coverage of each candidate alone, (n,); 0 for one outside of all lists. `texts`: those of the candidates."""
    by_id = dict(zip(pool.ids, texts, strict=True))
    alone = {item.id: coverage(text, [(item, by_id[item.id])]) for item in fuse(pool)}
    return np.array([alone.get(id_, 0.0) for id_ in pool.ids], np.float64)


def stacked(rows: Sequence[tuple[Mask, Column, Column]]) -> Pools:
    """The pools of several questions from their `shown`, values (n, signals) and `proof`."""
    shown, values, proof = (padded([row[at] for row in rows]) for at in range(len(fields(Pools))))
    return Pools(shown, np.ascontiguousarray(np.moveaxis(values, -1, 0), np.float32), proof)


def padded(rows: Sequence[Any]) -> Any:
    """Arrays of different lengths as one, with zeros behind the shorter ones."""
    longest = max(map(len, rows))
    whole = np.zeros((len(rows), longest, *rows[0].shape[1:]), rows[0].dtype)
    for number, row in enumerate(rows):
        whole[number, : len(row)] = row
    return whole


def _cut(value: Any, rows: Mask) -> Any:
    if isinstance(value, Pools):
        return Pools(value.shown[rows], value.values[:, rows], value.proof[rows])
    return value[rows]


def _arrays(questions: Questions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(questions):
        value = getattr(questions, one.name)
        if isinstance(value, Pools):
            found |= {f"{one.name} {inner.name}": getattr(value, inner.name) for inner in fields(value)}
        else:
            found[one.name] = value
    return found


def mix_without(*names: str) -> dict[str, float]:
    """The default mix with these signals off; the rest of `dense` and of `bm25` share what is theirs."""
    mix = {**DEFAULT_MIX, **dict.fromkeys((SIGNALS[name].name for name in names), 0.0)}
    for part in DEFAULT_WEIGHTS:
        whole = [name for name, row in SIGNALS.items() if row.part == part]
        total, left = sum(DEFAULT_MIX[name] for name in whole), sum(mix[name] for name in whole)
        if left and left < total:
            mix |= {name: mix[name] * total / left for name in whole}
    return mix
