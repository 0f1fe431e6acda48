"""Fusion: what holds for any candidates, any weights, any order."""

from __future__ import annotations

import math
import random

import pytest
from bench.recall.columns import mix_without
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.ranking import fusion as ranking
from mnemesh_memory.ranking.candidates import NOT_ASKED, Candidate, CandidateColumns, Candidates, Context
from mnemesh_memory.ranking.coverage import coverage, terms
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import scaled_weights
from mnemesh_memory.ranking.scores import SCORE_DECIMALS
from mnemesh_memory.ranking.signals import DEFAULT_MIX, DEFAULT_WEIGHTS, SIGNALS, Mix
from mnemesh_memory.text.counted_words import may_spell, spellings
from mnemesh_memory.text.traits import PERSONS, SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, Traits
from mnemesh_memory.times.window import BY_EVENT, Window
from mnemesh_memory.values.errors import InvalidArgument

cosines = st.floats(-1, 1)
sums = st.floats(0, 1e6)
ids = st.text("abcdef0123456789-", min_size=1, max_size=4)
alone = st.builds(Candidate, ids, st.none() | cosines, st.none() | sums, st.none(), st.none())
contexts = st.none() | st.builds(
    Context, sums, cosines, cosines, sums, st.sampled_from([0.0, 1.0]), st.just(NOT_ASKED) | cosines
)
traits = st.none() | st.builds(
    Traits, st.integers(12, 9999 * 12), st.integers(0, SUBSTANCE_WORDS), st.integers(0, TIME_WORDS_MAX),
    st.tuples(st.integers(0, 3)), st.booleans(),
)  # fmt: skip
few = st.frozensets(st.integers(1, 12), max_size=2)
edges = st.none() | st.integers(0, 2**41)
stretches = st.none() | st.builds(Window, edges, edges, surety=st.sampled_from([1.0, BY_EVENT]))
questions = st.none() | st.builds(
    Question,
    st.booleans(),
    few,
    st.frozensets(st.just(1970), max_size=1),
    few,
    window=stretches,
    message=st.floats(0, 1),
)
candidates = st.lists(
    st.builds(Candidate, ids, st.none() | cosines, st.none() | sums, contexts, traits),
    max_size=12, unique_by=lambda one: one.id,
)  # fmt: skip
lone_candidates = st.lists(alone, max_size=12, unique_by=lambda one: one.id)
weights = st.fixed_dictionaries({}, optional={"dense": st.floats(0, 1e9), "bm25": st.floats(0, 1e9)}).filter(
    lambda given: max({**DEFAULT_WEIGHTS, **given}.values()) > 0
)


def fuse(
    pool: list[Candidate],
    given_weights: dict[str, float] | None = None,
    asked: Question | None = None,
    mix: Mix = DEFAULT_MIX,
) -> list[Fused]:
    """All that fusion gives, as objects."""
    return list(ranking.fuse(pool, given_weights, asked, mix))


def parts(one: Fused) -> dict[str, float]:
    """The parts of its score."""
    named = {"dense": one.dense, "bm25": one.bm25, "form": one.form}
    return {name: part for name, part in named.items() if part is not None}


@given(candidates)
def test_columns_give_back_the_candidates_that_they_were_made_of(pool: list[Candidate]) -> None:
    columns = Candidates.of(pool)
    ordered = sorted(pool, key=lambda one: one.id)
    assert list(columns) == ordered
    assert columns[:2] == ordered[:2]
    assert [columns[at - len(pool)] for at in range(len(pool))] == ordered
    assert Candidates.of(columns) is columns


@given(candidates, questions)
def test_a_part_of_an_answer_is_what_stands_there_in_the_whole(pool: list[Candidate], asked: Question | None) -> None:
    answer = ranking.fuse(pool, {}, asked)
    assert len(answer) == len(list(answer))
    assert answer[1:3] == list(answer)[1:3]
    assert [answer[at] for at in range(len(answer))] == list(answer)
    with pytest.raises(IndexError):
        answer[len(answer)]


@given(candidates, weights, questions, st.randoms())
def test_the_answer_does_not_depend_on_the_order_of_the_candidates(
    pool: list[Candidate], given_weights: dict[str, float], asked: Question | None, chance: random.Random
) -> None:
    shuffled = list(pool)
    chance.shuffle(shuffled)
    assert fuse(pool, given_weights, asked) == fuse(shuffled, given_weights, asked)


@given(candidates, weights, questions)
def test_scores_are_relevances_in_the_unit_interval_and_fall_along_the_list(
    pool: list[Candidate], given_weights: dict[str, float], asked: Question | None
) -> None:
    fused = fuse(pool, given_weights, asked)
    assert all(0 <= one.score <= 1 for one in fused)
    assert [(-one.score, one.id) for one in fused] == sorted((-one.score, one.id) for one in fused)
    assert len({one.id for one in fused}) == len(fused)


@given(candidates, weights, questions)
def test_the_parts_sum_to_the_score(
    pool: list[Candidate], given_weights: dict[str, float], asked: Question | None
) -> None:
    for one in fuse(pool, given_weights, asked):
        assert parts(one)
        assert all(part >= 0 for part in parts(one).values())
        assert sum(parts(one).values()) == pytest.approx(one.score, abs=2 * 10**-SCORE_DECIMALS)


@given(lone_candidates.filter(bool), weights, cosines, sums)
def test_who_is_at_least_as_good_in_both_lists_is_at_least_as_relevant(
    pool: list[Candidate], given_weights: dict[str, float], more_dense: float, more_bm25: float
) -> None:
    first = pool[0]
    better = Candidate("better", max(first.dense or -1, more_dense), max(first.bm25 or 0, more_bm25))
    scores = {one.id: one.score for one in fuse([*pool, better], given_weights)}
    assert scores["better"] >= scores.get(first.id, 0)


@given(lone_candidates)
def test_a_weight_of_zero_removes_a_signal(pool: list[Candidate]) -> None:
    by_words = fuse(pool, {"dense": 0})
    assert {one.id for one in by_words} == {one.id for one in pool if one.bm25 is not None}
    assert all(parts(one).keys() == {"bm25"} for one in by_words)
    without = fuse([Candidate(one.id, None, one.bm25) for one in pool], {"dense": 0})
    assert [(one.id, one.score) for one in by_words] == [(one.id, one.score) for one in without]
    by_meaning = fuse(pool, {"bm25": 0})
    assert {one.id for one in by_meaning} == {one.id for one in pool if one.dense is not None}
    assert all(parts(one).keys() == {"dense"} for one in by_meaning)


@given(candidates, st.floats(1e-6, 1e6))
def test_only_the_ratio_of_weights_counts(pool: list[Candidate], factor: float) -> None:
    plain, scaled = fuse(pool, {"dense": 2, "bm25": 3}), fuse(pool, {"dense": 2 * factor, "bm25": 3 * factor})
    assert {one.id: one.score for one in plain} == pytest.approx({one.id: one.score for one in scaled}, abs=1e-5)


@given(candidates)
def test_no_weights_are_the_default_ones(pool: list[Candidate]) -> None:
    assert fuse(pool) == fuse(pool, {}) == fuse(pool, dict(DEFAULT_WEIGHTS))
    assert fuse(pool, {"dense": DEFAULT_WEIGHTS["dense"]}) == fuse(pool)


def test_a_score_is_the_weighted_sum_of_cosine_and_share_of_the_best_words() -> None:
    pool = [Candidate("a", 0.5, 8.0), Candidate("b", 0.9, None), Candidate("c", None, 4.0), Candidate("d", -0.5, 0.0)]
    fused = {one.id: one for one in fuse(pool, {"dense": 1, "bm25": 1})}
    assert fused["a"] == Fused("a", 0.75, 0.25, 0.5, 0.5)
    assert fused["b"] == Fused("b", 0.45, 0.45, None, 0.9)
    # c is not among the best by meaning. At best c is as near as d, the last of the best, which counts as 0.
    assert fused["c"] == Fused("c", 0.25, 0.0, 0.25, -0.5)
    assert fused["d"].score == 0


@given(candidates, questions)
def test_form_and_date_add_nothing_to_who_has_no_evidence(pool: list[Candidate], asked: Question | None) -> None:
    for one in fuse(pool, {}, asked):
        if not one.dense and not one.bm25:
            assert not one.form
            assert one.score == 0


MAY_2023 = 1_683_000_000_000
(PERSON, *_) = PERSONS
SESSION = Context(window=5.0, near=0.2, best_dense=0.7, best_window=9.0)


def like(cosine: float, bm25: float, context: Context | None = None, **form: object) -> Candidate:
    traits = Traits(**{"at": 0, "words": 10, "times": 0, "speakers": (), **form})  # type: ignore[arg-type]
    return Candidate("", cosine, bm25, context, traits)


@pytest.mark.parametrize(
    ("signal", "better", "worse", "asked"),
    [
        (
            "meaning", like(0.6, 2.0, SESSION._replace(asked=0.4)), like(0.5, 2.0, SESSION._replace(asked=0.6)),
            Question(),
        ),
        ("answer", like(0.5, 2.0, SESSION._replace(asked=0.6)), like(0.5, 2.0, SESSION), Question()),
        ("near", like(0.5, 2.0, SESSION._replace(near=0.6)), like(0.5, 2.0, SESSION), Question()),
        ("episode", like(0.5, 2.0, SESSION._replace(best_dense=1.0)), like(0.5, 2.0, SESSION), Question()),
        ("words", like(0.5, 3.0, SESSION), like(0.5, 2.0, SESSION), Question()),
        ("window", like(0.5, 2.0, SESSION._replace(window=8.0)), like(0.5, 2.0, SESSION), Question()),
        ("episode_words", like(0.5, 2.0, SESSION._replace(best_window=12.0)), like(0.5, 2.0, SESSION), Question()),
        ("substance", like(0.5, 2.0, words=12), like(0.5, 2.0, words=2), Question()),
        ("person", like(0.5, 2.0, speakers=PERSON), like(0.5, 2.0, speakers=(8,)), Question()),
        ("opening", like(0.5, 2.0, SESSION._replace(opens=1.0)), like(0.5, 2.0, SESSION), Question()),
        ("time", like(0.5, 2.0, times=2), like(0.5, 2.0), Question(when=True)),
        ("date", like(0.5, 2.0, at=MAY_2023), like(0.5, 2.0), Question(months=frozenset({5}))),
        ("date", like(0.5, 2.0, at=MAY_2023), like(0.5, 2.0), Question(window=Window(MAY_2023, None))),
        ("speaker", like(0.5, 2.0, speakers=(7,)), like(0.5, 2.0, speakers=(8,)), Question(words=frozenset({7}))),
    ],
)  # fmt: skip
def test_of_two_that_match_alike_each_signal_decides_and_none_that_is_off(
    signal: str, better: Candidate, worse: Candidate, asked: Question
) -> None:
    pool = [worse._replace(id="a"), better._replace(id="b"), Candidate("the best by words", None, 8.0)]
    assert [one.id for one in fuse(pool, {}, asked) if len(one.id) == 1] == ["b", "a"]
    without = fuse(pool, {}, asked, mix_without(signal))
    assert [one.id for one in without if len(one.id) == 1] == ["a", "b"]


@given(st.sets(st.sampled_from(sorted(SIGNALS))))
def test_what_is_off_leaves_its_share_to_the_rest_of_its_part(off: set[str]) -> None:
    mix = mix_without(*off)
    assert all(mix[name] == 0 for name in off)
    for part in DEFAULT_WEIGHTS:
        left = [mix[name] for name, row in SIGNALS.items() if row.part == part and name not in off]
        assert not left or sum(left) == pytest.approx(1)


def test_a_signal_that_nobody_knows_can_not_be_switched_off() -> None:
    with pytest.raises(KeyError, match="heat"):
        mix_without("heat")


@given(cosines, cosines)
def test_a_question_before_a_memory_counts_the_more_the_nearer_it_is(own: float, asked: float) -> None:
    values = [
        CandidateColumns(Candidates.of([Candidate("a", own, None, SESSION._replace(asked=one))]), None).answer().item()
        for one in (NOT_ASKED, min(asked, 0.9), min(asked, 0.9) + 0.1)
    ]
    assert values[0] == max(0.0, own)
    assert 0.0 <= values[1] <= values[2] <= 1.0


def test_words_of_its_session_count_for_a_memory_that_shares_none_with_the_question() -> None:
    deaf = Context(window=0.0, near=0.0, best_dense=0.6, best_window=9.0)
    mute = deaf._replace(best_window=0.0)
    first, second = fuse([Candidate("a", 0.6, None, mute), Candidate("b", 0.6, None, deaf)])
    assert (first.id, second.id, second.bm25) == ("b", "a", None)
    assert fuse([Candidate("b", 0.6, None, deaf)], {"dense": 0.0, "bm25": 1.0}) == []


def test_what_was_not_asked_for_does_not_count() -> None:
    pool = [like(0.5, 2.0)._replace(id="a"), like(0.5, 2.0, times=3, speakers=(7,))._replace(id="b")]
    assert [one.id for one in fuse(pool, {}, Question())] == ["a", "b"]
    assert [one.id for one in fuse(pool)] == ["a", "b"]


def test_equal_scores_stand_in_the_order_of_ids() -> None:
    pool = [Candidate(id_, 0.5, 1.0) for id_ in ("b", "c", "a")] + [Candidate("0", 0.5 - 1e-9, 1.0)]
    assert [one.id for one in fuse(pool)] == ["0", "a", "b", "c"]


def test_without_candidates_there_is_no_result() -> None:
    assert fuse([]) == []
    assert fuse([Candidate("a")]) == []
    assert coverage("anything", []) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"dense": -0.1}, {"bm25": math.nan}, {"dense": math.inf}, {"dense": 0, "bm25": 0}, {"heat": 1.0},
        {"dense": 0.0, "bm25": -1e-9},
    ],
)  # fmt: skip
def test_weights_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument, match="weights"):
        fuse([Candidate("a", 0.5, 1.0)], bad)


def test_huge_and_tiny_weights_do_not_overflow() -> None:
    assert scaled_weights({"dense": 1e308, "bm25": 1e308}) == {"dense": 0.5, "bm25": 0.5}
    assert scaled_weights({"dense": 5e-324, "bm25": 0}) == {"dense": 1.0, "bm25": 0.0}
    assert fuse([Candidate("a", None, 5e-324), Candidate("b", None, 1e308)], {"dense": 0})[0].id == "b"


results = st.lists(
    st.tuples(st.builds(Fused, ids, st.floats(0, 1), st.none(), st.none(), st.none() | cosines), st.text(max_size=30)),
    max_size=4,
)


@given(st.text(max_size=40), results)
def test_coverage_is_in_the_unit_interval_whatever_the_texts(query: str, best: list[tuple[Fused, str]]) -> None:
    assert 0 <= coverage(query, best) <= 1
    assert coverage(query, best) == coverage(query, list(reversed(best)))
    assert coverage(query, best) >= coverage(query, best[:1])


def result(cosine: float | None) -> Fused:
    return Fused("a", 0.5, cosine=cosine)


def test_coverage_is_the_mean_of_cosine_and_share_of_terms() -> None:
    question = "Which port does the database use?"
    assert coverage(question, [(result(0.6), "The database has port 5433.")]) == pytest.approx(0.6 / 2 + 1 / 3)
    assert coverage(question, [(result(0.6), "Green apples.")]) == pytest.approx(0.3)
    assert coverage(question, [(result(-0.2), "Databases with ports")]) == pytest.approx(1 / 3)
    assert coverage(question, [(result(None), "port, database, use")]) == 1
    assert coverage("what is it?", [(result(0.7), "anything")]) == pytest.approx(0.7)


SPELLED = [
    ("parse_config reads it first", "parseConfig"), ("the parseConfig helper", "parse_config"),
    ("the parseConfig helper", "parse config"), ("a NoSuchMethodError of the worker", "no such method error"),
    ("the event id", "eventId"), ("httpserver", "HTTPServer"), ("get_user_by_email", "getUserByEmail"),
    ("order.legacyId", "legacy_id"), ("the s3_client", "s3Client"), ("the s3Client", "s3_client"),
    ("user_ids", "userIDs"), ("userIDs", "user_ids"), ("i18nKeys", "i18n keys"), ("caf\u00e9_men\u00fc", "cafemenu"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "question"), SPELLED)
def test_an_identifier_is_covered_however_it_is_spelled(text: str, question: str) -> None:
    assert coverage(question, [(result(None), text)]) == 1
    assert coverage(question, [(result(None), "Green apples")]) == 0


@given(st.text(st.sampled_from("abC_./- 1"), max_size=30), st.text(st.sampled_from("abC_./- 1"), max_size=12))
def test_the_quick_look_at_a_text_misses_no_spelling_that_is_asked_for(text: str, question: str) -> None:
    spelled = terms(" ".join(spellings(text)))
    assert may_spell(text, terms(question)) or not spelled & terms(question)


@pytest.mark.parametrize("signs", ["?!", "\u2192 __"])
def test_signs_without_a_word_are_answered_by_nothing(signs: str) -> None:
    assert coverage(signs, [(result(0.7), "anything"), (result(None), signs)]) == 0


def test_terms_are_words_that_carry_meaning_in_any_script() -> None:
    assert terms("What are the DATABASES of it?") == {"databa"}
    assert terms("a port, two ports; his class, a bus, gas") == {"port", "two", "class", "bus", "gas"}
    assert terms("snake_case foo.bar") == {"snake", "case", "foo", "bar"}
    assert terms("日本語 語") == {"日本", "本語", "語"}
    assert terms("Straße STRASSE") == {"strass"}
    assert terms("Qdrantの設定") == {"qdrant", "の設", "設定"}
    assert terms("Café CAFE") == {"cafe"}
    assert len(terms("🎉 🚀 ?!")) == 2
    assert terms("?! →") == frozenset()
