"""Traits of memories and questions, and the explanation of scores."""

from __future__ import annotations

from datetime import UTC, datetime
from zlib import crc32

import pytest
from bench.recall.columns import mix_without
from hypothesis import example, given
from hypothesis import strategies as st
from plain_memories import plain_memory
from test_fusion import candidates, questions, weights

from mnemesh_memory.ranking.candidates import Candidate, Context
from mnemesh_memory.ranking.explanation import Explainer
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.scores import SCORE_DECIMALS, rated
from mnemesh_memory.ranking.signals import DEFAULT_MIX, SIGNALS, Mix
from mnemesh_memory.text.traits import SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, Traits, question_of, traits_of
from mnemesh_memory.times.window import BY_EVENT, Window
from mnemesh_memory.values.model import Memory


def memory(content: str, **fields: int) -> Memory:
    return plain_memory("x", content, **fields)


def ms(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)


def test_substance_counts_the_words_that_carry_meaning_up_to_a_whole_statement() -> None:
    assert traits_of(memory("Thanks, that is what I have!")).words < traits_of(memory("Backups run at four")).words
    assert traits_of(memory("word " * 500)).words == SUBSTANCE_WORDS
    assert traits_of(memory("?!")).words == 0


@pytest.mark.parametrize(
    ("content", "times"),
    [
        ("We met yesterday", 1), ("In May 2023, on a Monday, last year", TIME_WORDS_MAX), ("The 3rd of June", 2),
        ("Nothing of the kind", 0), ("mayor", 0), ("\n" * 4000, 0),
    ],
)  # fmt: skip
def test_words_of_time_are_counted(content: str, times: int) -> None:
    assert traits_of(memory(content)).times == times


def test_scripts_without_spaces_have_substance_too() -> None:
    assert traits_of(memory("来週の月曜日に本番環境を再起動します。")).words >= 6


def test_words_of_questions_and_labels_are_no_substance() -> None:
    assert traits_of(memory("Where is the key?")).words == 0
    assert traits_of(memory("[Ana] Where is the key?\n[Ben] Does anybody know it?\n")).words == 0
    told = traits_of(memory("[Ana] Where is the key? [Ben] Drawer downstairs.")).words
    assert told == traits_of(memory("Drawer downstairs.")).words + 1
    assert traits_of(memory("\u9375\u306f\u3069\u3053\uff1f")).words == 0


def test_a_question_of_several_sentences_is_a_message() -> None:
    assert question_of("when does staging get new data?").message == 0
    assert 0 < question_of("word " * 20).message < question_of("word " * 29).message
    assert question_of("word " * 2_000).message == 1


def test_speakers_are_the_labels_of_lines() -> None:
    assert traits_of(memory("[Ana] Hello\n[Ben Miller] Hi")).speakers == (crc32(b"ana"), crc32(b"ben"))
    assert traits_of(memory("Ana: hello")).speakers == (crc32(b"ana"),)
    assert traits_of(memory("see [Ana] and http://x")).speakers == ()
    assert traits_of(memory("12: a number")).speakers == ()


def test_it_happened_when_it_is_valid_from_else_when_it_was_written() -> None:
    assert traits_of(memory("x", created_at=ms(2023, 5, 1))).at == ms(2023, 5, 1)
    assert traits_of(memory("x", created_at=ms(2023, 5, 1), valid_from=ms(1969, 12, 31))).at == ms(1969, 12, 31)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("When did Ana move?", True), ("Do you know when she moved?", True), ("And when was it?", True),
        ("What day is the release?", True), ("In which year did it start?", True), ("tell me when", True),
        ("What did she do when it rained?", False), ("Whenever it rains", False),
        ("What happens when the disk is full?", False), ("Does it retry when offline?", False),
    ],
)  # fmt: skip
def test_a_question_asks_for_a_time(text: str, when: bool) -> None:
    assert question_of(text).when is when


@pytest.mark.parametrize(
    ("text", "months", "years"),
    [
        ("What happened in May 2023?", {5}, {2023}), ("what may happen", set(), set()), ("in march", {3}, set()),
        ("They march on", set(), set()), ("since sept", {9}, set()), ("since 1999 or until 2005", set(), {1999, 2005}),
        ("room 20231", set(), set()), ("May I restart it?", set(), set()), ("Jan broke the build", set(), set()),
        ("on May 7, 2023 we", {5}, {2023}), ("the 3rd of June", {6}, set()), ("port 2019 is open", set(), set()),
    ],
)  # fmt: skip
def test_a_question_names_months_and_years(text: str, months: set[int], years: set[int]) -> None:
    assert (set(question_of(text).months), set(question_of(text).years)) == (months, years)


def test_a_month_lies_in_the_months_and_years_that_are_named() -> None:
    asked = Question(months=frozenset({5}), years=frozenset({2023}))
    assert asked.means(ms(2023, 5, 31), "a")
    assert not asked.means(ms(2023, 4, 30), "a")
    assert not asked.means(ms(2022, 5, 1), "a")
    assert Question(months=frozenset({12})).means(ms(1969, 12, 31), "a")
    assert not Question().dated


def test_a_moment_in_a_stretch_is_meant_as_surely_as_the_stretch_and_one_in_a_named_month_surely() -> None:
    by_event = Window(ms(2023, 5, 1), ms(2023, 6, 2), surety=BY_EVENT)
    asked = Question(months=frozenset({5}), window=by_event)
    assert [asked.means(ms(2023, month, 1), "a") for month in (4, 5, 6, 7)] == [0.0, 1.0, BY_EVENT, 0.0]


@given(st.text(max_size=300))
def test_any_text_has_traits_within_their_bounds_and_any_can_be_asked(text: str) -> None:
    traits = traits_of(memory(text))
    assert 0 <= traits.words <= SUBSTANCE_WORDS
    assert 0 <= traits.times <= TIME_WORDS_MAX
    assert all(1 <= month <= 12 for month in question_of(text).months)


# ---- explaining ------------------------------------------------------------------------------------------------------
# Explanations: every signal is named, and the shares add up to exactly the shown score.


mixes = st.lists(st.sampled_from(sorted(SIGNALS)), max_size=3).map(lambda names: mix_without(*names))


@given(candidates, weights, questions, mixes)
@example([Candidate("a", 0.0625, 1.0, Context(1.0, 0.0, 0.0, 1.0))], {"bm25": 0.0}, None, DEFAULT_MIX)
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
    around = Context(window=5.0, near=0.2, best_dense=0.7, best_window=9.0, asked=0.3)
    said = Traits(1_683_000_000_000, 12, 2, (7,))
    pool = [Candidate("a", 0.5, 8.0, around, said), Candidate("b", None, 4.0, None, said)]
    asked = Question(when=True, months=frozenset({5}), words=frozenset({7}))
    why = Explainer(pool, {}, asked)
    first, second = (why.shares(one) for one in fuse(pool, {}, asked))
    assert {share.name: share.raw for share in first} == {
        "meaning": 0.5, "answer": 0.3, "near": 0.2, "episode": 0.7, "words": 8.0, "window": 8.0, "episode_words": 9.0,
        "substance": 12, "time": 2, "date": 1, "speaker": 1, "person": 0, "opening": 0,
    }  # fmt: skip
    # A lone memory has nothing around it, and a cosine absent from the list was not measured.
    assert {share.name for share in first} - {share.name for share in second} == {
        "answer", "near", "episode", "window", "episode_words",
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
