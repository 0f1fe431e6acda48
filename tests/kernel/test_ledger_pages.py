"""A listing is filtered, ordered and paged: each memory once, whatever page it comes on."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import AGENT, OTHER_SPACE, SPACE, Home, Pen, all_done, done

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import reads
from mnemesh_memory.policy.validity import held, stood_instead
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import ListQuery, Memory, Query


def listed(ledger: Ledger, **query: Any) -> list[Memory]:
    return list(ledger.page(ListQuery(**{"spaces": (SPACE,), "limit": 200, **query})).memories)


def names(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


def test_the_newest_come_first_or_the_oldest_when_asked(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(text) for text in ("one", "two", "three")))
    assert names(listed(ledger)) == ["three", "two", "one"]
    assert names(listed(ledger, order="oldest")) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "bceg"),
        ({"state": "forgotten"}, "f"),
        ({"state": "superseded"}, "a"),
        ({"state": "all"}, "abcefg"),
        ({"spaces": (OTHER_SPACE,)}, "d"),
        ({"spaces": (SPACE, OTHER_SPACE)}, "bcdeg"),
        ({"spaces": ("no/such",)}, ""),
        ({"kinds": ("decision",)}, "bc"),
        ({"kinds": ("decision", "error")}, "bc"),
        ({"tags_any": ("x", "z")}, "bc"),
        ({"tags_all": ("x", "y")}, "b"),
        ({"tags_none": ("y",)}, "cg"),
        ({"tags_any": ("y",), "tags_none": ("x",)}, "e"),
        ({"tags_any": ('odd "tag"',)}, "e"),
        ({"tags_any": ("no such",)}, ""),
        ({"agent": AGENT}, "bc"),
        ({"agent": "owner/other"}, "eg"),
        ({"session": "s1"}, "bc"),
        ({"session": "s2"}, ""),
    ],
    ids=str,
)
def test_a_listing_is_filtered(varied: Ledger, query: dict[str, Any], found: str) -> None:
    assert names(listed(varied, order="oldest", **query)) == list(found)
    assert varied.page(ListQuery(**{"spaces": (SPACE,), **query})).total == len(found)


def test_since_is_included_and_before_is_not(ledger: Ledger, pen: Pen) -> None:
    one, two, three = (result.memory for result in all_done(ledger, *(pen.create(text) for text in "123")))
    assert names(listed(ledger, since=two.created_at)) == ["3", "2"]
    assert names(listed(ledger, before=two.created_at)) == ["1"]
    assert names(listed(ledger, since=one.created_at, before=three.created_at)) == ["2", "1"]


@pytest.mark.parametrize(
    ("valid_at", "then"),
    [(-1, "dc"), (0, "dc"), (9, "dc"), (10, "dcba"), (19, "dcba"), (20, "cb"), (21, "cb")],
)
def test_what_held_at_a_moment_is_listed_from_valid_from_on_and_before_valid_to(
    ledger: Ledger, pen: Pen, valid_at: int, then: str
) -> None:
    all_done(
        ledger,
        pen.create("a", valid_from=10, valid_to=20),
        pen.create("b", valid_from=10),
        pen.create("c"),
        pen.create("d", valid_to=20),
        pen.create("at no time", valid_from=10, valid_to=10),
    )
    page = ledger.page(ListQuery(spaces=(SPACE,), valid_at=valid_at))
    assert ("".join(names(list(page.memories))), page.total) == (then, len(then))
    found, _ = ledger.matching(Query(text="", spaces=(SPACE,), valid_at=valid_at), pen.now)
    assert found == [memory.id for memory in page.memories]
    assert [memory.id for memory in listed(ledger) if held(memory, valid_at, {})] == found


def test_what_replaced_others_holds_from_when_they_ended_in_every_judgement(ledger: Ledger, pen: Pen) -> None:
    """The ledger's own condition, and recall's, applied to the memories in turn."""
    a, b, lone = (result.memory for result in all_done(ledger, *map(pen.create, ("a", "b", "lone"))))
    ((c, closed),) = [(done.memory, done.superseded) for done in all_done(ledger, pen.create("c", supersedes=(a.id,)))]
    ((d, _),) = [
        (done.memory, done.superseded)
        for done in all_done(ledger, pen.create("d", supersedes=(b.id, c.id), valid_to=pen.now + 50))
    ]
    all_done(ledger, pen.create("e", supersedes=(lone.id,), valid_from=7))
    first, second = closed[0].valid_to or 0, ledger.read([c.id])[c.id].valid_to or 0
    assert first < second
    everything = ledger.read([memory.id for memory in listed(ledger, state="all")])
    for at, shown in (
        (6, ["lone", "b", "a"]), (7, ["e", "b", "a"]), (first - 1, ["e", "b", "a"]), (first, ["e", "c", "b"]),
        (second - 1, ["e", "c", "b"]), (second, ["e", "d"]), ((d.valid_to or 0), ["e"]),
    ):  # fmt: skip
        page = ledger.page(ListQuery(spaces=(SPACE,), valid_at=at))
        assert (names(list(page.memories)), page.total) == (shown, len(shown))
        found, _ = ledger.matching(Query(text="", spaces=(SPACE,), valid_at=at), pen.now)
        assert found == [memory.id for memory in page.memories]
        instead = stood_instead(everything.values(), at, everything)
        judged = [one for one in everything.values() if held(one, at, everything) and one.id not in instead]
        assert sorted(names(judged)) == sorted(shown)
        whole = names(listed(ledger, state="all", valid_at=at))
        assert sorted(whole) == sorted(one.content for one in everything.values() if held(one, at, everything))


def test_the_first_successor_that_held_ends_the_question_and_no_chain_is_gathered(ledger: Ledger) -> None:
    plan = ledger._db.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM memory WHERE {reads.STOOD}", (5,) * 4).fetchall()
    steps = [row[3] for row in plan]
    assert any(step.startswith("CO-ROUTINE chain") for step in steps), steps
    assert not any("MATERIALIZE" in step for step in steps), steps


def test_the_rows_that_decide_what_held_come_at_once(ledger: Ledger, pen: Pen) -> None:
    a, b, lone = (result.memory for result in all_done(ledger, *map(pen.create, ("a", "b", "lone"))))
    c = done(ledger, pen.create("c", supersedes=(a.id, b.id))).memory
    d = done(ledger, pen.create("d", supersedes=(c.id,))).memory
    assert ledger.chains([a.id]) == ledger.read([a.id, b.id, c.id, d.id])
    assert ledger.chains([d.id]) == ledger.read([c.id, d.id])
    assert ledger.chains([lone.id, "nobody"]) == ledger.read([lone.id])


def pages(ledger: Ledger, size: int, **query: Any) -> list[list[Memory]]:
    """All pages of a listing; bounded, so that a cursor that goes in circles fails."""
    found: list[list[Memory]] = []
    cursor = ""
    for _ in range(100):
        page = ledger.page(ListQuery(spaces=(SPACE,), limit=size, cursor=cursor, **query))
        found.append(list(page.memories))
        if not (cursor := page.cursor):
            return found
    raise AssertionError("the pages never end")


@settings(max_examples=40, derandomize=True, database=None)
@given(
    moments=st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4)), min_size=1, max_size=25),
    size=st.integers(1, 9),
    order=st.sampled_from(["newest", "oldest"]),
    window=st.sampled_from([None, Window(0, None, only=True)]),
)
def test_pages_have_no_gaps_and_no_repeats_even_when_many_were_made_at_once(
    moments: list[tuple[int, int | None]], size: int, order: str, window: Window | None
) -> None:
    with Home.for_one_example() as home, home.opened() as ledger:
        # Moments repeat, so that the id has to decide; ids of one moment are in no order of writing.
        commands = [
            replace(home.pen.create(f"memory {number}", valid_from=valid_from), at=at)
            for number, (at, valid_from) in enumerate(moments)
        ]
        written = [result.memory for result in all_done(ledger, *commands)]
        found = pages(ledger, size, order=order, window=window)

        def place(memory: Memory) -> tuple[int, str]:
            return (memory.created_at if window is None else happened_at(memory)), memory.id

        expected = sorted(written, key=place, reverse=order == "newest")
        assert [memory for page in found for memory in page] == expected
        assert [len(page) for page in found[:-1]] == [size] * (len(found) - 1)
        assert found[-1]


def test_a_page_tells_the_total_of_all_pages(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(str(number)) for number in range(7)))
    first = ledger.page(ListQuery(spaces=(SPACE,), limit=3))
    second = ledger.page(ListQuery(spaces=(SPACE,), limit=3, cursor=first.cursor))
    assert (first.total, second.total) == (7, 7)
    assert ledger.page(ListQuery(spaces=(SPACE,), limit=7)).cursor == ""


def test_what_is_written_between_two_pages_does_not_shift_them(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(str(number)) for number in range(6)))
    first = ledger.page(ListQuery(spaces=(SPACE,), limit=3))
    done(ledger, pen.create("meanwhile"))
    second = ledger.page(ListQuery(spaces=(SPACE,), limit=3, cursor=first.cursor))
    assert names([*first.memories, *second.memories]) == ["5", "4", "3", "2", "1", "0"]


def _token(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x", "====", "é", "\ud800", "bm9uc2Vuc2U=", _token(7), _token([1]), _token([1, 2, 3]), _token({}), _token(None),
        _token([None, "x"]), _token([float("inf"), "x"]), _token([float("nan"), "x"]), _token([10**30, "x"]),
        _token([1, "\ud800"]), _token([1, ["x"]]), base64.urlsafe_b64encode(b"[" * 100_000).decode(), "A" * 1_000_000,
    ],
)  # fmt: skip
def test_a_cursor_that_was_not_given_out_is_refused(ledger: Ledger, pen: Pen, cursor: str) -> None:
    done(ledger, pen.create("one"))
    with pytest.raises(InvalidArgument) as caught:
        ledger.page(ListQuery(spaces=(SPACE,), cursor=cursor))
    assert caught.value.fields["field"] == "cursor"
    caught.value.message.encode()
