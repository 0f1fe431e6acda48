"""Whole requests: patches, batches, broken text in any field; what has passed once passes again unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from validate_builders import FINE, IN_PROJECT, ONE_LINE, SURROGATE, clean, clean_patch, refusal

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import InvalidArgument, PermissionDenied, SecretRefused
from mnemesh_memory.values.kinds import KIND_FOLD, KINDS, TIERS, WAITS, WRITABLE_LINK_TYPES
from mnemesh_memory.values.model import Draft, Link, Patch, Source

# ---- lone surrogates ------------------------------------------------------------------------------------------------


TEXT_FIELDS: list[tuple[str, Callable[[str], Any]]] = [
    ("content", lambda text: {"content": text}),
    ("kind", lambda text: {"kind": text}),
    ("space", lambda text: {"space": text}),
    ("attrs.k", lambda text: {"attrs": {"k": text}}),
    *((field, made) for field, _, made in ONE_LINE),
]


@pytest.mark.parametrize(("field", "made"), TEXT_FIELDS, ids=[row[0] for row in TEXT_FIELDS])
@pytest.mark.parametrize("bad", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_a_lone_surrogate_is_refused_in_every_text_field(field: str, made: Callable[[str], Any], bad: str) -> None:
    assert refusal(lambda: clean(**made(bad))).fields["field"] == field


@pytest.mark.parametrize("field", ["content", "kind", "title", "tier", "idempotency_key", "wait"])
def test_a_lone_surrogate_is_refused_in_every_text_of_a_patch(field: str) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: SURROGATE}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"] == field


@pytest.mark.parametrize("field", ["tags", "paths", "keywords", "expected_heads"])
def test_a_lone_surrogate_is_refused_in_every_list_of_a_patch(field: str) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: (SURROGATE,)}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"] == f"{field}[0]"


# ---- patches --------------------------------------------------------------------------------------------------------


def test_a_patch_that_changes_nothing_is_refused() -> None:
    for empty in ({}, {"force": True}, {"wait": "durable"}, {"expected_heads": ("1@" + "a" * 32,)}):
        assert "at least one field" in refusal(lambda empty=empty: clean_patch(**empty)).message


@pytest.mark.parametrize("changes", [{"tags": ()}, {"title": ""}, {"attrs": {}}, {"importance": 0.0}, {"valid_to": 0}])
def test_emptying_a_field_is_a_change(changes: dict[str, Any]) -> None:
    assert clean_patch(**changes) == Patch(**changes)


def test_a_field_that_a_patch_does_not_name_stays_unnamed() -> None:
    assert clean_patch(title=" New ") == Patch(title="New")


def test_a_patch_does_not_empty_the_content() -> None:
    assert refusal(lambda: clean_patch(content=" ")).fields["field"] == "content"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tags", ("x" * 81,)), ("paths", ("x" * 513,)), ("keywords", ("x" * 81,)), ("title", "x" * 201),
        ("tags", tuple(map(str, range(65)))), ("attrs", {"k": "x" * 1025}), ("kind", "nope"), ("tier", "hot"),
        ("idempotency_key", "x" * 201), ("expected_heads", ("x" * 44,)), ("expected_heads", tuple(map(str, range(65)))),
    ],
)  # fmt: skip
def test_a_patch_has_the_limits_of_a_draft(field: str, value: Any) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: value}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"].startswith(field)


# ---- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 257])
def test_a_batch_has_1_to_256_items(count: int) -> None:
    error = refusal(lambda: request_checks.batch([FINE] * count))
    assert error.fields["field"] == "items"
    assert f"{count} items" in error.fields["value"]
    assert "256" in error.fields["limit"]


def test_a_batch_of_1_and_of_256_items_is_taken() -> None:
    request_checks.batch([FINE])
    request_checks.batch([FINE] * 256)


def test_a_batch_holds_at_most_a_mebibyte_of_content() -> None:
    one = replace(FINE, content="é" * 16384)
    request_checks.batch([one] * 32)
    error = refusal(lambda: request_checks.batch([*[one] * 32, replace(FINE, content="x")]))
    assert error.fields["field"] == "items"
    assert "1048577 bytes" in error.fields["value"]


def test_a_broken_item_is_left_to_its_own_judgement() -> None:
    request_checks.batch([replace(FINE, content=SURROGATE), replace(FINE, content="")])


# ---- properties -----------------------------------------------------------------------------------------------------


ODD_CHARACTERS = st.sampled_from("ab @/\n\u0958\u212be\u0301\ud800 ")
ANY_TEXT = st.text(st.characters(), max_size=40) | st.text(ODD_CHARACTERS, max_size=8)
LETTERS = st.text(st.characters(categories=["L"]), min_size=1, max_size=9)
WORDS = st.lists(ANY_TEXT, max_size=4).map(tuple)
DRAFTS = st.builds(
    Draft,
    content=ANY_TEXT,
    kind=ANY_TEXT | st.sampled_from(["", *KINDS, *KIND_FOLD]),
    title=ANY_TEXT,
    space=st.sampled_from(["", "team/payments", "cafe\u0301"]) | ANY_TEXT,
    tags=WORDS,
    importance=st.none() | st.floats(),
    paths=WORDS,
    source=st.builds(Source, ANY_TEXT, ANY_TEXT, st.none() | st.integers()),
    valid_from=st.none() | st.integers(),
    valid_to=st.none() | st.integers(),
    keywords=WORDS,
    attrs=st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
    links=st.lists(st.builds(Link, st.sampled_from(WRITABLE_LINK_TYPES), st.uuids().map(str)), max_size=3).map(tuple),
    tier=st.sampled_from(["", *TIERS]),
    supersedes=WORDS,
    idempotency_key=ANY_TEXT,
    wait=st.sampled_from(["", *WAITS]),
)
PASSING = st.builds(
    Draft,
    content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60),
    title=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    space=st.sampled_from(["", "team/payments", "cafe\u0301", "@alice"]),
    tags=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)).map(tuple),
    importance=st.none() | st.floats(0, 1),
    attrs=st.dictionaries(LETTERS, ANY_TEXT.filter(str.isprintable)),
    valid_from=st.none() | st.integers(0, 9),
    valid_to=st.none() | st.integers(9, 99),
)  # fmt: skip


@settings(max_examples=300, derandomize=True, database=None)
@given(DRAFTS | PASSING)
def test_a_draft_passes_unchanged_once_it_has_passed_and_nothing_but_a_refusal_is_raised(given_draft: Draft) -> None:
    try:
        once = request_checks.draft(given_draft, IN_PROJECT)
    except (InvalidArgument, PermissionDenied, SecretRefused) as refused:
        refused.message.encode()
        return
    assert request_checks.draft(once, IN_PROJECT) == once
    assert once.content == given_draft.content


@settings(max_examples=200, derandomize=True, database=None)
@given(PASSING)
def test_most_of_the_drafts_that_look_right_are_right(given_draft: Draft) -> None:
    """Without this the property above could pass by refusing everything."""
    if given_draft.content.strip():
        request_checks.draft(given_draft, IN_PROJECT)
