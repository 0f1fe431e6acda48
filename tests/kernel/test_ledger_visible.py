"""Memories outside a caller's patterns don't exist for the caller: by id, prefix, title or count."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import SPACE, Pen, done

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store.reads import covered
from mnemesh_memory.access.grants import any_matches, check_pattern
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.model import Memory

ID = "018f6f0e-7c1a-7000-8000-0000000000{:02x}"
BOB = ("team/*", "@bob")


def put(ledger: Ledger, pen: Pen, number: int, space: str, title: str = "") -> Memory:
    """A memory whose id differs from the others in its last digits alone."""
    command = replace(pen.create(f"text {number} of {space}", space=space, title=title), id=ID.format(number))
    memory: Memory = done(ledger, command).memory
    return memory


def found(ledger: Ledger, key: str, within: tuple[str, ...] | None, spaces: tuple[str, ...] = ()) -> Memory | Exception:
    (one,) = ledger.find([key], spaces, within)
    return one


SEGMENT = st.sampled_from(["a", "b", "team", "teams", "@a", "0", "~", "\u00e9", "*"])
PATH = st.lists(SEGMENT, min_size=1, max_size=3).map("/".join)
PATTERN = (PATH | PATH.map(lambda path: path + "/*") | st.just("*")).filter(lambda text: is_pattern(text))


def is_pattern(text: str) -> bool:
    try:
        return check_pattern("spaces", text) == text
    except InvalidArgument:
        return False


@settings(max_examples=500, derandomize=True, database=None)
@given(st.lists(PATTERN, max_size=4), st.lists(PATH, max_size=8))
def test_the_condition_in_sql_says_what_the_pure_function_says(patterns: list[str], spaces: list[str]) -> None:
    where, values = covered(patterns)
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE TABLE memory (space TEXT)")
        db.executemany("INSERT INTO memory VALUES (?)", [(space,) for space in spaces])
        seen = [row[0] for row in db.execute(f"SELECT space FROM memory WHERE {where} ORDER BY rowid", values)]
    finally:
        db.close()
    assert seen == [space for space in spaces if any_matches(patterns, space)]


def test_without_a_caller_everything_is_there(ledger: Ledger, pen: Pen) -> None:
    memory = put(ledger, pen, 1, "@ana")
    assert found(ledger, memory.id, None) == memory


@pytest.mark.parametrize("space", ["@ana", "@owner", "ops", "team", "@bobby", "teams/a"])
def test_an_id_beyond_the_grant_is_refused_as_one_that_never_was(ledger: Ledger, pen: Pen, space: str) -> None:
    memory = put(ledger, pen, 1, space)
    for key, unknown in ((memory.id, ID.format(9)), (memory.id[:9], "0a8f6f0e-")):
        hidden, none = found(ledger, key, BOB), found(ledger, unknown, BOB)
        assert isinstance(hidden, NotFound)
        assert isinstance(none, NotFound)
        assert hidden.message.replace(key, unknown) == none.message


@pytest.mark.parametrize("space", ["@bob", "@bob/notes", "team/a", "team/a/b"])
def test_an_id_within_the_grant_is_there(ledger: Ledger, pen: Pen, space: str) -> None:
    memory = put(ledger, pen, 1, space)
    assert found(ledger, memory.id, BOB) == memory
    assert found(ledger, memory.id[:9], BOB) == memory


def test_a_prefix_is_unique_when_it_fits_one_memory_that_may_be_seen(ledger: Ledger, pen: Pen) -> None:
    seen = put(ledger, pen, 1, "team/a")
    hidden = [put(ledger, pen, number, "@ana") for number in (0, 2, 3)]
    assert found(ledger, seen.id[:9], BOB) == seen
    put(ledger, pen, 4, "team/b")
    with pytest.raises(InvalidArgument) as caught:
        ledger.find([seen.id[:9]], (), BOB)
    assert not any(memory.id in caught.value.message for memory in hidden)


def test_a_title_of_a_space_beyond_the_grant_finds_nothing_even_where_it_is_looked_for(
    ledger: Ledger, pen: Pen
) -> None:
    put(ledger, pen, 1, "@ana", "the title")
    assert isinstance(found(ledger, "the title", BOB, ("@ana", "team/a")), NotFound)
    seen = put(ledger, pen, 2, "team/a", "the title")
    assert found(ledger, "the title", BOB, ("@ana", "team/a")) == seen


@pytest.mark.parametrize(
    ("visible", "error"),
    [((), NotFound), (BOB, NotFound), (("ops",), FailedPrecondition), (("*",), FailedPrecondition)],
)
def test_what_a_write_is_to_replace_is_known_within_the_grant_only(
    ledger: Ledger, pen: Pen, visible: tuple[str, ...], error: type[Exception]
) -> None:
    memory = put(ledger, pen, 1, "ops")
    with pytest.raises(error):
        ledger.replaceable([memory.id], SPACE, visible)
    command = replace(pen.create("its successor", supersedes=(memory.id,)), visible=visible)
    (refused,) = ledger.commit([command])
    assert isinstance(refused, error)
    assert ledger.read([memory.id])[memory.id].state == "active"


def test_counts_and_exports_over_patterns_are_those_of_what_they_cover(ledger: Ledger, pen: Pen) -> None:
    for number, space in enumerate(("team/a", "team/b", "@ana", "@bob", "ops")):
        put(ledger, pen, number, space)
    stats = ledger.stats(BOB)
    assert stats.memories == 3
    assert stats.spaces == {"team/a": 1, "team/b": 1, "@bob": 1}
    assert stats.spaces_total == 3
    exported = ledger.export_page(BOB, ("active",), (-1, ""), 99)
    assert [memory.space for memory in exported] == ["team/a", "team/b", "@bob"]
    assert ledger.stats(("nothing/*",)).memories == 0
