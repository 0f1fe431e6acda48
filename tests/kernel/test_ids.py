"""Ids are ordered by time or derived from a key, and two requests share a fingerprint only when they are the same."""

from __future__ import annotations

import uuid
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.ids import derived_id, fingerprint, uuid7
from mnemesh_memory.model import Draft, Link, Patch, Source

PROPERTY = settings(max_examples=150, derandomize=True, database=None)
TIMES = st.integers(0, 2**48 - 1)
ENTROPY = st.binary(min_size=10, max_size=10)
# Characters that could be taken for a separator, more likely than in any text.
PARTS = st.text(st.sampled_from("ab/:,\"'\\ \x00\x1f[]{}\u2028é"), max_size=6)


@PROPERTY
@given(TIMES, ENTROPY)
def test_a_fresh_id_is_a_uuid_of_version_7_that_tells_its_time(at: int, entropy: bytes) -> None:
    made = uuid.UUID(uuid7(at, entropy))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == at
    assert str(made) == uuid7(at, entropy)


@PROPERTY
@given(TIMES, TIMES, ENTROPY, ENTROPY)
def test_fresh_ids_sort_as_their_times(one: int, two: int, entropy: bytes, other: bytes) -> None:
    if one < two:
        assert uuid7(one, entropy) < uuid7(two, other)


def test_every_bit_of_chance_but_version_and_variant_reaches_the_id() -> None:
    plain = uuid7(0, bytes(10))
    made = {uuid7(0, (1 << bit).to_bytes(10)) for bit in range(80)}
    assert len(made - {plain}) == 74


@pytest.mark.parametrize("length", [0, 9, 11, 16])
def test_chance_of_another_length_is_a_mistake_of_the_caller(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes, needs 10"):
        uuid7(0, bytes(length))


def test_a_derived_id_is_the_same_on_every_node_for_ever() -> None:
    made = derived_id("team/payments", "owner/claude-code", "import:notes.md#3")
    assert made == derived_id("team/payments", "owner/claude-code", "import:notes.md#3")
    # Two versions of the code must agree too, so the value itself is part of the contract.
    assert made == "2c88422e-2526-54d0-aeee-457f32352631"
    assert uuid.UUID(made).version == 5
    assert derived_id("@aliçe", "owner", "記憶") == "9b7aceef-c71a-51f6-a121-6b07996d6cba"


@PROPERTY
@given(st.tuples(PARTS, PARTS, PARTS), st.tuples(PARTS, PARTS, PARTS))
def test_derived_ids_differ_when_any_part_does(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    assert (derived_id(*one) == derived_id(*two)) == (one == two)


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
