"""The save guard: similarity is reported and never refuses a text by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.policy.guard import NEAR_MIN, REPLACES_MIN, advice, almost_identical, judge, near, novelty
from mnemesh_memory.values.model import Related
from mnemesh_proto.v1.field_help import FIELD_HELP

FAR = Related("far", "Far", "a far text", 0.2)
NEAR = Related("near", "Near", "a near text", 0.97)
SIMILARITY = st.floats(-1, 1)


def test_a_text_in_an_empty_space_is_added_and_all_new() -> None:
    verdict = judge((), ())
    assert (verdict.action, verdict.novelty, verdict.target_id, verdict.related) == ("ADD", 1.0, "", ())
    assert verdict.reason


def test_even_a_very_near_text_is_added_and_the_nearest_is_named() -> None:
    verdict = judge((FAR, NEAR), ())
    assert verdict.action == "ADD"
    assert verdict.target_id == "near"
    assert verdict.similarity == 0.97
    assert verdict.related == (NEAR,)
    assert "near at similarity 0.97" in verdict.reason


def test_what_is_far_is_no_neighbour_but_counts_for_novelty() -> None:
    verdict = judge((FAR,), ())
    assert (verdict.action, verdict.target_id, verdict.similarity, verdict.related) == ("ADD", "", 0.0, ())
    assert verdict.novelty == pytest.approx(0.8)


def test_the_least_similarity_of_a_neighbour_belongs_to_it() -> None:
    least = Related("least", "", "", NEAR_MIN)
    assert near((Related("below", "", "", NEAR_MIN - 1e-6), least, NEAR)) == (least, NEAR)


def test_the_contract_names_the_least_similarity_of_a_neighbour() -> None:
    for message in ("RememberResponse", "CheckResponse"):
        assert f"similarity {NEAR_MIN} or more" in FIELD_HELP[f"mnemesh.v1.{message}.related"]


def test_a_draft_that_replaces_others_says_which() -> None:
    verdict = judge((NEAR,), ("old-1", "old-2"))
    assert verdict.action == "SUPERSEDE"
    assert verdict.target_id == "old-1"
    assert verdict.reason == "replaces old-1, old-2"
    assert verdict.related == (NEAR,)
    assert verdict.novelty == novelty((NEAR,))


def test_a_draft_replaces_also_in_a_space_without_neighbours() -> None:
    assert judge((), ("old",)).action == "SUPERSEDE"


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
    "other",
    ["the api listens on port 8080", "The API listens on port 8080.", "The API  listens on\nport 8080 ."],
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
    assert judge((NEAR,), ()).hint == advice((NEAR,))
    assert judge((NEAR,), ("old",)).hint == ""


def test_an_almost_identical_text_is_offered_as_a_duplicate() -> None:
    twin = Related("twin", "", "", 0.99, alike=True)
    assert advice((NEAR, twin), "new") == 'if one of the two is enough, call forget(id="new")'
    verdict = judge((NEAR, twin), ())
    assert verdict.action == "ADD", "nothing is dropped for it"
    assert "twin says the same but for case, spacing or a final stop" in verdict.reason
    assert "forget" not in verdict.hint, "nothing is written yet"
