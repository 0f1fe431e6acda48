"""Policy: heat, the write guard, and the owner's rules."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_memory.policy.dynamics.heat import (
    DAY_MS,
    HALF_LIFE_DAYS,
    HALF_LIVES_ALLOWED,
    HeatRow,
    columns_of,
    half_lives_of,
    heat_of_columns,
)
from mnemesh_memory.policy.dynamics.heat import heat as heat_with_parts
from mnemesh_memory.policy.dynamics.valence import valence
from mnemesh_memory.policy.judge.guard import NEAR_MIN, REPLACES_MIN, advice, answer, near, novelty
from mnemesh_memory.policy.judge.sameness import almost_identical
from mnemesh_memory.policy.rules.stored_rules import RULES_MAX, narrowed, rules_of, weighed
from mnemesh_memory.ranking.scores import liking
from mnemesh_memory.ranking.session_coherence import coherence
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import KINDS, TIERS
from mnemesh_memory.values.limits import TIME_MS_MAX, TIME_MS_MIN
from mnemesh_memory.values.model import Query, Related
from mnemesh_memory.values.rules import Rule, RuleComparison
from mnemesh_proto.v1.field_help import FIELD_HELP

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
COOLING = sorted(HALF_LIFE_DAYS)
IMPORTANCE = st.none() | st.floats(0, 1)
MOMENTS = st.integers(0, TIME_MS_MAX)
USES = st.integers(0, 10**9)
NOW = 400 * DAY_MS


def heat(*given: Any, **more: Any) -> float:
    return heat_with_parts(*given, **more).value


@PROPERTY
@given(st.sampled_from(KINDS), st.sampled_from(TIERS), IMPORTANCE, MOMENTS, USES, MOMENTS)
def test_heat_lies_in_0_to_1(kind: str, tier: str, importance: float | None, used: int, uses: int, now: int) -> None:
    assert 0.0 <= heat(kind, tier, importance, used, uses, now) <= 1.0


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, USES, USES, MOMENTS)
def test_more_use_is_never_colder(kind: str, importance: float | None, used: int, one: int, two: int, now: int) -> None:
    few, many = sorted((one, two))
    assert heat(kind, "normal", importance, used, few, now) <= heat(kind, "normal", importance, used, many, now)


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, MOMENTS, USES, MOMENTS)
def test_later_use_is_no_colder(kind: str, importance: float | None, one: int, two: int, uses: int, now: int) -> None:
    early, late = sorted((one, two))
    assert heat(kind, "normal", importance, early, uses, now) <= heat(kind, "normal", importance, late, uses, now)


@PROPERTY
@given(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 1), MOMENTS, USES, MOMENTS)
def test_more_importance_is_never_colder(kind: str, one: float, two: float, used: int, uses: int, now: int) -> None:
    less, more = sorted((one, two))
    assert heat(kind, "normal", less, used, uses, now) <= heat(kind, "normal", more, used, uses, now)


@pytest.mark.parametrize("kind", COOLING)
def test_an_unused_memory_has_half_its_heat_after_its_half_life(kind: str) -> None:
    age = round(HALF_LIFE_DAYS[kind] * DAY_MS)
    fresh = heat(kind, "normal", 0.5, NOW, 0, NOW)
    assert fresh == pytest.approx(0.75)
    assert heat(kind, "normal", 0.5, NOW, 0, NOW + age) == pytest.approx(fresh / 2)


@pytest.mark.parametrize("kind", COOLING)
def test_use_and_recency_make_a_difference_that_can_be_seen(kind: str) -> None:
    old = heat(kind, "normal", 0.5, 0, 0, NOW)
    assert heat(kind, "normal", 0.5, 0, 5, NOW) > old * 1.05
    assert heat(kind, "normal", 0.5, NOW - DAY_MS, 0, NOW) > old * 1.05


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_pinned_does_not_cool(kind: str) -> None:
    assert heat(kind, "pinned", 0.0, 0, 0, TIME_MS_MAX) == 1.0


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(HALF_LIFE_DAYS)))
def test_a_kind_without_half_life_keeps_its_strength(kind: str) -> None:
    assert heat(kind, "normal", 1.0, 0, 0, TIME_MS_MAX) == 1.0
    assert heat(kind, "normal", 0.0, 0, 0, TIME_MS_MAX) == 0.5


def test_practice_stretches_the_half_life_by_the_logarithm_of_its_count() -> None:
    uses = 7
    age = round(HALF_LIFE_DAYS["fact"] * (1 + math.log(1 + uses)) * DAY_MS)
    assert heat("fact", "normal", 1.0, 0, uses, age) == pytest.approx(0.5)


def test_a_clock_that_jumped_back_does_not_heat_beyond_the_strength() -> None:
    assert heat("fact", "normal", 0.5, NOW, 3, NOW - DAY_MS) == heat("fact", "normal", 0.5, NOW, 3, NOW)


def test_a_missing_importance_counts_as_the_middle() -> None:
    assert heat("fact", "normal", None, 0, 0, NOW) == heat("fact", "normal", 0.5, 0, 0, NOW)


VOTES = st.integers(0, 1000)
LIKING = st.builds(liking, VOTES, VOTES)
TIMES = st.integers(TIME_MS_MIN, TIME_MS_MAX)
ITEMS = st.tuples(st.sampled_from(KINDS), st.sampled_from(TIERS), IMPORTANCE, TIMES, USES, LIKING, st.floats(-1, 1))


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, USES, MOMENTS, LIKING, LIKING)
def test_a_memory_that_is_liked_more_is_never_colder(
    kind: str, importance: float | None, used: int, uses: int, now: int, one: float, two: float
) -> None:
    less, more = sorted((one, two))
    cold, warm = (heat(kind, "normal", importance, used, uses, now, votes) for votes in (less, more))
    assert cold <= warm


def test_votes_stretch_the_half_life_at_most_to_twice_and_shrink_it_at_most_to_half() -> None:
    fresh, aged = (heat("fact", "normal", 0.5, NOW, 0, NOW + age * DAY_MS) for age in (0, 90))
    assert heat("fact", "normal", 0.5, NOW, 0, NOW + 180 * DAY_MS, liking(10**6, 0)) == pytest.approx(aged, rel=1e-4)
    assert heat("fact", "normal", 0.5, NOW, 0, NOW + 45 * DAY_MS, liking(0, 10**6)) == pytest.approx(aged, rel=1e-4)
    assert heat("fact", "normal", 0.5, NOW, 0, NOW, liking(0, 10**6)) == fresh


@PROPERTY
@given(st.lists(ITEMS, max_size=8), TIMES)
def test_columns_have_the_heat_of_their_memories_whatever_the_clock_says(items: list[HeatRow], now: int) -> None:
    found = heat_of_columns(columns_of(items), now)
    assert found == pytest.approx([heat(*item[:5], now, *item[5:]) for item in items])
    assert all(0.0 <= one <= 1.0 for one in found)  # which NaN is not


@PROPERTY
@given(ITEMS, TIMES)
def test_a_thousand_evaluations_on_the_way_change_nothing(item: HeatRow, now: int) -> None:
    columns = columns_of([item])
    before = heat_of_columns(columns, now)
    for minute in range(1000):
        heat_of_columns(columns, now + 60_000 * minute)
    assert heat_of_columns(columns, now) == before


def test_a_month_without_a_node_cools_like_a_month_with_one_that_looked_each_day() -> None:
    looked = [heat("error", "normal", 0.5, NOW, 2, NOW + day * DAY_MS) for day in range(31)]
    assert looked == sorted(looked, reverse=True)
    assert looked[30] == heat("error", "normal", 0.5, NOW, 2, NOW + 30 * DAY_MS)
    assert heat("error", "normal", 0.5, NOW, 0, NOW + 30 * DAY_MS) == pytest.approx(0.375)


def test_a_clock_that_runs_years_ahead_and_is_set_right_leaves_no_trace() -> None:
    right = heat("fact", "normal", 0.5, NOW, 1, NOW)
    assert heat("fact", "normal", 0.5, NOW, 1, NOW + 3650 * DAY_MS) < 1e-3
    assert heat("fact", "normal", 0.5, NOW, 1, NOW) == right
    assert heat("fact", "normal", 0.5, NOW + 3650 * DAY_MS, 1, NOW) == right


def test_a_missing_importance_may_be_nan_and_the_parts_multiply_to_the_heat() -> None:
    assert heat("fact", "normal", math.nan, 0, 0, NOW) == heat("fact", "normal", None, 0, 0, NOW)
    parts = heat_with_parts("error", "normal", 1.0, NOW - 40 * DAY_MS, 3, NOW, liking(4, 1))
    stability = parts.half_life_days * parts.usage * parts.usefulness * parts.valence
    assert parts.value == pytest.approx(parts.strength * 2 ** (-parts.age_days / stability))
    assert (parts.strength, parts.half_life_days, parts.uses) == (1.0, 30.0, 3)


@PROPERTY
@given(st.sampled_from(KINDS), IMPORTANCE, MOMENTS, USES, MOMENTS, st.floats(0, 1), st.floats(0, 1))
def test_a_good_and_a_bad_outcome_keep_a_memory_warm_alike(
    kind: str, importance: float | None, used: int, uses: int, now: int, one: float, two: float
) -> None:
    less, more = sorted((one, two))
    felt = [heat(kind, "normal", importance, used, uses, now, 0.0, w) for w in (0.0, less, more, -more)]
    assert felt[0] <= felt[1] <= felt[2] == felt[3] <= 1.0


def test_an_outcome_stretches_the_half_life_by_less_than_half() -> None:
    assert heat("fact", "normal", 1.0, 0, 0, round(90 * math.sqrt(2) * DAY_MS), 0.0, 1.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "kind", "sign"),
    [
        ("The deploy failed and the node crashed.", "fact", -1),
        ("The test is fixed and the build passes.", "fact", 1),
        ("The fix was not reliable.", "fact", -1),
        ("It never failed.", "fact", 1),
        ("The gateway listens on port 80.", "fact", 0),
        ("The gateway listens on port 80.", "error", -1),
    ],
)
def test_a_valence_is_read_from_words_of_outcomes(text: str, kind: str, sign: int) -> None:
    found = valence(text, kind)
    assert -1.0 < found < 1.0
    assert (found > 0) - (found < 0) == sign


@PROPERTY
@given(st.text(max_size=400), st.sampled_from(KINDS))
def test_any_text_has_a_valence_within_its_bounds(text: str, kind: str) -> None:
    assert -1.0 < valence(text, kind) < 1.0


def test_half_lives_of_a_setting_take_the_place_of_the_usual() -> None:
    given_lives = half_lives_of("error=14; person=365")
    assert (given_lives["error"], given_lives["person"], given_lives["fact"]) == (14.0, 365.0, 90.0)
    assert heat("error", "normal", 1.0, 0, 0, 14 * DAY_MS, half_lives=given_lives) == pytest.approx(0.5)
    assert half_lives_of("") is HALF_LIFE_DAYS


@pytest.mark.parametrize(
    "text",
    ["fact=0", "fact=-3", "fact=nan", "fact=inf", "fact=1e9", "fact", "fact=", "weather=3", "fact=3; fact=4", "=3"],
)
def test_a_half_life_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        half_lives_of(text)
    assert refused.value.fields["limit"] == HALF_LIVES_ALLOWED


HOUR_MS = 3_600_000


@PROPERTY
@given(st.integers(0, 10 * HOUR_MS), st.integers(0, 10 * HOUR_MS))
def test_words_of_the_asking_session_fade_in_four_hours(one: int, two: int) -> None:
    early, late = sorted((one, two))
    now = NOW + 10 * HOUR_MS
    old, new = (coherence("s", NOW + at, "s", now) for at in (early, late))
    assert 0.0 <= old <= new <= 1.0
    assert coherence("s", now - 2 * HOUR_MS, "s", now) == pytest.approx(0.5)
    assert (
        coherence("s", now - 4 * HOUR_MS, "s", now) == coherence("t", now, "s", now) == coherence("", now, "", now) == 0
    )


# ---- gate ------------------------------------------------------------------------------------------------------------
# The save guard: similarity is reported and never refuses a text by itself.


FAR = Related("far", "Far", "a far text", 0.2)
NEAR = Related("near", "Near", "a near text", 0.97)
SIMILARITY = st.floats(-1, 1)


def test_a_text_in_an_empty_space_is_added_and_all_new() -> None:
    verdict = answer((), ())
    assert (verdict.action, verdict.novelty, verdict.target_id, verdict.related) == ("ADD", 1.0, "", ())
    assert verdict.reason


def test_even_a_very_near_text_is_added_and_the_nearest_is_named() -> None:
    verdict = answer((FAR, NEAR), ())
    assert verdict.action == "ADD"
    assert verdict.target_id == "near"
    assert verdict.similarity == 0.97
    assert verdict.related == (NEAR,)
    assert "near at similarity 0.97" in verdict.reason


def test_what_is_far_is_no_neighbour_but_counts_for_novelty() -> None:
    verdict = answer((FAR,), ())
    assert (verdict.action, verdict.target_id, verdict.similarity, verdict.related) == ("ADD", "", 0.0, ())
    assert verdict.novelty == pytest.approx(0.8)


def test_the_least_similarity_of_a_neighbour_belongs_to_it() -> None:
    least = Related("least", "", "", NEAR_MIN)
    assert near((Related("below", "", "", NEAR_MIN - 1e-6), least, NEAR)) == (least, NEAR)


def test_the_contract_names_the_least_similarity_of_a_neighbour() -> None:
    for message in ("RememberResponse", "CheckResponse"):
        assert f"similarity {NEAR_MIN} or more" in FIELD_HELP[f"mnemesh.v1.{message}.related"]


def test_a_draft_that_replaces_others_says_which() -> None:
    verdict = answer((NEAR,), ("old-1", "old-2"))
    assert verdict.action == "SUPERSEDE"
    assert verdict.target_id == "old-1"
    assert verdict.reason == "replaces old-1, old-2"
    assert verdict.related == (NEAR,)
    assert verdict.novelty == novelty((NEAR,))


def test_a_draft_replaces_also_in_a_space_without_neighbours() -> None:
    assert answer((), ("old",)).action == "SUPERSEDE"


@pytest.mark.parametrize(("similarity", "expected"), [(1.0, 0.0), (0.25, 0.75), (0.0, 1.0), (-1.0, 1.0), (1.0001, 0.0)])
def test_novelty_is_what_the_nearest_neighbour_leaves(similarity: float, expected: float) -> None:
    assert novelty((Related("x", "", "", similarity),)) == pytest.approx(expected)


@settings(max_examples=100, derandomize=True, database=None)
@given(st.lists(SIMILARITY, max_size=6), SIMILARITY)
def test_one_more_neighbour_never_makes_a_text_newer(values: list[float], more: float) -> None:
    known = [Related(str(i), "", "", value) for i, value in enumerate(values)]
    before, after = novelty(known), novelty([*known, Related("more", "", "", more)])
    assert 0.0 <= after <= before <= 1.0


@pytest.mark.parametrize(
    "other", ["the api listens on port 8080", "The API listens on port 8080.", "The API  listens on\nport 8080 ."]
)
def test_case_spacing_and_a_final_stop_make_no_other_statement(other: str) -> None:
    assert almost_identical("The API listens on port 8080", other)
    assert almost_identical("Ports: 80, 443 (both open)", "ports : 80,443 ( both open ).")


@pytest.mark.parametrize(
    "other", ["The API listens on port 8081", "The API listens on port 8080?", "The API listens not on port 8080", ""]
)
def test_another_number_word_or_sign_makes_another_statement(other: str) -> None:
    assert not almost_identical("The API listens on port 8080", other)
    assert not almost_identical("The offset is -5", "The offset is 5")


@settings(max_examples=100, derandomize=True, database=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_who_is_almost_identical_is_so_both_ways(one: str, other: str) -> None:
    assert almost_identical(one, one)
    assert almost_identical(one, other) == almost_identical(other, one)


def test_a_writer_is_told_the_call_that_replaces_what_is_near() -> None:
    assert advice((FAR, NEAR), "new") == 'if this replaces near, call supersede(id="near", content=<this text>)'
    assert advice((Related("x", "", "", REPLACES_MIN - 1e-6),), "new") == advice((), "new") == ""
    assert answer((NEAR,), ()).hint == advice((NEAR,))
    assert answer((NEAR,), ("old",)).hint == ""


def test_an_almost_identical_text_is_offered_as_a_duplicate() -> None:
    twin = Related("twin", "", "", 0.99, alike=True)
    assert advice((NEAR, twin), "new") == 'if one of the two is enough, call forget(id="new")'
    verdict = answer((NEAR, twin), ())
    assert verdict.action == "ADD", "nothing is dropped for it"
    assert "twin says the same but for case, spacing or a final stop" in verdict.reason
    assert "forget" not in verdict.hint, "nothing is written yet"


# ---- rules -----------------------------------------------------------------------------------------------------------
# The owner's rules: what counts more, less or not at all.


RULES = "tag=decision +0.3; kind=bug -0.5;path=docs/* +1; kind=run hide ; tag=draft hide;"


def setting(field: str, value: str, weight: float | None) -> Rule:
    return Rule((RuleComparison(field, "=", value),), weight)


def test_rules_are_read_as_they_are_written() -> None:
    assert tuple(replace(rule, text="") for rule in rules_of(RULES)) == (
        setting("tag", "decision", 0.3), setting("kind", "error", -0.5), setting("path", "docs/*", 1.0),
        setting("kind", "run", None), setting("tag", "draft", None),
    )  # fmt: skip
    assert rules_of(" ; ") == ()


@pytest.mark.parametrize(
    "text",
    [
        "tag=x", "tag= +1", "tag +1", "size=x +1", "tag=x 0.5", "tag=x +2", "tag=x -1.1", "tag=x +nan", "tag=x +inf",
        "tag=x +", "path=docs/* hide", "kind=nonsense +1", "tag=x hidden",
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="recall_rules"):
        rules_of(text)


def test_rules_are_bounded() -> None:
    assert len(rules_of("tag=x +1;" * RULES_MAX)) == RULES_MAX
    with pytest.raises(InvalidArgument, match=f"at most {RULES_MAX}"):
        rules_of("tag=x +1;" * (RULES_MAX + 1))


def test_of_several_that_hold_the_strongest_counts_and_hiding_weighs_nothing() -> None:
    memory = plain_memory(kind="error", tags=("decision", "draft"), paths=("docs/a.md",))
    assert weighed(memory, rules_of(RULES)) == (1.0, 0.5)
    assert weighed(memory, rules_of("tag=decision +0.3; tag=other -1")) == (0.3, 0.0)
    assert weighed(memory, ()) == (0.0, 0.0)


def test_what_is_hidden_is_filtered_unless_it_is_asked_for_by_name() -> None:
    rules = rules_of(RULES)
    run, draft = rules[-2:]
    assert narrowed(Query(text="x"), rules).hidden == (run, draft)
    assert narrowed(Query(text="x", tags_any=("draft",)), rules).hidden == (run,)
    assert narrowed(Query(text="x", kinds=("run",)), rules).hidden == (draft,)
    weighing = rules_of("tag=x +1")
    assert narrowed(Query(text="x"), weighing) == Query(text="x", weighing=weighing)
    assert narrowed(Query(text="x"), ()) == Query(text="x")
