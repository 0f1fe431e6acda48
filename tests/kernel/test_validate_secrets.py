"""A credential in any text of a write is refused, and nothing of it is in what the caller, a log or a wire sees.

The credentials are made at run time from parts and open nothing.
"""

from __future__ import annotations

import pickle
import random
import string
from collections.abc import Callable
from typing import Any

import pytest

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, NotFound, SecretRefused
from mnemesh_memory.values.model import Caller, Draft, Link, Patch, Query, Source

ALICE = Caller(agent="owner/test", principal="alice", default_space="team/payments")
ALNUM = string.ascii_letters + string.digits


def token(seed: int = 1) -> str:
    """The shape of a GitHub token."""
    return "gh" + "p_" + "".join(random.Random(seed).choices(ALNUM, k=36))


def password(seed: int = 2) -> str:
    return "".join(random.Random(seed).choices(ALNUM + "!#%+", k=20))


def nowhere(secret: str, error: MnemeshError) -> None:
    """No part of the secret that is long enough to help anyone is in what the error carries."""
    shown = " ".join(
        (error.message, str(error), repr(error), repr(error.fields), repr(error.args), repr(error.__cause__))
    )
    wire = pickle.dumps(error)
    back = pickle.loads(wire)
    for start in range(len(secret) - 7):
        part = secret[start : start + 8]
        assert part not in shown
        assert part.encode() not in wire
        assert part not in repr(back.fields) + back.message


IN_DRAFT: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
    ("content", lambda text: {"content": f"To deploy, use {text} on the runner."}),
    ("title", lambda text: {"title": text}),
    ("space", lambda text: {"space": f"team/{text}"}),
    ("tags", lambda text: {"tags": ("fine", text)}),
    ("paths", lambda text: {"paths": ("a.py", text)}),
    ("keywords", lambda text: {"keywords": ("fine", text)}),
    ("attrs", lambda text: {"attrs": {"note": text}}),
    ("attrs", lambda text: {"attrs": {text: "note"}}),
    ("source.session", lambda text: {"source": Source(session=text)}),
    ("source.dir", lambda text: {"source": Source(dir=f"/home/{text}")}),
    ("supersedes", lambda text: {"supersedes": (text,)}),
    ("idempotency_key", lambda text: {"idempotency_key": text}),
]
IN_PATCH: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
    ("content", lambda text: {"content": f"To deploy, use {text} on the runner."}),
    ("title", lambda text: {"title": text}),
    ("tags", lambda text: {"tags": ("fine", text)}),
    ("paths", lambda text: {"paths": ("a.py", text)}),
    ("keywords", lambda text: {"keywords": ("fine", text)}),
    ("attrs", lambda text: {"attrs": {"note": text}}),
    ("idempotency_key", lambda text: {"importance": 0.5, "idempotency_key": text}),
]


@pytest.mark.parametrize(("field", "made"), IN_DRAFT)
def test_a_credential_in_any_text_of_a_draft_is_refused(field: str, made: Callable[[str], dict[str, Any]]) -> None:
    secret = token()
    with pytest.raises(SecretRefused) as caught:
        request_checks.draft(Draft(**{"content": "fine", **made(secret)}), ALICE)
    assert caught.value.fields["field"] == field
    assert caught.value.fields["secret_type"] == "GitHub token"
    assert "GitHub token" in caught.value.message
    nowhere(secret, caught.value)


@pytest.mark.parametrize(("field", "made"), IN_PATCH)
def test_a_credential_in_any_text_of_a_patch_is_refused(field: str, made: Callable[[str], dict[str, Any]]) -> None:
    secret = token(3)
    with pytest.raises(SecretRefused) as caught:
        request_checks.patch(Patch(**made(secret)))
    assert caught.value.fields["field"] == field
    assert caught.value.fields["secret_type"] == "GitHub token"
    nowhere(secret, caught.value)


def test_a_password_is_seen_when_its_name_is_the_key_and_it_the_value() -> None:
    secret = password()
    for call in (
        lambda: request_checks.draft(Draft(content="fine", attrs={"password": secret}), ALICE),
        lambda: request_checks.patch(Patch(attrs={"password": secret})),
    ):
        with pytest.raises(SecretRefused) as caught:
            call()
        assert caught.value.fields["field"] == "attrs"
        nowhere(secret, caught.value)


# A field with a second fault must not show its content.
WRONG_TOO: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
    ("kind", lambda text: {"kind": text}),
    ("tier", lambda text: {"tier": text}),
    ("wait", lambda text: {"wait": text}),
    ("space", lambda text: {"space": f"../{text}"}),
    ("title", lambda text: {"title": text + "\x00"}),
    ("title", lambda text: {"title": text + " and more" * 30}),
    ("title", lambda text: {"title": text + "\ud800"}),
    ("tags[0]", lambda text: {"tags": (text + "\n" + text,)}),
    ("attrs key", lambda text: {"attrs": {text + "\x00": "v"}}),
    ("attrs.note", lambda text: {"attrs": {"note": text + "\ud800"}}),
    ("links[0].id", lambda text: {"links": (Link("see-also", text),)}),
    ("links[0].type", lambda text: {"links": (Link(text, "x"),)}),
    ("content", lambda text: {"content": text + "\ud800"}),
    ("content", lambda text: {"content": text * 1000}),
    ("idempotency_key", lambda text: {"idempotency_key": text + "\x07"}),
]


@pytest.mark.parametrize(("field", "made"), WRONG_TOO)
def test_a_field_that_is_wrong_does_not_show_the_credential_that_it_holds(
    field: str, made: Callable[[str], dict[str, Any]]
) -> None:
    secret = token(4)
    with pytest.raises(InvalidArgument) as caught:
        request_checks.draft(Draft(**{"content": "fine", **made(secret)}), ALICE)
    assert caught.value.fields["field"] == field
    nowhere(secret, caught.value)


def test_a_read_that_is_refused_does_not_show_the_credential_that_it_holds() -> None:
    secret = token(5)
    bad: list[dict[str, Any]] = [
        {"mode": secret}, {"kinds": (secret,)}, {"spaces": (f"../{secret}",)}, {"weights": {secret: 1.0}}
    ]  # fmt: skip
    for changes in bad:
        with pytest.raises(InvalidArgument) as caught:
            request_checks.query(Query(**{"text": "x", **changes}), ALICE)
        nowhere(secret, caught.value)
    nowhere(secret, NotFound("memory", secret))


def test_a_question_may_name_a_credential_because_it_is_not_stored() -> None:
    request_checks.query(Query(text=f"who rotated {token()}?"), ALICE)


def test_a_write_marked_sensitive_is_refused_before_anything_else_looks_at_it() -> None:
    for call in (
        lambda: request_checks.draft(Draft(content="", kind="my diary", sensitive=True), ALICE),
        lambda: request_checks.patch(Patch(kind="my diary", sensitive=True)),
        lambda: request_checks.patch(Patch(sensitive=True)),
    ):
        with pytest.raises(SecretRefused) as caught:
            call()
        assert caught.value.fields["field"] == "sensitive"
        assert "diary" not in repr(caught.value.fields) + caught.value.message


def test_a_write_that_is_not_marked_and_holds_no_credential_passes() -> None:
    text = "Rotate the GitHub token every 90 days; it is stored in the vault under ci/github."
    assert request_checks.draft(Draft(content=text, attrs={"password": "see the vault"}), ALICE).content == text
