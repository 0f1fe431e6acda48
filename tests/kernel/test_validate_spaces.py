"""The path of a space: its allowed forms, and the destination of a write without a space."""

from __future__ import annotations

from dataclasses import replace

import pytest
from validate_builders import ALICE, FINE, IN_PROJECT, SURROGATE, clean, refusal

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.spaces import space_path

BAD_SPACES = [
    "../etc", "team/../x", "team/..", ".", "./a", "/team", "team/", "team//x", "@", "@/x", "team/@alice", "a@b", "@a@b",
    "@alice/@bob", "team\x00", "team\n", "te\x1bam", "team/\u200b", "team\u2028x", "\u202eteam", " team", "team ",
    "team/ x", "team\\x", "team*", "what?", '"team"', "<team>", "a|b", "a/b/c/d/e/f/g/h/i", "x" * 201, "é" * 101,
    "team\u00a0x", SURROGATE,
]  # fmt: skip


@pytest.mark.parametrize("space", BAD_SPACES)
def test_a_bad_space_path_is_refused_and_shown_safely(space: str) -> None:
    error = refusal(lambda: clean(space=space))
    assert error.fields["field"] == "space"
    assert all(ch.isprintable() for ch in error.message)


@pytest.mark.parametrize(
    "space",
    [
        "team/payments",
        "@alice",
        "@alice/notes",
        "a",
        "x" * 200,
        "é" * 100,
        "Team 1/Ängström",
        "記憶/決定",
        "a/b/c/d/e/f/g/h",
        "...",
        "a.b-c_d",
        "owner:x",
    ],
)
def test_a_good_space_path_is_kept(space: str) -> None:
    assert clean(space=space).space == space


def test_two_spellings_of_a_space_are_one_space() -> None:
    assert clean(space="cafe\u0301").space == clean(space="caf\u00e9").space == "caf\u00e9"


def test_the_limit_of_a_space_is_that_of_its_normal_form() -> None:
    assert refusal(lambda: clean(space="\u0958" * 66)).fields["field"] == "space"


def test_a_write_goes_to_the_named_space_else_the_clients_default_else_the_private_one() -> None:
    unnamed = replace(FINE, space="")
    assert request_checks.draft(FINE, IN_PROJECT).space == "team/payments"
    assert request_checks.draft(replace(FINE, space="team/ops"), IN_PROJECT).space == "team/ops"
    assert request_checks.draft(unnamed, IN_PROJECT).space == "team/payments"
    assert request_checks.draft(unnamed, ALICE).space == "@alice"


def test_a_space_without_a_name_says_what_a_space_looks_like() -> None:
    with pytest.raises(InvalidArgument, match="such as team/payments or @alice"):
        space_path("space", "")


def test_a_bad_default_space_is_refused_like_a_named_one() -> None:
    error = refusal(lambda: request_checks.draft(replace(FINE, space=""), replace(ALICE, default_space="../x")))
    assert error.fields["field"] == "space"
