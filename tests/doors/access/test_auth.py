"""The caller: one owner token, compared in constant time; agent and space from two more headers."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_gateway.security.auth import Authenticator, agent_name
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, SecretRefused, Unauthenticated
from mnemesh_memory.values.model import Caller

TOKEN = "s3cret-token"


def caller(client_name: str = "", **headers: str) -> Caller:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Authenticator(TOKEN).authenticate({"authorization": f"Bearer {TOKEN}", **named}, client_name)


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER {TOKEN}", f"Bearer  {TOKEN} "])
def test_the_owner_token_is_the_owner_however_the_scheme_is_written(header: str) -> None:
    found = Authenticator(TOKEN).authenticate({"authorization": header})
    assert found == Caller(agent="owner", principal="owner", role="owner", default_space="")


@pytest.mark.parametrize(
    "header",
    [
        "", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN} {TOKEN}", f"Bearer{TOKEN}", "Bearer \u00e9\ud800",
    ],
)  # fmt: skip
def test_anything_else_is_nobody(header: str) -> None:
    with pytest.raises(Unauthenticated):
        Authenticator(TOKEN).authenticate({"authorization": header})


def test_a_refusal_holds_neither_the_right_token_nor_the_given_one() -> None:
    with pytest.raises(Unauthenticated) as caught:
        Authenticator(TOKEN).authenticate({"authorization": "Bearer almost-right"})
    assert TOKEN not in repr(caught.value.__dict__)
    assert "almost-right" not in repr(caught.value.__dict__)


def test_a_token_is_compared_in_constant_time_even_when_the_scheme_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return left == right

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for header in ("", f"Basic {TOKEN}", "Bearer wrong"):
        with pytest.raises(Unauthenticated):
            Authenticator(TOKEN).authenticate({"authorization": header})
    assert compared == [b"", TOKEN.encode(), b"wrong"]


def test_an_empty_owner_token_is_no_token() -> None:
    with pytest.raises(ValueError, match="empty"):
        Authenticator("")


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("", "owner"),
        ("claude-code", "owner/claude-code"),
        ("Claude Code", "owner/claude-code"),
        ("  Zed 1.2_beta  ", "owner/zed-1.2_beta"),
        ("../../etc/passwd", "owner/..-..-etc-passwd"),
        ("caf%C3%A9", "owner/caf"),
        ("%E2%9C%A8", "owner"),
        ("a\tb", "owner/a-b"),
        ("x" * 200, "owner/" + "x" * (limits.AGENT_BYTES_MAX - 6)),
    ],
)
def test_the_agent_header_is_folded_into_the_agents_name(name: str, agent: str) -> None:
    assert caller(x_mnemesh_agent=name).agent == agent


@given(st.text())
def test_any_client_name_gives_a_short_clean_agent(name: str) -> None:
    agent = agent_name(name)
    assert len(agent.encode()) <= limits.AGENT_BYTES_MAX
    assert set(agent.removeprefix("owner").removeprefix("/")) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_an_mcp_client_names_itself_unless_the_header_does() -> None:
    assert caller("Cursor").agent == "owner/cursor"
    assert caller("Cursor", x_mnemesh_agent="hook").agent == "owner/hook"


@pytest.mark.parametrize(
    ("header", "space"),
    [
        ("team/payments", "team/payments"),
        ("@alice", "@alice"),
        ("", ""),
        ("caf%C3%A9", "caf\u00e9"),
        ("100%25", "100%"),
    ],
)
def test_the_space_header_is_the_default_space_with_other_characters_percent_encoded(header: str, space: str) -> None:
    assert caller(x_mnemesh_space=header).default_space == space


@pytest.mark.parametrize("header", ["../up", "a//b", "caf\u00e9", "%FF", "a%0Ab", "x" * 201])
def test_a_bad_space_header_is_refused_by_its_name(header: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        caller(x_mnemesh_space=header)
    assert caught.value.fields["field"] == "x-mnemesh-space"


def test_a_bad_space_header_says_nothing_to_a_stranger() -> None:
    with pytest.raises(Unauthenticated):
        Authenticator(TOKEN).authenticate({"x-mnemesh-space": "../up"})


CREDENTIAL = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"


@pytest.mark.parametrize(
    ("headers", "client_name", "field"),
    [
        ({"x_mnemesh_agent": CREDENTIAL}, "", "x-mnemesh-agent"),
        ({"x_mnemesh_agent": "bot%20" + CREDENTIAL}, "", "x-mnemesh-agent"),
        ({}, f"host {CREDENTIAL}", "clientInfo.name"),
        ({"x_mnemesh_agent": "hook"}, CREDENTIAL, "clientInfo.name"),
        ({"x_mnemesh_space": f"team/{CREDENTIAL}"}, "", "x-mnemesh-space"),
    ],
)
def test_a_credential_as_name_or_space_is_refused_by_its_field_and_never_shown(
    headers: dict[str, str], client_name: str, field: str
) -> None:
    for _ in range(2):  # good headers are judged once, bad headers each time
        with pytest.raises(SecretRefused) as caught:
            caller(client_name, **headers)
        assert caught.value.fields["field"] == field
        assert CREDENTIAL not in repr(caught.value.__dict__)
