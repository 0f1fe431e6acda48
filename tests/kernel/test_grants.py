"""Patterns of spaces cover what they say and never a private space that they do not name."""

from __future__ import annotations

import pytest

from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.grants import PeerGrant, any_matches, check_pattern, principal_of, space_matches


@pytest.mark.parametrize(
    ("pattern", "space", "covered"),
    [
        ("team/a", "team/a", True), ("team/a", "team/a/b", False), ("team/*", "team/a", True),
        ("team/*", "team/a/b", True), ("team/*", "team", False), ("team/*", "teams/a", False), ("*", "team/a", True),
        ("*", "@ana", False), ("@ana", "@ana", True), ("@ana", "@anastasia", False), ("@*", "@ana", False),
    ],
)  # fmt: skip
def test_a_pattern_covers_its_space_those_below_or_every_shared_one(pattern: str, space: str, covered: bool) -> None:
    assert space_matches(pattern, space) is covered
    assert any_matches(("nothing", pattern), space) is covered


@pytest.mark.parametrize("bad", ["", "a//b", "../a", "team/**", "@ana/*", "a\n", "/*", "*/a"])
def test_a_pattern_that_is_no_space_is_refused_by_its_field(bad: str) -> None:
    with pytest.raises(InvalidArgument, match="spaces"):
        check_pattern("spaces", bad)


def test_good_patterns_stay_as_they_are() -> None:
    for good in ("*", "team/*", "team/a", "@ana"):
        assert check_pattern("spaces", good) == good


def test_a_peer_speaks_for_its_own_agents_unless_it_may_relay() -> None:
    grant = PeerGrant(read=("*",), write=("*",), principal="ana")
    assert grant.may_speak_for("ana")
    assert grant.may_speak_for("ana/claude-code")
    assert not grant.may_speak_for("anastasia/cli")
    assert not grant.may_speak_for("bob/ana")
    assert PeerGrant(read=(), write=(), principal="hub", relay=True).may_speak_for("bob/cli")
    assert principal_of("ana/claude/x") == "ana"
