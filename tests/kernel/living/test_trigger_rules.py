"""Conditions of triggers and the table that finds the triggers of a call, against a check of each trigger by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_memory.policy.rules.triggers import (
    FIRED_TAG,
    ON,
    TAG,
    Occasion,
    TriggerTable,
    attrs_of,
    condition,
    stands_in,
    trigger_of,
    words_of,
)
from mnemesh_memory.validation.filters import matches
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, shown_time
from mnemesh_memory.values.model import Memory

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
NOW = 1_800_000_000_000
SPACE = "team"
TEXTS = st.lists(st.sampled_from(("deploy", "Deploy", "ana", "Ána", "東京", "x_y", "node.js", "-")), max_size=6)
PATHS = st.lists(st.sampled_from(("src", "a.py", "b", "docs")), min_size=1, max_size=4).map("/".join)
PLACES = st.sampled_from(("", "/")).flatmap(lambda root: PATHS.map(lambda path: root + path))


def memory(number: int, on: str, pattern: str, *, repeating: bool = False, tags: Iterable[str] = (TAG,)) -> Memory:
    asked = condition(on, pattern, repeating, NOW)
    at, attrs = NOW + number, attrs_of(asked, own=True)
    return plain_memory(f"{number:08d}", at=at, space=SPACE, kind="reference", tags=tuple(tags), attrs=attrs)


def table(*memories: Memory) -> TriggerTable:
    made = TriggerTable()
    for one in memories:
        made.take(one)
    return made


def occasion(text: str = "", **more: Any) -> Occasion:
    return Occasion(text, **{"spaces": (SPACE,), "now": NOW, **more})


def fired(of: TriggerTable, call: Occasion) -> list[str]:
    return [trigger.id for trigger in of.fired(call)]


def fires(on: str, pattern: str, call: Occasion) -> bool:
    return bool(table(memory(1, on, pattern)).fired(call))


@pytest.mark.parametrize(
    ("on", "pattern", "call", "expected"),
    [
        ("keyword", "deploy", occasion("How do we DEPLOY?"), True),
        ("keyword", "deploy friday", occasion("On Friday nobody may deploy."), True),
        ("keyword", "deploy friday", occasion("Deploy on Monday."), False),
        ("keyword", "deploy", occasion("The deployment."), False),
        ("keyword", "café", occasion("a CAFE"), True),
        ("keyword", "東京", occasion("明日は東京都へ"), True),
        ("entity", "Ana Lopez", occasion("ask Ana Lopez today"), True),
        ("entity", "Ana Lopez", occasion("ask ana lopez today"), False),
        ("entity", "Ana", occasion("Ananas"), False),
        ("entity", "node.js", occasion("node.js, version 22"), True),
        ("entity", "東京", occasion("明日は東京都へ"), True),
        ("directory", "src/billing/", occasion(paths=("src/billing/tax.py",)), True),
        ("directory", "src/billing", occasion(paths=("src/billing2/tax.py",)), False),
        ("directory", "/srv/app", occasion(folder="/srv/app/sub"), True),
        ("directory", "/", occasion(folder="/srv"), True),
        ("file", "src/tax.py", occasion(paths=("src/tax.py",)), True),
        ("file", "src/**/tax.py", occasion(paths=("src/a/b/tax.py",)), True),
        ("file", "*.sql", occasion(paths=("src/tax.py",)), False),
        ("file", "src/tax.py", occasion("src/tax.py"), False),
        ("time", shown_time(NOW + 5), occasion(now=NOW + 4), False),
        ("time", "5s", occasion(now=NOW + 5000), True),
    ],
)
def test_a_trigger_fires_by_what_it_names(on: str, pattern: str, call: Occasion, expected: bool) -> None:
    assert fires(on, pattern, call) is expected


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(("keyword", "entity")), TEXTS), max_size=12), TEXTS)
def test_the_table_finds_the_words_that_a_check_of_each_trigger_finds(
    given_: list[tuple[str, list[str]]], said: list[str]
) -> None:
    patterns = [(on, " ".join(words)) for on, words in given_ if words_of(" ".join(words))]
    text = " ".join(said)
    made = table(*(memory(number, on, pattern) for number, (on, pattern) in enumerate(patterns)))
    expected = [
        f"{number:08d}"
        for number, (on, pattern) in enumerate(patterns)
        if words_of(pattern) <= words_of(text) and (on == "keyword" or stands_in(pattern, text))
    ]
    assert fired(made, occasion(text)) == expected


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(("directory", "file")), PLACES), max_size=12), st.lists(PLACES, max_size=4))
def test_the_table_finds_the_places_that_a_check_of_each_trigger_finds(
    given_: list[tuple[str, str]], paths: list[str]
) -> None:
    made = table(*(memory(number, on, place) for number, (on, place) in enumerate(given_)))
    expected = [
        f"{number:08d}"
        for number, (on, place) in enumerate(given_)
        if any(path == place or (on == "directory" and path.startswith(place + "/")) for path in paths)
    ]
    assert fired(made, occasion(paths=tuple(paths))) == expected


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(ON), st.booleans()), max_size=30))
def test_the_table_holds_no_more_than_what_is_armed(steps: list[tuple[int, str, bool]]) -> None:
    made, armed = TriggerTable(), set()
    pattern = {"time": "1h"}
    for number, on, there in steps:
        if there:
            made.take(memory(number, on, pattern.get(on, "src")))
            armed.add(number)
        else:
            made.discard(f"{number:08d}")
            armed.discard(number)
        assert len(made) == made.count(SPACE) == len(armed)
    made.clear()
    assert (len(made), made._shelves) == (0, {})


def test_a_trigger_fires_once_unless_it_repeats_and_stays_fired_until_the_ledger_says_so() -> None:
    once, often = memory(1, "keyword", "deploy"), memory(2, "keyword", "deploy", repeating=True)
    made = table(once, often)
    assert fired(made, occasion("deploy")) == [once.id, often.id]
    made.take(once)  # of a page of the log from before it fired
    assert fired(made, occasion("deploy")) == [often.id]
    made.take(memory(1, "keyword", "deploy", tags=(TAG, FIRED_TAG)))
    assert fired(made, occasion("deploy")) == [often.id]
    made.take(once)  # armed anew by its writer
    assert fired(made, occasion("deploy")) == [once.id, often.id]
    made.rearm(once)
    assert fired(made, occasion("deploy")) == [once.id, often.id]


def test_a_trigger_fires_neither_by_its_own_memory_nor_in_another_space() -> None:
    made = table(memory(1, "keyword", "deploy"))
    assert fired(made, occasion("deploy", id="00000001")) == []
    assert fired(made, occasion("deploy", spaces=("other", "team/below"))) == []
    assert fired(made, occasion("deploy", spaces=("other", SPACE))) == ["00000001"]


def test_a_memory_without_the_tag_without_life_or_with_a_broken_condition_is_no_trigger() -> None:
    good = memory(1, "keyword", "deploy")
    odd = ({"trigger": "file", "trigger.pattern": "*" * 100}, {"trigger": "time", "trigger.pattern": "soon"},
           {"trigger": "time", "trigger.pattern": "2026-05-01"}, {"trigger": "weather", "trigger.pattern": "rain"},
           {"trigger": "keyword"}, {"trigger": "keyword", "trigger.pattern": "\ud800"})  # fmt: skip
    fields = {name: getattr(good, name) for name in Memory.__dataclass_fields__}
    assert trigger_of(good) is not None
    for change in ({"tags": ()}, {"state": "forgotten"}, *({"attrs": attrs} for attrs in odd)):
        assert trigger_of(Memory(**{**fields, **change})) is None


@pytest.mark.parametrize(
    ("on", "pattern", "field"),
    [
        ("weather", "rain", "on"),
        ("keyword", " ", "pattern"),
        ("keyword", "?!", "pattern"),
        ("entity", "two\nlines", "pattern"),
        ("keyword", "x" * 513, "pattern"),
        ("file", "*" * 9, "pattern"),
        ("directory", "src/*", "pattern"),
        ("time", "yesterday", "pattern"),
        ("time", shown_time(NOW - 1), "pattern"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(on: str, pattern: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        condition(on, pattern, False, NOW)
    assert caught.value.fields["field"] == field


def test_a_time_does_not_repeat() -> None:
    with pytest.raises(InvalidArgument, match="repeating"):
        condition("time", "1h", True, NOW)


def test_ten_thousand_triggers_keep_to_the_limits_of_a_space_and_of_a_call() -> None:
    made = table(*(memory(number, "keyword", "deploy") for number in range(10_000)))
    assert len(made) == limits.TRIGGERS_MAX
    with pytest.raises(FailedPrecondition, match="1000 armed triggers"):
        made.check_room(SPACE, condition("keyword", "deploy", False, NOW))
    calls = [fired(made, occasion("deploy")) for _ in range(limits.TRIGGERS_MAX // limits.TRIGGERED_MAX)]
    assert [id_ for call in calls for id_ in call] == [f"{number:08d}" for number in range(limits.TRIGGERS_MAX)]
    assert fired(made, occasion("deploy")) == []


def test_globs_that_explode_are_few_and_have_few_signs() -> None:
    hostile = "**/" * 4 + "b"
    made = table(*(memory(number, "file", hostile) for number in range(1000)))
    assert len(made) == limits.TRIGGER_GLOBS_MAX
    with pytest.raises(FailedPrecondition, match="on globs"):
        made.check_room(SPACE, condition("file", "*.py", False, NOW))
    made.check_room(SPACE, condition("file", "a.py", False, NOW))
    paths = tuple("a/" * 255 + str(number) for number in range(limits.PATHS_MAX))
    assert fired(made, occasion(paths=paths)) == []
    assert not matches(paths[0], hostile)
