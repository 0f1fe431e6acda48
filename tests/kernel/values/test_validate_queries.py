"""Validation of questions and listings, and credentials in any request."""

from __future__ import annotations

import pickle
import random
import string
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, NotFound, PermissionDenied, SecretRefused
from mnemesh_memory.values.kinds import MODES, SORTS, STATES
from mnemesh_memory.values.model import Caller, Draft, Link, ListQuery, Patch, Query, Source

ALICE = Caller(agent="owner/test", principal="alice", default_space="team/payments")


def question(**changes: Any) -> Query:
    return request_checks.query(Query(**{"text": "what was decided?", **changes}), ALICE)


def listing(**changes: Any) -> ListQuery:
    return request_checks.list_query(ListQuery(**changes), ALICE)


ODD_QUESTIONS = [
    "?", "'", '"', "-", "+", "*", "(", ")", ":", "AND", "NEAR", "AND NEAR(x, y)", "a OR", "\\", "%", "_", "[", "{", "",
    " ", "記憶はどこ", "기억", "ذاكرة", "🧠🧠", "👩‍👩‍👧", "\x00",
    "\x1b[0m", "\n" * 50, "x" * 10_000, "🧠" * 10_000, "'; DROP TABLE memory; --",
]  # fmt: skip


NAN, INF = float("nan"), float("inf")
NO_TIMES = (limits.TIME_MS_MIN - 1, limits.TIME_MS_MAX + 1)
MANY_SPACES = tuple(f"team/{number}" for number in range(33))
NO_TAGS = (("x" * 81,), ("",), ("a\nb",), ("\ud800",), tuple(map(str, range(65))))
BOTH, RECALL, LIST = (question, listing), (question,), (listing,)

# Who asks, the field that a refusal names, a part of its limit or value, and the wrong field.
REFUSED: list[tuple[tuple[Callable[..., Any], ...], str, str, dict[str, Any]]] = [
    (RECALL, "query", "10001 characters", {"text": "x" * 10_001}), (RECALL, "query", "10000", {"text": "x" * 10_001}),
    (RECALL, "query", "", {"text": "a\ud800"}),
    *((BOTH, "limit", "a whole number from 1 to 200", {"limit": bad}) for bad in (0, -1, 201, 10_000, 2**31)),
    *((RECALL, "token_budget", "", {"token_budget": bad}) for bad in (0, -1, limits.TOKEN_BUDGET_MAX + 1)),
    *((RECALL, name, "", {name: bad}) for name in ("min_score", "min_heat") for bad in (NAN, INF, -0.1, 1.1)),
    *((RECALL, "weights.dense", "", {"weights": {"dense": bad}}) for bad in (NAN, INF, -INF, -0.001, 100.1)),
    (RECALL, "weights", "'magic'", {"weights": {"dense": 1.0, "magic": 1.0}}),
    (RECALL, "weights", "dense, bm25", {"weights": {"dense": 1.0, "magic": 1.0}}),
    (RECALL, "weights", "above 0", {"weights": {"dense": 0.0, "bm25": 0.0}}),
    *((BOTH, name, "", {name: bad}) for name in ("since", "before", "valid_at") for bad in NO_TIMES),
    (RECALL, "as_of", "", {"as_of": limits.TIME_MS_MIN - 1}),
    *((LIST, "before", "after since", {"since": 5, "before": before}) for before in (5, 4)),
    (LIST, "before", "1970-01-01T00:00:00.004Z", {"since": 5, "before": 4}),
    (BOTH, "kinds", "requirement", {"kinds": ("fact", "nope")}), (BOTH, "kinds", "", {"kinds": ("fact",) * 1000}),
    *((BOTH, name, "", {name: bad}) for name in ("tags_any", "tags_all", "tags_none") for bad in NO_TAGS),
    (RECALL, "paths", "", {"paths": ("x",) * 65}), (RECALL, "paths[0]", "", {"paths": ("x" * 513,)}),
    *(
        (who, name, "", {name: bad})
        for who, name, most in ((BOTH, "agent", 80), (BOTH, "session", 200), (RECALL, "source_dir", 512))
        for bad in ("x" * (most + 1), "a\nb", "\ud800")
    ),
    (BOTH, "spaces", "33 spaces", {"spaces": MANY_SPACES}),
    *(
        (BOTH, "spaces", "", {"spaces": ("team/payments", bad)})
        for bad in ("../x", "", "a//b", "a\x00b", "a@b", "x" * 201, "\ud800")
    ),
]  # fmt: skip
# Fields that pass, with the value that they have then.
TAKEN: list[tuple[tuple[Callable[..., Any], ...], dict[str, Any], Any]] = [
    *((BOTH, {"limit": limit}, limit) for limit in (1, 200)),
    *((RECALL, {"token_budget": budget}, budget) for budget in (None, 1, limits.TOKEN_BUDGET_MAX)),
    *((RECALL, {name: value}, value) for name in ("min_score", "min_heat") for value in (0.0, 0.5, 1.0)),
    *((RECALL, {"weights": one}, one) for one in ({"dense": 0.0, "bm25": 100.0}, {"dense": 0.0}, {})),
    (LIST, {"before": 5, "since": 4}, 5), (RECALL, {"before": 5, "since": 5}, 5), (RECALL, {"as_of": 0}, 0),
    (BOTH, {"valid_at": 0}, 0), (BOTH, {"kinds": ("Gotcha", "error", "note")}, ("error", "fact")),
    *((BOTH, {name: ("b", "e\u0301", "b")}, ("b", "é")) for name in ("tags_any", "tags_all", "tags_none")),
    (BOTH, {"agent": "x" * 80}, "x" * 80), (BOTH, {"session": "x" * 200}, "x" * 200),
    (RECALL, {"source_dir": "x" * 512}, "x" * 512), (BOTH, {"spaces": MANY_SPACES[:32]}, MANY_SPACES[:32]),
]  # fmt: skip


def refusal(call: Callable[[], object]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        call()
    caught.value.message.encode()
    assert all(caught.value.fields[part] for part in ("field", "value", "limit"))
    return caught.value


@pytest.mark.parametrize("text", ODD_QUESTIONS)
def test_a_question_may_be_any_text_and_is_not_changed(text: str) -> None:
    assert question(text=text).text == text


@settings(max_examples=200, derandomize=True, database=None)
@given(st.text())
def test_no_unicode_text_makes_a_question_fail(text: str) -> None:
    assert question(text=text).text == text


@pytest.mark.parametrize(("who", "field", "said", "changes"), REFUSED)
def test_a_bad_field_of_a_question_or_listing_is_refused_by_its_name_with_its_limit(
    who: tuple[Callable[..., Any], ...], field: str, said: str, changes: dict[str, Any]
) -> None:
    for ask in who:
        error = refusal(lambda ask=ask: ask(**changes))
        assert error.fields["field"].partition("[")[0] == field.partition("[")[0]
        assert said in error.message


@pytest.mark.parametrize(("who", "changes", "value"), TAKEN)
def test_a_field_within_its_limits_is_taken_in_its_normal_form(
    who: tuple[Callable[..., Any], ...], changes: dict[str, Any], value: Any
) -> None:
    for ask in who:
        assert getattr(ask(**changes), next(iter(changes))) == value


@pytest.mark.parametrize(("mode", "name"), [("semantic", "dense"), ("keyword", "bm25")])
def test_a_mode_of_one_signal_wants_a_weight_of_that(mode: str, name: str) -> None:
    error = refusal(lambda: question(mode=mode, weights={name: 0.0}))
    assert error.message == f"weights.{name}: 0 is not allowed; above 0 with mode {mode}, which has no other signal"
    assert question(mode=mode, weights={name: 0.1}).mode == mode


@pytest.mark.parametrize(
    ("ask", "field", "allowed"),
    [(question, "mode", MODES), (question, "sort", SORTS), (question, "time_words", ("prefer", "only", "off")),
     (listing, "state", (*STATES, "all")),
     (listing, "order", ("newest", "oldest"))],
)  # fmt: skip
def test_a_word_outside_its_list_is_refused_with_the_list(
    ask: Callable[..., Any], field: str, allowed: tuple[str, ...]
) -> None:
    error = refusal(lambda: ask(**{field: "best"}))
    assert error.fields["field"] == field
    for word in allowed:
        assert word in error.fields["limit"]
        assert getattr(ask(**{field: word}), field) == word
    assert getattr(ask(**{field: ""}), field) in allowed


@pytest.mark.parametrize(
    ("named", "default", "spaces"),
    [(("b", "a", "b"), "team/payments", ("b", "a")), ((), "team/payments", ("team/payments", "@alice")),
     ((), "", ("@alice",)), ((), "@alice", ("@alice",)), (("cafe\u0301", "caf\u00e9"), "", ("caf\u00e9",))],
)  # fmt: skip
def test_a_read_searches_the_named_spaces_else_the_default_and_the_private_one(
    named: tuple[str, ...], default: str, spaces: tuple[str, ...]
) -> None:
    assert request_checks.read_spaces(named, replace(ALICE, default_space=default)) == spaces


# ---- properties ---------------------------------------------------------------------------------------------------

TEXTS = ("text", "agent", "session", "mode")
NAMES = st.sampled_from([*TEXTS, "spaces", "kinds", "tags_any", "tags_all", "tags_none", "paths"])
VALUES = st.text(st.characters(), max_size=20)


@settings(max_examples=200, derandomize=True, database=None)
@given(st.dictionaries(NAMES, st.lists(VALUES, max_size=3), max_size=4))
def test_a_question_passes_unchanged_once_it_has_passed(parts: dict[str, list[str]]) -> None:
    changes = {name: "".join(values) if name in TEXTS else tuple(values) for name, values in parts.items()}
    try:
        once = question(**changes)
    except InvalidArgument:
        return
    assert request_checks.query(once, ALICE) == once


# ---- secrets ---------------------------------------------------------------------------------------------------------
# A credential in any text of a write is refused, and nothing of it is in what the caller, a log or a wire sees.


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


Made = Callable[[str], dict[str, Any]]
# The field that a refusal names, and a draft's fields with a text inside.
STORED: list[tuple[str, Made]] = [
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


def draft(**changes: Any) -> Draft:
    return request_checks.draft(Draft(**{"content": "fine", **changes}), ALICE)


def patch(**changes: Any) -> Patch:
    return request_checks.patch(Patch(**{"importance": 0.5, **changes}))


@pytest.mark.parametrize(("field", "made"), STORED)
def test_a_credential_in_any_text_of_a_write_is_refused(field: str, made: Made) -> None:
    secret = token()
    for write in (draft, patch) if made("").keys() <= {one.name for one in fields(Patch)} else (draft,):
        with pytest.raises(SecretRefused) as caught:
            write(**made(secret))
        assert (caught.value.fields["field"], caught.value.fields["secret_type"]) == (field, "GitHub token")
        assert "GitHub token" in caught.value.message
        nowhere(secret, caught.value)


@pytest.mark.parametrize("write", [draft, patch])
def test_a_password_is_seen_when_its_name_is_the_key_and_it_the_value(write: Callable[..., Any]) -> None:
    secret = password()
    with pytest.raises(SecretRefused) as caught:
        write(attrs={"password": secret})
    assert caught.value.fields["field"] == "attrs"
    nowhere(secret, caught.value)


# A field with a second fault must not show its content.
WRONG_TOO: list[tuple[str, Made]] = [
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
def test_a_field_that_is_wrong_does_not_show_the_credential_that_it_holds(field: str, made: Made) -> None:
    secret = token(4)
    with pytest.raises(InvalidArgument) as caught:
        draft(**made(secret))
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
    for write, changes in ((draft, {"content": "", "kind": "my diary"}), (patch, {"kind": "my diary"}), (patch, {})):
        with pytest.raises(SecretRefused) as caught:
            write(**changes, sensitive=True)
        assert caught.value.fields["field"] == "sensitive"
        assert "diary" not in repr(caught.value.fields) + caught.value.message


def test_a_write_that_is_not_marked_and_holds_no_credential_passes() -> None:
    text = "Rotate the GitHub token every 90 days; it is stored in the vault under ci/github."
    assert draft(content=text, attrs={"password": "see the vault"}).content == text


def test_a_look_at_many_memories_is_about_the_project_or_everything() -> None:
    ana = Caller("ana", "ana", role="reader", default_space="team/a", spaces=("team/*",))
    assert request_checks.within_of((), ana) == request_checks.read_spaces((), ana) == ("team/a", "@ana")
    assert request_checks.within_of(("*",), ana) == ("team/*", "@ana")
    assert request_checks.within_of((), replace(ana, default_space="")) == ("team/*", "@ana")
    assert request_checks.within_of(("team/b",), ana) == ("team/b",)
    with pytest.raises(InvalidArgument):
        request_checks.within_of(("team/b", "*"), ana)
    with pytest.raises(PermissionDenied):
        request_checks.within_of(("else/where",), ana)
