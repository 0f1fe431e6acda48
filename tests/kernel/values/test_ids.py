"""Ids, fingerprints and kinds."""

from __future__ import annotations

import uuid
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.policy.dynamics.heat import HALF_LIFE_DAYS
from mnemesh_memory.values import kinds
from mnemesh_memory.values.ids import belongs, derived_id, fingerprint, fresh_id, key_mark
from mnemesh_memory.values.kinds import DEFAULT_KIND, KIND_FOLD, KINDS, fold_kind
from mnemesh_memory.values.model import Draft, Link, Patch, Source

PROPERTY = settings(max_examples=150, derandomize=True, database=None)
TIMES = st.integers(0, 2**48 - 1)
ACTORS = st.binary(min_size=16, max_size=16)
# Characters that could be taken for a separator, more likely than in any text.
PARTS = st.text(st.sampled_from("ab/:,\"'\\ \x00\x1f[]{}\u2028é"), max_size=6)


WHO = (PARTS, PARTS, PARTS)


@PROPERTY
@given(TIMES, PARTS, PARTS, ACTORS)
def test_a_fresh_id_is_a_uuid_of_version_8_with_its_time(at: int, space: str, principal: str, actor: bytes) -> None:
    made = uuid.UUID(fresh_id(at, space, principal, actor))
    assert made.version == 8
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == at
    assert str(made) == fresh_id(at, space, principal, actor)


@PROPERTY
@given(TIMES, TIMES, ACTORS, ACTORS)
def test_fresh_ids_sort_as_their_times(one: int, two: int, actor: bytes, other: bytes) -> None:
    if one < two:
        assert fresh_id(one, "team/x", "ana", actor) < fresh_id(two, "team/x", "ana", other)


@PROPERTY
@given(st.tuples(TIMES, PARTS, PARTS, ACTORS), st.tuples(TIMES, PARTS, PARTS, ACTORS))
def test_fresh_ids_differ_in_every_part(one: tuple[int, str, str, bytes], two: tuple[int, str, str, bytes]) -> None:
    assert (fresh_id(*one) == fresh_id(*two)) == (one == two)


def test_ids_are_the_same_on_every_node_for_ever() -> None:
    # Two versions of the code must agree, or each would refuse what the other begins.
    assert fresh_id(1_700_000_000_000, "team/payments", "owner", bytes(range(16))) == (
        "018bcfe5-6800-85f4-8749-b11355e3f905"
    )
    mark = key_mark("owner/claude-code", "import:notes.md#3")
    assert mark == "ed962ebd22ab51e80bbefd2c6d7bcefe"
    made = derived_id("team/payments", "owner", mark)
    assert made == "188ff0e6-7eb7-822a-b8c2-8265e5d55a79"
    assert uuid.UUID(made).version == 8
    assert derived_id("@aliçe", "owner", key_mark("owner", "記憶")) == "76bd38ca-077c-8249-8c66-8ea514374b40"


@PROPERTY
@given(st.tuples(*WHO), st.tuples(*WHO))
def test_derived_ids_and_marks_differ_when_any_part_does(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    assert (derived_id(*one) == derived_id(*two)) == (one == two)
    assert (key_mark(*one[:2]) == key_mark(*two[:2])) == (one[:2] == two[:2])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("a", "b", "c"), ("ab", "", "c")),
        (("a", "b", "c"), ("a", "bc", "")),
        (("a", 'b", "c', "d"), ("a", "b", 'c", "d')),
        (("a/b", "c", "d"), ("a", "b/c", "d")),
    ],
)
def test_parts_that_join_to_the_same_text_are_kept_apart(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    assert derived_id(*one) != derived_id(*two)


ACTOR = bytes(range(16))
MARK = "ab" * 16


@pytest.mark.parametrize(
    "id_", [fresh_id(1_700_000_000_000, "team/x", "ana", ACTOR), derived_id("team/x", "ana", MARK)]
)
def test_an_id_belongs_to_who_begins_it_in_its_space_and_to_nobody_else(id_: str) -> None:
    assert belongs(id_, "team/x", "ana", ACTOR, MARK)
    assert not belongs(id_, "team/x", "bob", ACTOR, MARK)
    assert not belongs(id_, "team/y", "ana", ACTOR, MARK)
    assert not belongs(id_, "team/x", "ana", ACTOR[::-1], MARK[::-1])
    assert not belongs(id_, "team/x", "ana", ACTOR[::-1], "")
    variant = id_[:19] + "0" + id_[20:]
    assert not belongs(variant, "team/x", "ana", ACTOR, MARK), "no id that Mnemesh makes"


@pytest.mark.parametrize("id_", ["018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", "2c88422e-2526-54d0-aeee-457f32352631"])
def test_an_id_that_was_made_before_they_named_anybody_is_for_all(id_: str) -> None:
    assert belongs(id_, "team/x", "ana", ACTOR, "")
    assert belongs(id_, "@bob", "bob", ACTOR[::-1], "")


DRAFT = Draft(content="We deploy on Friday.", attrs={"a": "1", "b": "2"}, tags=("x",), source=Source("s", "/d", 3))
OTHER_IN_DRAFT: dict[str, Any] = {
    "content": "We deploy on Monday.",
    "kind": "decision",
    "title": "Deploys",
    "space": "team/ops",
    "tags": ("x", "y"),
    "importance": 0.0,
    "paths": ("src/a.py",),
    "source": Source("s", "/d", 4),
    "valid_from": 0,
    "valid_to": 1,
    "keywords": ("deploy",),
    "attrs": {"a": "1", "b": "3"},
    "links": (Link("see-also", "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"),),
    "tier": "pinned",
    "supersedes": ("018f6f0e-7c1a-7000-8000-3f1f8d2f6a11",),
    "sensitive": True,
    "force": True,
    "created_at": 0,
}
OTHER_IN_PATCH: dict[str, Any] = {
    "content": "We deploy on Monday.",
    "kind": "decision",
    "title": "",
    "tags": (),
    "importance": 0.0,
    "paths": (),
    "valid_from": 0,
    "valid_to": 0,
    "keywords": (),
    "attrs": {},
    "tier": "pinned",
    "sensitive": True,
    "force": True,
    "expected_heads": ("1@" + "a" * 32,),
    "clear": ("importance",),
}
PATCH_BEFORE_CLEAR = "3e74c7ee4f0cb687102c31b3d56cf91da4e3cd9b4de9897e29c1fa18d0b10e4f"
NOT_CONTENT: dict[str, Any] = {"wait": "durable", "idempotency_key": "another"}


def test_these_tables_name_every_field_of_a_request() -> None:
    assert {field.name for field in fields(Draft)} == set(OTHER_IN_DRAFT) | set(NOT_CONTENT)
    assert {field.name for field in fields(Patch)} == set(OTHER_IN_PATCH) | set(NOT_CONTENT)


@pytest.mark.parametrize("name", OTHER_IN_DRAFT)
def test_a_draft_that_differs_in_one_field_has_another_fingerprint(name: str) -> None:
    assert fingerprint(replace(DRAFT, **{name: OTHER_IN_DRAFT[name]})) != fingerprint(DRAFT)


@pytest.mark.parametrize("name", OTHER_IN_PATCH)
def test_a_patch_that_differs_in_one_field_has_another_fingerprint(name: str) -> None:
    assert fingerprint(Patch(**{name: OTHER_IN_PATCH[name]})) != fingerprint(Patch())


@pytest.mark.parametrize("name", NOT_CONTENT)
def test_a_retry_may_wait_otherwise_and_the_key_is_not_part_of_what_it_names(name: str) -> None:
    assert fingerprint(replace(DRAFT, **{name: NOT_CONTENT[name]})) == fingerprint(DRAFT)
    assert fingerprint(Patch(title="t", **{name: NOT_CONTENT[name]})) == fingerprint(Patch(title="t"))


def test_the_order_of_attributes_does_not_make_another_request() -> None:
    assert fingerprint(replace(DRAFT, attrs={"b": "2", "a": "1"})) == fingerprint(DRAFT)


def test_attributes_that_can_only_be_read_are_the_same_attributes() -> None:
    assert fingerprint(replace(DRAFT, attrs=MappingProxyType({"b": "2", "a": "1"}))) == fingerprint(DRAFT)


def test_a_value_without_a_canonical_form_is_a_mistake_of_the_caller() -> None:
    odd: Any = object()
    with pytest.raises(TypeError, match="no canonical form"):
        fingerprint(replace(DRAFT, content=odd))


def test_the_same_patch_of_another_memory_is_another_request() -> None:
    assert fingerprint(Patch(title="t"), "one") != fingerprint(Patch(title="t"), "two")


def test_a_draft_and_a_patch_never_share_a_fingerprint() -> None:
    assert fingerprint(Draft(content="x")) != fingerprint(Patch(content="x"))


def test_a_field_that_came_later_leaves_the_fingerprints_of_before_as_they_were() -> None:
    # A key is kept for days, and a retry may come after an upgrade.
    assert fingerprint(Patch(title="t"), "one").hex() == PATCH_BEFORE_CLEAR


def test_a_fingerprint_has_32_bytes() -> None:
    assert len(fingerprint(DRAFT)) == 32


# ---- kinds -----------------------------------------------------------------------------------------------------------
# The closed lists of words, and the fold from other programs' words to ours.


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
