"""The second look at results: refining, votes, and two models of association."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_memories import plain_memory as memory

from mnemesh_actors.recall.results import FoundMemory, ordered, redirected
from mnemesh_memory.policy.dynamics.heat import heat_of
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.scores import FULL_EVIDENCE, SCORE_DECIMALS, USEFULNESS, liking, rated
from mnemesh_memory.ranking.second_look.diversity import diverse
from mnemesh_memory.ranking.second_look.hopfield import REST, completed, resemblance
from mnemesh_memory.ranking.second_look.hyperdimensional import BITS, atom, bound, bundled, likeness
from mnemesh_memory.ranking.second_look.optional_signal import Look, in_order, lifted, lowered
from mnemesh_memory.ranking.second_look.quoted_phrases import PHRASES_MAX, held, phrases_of
from mnemesh_memory.ranking.second_look.rerank import mixed
from mnemesh_memory.ranking.second_look.structure import pairs_asked, pairs_of
from mnemesh_memory.ranking.signals import OPTIONAL
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Query, Source

units = st.floats(0, 1)
scores = units.map(lambda score: round(score, SCORE_DECIMALS))
looks = st.builds(Look, st.text("abcdef", min_size=1, max_size=4), scores, st.just({}))
pools = st.lists(looks, max_size=12, unique_by=lambda look: look.id)
NOW = 1_700_000_000_000
CLOSE = 2 * 10**-SCORE_DECIMALS
words = st.lists(st.sampled_from(["harbour", "closes", "nine", "ferry", "leaves", "lamp"]), max_size=6).map(" ".join)


# ---- any signal -----------------------------------------------------------------------------------------------------


@given(pools, st.data(), units, units)
def test_a_signal_lifts_and_never_lowers(pool: list[Look], data: st.DataObject, one: float, other: float) -> None:
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
def test_a_cross_encoder_moves_scores_towards_its_own(pool: list[Look], data: st.DataObject, weight: float) -> None:
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
    lambda score, importance, age, votes: FoundMemory(
        memory(importance=importance, updated_at=NOW - age, useful=votes), Fused("m", score)
    ),
    scores, st.none() | units, st.integers(0, 10**11), st.integers(0, 2),
)  # fmt: skip


@given(st.lists(results, max_size=12))
def test_nothing_but_relevance_pushes_one_result_above_another(known: list[FoundMemory]) -> None:
    kept = [replace(item, memory=replace(item.memory, id=f"m{at:02}")) for at, item in enumerate(known)]
    final = ordered(Query(text="x"), kept, NOW)
    assert sorted(item.memory.id for item in final) == [item.memory.id for item in kept]
    for one, other in pairwise(final):
        assert one.fused.score >= other.fused.score
        if one.fused.score == other.fused.score > 0:
            before, after = (
                (-item.liking, -(item.memory.importance or 0), -heat_of(item.memory, {}, NOW).value, item.memory.id)
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
    found: list[FoundMemory] = []
    for start in range(0, len(pairs), step):
        found += redirected(pairs[start : start + step], gave_way, [fit for fit, _ in pairs], shown)
    best = {id_: max(score for score, _ in ways) for id_, ways in leads.items()}
    assert {item.memory.id: item.fused.score for item in found} == best
    assert len(found) == len(best) == len(shown)
    for item in found:
        by_itself = [score for score, origin in leads[item.memory.id] if not origin]
        assert (item.redirected_from == "") == (by_itself == [item.fused.score])


def test_what_is_not_due_by_ablation_is_off() -> None:
    assert {name for name, row in OPTIONAL.items() if row.weight} == {"statement", "akin", "phrases", "latest"}


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


# ---- usefulness ------------------------------------------------------------------------------------------------------
# Ratings tell apart what matches about equally well, and lift nothing that does not match.


SCORE = st.floats(0, 1).map(lambda score: round(score, 6))
VOTES = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))


@given(SCORE, SCORE, VOTES, VOTES)
def test_no_votes_put_a_memory_above_one_that_is_clearly_more_relevant(
    low: float, high: float, ours: tuple[int, int], theirs: tuple[int, int]
) -> None:
    low, high = sorted((low, high))
    a, b = rated(Fused("a", low), *ours).score, rated(Fused("b", high), *theirs).score
    assert 0 <= a <= 1
    if high - low > 2 * USEFULNESS:
        assert a < b
    assert abs(a - low) <= USEFULNESS * min(1.0, low / FULL_EVIDENCE) + 1e-6


@given(VOTES)
def test_what_does_not_match_is_not_lifted(votes: tuple[int, int]) -> None:
    assert rated(Fused("a", 0.0), *votes).score == 0


@given(SCORE, VOTES)
def test_the_part_of_the_votes_is_told_and_sums_with_others_to_the_score(score: float, votes: tuple[int, int]) -> None:
    one = rated(Fused("a", score, dense=score), *votes)
    assert (one.dense or 0.0) + (one.useful or 0.0) == pytest.approx(one.score, abs=1e-6)


def test_of_equal_matches_the_more_useful_is_first_and_many_votes_say_more_than_one() -> None:
    votes = {"none": (0, 0), "one": (1, 0), "many": (9, 1), "bad": (0, 2), "mixed": (3, 3)}
    scores = {name: rated(Fused(name, 0.5), *given).score for name, given in votes.items()}
    assert sorted(scores, key=lambda name: -scores[name]) == ["many", "one", "none", "mixed", "bad"]
    assert scores["mixed"] == scores["none"] == 0.5


def test_a_memory_without_votes_says_nothing_of_them() -> None:
    assert rated(Fused("a", 0.5, bm25=0.5), 0, 0) == Fused("a", 0.5, bm25=0.5)
    assert liking(0, 0) == 0


# ---- hopfield --------------------------------------------------------------------------------------------------------
# Pattern completion: what the equations promise.


seeds = st.integers(0, 2**32 - 1)


def patterns_of(seed: int, number: int = 12, dimensions: int = 24) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(number, dimensions)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def energy(state: NDArray[np.float64], patterns: NDArray[np.float32], beta: float) -> float:
    """E of a state but for what does not depend on it. Lower is nearer to rest."""
    scaled = beta * (patterns.astype(np.float64) @ state)
    top = float(scaled.max())
    return float(state @ state) / 2 - (top + float(np.log(np.exp(scaled - top).sum()))) / beta


@given(seeds, st.floats(0.1, 64))
def test_no_step_raises_the_energy(seed: int, beta: float) -> None:
    patterns = patterns_of(seed)
    states = [completed(patterns_of(seed + 1, 1)[0], patterns, beta, steps) for steps in range(6)]
    energies = [energy(state, patterns, beta) for state in states]
    assert all(after <= before + 1e-9 for before, after in pairwise(energies))


@given(seeds, st.integers(0, 11))
def test_a_damaged_pattern_is_completed_to_the_stored_one(seed: int, number: int) -> None:
    patterns = patterns_of(seed, dimensions=256)
    damaged = patterns[number].copy()
    damaged[:128] = 0  # half of it is gone
    state = completed(damaged, patterns, beta=64)
    assert np.argmax(resemblance(state, patterns)) == number
    assert resemblance(state, patterns)[number] > 0.99


@given(seeds)
def test_a_small_beta_rests_at_the_mean_of_all(seed: int) -> None:
    patterns = patterns_of(seed)
    assert completed(patterns[0], patterns, beta=1e-9) == pytest.approx(patterns.astype(float).mean(axis=0), abs=1e-6)


@given(seeds)
def test_at_rest_another_step_moves_it_hardly(seed: int) -> None:
    patterns = patterns_of(seed)
    rest = completed(patterns[0], patterns, beta=8.0, steps=500)
    again = completed(rest.astype(np.float32), patterns, beta=8.0, steps=1)
    assert np.linalg.norm(again - rest) < 2 * REST


def test_one_step_can_rank_as_the_question_does_not() -> None:
    near, friend, far = np.float32([1, 0, 0]), np.float32([0.9, 0.436, 0]), np.float32([0.6, 0, 0.8])
    patterns = np.stack([near, friend, far])
    question = np.float32([0.8, -0.3, 0.52])
    assert (patterns @ question)[1] < (patterns @ question)[2]
    alike = resemblance(completed(question, patterns, beta=4.0), patterns)
    assert alike[1] > alike[2]


def test_without_a_pattern_the_question_stays_and_nothing_resembles_it() -> None:
    question = np.float32([1, 0])
    none = np.empty((0, 2), np.float32)
    assert completed(question, none) == pytest.approx(question)
    assert resemblance(completed(question, none), none).shape == (0,)
    assert resemblance(np.zeros(2), np.float32([[1, 0], [0, 0]])).tolist() == [0, 0]


# ---- hyperdimensional ------------------------------------------------------------------------------------------------
# Role and filler in one vector: its pairs resemble it, and nothing else does.


# Six standard deviations of what chance gives.
CHANCE = 6 / BITS**0.5
names = st.text(min_size=1, max_size=8)
pairs = st.frozensets(st.tuples(names, names), min_size=1, max_size=9)


def test_an_atom_is_the_same_in_every_process_and_release() -> None:
    assert sha256(atom("month").tobytes()).hexdigest().startswith("9e9640e182564f8f")
    assert atom("month").shape == (BITS // 8,)


@given(names, names)
def test_atoms_of_two_names_have_nothing_in_common(one: str, other: str) -> None:
    if one != other:
        assert abs(likeness(atom(one), [atom(other)])[0]) < CHANCE


@given(pairs)
def test_a_bundle_resembles_each_of_its_pairs_and_no_other(held: frozenset[tuple[str, str]]) -> None:
    bundle = bundled(held)
    alike = likeness(bundle, [bound(role, filler) for role, filler in sorted(held)])
    assert alike.min() > 2 * CHANCE
    assert abs(likeness(bundle, [bound("a role of none", "a filler of none")])[0]) < CHANCE


def test_the_same_filler_in_another_role_is_another_thing() -> None:
    assert abs(likeness(bound("kind", "error"), [bound("tag", "error")])[0]) < CHANCE


@given(pairs, st.randoms())
def test_the_order_of_pairs_changes_nothing(held: frozenset[tuple[str, str]], chance: object) -> None:
    shuffled = list(held)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert np.array_equal(bundled(shuffled), bundled(held))


def test_who_shares_more_pairs_is_more_alike() -> None:
    asked = bundled([("month", "5"), ("speaker", "ana"), ("kind", "decision")])
    base = [("year", "2023")]
    shared = [("month", "5"), ("speaker", "ana"), ("kind", "decision")]
    alike = likeness(asked, [bundled([*base, *shared[:number]]) for number in range(4)])
    assert list(alike) == sorted(alike)
    assert abs(alike[0]) < CHANCE


def test_who_is_known_by_nothing_resembles_nothing() -> None:
    assert likeness(bundled([]), []).shape == (0,)
    assert abs(likeness(bundled([]), [bundled([("kind", "fact")])])[0]) < CHANCE


def test_words_of_the_asking_session_stand_above_equal_matches_alone() -> None:
    own = FoundMemory(memory("own", source=Source("s1"), created_at=NOW - 1000), Fused("own", 0.5))
    liked = FoundMemory(memory("liked", useful=9, importance=1.0, created_at=NOW - 1000), Fused("liked", 0.5))
    better = FoundMemory(memory("better", created_at=NOW - 1000), Fused("better", 0.500001))
    asked = Query(text="x", current_session="s1")
    assert [one.memory.id for one in ordered(asked, [liked, own, better], NOW)] == ["better", "own", "liked"]
    assert [one.memory.id for one in ordered(Query(text="x"), [liked, own, better], NOW)] == ["better", "liked", "own"]
    later = NOW + 5 * 3_600_000
    assert [one.memory.id for one in ordered(asked, [liked, own, better], later)] == ["better", "liked", "own"]
