"""Explanations: every signal is named, and the shares add up to exactly the shown score."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from test_fusion import candidates, questions, weights

from mnemesh_memory.ranking.candidates import fuse
from mnemesh_memory.ranking.explanation import TABLE, Explainer
from mnemesh_memory.ranking.fusion import SCORE_DECIMALS, Candidate, Context, Mix, signals
from mnemesh_memory.ranking.usefulness import rated
from mnemesh_memory.text.traits import Question, Traits

mixes = st.lists(st.sampled_from(sorted(signals())), max_size=3).map(lambda names: Mix().without(*names))


@given(candidates, weights, questions, mixes)
@example([Candidate("a", 0.0625, 1.0, Context(1.0, 0.0, 0.0, 1.0))], {"bm25": 0.0}, None, Mix())
def test_the_shares_of_an_explanation_make_exactly_the_score(
    pool: list[Candidate], given_weights: dict[str, float], asked: Question | None, mix: Mix
) -> None:
    why = Explainer(pool, given_weights, asked, mix)
    for one in fuse(pool, given_weights, asked, mix):
        shares = why.shares(one)
        assert all(abs(share.share - share.weight * share.value) <= 2.5e-6 for share in shares)
        told = [part for share in shares for part in (share.value, share.weight, share.share)]
        assert all(part == round(part, SCORE_DECIMALS) for part in told)
        assert all(0 <= share.value <= 1 and share.weight >= 0 for share in shares)
        total = 0.0
        for share in shares:
            total += share.share
        assert round(min(1.0, total), SCORE_DECIMALS) == one.score


def test_an_explanation_names_every_signal_of_the_table_with_what_was_measured() -> None:
    assert list(TABLE) == list(signals())
    around = Context(window=5.0, near=0.2, best_dense=0.7, best_window=9.0)
    said = Traits(1_683_000_000_000, 12, 2, False, (7,))
    pool = [Candidate("a", 0.5, 8.0, around, said), Candidate("b", None, 4.0, None, said)]
    asked = Question(when=True, months=frozenset({5}), words=frozenset({7}))
    why = Explainer(pool, {}, asked)
    first, second = (why.shares(one) for one in fuse(pool, {}, asked))
    assert {share.name: share.raw for share in first} == {
        "meaning": 0.5, "near": 0.2, "episode": 0.7, "words": 8.0, "window": 8.0, "episode_words": 9.0,
        "substance": 12, "states": 1, "time": 2, "date": 1, "speaker": 1,
    }  # fmt: skip
    # A lone memory has nothing around it, and a cosine absent from the list was not measured.
    assert {share.name for share in first} - {share.name for share in second} == {
        "near", "episode", "window", "episode_words",
    }  # fmt: skip
    assert (second[0].raw, second[0].value) == (None, 0.5)


@given(candidates.filter(bool), questions, st.dictionaries(st.sampled_from(["phrases", "rules"]), st.floats(-0.5, 0.5)))
def test_what_changed_a_score_afterwards_is_named_with_what_it_changed(
    pool: list[Candidate], asked: Question | None, more: dict[str, float]
) -> None:
    why = Explainer(pool, {}, asked)
    for one in fuse(pool, {}, asked):
        changed = round(min(1.0, max(0.0, one.score + sum(more.values()))), SCORE_DECIMALS)
        looked = rated(one._replace(score=changed, more={name: part for name, part in more.items() if changed}), 3, 1)
        if not changed:
            continue
        total = 0.0
        for share in why.shares(looked):
            total += share.share
        assert round(min(1.0, total), SCORE_DECIMALS) == looked.score
        assert [share.name for share in why.shares(looked)][-len(more) - 1 :] == [*more, "useful"]


def as_the_index_gives(one: Candidate) -> Candidate:
    """Its scores have five decimals; less is shown as nothing."""
    around = one.context
    if around is not None:
        around = around._replace(window=round(around.window, 5), best_window=round(around.best_window, 5))
    return one._replace(bm25=None if one.bm25 is None else round(one.bm25, 5), context=around)


@given(candidates.map(lambda pool: list(map(as_the_index_gives, pool))), weights, questions)
def test_no_value_is_made_of_a_measurement_that_is_not_shown(
    pool: list[Candidate], given_weights: dict[str, float], asked: Question | None
) -> None:
    why = Explainer(pool, given_weights, asked)
    for one in fuse(pool, given_weights, asked):
        for share in why.shares(one):
            if share.name in ("words", "window", "episode_words"):
                assert share.raw or not share.value


def test_what_fits_alone_better_than_with_what_was_said_before_is_measured_alone() -> None:
    around = Context(window=9.0, near=0.2, best_dense=0.7, best_window=18.0)
    pool = [Candidate("a", 0.5, 8.0, around), Candidate("b", 0.4, 2.0, around)]
    why = Explainer(pool)
    raw = [{share.name: share.raw for share in why.shares(one)} for one in fuse(pool)]
    assert [(one["window"], one["episode_words"]) for one in raw] == [(8.0, 18.0), (9.0, 18.0)]


def test_where_no_windows_were_counted_words_stand_for_them() -> None:
    pool = [Candidate("a", 0.5, 8.0, Context(best_dense=0.5)), Candidate("b", 0.4, 4.0)]
    for one in fuse(pool, {"dense": 0.0}):
        assert [(share.name, share.weight) for share in Explainer(pool, {"dense": 0.0}).shares(one)] == [("words", 1.0)]


def test_a_signal_without_weight_is_not_named() -> None:
    pool = [Candidate("a", 0.5, 8.0), Candidate("b", 0.4, None)]
    for off, left in (("dense", "words"), ("bm25", "meaning")):
        for one in fuse(pool, {off: 0.0}):
            assert [share.name for share in Explainer(pool, {off: 0.0}).shares(one)] == [left]
