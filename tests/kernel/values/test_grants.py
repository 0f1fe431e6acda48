"""Patterns of spaces cover the spaces they name, and never an unnamed private space."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mnemesh_memory.access import grants
from mnemesh_memory.access.grants import PeerGrant, any_matches, check_pattern, principal_of, space_matches
from mnemesh_memory.values.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied, shown_time
from mnemesh_memory.values.model import Agent, Caller


@pytest.mark.parametrize(
    ("pattern", "space", "covered"),
    [
        ("team/a", "team/a", True), ("team/a", "team/a/b", False), ("team/*", "team/a", True),
        ("team/*", "team/a/b", True), ("team/*", "team", False), ("team/*", "teams/a", False), ("*", "team/a", True),
        ("*", "@ana", False), ("@ana", "@ana", True), ("@ana", "@anastasia", False), ("@*", "@ana", False),
        ("@ana", "@ana/notes", True), ("*", "@ana/notes", False), ("@ana", "@anastasia/notes", False),
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


def ana(role: str = "writer", *spaces: str, toolsets: tuple[str, ...] = (), expires_at: int | None = None) -> Caller:
    return Caller(agent="ana", principal="ana", role=role, spaces=spaces, toolsets=toolsets, expires_at=expires_at)


OWNER = Caller(agent="owner", principal="owner")


@pytest.mark.parametrize(
    ("caller", "space", "read", "write"),
    [
        (OWNER, "team/a", True, True), (OWNER, "@owner", True, True), (OWNER, "@ana", False, False),
        (ana("writer", "team/*"), "team/a", True, True), (ana("writer", "team/*"), "ops", False, False),
        (ana("writer"), "@ana", True, True), (ana("writer", "*"), "@bob", False, False),
        (ana("writer", "*"), "@owner", False, False), (ana("reader", "team/*"), "team/a", True, False),
        (ana("reader"), "@ana", True, False), (ana("admin", "team/*"), "team/a", True, True),
        (ana("admin", "*"), "@bob", False, False), (ana("admin", "team/*"), "ops", False, False),
    ],
)  # fmt: skip
def test_a_role_says_what_and_the_patterns_say_where(caller: Caller, space: str, read: bool, write: bool) -> None:
    assert grants.may_read(caller, space) is read
    assert grants.may_write(caller, space) is write


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("reader", {"identify", "read"}),
        ("writer", {"identify", "read", "write"}),
        ("admin", {"identify", "read", "write", "administer"}),
        ("owner", {"identify", "read", "write", "administer", "own"}),
    ],
)
def test_each_role_may_what_its_row_says(role: str, may: set[str]) -> None:
    caller = ana(role)
    assert {need for need in grants.NEEDS if grants.may(caller, need, "core")} == may


def test_a_token_of_some_toolsets_opens_these_alone_and_still_says_who_it_is() -> None:
    caller = ana("writer", toolsets=("core",))
    assert grants.may(caller, grants.WRITE, "core")
    assert not grants.may(caller, grants.WRITE, "curate")
    assert grants.may(caller, grants.IDENTIFY, "admin")


def test_a_denial_names_principal_action_space_and_grant() -> None:
    with pytest.raises(PermissionDenied) as caught:
        grants.require_space(ana("reader", "team/*"), grants.WRITE, "team/a")
    assert caught.value.message == "ana may not write in space 'team/a'; its token grants: reader of team/*, @ana"


@pytest.mark.parametrize(
    ("has", "wanted", "covered"),
    [
        (("*",), "*", True), (("team/*",), "*", False), (("team/*",), "team/*", True), (("team/*",), "team/a/*", True),
        (("team/*",), "team/a", True), (("team/*",), "team", False), (("team/a",), "team/a/*", False),
        (("team/a/*",), "team/*", False), (("*",), "team/*", True), ((), "team/a", False), (("a", "b"), "b", True),
        (("team/*",), "team/a/b", True), (("*", "team/*"), "@ana", False), (("@ana",), "@ana", True),
    ],
)  # fmt: skip
def test_a_pattern_covers_another_when_it_covers_its_spaces(has: tuple[str, ...], wanted: str, covered: bool) -> None:
    assert grants.covers(has, wanted) is covered


NOW = 1_800_000_000_000  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", None), ("30d", NOW + 30 * 86_400_000), ("12h", NOW + 12 * 3_600_000), ("4w", NOW + 28 * 86_400_000),
        ("90s", NOW + 90_000), (" 5m ", NOW + 300_000), ("2027-02-01", 1_801_440_000_000),
        ("2027-01-15T09:00:00Z", NOW + 3_600_000), ("2027-01-15T10:00:00+01:00", NOW + 3_600_000),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000),
    ],
)  # fmt: skip
def test_an_end_is_a_time_a_date_or_a_duration(text: str, at: int | None) -> None:
    assert grants.expiry("expires", text, NOW) == at


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-15", "2026-01-01", "0d", "0s", "2027-01-15T08:00:00Z", "tomorrow", "30", "30 d", "-1d", "1y",
        "20270201", "2027-W05-1", "2027-02-30", "2027-02-01T00:00:00", "999999999w", "9999-12-31T23:59:59-01:00",
        "\ud800",
    ],
)  # fmt: skip
def test_an_end_that_is_past_or_none_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        grants.expiry("expires", text, NOW)
    assert caught.value.fields["field"] == "expires"


def issue(issuer: Caller = OWNER, before: Agent | None = None, **changes: Any) -> Agent:
    asked: dict[str, Any] = {"name": "bob", "role": "writer", "spaces": ("team/*",), "toolsets": (), "expires": ""}
    return grants.new_agent(issuer, now=NOW, before=before, **asked | changes)


def test_the_owner_issues_what_it_asks_for() -> None:
    made = issue(spaces=("team/*", "team/*", "@bob", "ops"), toolsets=("core",), expires="1h")
    assert made == Agent(
        name="bob", role="writer", spaces=("team/*", "ops"), toolsets=("core",), created_at=NOW, created_by="owner",
        expires_at=NOW + 3_600_000,
    )  # fmt: skip
    assert made.state(NOW) == "active"
    assert made.state(NOW + 3_600_000) == "expired"


CREDENTIAL = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        *(({"name": name}, "name") for name in (
            "", "owner", "Ana", "a b", "a/b", "@a", "-a", ".", "..", "caf\u00e9", "x" * 41, "a\n", "\ud800", CREDENTIAL,
        )),
        *(({"role": role}, "role") for role in ("", "owner", "Writer", "root")),
        ({"spaces": ("ok", "@ana")}, "spaces[1]"), ({"spaces": ("team/**",)}, "spaces[0]"),
        ({"spaces": ("",)}, "spaces[0]"), ({"spaces": ("\ud800",)}, "spaces[0]"),
        ({"spaces": (f"team/{CREDENTIAL}",)}, "spaces[0]"),
        ({"spaces": tuple(f"s{i}" for i in range(101))}, "spaces"),
        ({"toolsets": ("core", "everything")}, "toolsets[1]"), ({"expires": "2020-01-01"}, "expires"),
    ],
)  # fmt: skip
def test_bad_input_for_a_token_is_refused_by_field_without_the_credential(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        issue(**changes)
    assert caught.value.fields["field"] == field
    assert CREDENTIAL not in caught.value.message


def test_a_name_has_one_token_until_that_ends() -> None:
    before = issue()
    with pytest.raises(AlreadyExists, match="revoke it first"):
        issue(before=before)
    assert issue(before=dataclasses.replace(before, revoked_at=NOW)).revoked_at is None
    assert issue(before=dataclasses.replace(before, expires_at=NOW)).expires_at is None


def test_an_admin_can_not_take_over_a_name_and_with_it_a_private_space() -> None:
    ended = dataclasses.replace(issue(), revoked_at=NOW)
    with pytest.raises(PermissionDenied):
        issue(ana("admin", "*"), before=ended)


@pytest.mark.parametrize(
    ("issuer", "changes", "error"),
    [
        (ana("admin", "team/a"), {}, PermissionDenied),
        (ana("admin", "team/*"), {"spaces": ("*",)}, PermissionDenied),
        (ana("admin", "team/*", toolsets=("core",)), {}, PermissionDenied),
        (ana("admin", "team/*", toolsets=("core",)), {"toolsets": ("core", "admin")}, PermissionDenied),
        (ana("admin", "team/*", expires_at=NOW + 1000), {}, InvalidArgument),
        (ana("admin", "team/*", expires_at=NOW + 1000), {"expires": "2s"}, InvalidArgument),
    ],
)
def test_nobody_grants_more_than_it_has(issuer: Caller, changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        issue(issuer, **changes)


def test_an_admin_whose_token_ends_is_told_until_when_it_may_issue_one() -> None:
    issuer, rule = ana("admin", "team/*", expires_at=NOW + 1000), f"no later than {shown_time(NOW + 1000)}"
    for expires, told in (("", "expires: missing"), (" ", "expires: missing"), ("2s", "'2s' is not allowed")):
        with pytest.raises(InvalidArgument) as caught:
            issue(issuer, expires=expires)
        assert (told in caught.value.message, rule in caught.value.message) == (True, True)


def test_an_admin_grants_what_it_has() -> None:
    issuer = ana("admin", "team/*", toolsets=("core", "admin"), expires_at=NOW + 2000)
    made = issue(issuer, role="admin", spaces=("team/a/*", "team/b"), toolsets=("core",), expires="2s")
    assert (made.created_by, made.spaces) == ("ana", ("team/a/*", "team/b"))


def test_a_name_whose_private_space_holds_anything_is_the_owners_to_give() -> None:
    with pytest.raises(PermissionDenied, match="owner alone"):
        issue(ana("admin", "team/*"), inhabited=True)
    assert issue(inhabited=True).name == "bob"


def test_an_admin_sees_of_the_tokens_without_a_space_those_that_it_issued() -> None:
    me, alone = ana("admin", "team/*"), issue(spaces=())
    assert not grants.may_see(me, alone)
    assert grants.may_see(me, issue(me, spaces=()))
    assert grants.may_see(OWNER, alone)


def test_an_admin_sees_the_tokens_within_its_spaces_and_its_own() -> None:
    within, beyond = issue(), issue(spaces=("team/a", "ops"))
    me = ana("admin", "team/*")
    assert grants.may_see(me, within)
    assert not grants.may_see(me, beyond)
    assert grants.may_see(me, dataclasses.replace(beyond, name="ana"))
    assert grants.may_see(OWNER, beyond)
    refusals = []
    for agent in (beyond, None):
        with pytest.raises(NotFound) as caught:
            grants.require_seen(me, "bob", agent)
        refusals.append(caught.value.message)
    assert refusals[0] == refusals[1]
