"""The second look: what holds whatever its signals say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_actors.recall.results import Found, heat_of, ordered, redirected
from mnemesh_memory.ranking.fusion import OPTIONAL, SCORE_DECIMALS, Fused
from mnemesh_memory.ranking.hyperdimensional import bundled, likeness
from mnemesh_memory.ranking.second_look import (
    PHRASES_MAX,
    Look,
    diverse,
    held,
    in_order,
    lifted,
    lowered,
    mixed,
    pairs_asked,
    pairs_of,
    phrases_of,
)
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Memory, Query

units = st.floats(0, 1)
scores = units.map(lambda score: round(score, SCORE_DECIMALS))
looks = st.builds(Look, st.text("abcdef", min_size=1, max_size=4), scores, st.just({}))
pools = st.lists(looks, max_size=12, unique_by=lambda look: look.id)
NOW = 1_700_000_000_000
CLOSE = 2 * 10**-SCORE_DECIMALS
words = st.lists(st.sampled_from(["harbour", "closes", "nine", "ferry", "leaves", "lamp"]), max_size=6).map(" ".join)


def memory(id_: str = "m", content: str = "x", **fields: object) -> Memory:
    known = Memory(
        id=id_, space="s", kind="fact", title="", content=content, state="active", by="ana", created_at=0, updated_at=0,
        heads=("h",),
    )  # fmt: skip
    return replace(known, **fields)  # type: ignore[arg-type]


# ---- any signal -----------------------------------------------------------------------------------------------------


@given(pools, st.data(), units, units)
def test_a_signal_lifts_never_lowers_and_leaves_what_matches_nothing(
    pool: list[Look], data: st.DataObject, one: float, other: float
) -> None:
    values = {name: {look.id: data.draw(units) for look in pool} for name in ("phrases", "structure")}
    found = lifted(pool, values, {"phrases": one, "structure": other})
    before = {look.id: look.score for look in pool}
    assert found == in_order(found)
    for look in found:
        assert before[look.id] - CLOSE <= look.score <= 1
        assert before[look.id] > 0 or look.score == 0
        assert look.score == pytest.approx(before[look.id] + sum(look.parts.values()), abs=CLOSE)


@given(pools, st.data())
def test_a_signal_without_weight_changes_nothing(pool: list[Look], data: st.DataObject) -> None:
    values = {"structure": {look.id: data.draw(units) for look in pool}}
    assert lifted(pool, values, {"structure": 0.0}) == in_order(pool)


@given(pools, st.data())
def test_a_rule_takes_off_its_share_of_a_score(pool: list[Look], data: st.DataObject) -> None:
    shares = {look.id: data.draw(units) for look in pool[::2]}
    before = {look.id: look.score for look in pool}
    for look in lowered(pool, shares, "rules"):
        assert look.score == pytest.approx(before[look.id] * (1 - shares.get(look.id, 0.0)), abs=CLOSE)
        assert look.score == pytest.approx(before[look.id] + sum(look.parts.values()), abs=CLOSE)


@given(pools, st.data(), units)
def test_a_model_that_reads_both_moves_scores_towards_what_it_says(
    pool: list[Look], data: st.DataObject, weight: float
) -> None:
    relevance = {look.id: data.draw(units) for look in pool[: len(pool) // 2]}
    before = {look.id: look.score for look in pool}
    least = min(relevance.values(), default=0.0)
    for look in mixed(pool, relevance, weight):
        told = relevance.get(look.id, least)
        assert min(before[look.id], told) - CLOSE <= look.score <= max(before[look.id], told) + CLOSE
    if relevance:
        assert mixed(pool, relevance, 1.0)[0].score == pytest.approx(max(relevance.values()), abs=CLOSE)


@given(pools, st.data(), units, st.integers(0, 8))
def test_diversity_keeps_the_best_everybody_and_falling_scores(
    pool: list[Look], data: st.DataObject, weight: float, limit: int
) -> None:
    texts = {look.id: data.draw(words) for look in pool}
    found = diverse(pool, texts, weight, limit)
    assert {look.id for look in found} == {look.id for look in pool}
    assert [look.score for look in found] == sorted((look.score for look in found), reverse=True)
    before = {look.id: look.score for look in pool}
    assert all(look.score <= before[look.id] for look in found)
    if pool and limit:
        assert found[0].id == in_order(pool)[0].id


def test_of_two_that_say_the_same_the_second_gives_way() -> None:
    pool = [Look("a", 0.9), Look("b", 0.89), Look("c", 0.7)]
    texts = {"a": "the harbour closes at nine", "b": "The harbour closes at nine!", "c": "the ferry leaves at ten"}
    assert [look.id for look in diverse(pool, texts, 0.0, 3)] == ["a", "b", "c"]
    assert [look.id for look in diverse(pool, texts, 0.5, 3)] == ["a", "c", "b"]


results = st.builds(
    lambda score, importance, age, votes: Found(
        memory(importance=importance, updated_at=NOW - age, useful=votes), Fused("m", score)
    ),
    scores, st.none() | units, st.integers(0, 10**11), st.integers(0, 2),
)  # fmt: skip


@given(st.lists(results, max_size=12))
def test_nothing_but_relevance_pushes_one_result_above_another(known: list[Found]) -> None:
    kept = [replace(item, memory=replace(item.memory, id=f"m{at:02}")) for at, item in enumerate(known)]
    final = ordered(Query(text="x"), kept, NOW)
    assert sorted(item.memory.id for item in final) == [item.memory.id for item in kept]
    for one, other in pairwise(final):
        assert one.fused.score >= other.fused.score
        if one.fused.score == other.fused.score > 0:
            before, after = (
                (-item.liking, -(item.memory.importance or 0), -heat_of(item.memory, {}, NOW), item.memory.id)
                for item in (one, other)
            )
            assert before < after
    assert [item for item in final if not item.fused.score] == [item for item in kept if not item.fused.score]


@given(
    st.lists(st.tuples(scores, st.sampled_from(["", "", "a0", "a1", "a2", "forgotten", "nowhere"])), max_size=12),
    st.lists(scores, max_size=3),
    st.integers(1, 13),
)
def test_each_memory_stands_once_at_the_best_place_that_leads_to_it(
    known: list[tuple[float, str]], own: list[float], step: int
) -> None:
    """`known` are candidates, each with whom it gave way to, and `own` the scores of some of these by themselves."""
    ends = {id_: memory(id_) for id_ in ("a0", "a1", "a2")} | {"forgotten": memory("forgotten", state="forgotten")}
    pairs = [(Fused(f"a{at}", score), ends[f"a{at}"]) for at, score in enumerate(own)]
    leads = {f"a{at}": [(score, "")] for at, score in enumerate(own)}
    for at, (score, to) in enumerate(known):
        pairs.append((Fused(f"m{at}", score), memory(f"m{at}", state="superseded" if to else "active")))
        if not to or to[0] == "a":
            leads.setdefault(to or f"m{at}", []).append((score, f"m{at}" if to else ""))
    pairs.sort(key=lambda pair: (-pair[0].score, pair[0].id))
    gave_way = {f"m{at}": ends[to] for at, (_, to) in enumerate(known) if to in ends}
    shown: set[str] = set()
    found: list[Found] = []
    for start in range(0, len(pairs), step):
        found += redirected(pairs[start : start + step], gave_way, [fit for fit, _ in pairs], shown)
    best = {id_: max(score for score, _ in ways) for id_, ways in leads.items()}
    assert {item.memory.id: item.fused.score for item in found} == best
    assert len(found) == len(best) == len(shown)
    for item in found:
        by_itself = [score for score, origin in leads[item.memory.id] if not origin]
        assert (item.redirected_from == "") == (by_itself == [item.fused.score])


def test_what_is_not_due_by_ablation_is_off() -> None:
    assert {name for name, weight in OPTIONAL.items() if weight} == {"statement", "phrases"}


# ---- quoted phrases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('who said "lease  lost,\nstepping DOWN"?', ("lease lost, stepping down",)),
        ("\u201cone\u201d and \u00abtwo\u00bb and `three four`", ("one", "two", "three four")),
        ("what's Ana's ' name '", ()), ('5" pipe', ()), ('"" " "', ()), ('"a b" "A B"', ("a b",)),
        ('"first" or "second"', ("first", "second")),
    ],
)  # fmt: skip
def test_what_stands_in_quotation_marks_is_a_phrase(question: str, phrases: tuple[str, ...]) -> None:
    assert phrases_of(question) == phrases


def test_phrases_are_bounded() -> None:
    assert len(phrases_of(" ".join(f'"phrase {number}"' for number in range(50)))) == PHRASES_MAX


@given(st.text())
def test_every_question_has_its_phrases_word_for_word(text: str) -> None:
    assert all(held((phrase,), text) == 1.0 for phrase in phrases_of(text))


def test_the_share_of_phrases_that_a_text_holds() -> None:
    assert held(("lease lost", "twice"), "Lease\n lost, again") == 0.5
    assert held((), "anything") == 0.0


@pytest.mark.parametrize(
    ("phrase", "text", "there"),
    [
        ("lease lost", "release lost", 0.0), ("lease lost", "release lost, lease lost.", 1.0), ("art", "a part", 0.0),
        ("--no-verify", "git commit --no-verify!", 1.0), ("東京", "私は東京に住む", 1.0), ("a.b", "axb", 0.0),
    ],
)  # fmt: skip
def test_a_phrase_is_held_as_whole_words(phrase: str, text: str, there: float) -> None:
    assert held((phrase,), text) == there


# ---- roles ----------------------------------------------------------------------------------------------------------


def test_what_a_question_names_is_likest_to_whom_it_describes() -> None:
    told = [
        memory("0", "[Ana] We move parse_config.", kind="decision", tags=("release",), valid_from=1_684_000_000_000),
        memory("1", "[Ben] We move parse_config.", kind="decision", tags=("release",), valid_from=1_694_000_000_000),
        memory("2", "[Ben] Lunch.", kind="episode"),
    ]
    question = "which release decision about parseConfig did Ana make in May 2023?"
    known = [pairs_of(one) for one in told]
    asked = pairs_asked(question, question_of(question), known)
    named = {("kind", "decision"), ("tag", "release"), ("month", "5"), ("year", "2023")}
    assert named <= asked
    assert {role for role, _ in asked} >= {"speaker", "identifier"}
    alike = likeness(bundled(asked), [bundled(pairs) for pairs in known])
    assert alike[0] > alike[1] > alike[2]


def test_a_question_that_names_nothing_known_asks_for_no_pair() -> None:
    assert pairs_asked("what now?", question_of("what now?"), [pairs_of(memory())]) == frozenset()
