"""The guarantees for a reader of the ledger."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import AGENT, OTHER_SPACE, SPACE, Home, Pen, all_done, done, names, read_back, read_then

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store.reads import chain_ends
from mnemesh_actors.ledger.store.row_filters import STOOD, covered
from mnemesh_actors.ledger.views import QUICK_HASHES_MAX, QUICK_ROWS_MAX
from mnemesh_memory.access.grants import any_matches, check_pattern
from mnemesh_memory.policy.validity import held, stood_instead
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.model import ListQuery, Memory, Query, Source


def listed(ledger: Ledger, **query: Any) -> list[Memory]:
    return list(ledger.page(ListQuery(**{"spaces": (SPACE,), "limit": 200, **query})).memories)


# ---- by id, prefix, title -------------------------------------------------------------------------------------------


def find(ledger: Ledger, key: str, *spaces: str) -> Memory:
    (found,) = ledger.find([key], spaces or (SPACE,))
    if isinstance(found, Exception):
        raise found
    return found


def test_an_id_is_found_whatever_the_space_but_a_title_only_in_those_asked(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", title="Order of duties", space=OTHER_SPACE)).memory
    assert find(ledger, memory.id) == memory
    assert find(ledger, "Order of duties", OTHER_SPACE) == memory
    with pytest.raises(NotFound):
        find(ledger, "Order of duties")


def test_a_prefix_of_several_memories_is_refused_and_shows_some(ledger: Ledger, pen: Pen) -> None:
    ids = [result.memory.id for result in all_done(ledger, *(pen.create(str(number)) for number in range(5)))]
    prefix = ids[0][:9]
    assert {id_[:9] for id_ in ids} == {prefix}
    with pytest.raises(InvalidArgument) as caught:
        find(ledger, prefix)
    assert caught.value.fields["field"] == "id"
    assert sum(id_ in caught.value.message for id_ in ids) == 3


@pytest.mark.parametrize("key", ["", "018b", "018bc", "ffffff", "no such title", "%", "_" * 36, "0" * 36, "' OR 1=1"])
def test_what_fits_nothing_is_not_found(ledger: Ledger, pen: Pen, key: str) -> None:
    done(ledger, pen.create("one", title="Order of duties"))
    with pytest.raises(NotFound) as caught:
        find(ledger, key)
    assert "prefix" in caught.value.message


def test_a_prefix_of_several_memories_among_other_keys_is_no_missing_memory(ledger: Ledger, pen: Pen) -> None:
    one, two = (result.memory for result in all_done(ledger, pen.create("one"), pen.create("two")))
    assert one.id[:9] == two.id[:9]
    found = ledger.find([one.id, "nonesuch"], (SPACE,))
    assert [type(item) for item in found] == [Memory, NotFound]
    with pytest.raises(InvalidArgument, match="prefix that fits one memory only"):
        ledger.find([one.id, one.id[:9], "nonesuch"], (SPACE,))


def test_a_title_that_looks_like_a_prefix_is_found(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", title="facade")).memory
    assert find(ledger, "facade") == memory


def test_a_title_that_several_active_memories_bear_is_refused_with_their_ids(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("one", title="Order of duties")).memory
    second = done(ledger, pen.create("two", title="Order of duties")).memory
    with pytest.raises(InvalidArgument, match="one memory only") as refused:
        ledger.find(["Order of duties"], [SPACE])
    assert first.id in refused.value.message
    assert second.id in refused.value.message
    done(ledger, pen.forget(second))
    (found,) = ledger.find(["Order of duties"], [SPACE])
    assert isinstance(found, Memory)
    assert found.id == first.id


def test_many_are_found_at_once_each_with_its_own_answer(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    found, missing, again = ledger.find([memory.id, "nothing", memory.id], (SPACE,))
    assert found == again == memory
    assert isinstance(missing, NotFound)


def test_reading_by_id_leaves_out_what_is_unknown(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    assert ledger.read([memory.id, "unknown"]) == {memory.id: memory}
    assert ledger.read([]) == {}


# ---- timeline -------------------------------------------------------------------------------------------------------


def test_a_session_is_ordered_by_its_own_count_whatever_the_clock_says(ledger: Ledger, pen: Pen) -> None:
    source = [Source("s1", "", seq) for seq in (3, 1, 2, 0, 4)]
    written = [done(ledger, pen.create(f"turn {one.seq}", source=one)).memory for one in source]
    done(ledger, pen.create("of another session", source=Source("s2", "", 2)))
    done(ledger, pen.create("of the same session elsewhere", source=Source("s1", "", 2), space=OTHER_SPACE))
    found, position = ledger.timeline(written[2].id, 5, 5)
    assert names(found) == ["turn 0", "turn 1", "turn 2", "turn 3", "turn 4"]
    assert position == 2
    found, position = ledger.timeline(written[2].id, 1, 1)
    assert (names(found), position) == (["turn 1", "turn 2", "turn 3"], 1)


def test_a_turn_without_a_count_stands_at_the_start_of_its_session(ledger: Ledger, pen: Pen) -> None:
    first, uncounted, zero = (
        done(ledger, pen.create(text, source=Source("s1", "", seq))).memory
        for text, seq in (("one", 1), ("uncounted", None), ("zero", 0))
    )
    found, position = ledger.timeline(uncounted.id, 5, 5)
    assert (names(found), position) == (["uncounted", "zero", "one"], 0)
    found, position = ledger.timeline(zero.id, 5, 5)
    assert (names(found), position) == (["uncounted", "zero", "one"], 1)
    assert first.source.seq == 1


def test_without_a_session_the_neighbours_in_time_of_the_space_are_shown(ledger: Ledger, pen: Pen) -> None:
    written = [done(ledger, pen.create(str(number))).memory for number in range(7)]
    done(ledger, pen.create("elsewhere", space=OTHER_SPACE))
    found, position = ledger.timeline(written[3].id, 2, 1)
    assert (names(found), position) == (["1", "2", "3", "4"], 2)
    found, position = ledger.timeline(written[0].id, 2, 0)
    assert (names(found), position) == (["0"], 0)


def test_a_timeline_leaves_out_what_is_forgotten_or_superseded(ledger: Ledger, pen: Pen) -> None:
    one, two, three, four = (done(ledger, pen.create(str(number))).memory for number in range(4))
    done(ledger, pen.forget(two))
    done(ledger, pen.create("4", supersedes=(four.id,)))
    found, position = ledger.timeline(three.id, 9, 9)
    assert (names(found), position) == (["0", "2", "4"], 1)
    found, position = ledger.timeline(two.id, 9, 9)
    assert (names(found), position) == (["0", "1", "2", "4"], 1)
    assert read_back(ledger, one).content == "0"


def test_a_timeline_of_an_unknown_memory_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.timeline("018f6f0e-7c1a-7000-8000-000000000000", 5, 5)


# ---- stats and export -----------------------------------------------------------------------------------------------


def test_stats_count_by_state_kind_tag_space_and_agent(varied: Ledger) -> None:
    stats = varied.stats((SPACE,))
    assert (stats.memories, stats.forgotten, stats.superseded, stats.conflicted) == (4, 1, 1, 0)
    assert stats.kinds == {"decision": 2, "fact": 2}
    assert stats.tags == {"y": 2, "x": 1, "z": 1, 'odd "tag"': 1}
    assert stats.spaces == {SPACE: 4}
    assert stats.agents == {AGENT: 2, "owner/other": 2}
    assert (stats.tags_total, stats.spaces_total, stats.agents_total) == (4, 1, 2)


def test_stats_list_the_200_most_frequent_and_say_how_many_there_are(ledger: Ledger, pen: Pen) -> None:
    for first in range(0, 240, 60):
        done(ledger, pen.create(f"from {first}", tags=tuple(f"t{n:03}" for n in range(first, first + 60))))
    done(ledger, pen.create("one tag more often", tags=("t239",)))
    stats = ledger.stats((SPACE,))
    assert (len(stats.tags), stats.tags_total) == (200, 240)
    assert next(iter(stats.tags.items())) == ("t239", 2)
    empty = ledger.stats(("no/such",))
    assert (empty.tags, empty.tags_total, empty.spaces_total, empty.agents_total) == ({}, 0, 0, 0)


def test_an_export_page_goes_on_after_the_last_one(ledger: Ledger, pen: Pen) -> None:
    written = [done(ledger, pen.create(str(number))).memory for number in range(5)]
    done(ledger, pen.create("elsewhere", space=OTHER_SPACE))
    done(ledger, pen.forget(written[2]))
    after, found = (0, ""), []
    for _ in range(10):
        page = ledger.export_page((SPACE,), ("active",), after, 2)
        if not page:
            break
        found += page
        after = (page[-1].created_at, page[-1].id)
    assert names(found) == ["0", "1", "3", "4"]
    assert names(ledger.export_page((), ("active",), (0, ""), 99)) == ["0", "1", "3", "4", "elsewhere"]
    assert names(ledger.export_page((), ("forgotten", "superseded"), (0, ""), 99)) == ["2"]


def test_an_export_page_obeys_the_filters(ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("plain"))
    tagged = done(ledger, pen.create("tagged", tags=("keep",))).memory
    for only, expected in (
        (ListQuery(tags_any=("keep", "other")), ["tagged"]),
        (ListQuery(since=tagged.created_at), ["tagged"]),
        (ListQuery(before=tagged.created_at), ["plain"]),
        (ListQuery(kinds=("decision",)), []),
    ):
        assert names(ledger.export_page((SPACE,), ("active",), (0, ""), 99, only)) == expected


# ---- as of ----------------------------------------------------------------------------------------------------------


def test_a_memory_is_shown_as_it_was(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", tags=("a",))).memory
    second = done(ledger, pen.revise(first, content="We deploy on Monday.")).memory
    done(ledger, pen.forget(first))
    forgotten_at = pen.now
    done(ledger, pen.restore(first))
    assert read_then(ledger, [first.id], first.created_at - 1) == {}
    assert read_then(ledger, [first.id], first.created_at) == {first.id: first}
    assert read_then(ledger, [first.id], second.updated_at)[first.id].content == "We deploy on Monday."
    assert read_then(ledger, [first.id], forgotten_at)[first.id].state == "forgotten"
    assert read_then(ledger, [first.id], pen.now)[first.id] == read_back(ledger, first)
    assert read_then(ledger, ["unknown"], pen.now) == {}


def test_texts_that_were_others_then_are_read_the_last_change_first(ledger: Ledger, pen: Pen) -> None:
    first, second, third, same = (done(ledger, pen.create(name)).memory for name in ("one", "two", "three", "four"))
    at = pen.now
    for memory in (first, second, third):
        done(ledger, pen.revise(memory, content=f"not {memory.content}"))
    done(ledger, pen.forget(same))
    asked = ListQuery(spaces=(SPACE,), state="all", before=at + 1, limit=9)
    ids = [same.id, third.id, second.id, first.id]
    assert ledger.changed(asked, at, []) == (ids, [], False)
    assert ledger.reworded(ids, at, 60.0) == ([third, second, first], 4)
    assert ledger.reworded(ids[1:], at, 0.0) == ([third], 1), "the first one, however little time there is"
    # As many matches are read again.
    few = ledger.changed(replace(asked, limit=1), at, [second.id, first.id])
    assert few == ([same.id, second.id], [first.id], True)
    elsewhere = replace(asked, spaces=(OTHER_SPACE,))
    assert ledger.changed(elsewhere, at, []) == ([], [], False)
    assert ledger.changed(elsewhere, pen.now, [first.id]) == ([], [], False)


def test_a_change_that_a_slow_clock_dates_back_is_one_of_what_it_builds_on(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    pen.now += 1000
    done(ledger, pen.revise(memory, content="two"))
    pen.now -= 500
    assert done(ledger, pen.revise(memory, content="three")).memory.updated_at == pen.now
    at = pen.now + 200
    asked = ListQuery(spaces=(SPACE,), state="all", before=at + 1, limit=9)
    assert ledger.changed(asked, at, [memory.id]) == ([memory.id], [], False)
    assert ledger.reworded([memory.id], at, 60.0) == ([memory], 1)


# ---- successors -----------------------------------------------------------------------------------------------------


def test_every_version_leads_to_the_last_one(ledger: Ledger, pen: Pen) -> None:
    versions = [done(ledger, pen.create("version 0")).memory]
    for number in range(1, 15):
        versions.append(done(ledger, pen.create(f"version {number}", supersedes=(versions[-1].id,))).memory)
    ids = [memory.id for memory in versions]
    assert {end.id for end in ledger.successors(ids[:-1]).values()} == {ids[-1]}
    assert ledger.successors(["unknown"]) == {}


def test_chains_that_run_in_a_circle_come_to_an_end() -> None:
    after = {"a": "b", "b": "c", "c": "a", "d": "a", "e": "f", "g": "e"}
    ends = chain_ends(["e", "g", "a", "d", "b"], lambda id_: after.get(id_, ""))
    assert (ends["e"], ends["g"]) == ("f", "f")
    assert {ends["a"], ends["b"], ends["d"]} <= {"a", "b", "c"}
    assert list(ends) == ["e", "g", "a", "d", "b"]


def test_few_rows_by_their_keys_are_quick_and_what_scans_or_writes_never(ledger: Ledger) -> None:
    one = object()
    quick: list[tuple[str, tuple[object, ...]]] = [
        ("read", (["a"] * QUICK_ROWS_MAX,)),
        ("touch", (["a"], 1)),
        ("ties", (["a"] * QUICK_ROWS_MAX,)),
        ("entries", (7, QUICK_ROWS_MAX)),
        ("prepare", ([one], ["hash"], "model-1")),
    ]
    slow: list[tuple[str, tuple[object, ...]]] = [
        ("read", (["a"] * (QUICK_ROWS_MAX + 1),)),
        ("prepare", ([one, one], [], "model-1")),
        ("prepare", ([one], ["hash"] * (QUICK_HASHES_MAX + 1), "model-1")),
        ("entries", (7, QUICK_ROWS_MAX + 1)),
        ("successors", (["a"],)),
        ("commit", ([],)),
        ("page", (ListQuery(spaces=(SPACE,)),)),
    ]
    assert [ledger.quick(*call) for call in (*quick, *slow)] == [True] * len(quick) + [False] * len(slow)


# ---- pages -----------------------------------------------------------------------------------------------------------
# A listing is filtered, ordered and paged: each memory once, whatever page it comes on.


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
    ("valid_at", "then"), [(-1, "dc"), (0, "dc"), (9, "dc"), (10, "dcba"), (19, "dcba"), (20, "cb"), (21, "cb")]
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
    plan = ledger._db.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM memory WHERE {STOOD}", (5,) * 4).fetchall()
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


# ---- visible ---------------------------------------------------------------------------------------------------------
# Memories outside a caller's patterns don't exist for the caller: by id, prefix, title or count.


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
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE memory (space TEXT)")
        db.executemany("INSERT INTO memory VALUES (?)", [(space,) for space in spaces])
        seen = [row[0] for row in db.execute(f"SELECT space FROM memory WHERE {where} ORDER BY rowid", values)]
    assert seen == [space for space in spaces if any_matches(patterns, space)]


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


def test_a_title_of_a_space_beyond_the_grant_finds_nothing_wherever_it_is_sought(ledger: Ledger, pen: Pen) -> None:
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
