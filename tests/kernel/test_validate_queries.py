"""Every field of a read has a limit; the text of a question has none but its length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import MODES, SORTS, STATES
from mnemesh_memory.values.model import Caller, ListQuery, Query

ALICE = Caller(agent="owner/test", principal="alice")
IN_PROJECT = replace(ALICE, default_space="team/payments")
NAN, INF = float("nan"), float("inf")


def question(**changes: Any) -> Query:
    return request_checks.query(Query(**{"text": "what was decided?", **changes}), ALICE)


def listing(**changes: Any) -> ListQuery:
    return request_checks.list_query(ListQuery(**changes), ALICE)


BOTH = pytest.mark.parametrize("ask", [question, listing], ids=["recall", "list"])


def refusal(call: Callable[[], object]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        call()
    caught.value.message.encode()
    assert all(caught.value.fields[part] for part in ("field", "value", "limit"))
    return caught.value


# ---- the text -----------------------------------------------------------------------------------------------------

ODD_QUESTIONS = [
    "?", "'", '"', "-", "+", "*", "(", ")", ":", "AND", "NEAR", "AND NEAR(x, y)", "a OR", "\\", "%", "_", "[", "{", "",
    " ", "記憶はどこ", "기억", "ذاكرة", "🧠🧠", "👩‍👩‍👧", "\x00",
    "\x1b[0m", "\n" * 50, "x" * 10_000, "🧠" * 10_000, "'; DROP TABLE memory; --",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD_QUESTIONS)
def test_a_question_may_be_any_text_and_is_not_changed(text: str) -> None:
    assert question(text=text).text == text


@settings(max_examples=200, derandomize=True, database=None)
@given(st.text())
def test_no_unicode_text_makes_a_question_fail(text: str) -> None:
    assert question(text=text).text == text


def test_a_question_has_at_most_10000_characters() -> None:
    error = refusal(lambda: question(text="x" * 10_001))
    assert error.fields["field"] == "query"
    assert "10001 characters" in error.fields["value"]
    assert "10000" in error.fields["limit"]


def test_a_lone_surrogate_is_no_unicode_text() -> None:
    assert refusal(lambda: question(text="a\ud800")).fields["field"] == "query"


# ---- numbers ------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("limit", [0, -1, 201, 10_000, 2**31])
def test_a_limit_outside_1_to_200_is_refused(ask: Callable[..., Any], limit: int) -> None:
    error = refusal(lambda: ask(limit=limit))
    assert error.fields == {"field": "limit", "value": str(limit), "limit": "a whole number from 1 to 200"}


@BOTH
@pytest.mark.parametrize("limit", [1, 200])
def test_the_ends_of_the_limit_belong_to_it(ask: Callable[..., Any], limit: int) -> None:
    assert ask(limit=limit).limit == limit


@pytest.mark.parametrize("budget", [0, -1, limits.TOKEN_BUDGET_MAX + 1])
def test_a_token_budget_is_positive_and_bounded(budget: int) -> None:
    assert refusal(lambda: question(token_budget=budget)).fields["field"] == "token_budget"


def test_no_token_budget_is_no_limit() -> None:
    assert question(token_budget=None).token_budget is None
    for budget in (1, limits.TOKEN_BUDGET_MAX):
        assert question(token_budget=budget).token_budget == budget


@pytest.mark.parametrize("field", ["min_score", "min_heat"])
@pytest.mark.parametrize("value", [NAN, INF, -0.1, 1.1])
def test_a_threshold_is_a_number_from_0_to_1(field: str, value: float) -> None:
    assert refusal(lambda: question(**{field: value})).fields["field"] == field


@pytest.mark.parametrize("field", ["min_score", "min_heat"])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_threshold_that_is_one_is_kept(field: str, value: float) -> None:
    assert getattr(question(**{field: value}), field) == value


@pytest.mark.parametrize("value", [NAN, INF, -INF, -0.001, 100.1])
def test_a_weight_is_a_number_from_0_to_100(value: float) -> None:
    assert refusal(lambda: question(weights={"dense": value})).fields["field"] == "weights.dense"


def test_a_weight_of_an_unknown_signal_is_refused_with_the_list() -> None:
    error = refusal(lambda: question(weights={"dense": 1.0, "magic": 1.0}))
    assert error.fields["value"] == "'magic'"
    assert "dense, bm25" in error.message


def test_weights_that_are_all_0_are_refused() -> None:
    assert "above 0" in refusal(lambda: question(weights={"dense": 0.0, "bm25": 0.0})).message
    assert question(weights={"dense": 0.0, "bm25": 100.0}).weights == {"dense": 0.0, "bm25": 100.0}
    assert question(weights={}).weights == {}
    for mode, name in (("semantic", "dense"), ("keyword", "bm25")):
        error = refusal(lambda mode=mode, name=name: question(mode=mode, weights={name: 0.0}))
        assert error.message == f"weights.{name}: 0 is not allowed; above 0 with mode {mode}, which has no other signal"
        assert question(mode=mode, weights={name: 0.1}).mode == mode
    assert question(weights={"dense": 0.0}).weights == {"dense": 0.0}, "the other keeps what is configured"


# ---- times --------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("field", ["since", "before"])
@pytest.mark.parametrize("moment", [limits.TIME_MS_MIN - 1, limits.TIME_MS_MAX + 1])
def test_a_time_outside_the_years_1_to_9999_is_refused(ask: Callable[..., Any], field: str, moment: int) -> None:
    assert refusal(lambda: ask(**{field: moment})).fields["field"] == field


@pytest.mark.parametrize(("since", "before"), [(5, 5), (5, 4)])
def test_a_listing_of_an_empty_window_of_time_is_refused_and_a_question_about_it_is_not(
    since: int, before: int
) -> None:
    error = refusal(lambda: listing(since=since, before=before))
    assert (error.fields["field"], error.fields["limit"]) == ("before", "after since")
    assert error.fields["value"] == f"1970-01-01T00:00:00.00{before}Z"
    assert listing(since=4, before=5).before == 5
    assert question(since=since, before=before).before == before, "it is answered, with nothing and the reason"


def test_as_of_is_a_time() -> None:
    assert refusal(lambda: question(as_of=limits.TIME_MS_MIN - 1)).fields["field"] == "as_of"
    assert question(as_of=0).as_of == 0


@BOTH
def test_valid_at_is_a_time(ask: Callable[..., Any]) -> None:
    for bad in (limits.TIME_MS_MIN - 1, limits.TIME_MS_MAX + 1):
        assert refusal(lambda bad=bad: ask(valid_at=bad)).fields["field"] == "valid_at"
    assert ask(valid_at=0).valid_at == 0


# ---- words, filters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "field", "allowed"),
    [
        (question, "mode", MODES),
        (question, "sort", SORTS),
        (listing, "state", (*STATES, "all")),
        (listing, "order", ("newest", "oldest")),
    ],
)
def test_a_word_outside_its_list_is_refused_with_the_list(
    ask: Callable[..., Any], field: str, allowed: tuple[str, ...]
) -> None:
    error = refusal(lambda: ask(**{field: "best"}))
    assert error.fields["field"] == field
    for word in allowed:
        assert word in error.fields["limit"]
        assert getattr(ask(**{field: word}), field) == word
    assert getattr(ask(**{field: ""}), field) in allowed


@BOTH
def test_kinds_of_a_filter_are_folded_and_unique(ask: Callable[..., Any]) -> None:
    assert ask(kinds=("Gotcha", "error", "note")).kinds == ("error", "fact")
    error = refusal(lambda: ask(kinds=("fact", "nope")))
    assert error.fields["field"] == "kinds"
    assert "requirement" in error.message


@BOTH
def test_a_filter_has_a_bounded_number_of_kinds(ask: Callable[..., Any]) -> None:
    assert refusal(lambda: ask(kinds=("fact",) * 1000)).fields["field"] == "kinds"


@BOTH
@pytest.mark.parametrize("field", ["tags_any", "tags_all", "tags_none"])
def test_tags_of_a_filter_are_judged_and_normalised_as_tags(ask: Callable[..., Any], field: str) -> None:
    assert getattr(ask(**{field: ("b", "e\u0301", "b")}), field) == ("b", "é")
    for bad in (("x" * 81,), ("",), ("a\nb",), ("\ud800",), tuple(map(str, range(65)))):
        assert refusal(lambda bad=bad: ask(**{field: bad})).fields["field"].startswith(field)


@pytest.mark.parametrize(
    ("ask", "field", "most"),
    [
        (question, "agent", 80), (question, "session", 200), (question, "source_dir", 512),
        (listing, "agent", 80), (listing, "session", 200),
    ],
)  # fmt: skip
def test_a_text_filter_is_one_bounded_line(ask: Callable[..., Any], field: str, most: int) -> None:
    assert getattr(ask(**{field: "x" * most}), field) == "x" * most
    for bad in ("x" * (most + 1), "a\nb", "\ud800"):
        assert refusal(lambda bad=bad: ask(**{field: bad})).fields["field"] == field


def test_paths_of_a_filter_are_bounded() -> None:
    assert refusal(lambda: question(paths=("x",) * 65)).fields["field"] == "paths"
    assert refusal(lambda: question(paths=("x" * 513,))).fields["field"] == "paths[0]"


# ---- spaces -------------------------------------------------------------------------------------------------------


@BOTH
def test_at_most_32_spaces_are_searched_at_once(ask: Callable[..., Any]) -> None:
    names = tuple(f"team/{number}" for number in range(32))
    assert ask(spaces=names).spaces == names
    error = refusal(lambda: ask(spaces=(*names, "team/33")))
    assert error.fields["field"] == "spaces"
    assert "33 spaces" in error.fields["value"]


@BOTH
@pytest.mark.parametrize("space", ["../x", "", "a//b", "a\x00b", "a@b", "x" * 201, "\ud800"])
def test_a_bad_space_is_refused_in_a_read_too(ask: Callable[..., Any], space: str) -> None:
    assert refusal(lambda: ask(spaces=("team/payments", space))).fields["field"] == "spaces"


def test_a_read_searches_the_named_spaces_else_the_default_and_the_private_one() -> None:
    assert request_checks.read_spaces(("b", "a", "b"), IN_PROJECT) == ("b", "a")
    assert request_checks.read_spaces((), IN_PROJECT) == ("team/payments", "@alice")
    assert request_checks.read_spaces((), ALICE) == ("@alice",)
    assert request_checks.read_spaces((), replace(ALICE, default_space="@alice")) == ("@alice",)
    assert request_checks.read_spaces(("cafe\u0301", "caf\u00e9"), ALICE) == ("caf\u00e9",)


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
