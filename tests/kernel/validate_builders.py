"""Shared by the tests of validation: short ways to validate a write and to look at its refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller, Draft, Patch, Source

ALICE = Caller(agent="owner/test", principal="alice")
IN_PROJECT = replace(ALICE, default_space="team/payments")
ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
FINE = Draft(content="The ledger commits before it answers.", space="team/payments")
NAN, INF = float("nan"), float("inf")
SURROGATE = "broken \ud800 text"


def clean(**changes: Any) -> Draft:
    return request_checks.draft(replace(FINE, **changes), ALICE)


def clean_patch(**changes: Any) -> Patch:
    return request_checks.patch(Patch(**changes))


def refusal(call: Callable[[], object]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        call()
    error = caught.value
    error.message.encode()  # can be sent
    for part in ("field", "value", "limit"):
        assert error.fields[part], part
        # The value of what is missing was typed by nobody, so the message leaves it out.
        assert error.fields[part] in error.message or (part == "value" and ": missing; " in error.message)
    assert len(error.message) < 700
    return error


# Every field of one line: its name in an error, its limit in bytes, and a draft's fields with a text inside.
ONE_LINE: list[tuple[str, int, Callable[[str], dict[str, Any]]]] = [
    ("title", limits.TITLE_BYTES_MAX, lambda text: {"title": text}),
    ("idempotency_key", limits.IDEMPOTENCY_KEY_BYTES_MAX, lambda text: {"idempotency_key": text}),
    ("source.session", limits.SESSION_BYTES_MAX, lambda text: {"source": Source(session=text)}),
    ("source.dir", limits.PATH_BYTES_MAX, lambda text: {"source": Source(dir=text)}),
    ("tags[0]", limits.TAG_BYTES_MAX, lambda text: {"tags": (text,)}),
    ("keywords[0]", limits.KEYWORD_BYTES_MAX, lambda text: {"keywords": (text,)}),
    ("paths[0]", limits.PATH_BYTES_MAX, lambda text: {"paths": (text,)}),
    ("supersedes[0]", limits.TITLE_BYTES_MAX, lambda text: {"supersedes": (text,)}),
    ("attrs key", limits.ATTR_KEY_BYTES_MAX, lambda text: {"attrs": {text: "value"}}),
]
