"""The closed lists of words, and the fold from other programs' words to ours."""

from __future__ import annotations

import pytest

from mnemesh_memory.policy.heat import HALF_LIFE_DAYS
from mnemesh_memory.values import kinds
from mnemesh_memory.values.kinds import DEFAULT_KIND, KIND_FOLD, KINDS, fold_kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_folds_to_itself_in_any_case_and_with_blanks(kind: str) -> None:
    assert fold_kind(kind) == kind
    assert fold_kind(f"  {kind.upper()}\t") == kind


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("gotcha", "error"),
        ("Lesson", "error"),
        ("note", "fact"),
        ("insight", "fact"),
        ("conversation", "fact"),
        ("docs", "reference"),
        ("todo", "requirement"),
        ("user", "preference"),
        ("howto", "procedure"),
        ("diary", "episode"),
        ("decisions", "decision"),
    ],
)
def test_a_predecessors_word_becomes_ours(word: str, kind: str) -> None:
    assert fold_kind(word) == kind


@pytest.mark.parametrize("word", ["", " ", "facts and figures", "fact\x00", "décision", "事実", "none"])
def test_an_unknown_word_is_not_guessed(word: str) -> None:
    assert fold_kind(word) is None


def test_every_alias_leads_to_a_kind_and_hides_none() -> None:
    assert set(KIND_FOLD.values()) <= set(KINDS)
    assert set(KIND_FOLD) & set(KINDS) == set()
    assert DEFAULT_KIND in KINDS
    assert [alias for alias in KIND_FOLD if alias != alias.strip().lower()] == []


@pytest.mark.parametrize(
    "words",
    [kinds.KINDS, kinds.TIERS, kinds.WAITS, kinds.MODES, kinds.SORTS, kinds.STATES, kinds.ACTIONS, kinds.LINK_TYPES],
)
def test_no_list_names_a_word_twice(words: tuple[str, ...]) -> None:
    assert len(set(words)) == len(words)


def test_only_kinds_that_exist_have_a_half_life() -> None:
    assert set(HALF_LIFE_DAYS) <= set(KINDS)
