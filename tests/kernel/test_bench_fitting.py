"""Learned weights: the conversations they come from, the search for them, and scores from columns of numbers as in
recall."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench import columns, fitting
from bench.columns import EMBEDDED, Pools, Questions, Weights, padded, stacked, values_of

from mnemesh_memory.ranking.candidates import Candidates, fuse
from mnemesh_memory.ranking.fusion import DEFAULT_MIX, Candidate, Context, Mix, signals
from mnemesh_memory.text.traits import Traits, question_of

SEED = 20
NAMES = ["one", "two", "three", "four", "five"]
QUESTION = "When did Ana buy the boat in March?"


def test_what_is_learned_for_a_conversation_was_learned_from_every_other_one_and_never_from_it() -> None:
    seen = dict(fitting.left_out(NAMES, frozenset))
    assert seen == {name: frozenset(NAMES) - {name} for name in NAMES}


def test_questions_of_some_conversations_are_theirs_alone() -> None:
    asked = questions(np.random.default_rng(SEED), talks=5)
    cut = asked.of(["0", "3"])
    assert set(cut.talk.tolist()) == {"0", "3"}
    rows = np.isin(asked.talk, ["0", "3"])
    assert np.array_equal(cut.here.values, asked.here.values[:, rows])
    assert np.array_equal(cut.elsewhere.proof, asked.elsewhere.proof[rows])


def test_a_fold_never_looks_at_its_own_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    learned_from = []

    def learned(asked: list[Questions], names: list[str]) -> fitting.Fit:
        learned_from.append((len(asked), sorted({talk for one in asked for talk in one.talk.tolist()})))
        return fitting.Fit(columns.default_weights(), 0.3)

    monkeypatch.setattr(fitting, "learned", learned)
    asked = questions(np.random.default_rng(SEED), talks=3)
    _, folds = fitting.measured({"turn": asked, "pair": asked})
    assert learned_from[0] == (2, ["0", "1", "2"])  # a variant with a view of them all says so in its name
    others = [["0", "1"], ["0", "2"], ["1", "2"]]
    assert sorted(names for _, names in learned_from[1:]) == [names for names in others for _ in range(2)]
    assert [name for name in folds if not name.startswith("held out")] == ["learned on all"]


def test_the_search_finds_a_planted_optimum_from_every_start() -> None:
    names = list(signals())
    planted = fitting.legal(
        {fitting.SHARE: 0.7, **dict.fromkeys(names, 0.1), "near": 0.6, "window": 0.9, "substance": 0.4}
    )

    def objective(point: fitting.Point) -> float:
        return -sum((point[name] - wanted) ** 2 for name, wanted in planted.items())

    found = [fitting.searched(objective, one) for one in fitting.starts(names, np.random.default_rng(SEED))]
    assert len(found) == fitting.STARTS
    for point in found:
        assert {name: pytest.approx(value, abs=0.03) for name, value in planted.items()} == point


def test_the_signal_that_alone_tells_the_evidence_is_given_the_weight() -> None:
    chance = np.random.default_rng(SEED)
    asked = questions(chance, talks=2)
    told = list(columns.parts()).index("near")
    values = asked.here.values.copy()
    values[told] = asked.right
    asked = replace(asked, here=replace(asked.here, values=values))
    fit = fitting.learned([asked], list(signals()))
    assert fitting.objective_of(asked.figures(fit.weights)) == len(fitting.OBJECTIVE)
    assert fit.weights.of["near"] == max(fit.weights.of[name] for name in ("meaning", "near", "episode"))


def test_every_point_of_the_search_is_a_mix() -> None:
    names = list(signals())
    point = fitting.legal({fitting.SHARE: 3.0, **dict.fromkeys(names, 0.5), "meaning": -1.0})
    assert (point["meaning"], point[fitting.SHARE]) == (0.0, 1 - fitting.SHARE_MARGIN)
    assert point["near"] + point["episode"] == pytest.approx(1)
    assert sum(point[name] for name, part in signals().items() if part == "form") == pytest.approx(fitting.FORM_MAX)
    none = fitting.legal(dict.fromkeys(point, 0.0))
    assert none["words"] == none["window"] == pytest.approx(1 / 3)
    assert none["substance"] == 0


def test_the_threshold_flags_no_more_than_its_share_of_what_it_is_learned_from() -> None:
    coverages = np.linspace(0.005, 0.995, 100)
    assert fitting.threshold(coverages) == 0.05
    assert fitting.threshold(np.ones(7)) == 0.99


def test_columns_are_ranked_as_fuse_ranks_the_candidates() -> None:
    chance = np.random.default_rng(SEED)
    for _ in range(20):
        pool = candidates(chance)
        part_of = signals()
        drawn = fitting.legal({fitting.SHARE: 0.66, **{name: chance.random() for name in part_of}})
        mix = Mix(**{name: drawn[name] for name in part_of})
        row = shown(pool), values_of(pool, QUESTION, np.zeros((len(pool), len(EMBEDDED)))), np.zeros(len(pool))
        scores = stacked([row]).scores(fitting.weights_of(drawn))[0]
        wanted = fuse(pool, {"dense": 0.66, "bm25": 0.34}, question_of(QUESTION), mix)
        found = {id_: score for id_, score in zip(pool.ids, scores, strict=True) if score >= 0}
        assert found == pytest.approx({item.id: item.score for item in wanted}, abs=2e-6)
    assert columns.default_weights() != Weights(0.5, {})
    assert Mix(**columns.default_weights().of) == DEFAULT_MIX


def test_figures_count_evidence_among_the_first_ten_and_equal_scores_by_id() -> None:
    scores = np.zeros((2, 30))
    scores[0, 12] = 0.5  # the first question's evidence leads; the second's stands among equals
    right = np.zeros((2, 30), np.bool_)
    right[0, [12, 29]] = True
    right[1, 3] = True
    values = np.zeros((len(columns.parts()), 2, 30), np.float32)
    values[0] = scores
    pools = Pools(np.ones((2, 30), np.bool_), values, scores)
    asked = Questions(
        talk=np.array(["a", "b"]), multi_hop=np.array([True, False]), pieces=np.array([4.0, 1.0]), right=right,
        session=right, here=pools, elsewhere=pools,
    )  # fmt: skip
    found = asked.figures(Weights(1.0, {"meaning": 1.0}))
    assert found["hit@10"].tolist() == [1, 1]
    assert found["coverage@10"].tolist() == [0.25, 1]
    assert found["MRR"].tolist() == [1, 0.25]
    assert found["multi-hop coverage@10"].tolist() == pytest.approx([0.25, np.nan], nan_ok=True)
    assert found["session hit@1"].tolist() == [1, 0]
    assert pools.coverage(Weights(1.0, {"meaning": 1.0})).tolist() == [0.5, 0]


def test_questions_are_kept_in_a_file(tmp_path: Path) -> None:
    asked = questions(np.random.default_rng(SEED), talks=2)
    asked.save(tmp_path / "turn.npz")
    again = Questions.load(tmp_path / "turn.npz")
    weights = columns.default_weights()
    assert {name: row.tolist() for name, row in again.figures(weights).items() if name != "multi-hop coverage@10"} == {
        name: row.tolist() for name, row in asked.figures(weights).items() if name != "multi-hop coverage@10"
    }
    assert again.elsewhere.coverage(weights).tolist() == asked.elsewhere.coverage(weights).tolist()


def questions(chance: np.random.Generator, talks: int, of_each: int = 6, places: int = 25) -> Questions:
    """Questions with one piece of evidence among candidates of chance values."""
    number = talks * of_each
    right = np.zeros((number, places), np.bool_)
    right[np.arange(number), chance.integers(0, places, number)] = True
    pools = [
        Pools(
            np.ones((number, places), np.bool_),
            chance.random((len(columns.parts()), number, places), np.float32),
            chance.random((number, places)),
        )
        for _ in range(2)
    ]
    return Questions(
        talk=np.repeat([str(one) for one in range(talks)], of_each),
        multi_hop=np.arange(number) % 2 == 0,
        pieces=np.ones(number),
        right=right,
        session=right,
        here=pools[0],
        elsewhere=pools[1],
    )


def candidates(chance: np.random.Generator, number: int = 30) -> Candidates:
    """Candidates of both lists, of one and of none but a window, some in sessions, some with traits."""
    rows = []
    for at in range(number):
        in_session, listed = chance.random() < 0.7, chance.random()
        context = Context(*(chance.random(4) * (9, 1, 1, 9)).tolist()) if in_session else None
        rows.append(
            Candidate(
                f"{at:03}",
                dense=float(chance.uniform(-0.2, 1)) if listed < 0.8 else None,
                bm25=float(chance.uniform(0, 9)) if listed > 0.3 else None,
                context=context,
                traits=Traits(0, int(chance.integers(0, 25)), int(chance.integers(0, 3)), chance.random() < 0.3, ())
                if chance.random() < 0.9
                else None,
            )
        )
    return Candidates.of(rows)


def shown(pool: Candidates) -> columns.Mask:
    found = np.zeros(len(pool), np.bool_)
    found[fuse(pool).places] = True
    return found


def test_shorter_rows_are_filled_up() -> None:
    assert padded([np.ones(1), np.ones(3)]).tolist() == [[1, 0, 0], [1, 1, 1]]
