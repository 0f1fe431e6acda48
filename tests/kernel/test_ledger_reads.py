"""What a reader of the ledger depends on: the right memories, in order, each once, whatever page they come on."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import AGENT, GENERATION, OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_back

from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Vectors
from mnemesh_memory.errors import InvalidArgument, NotFound
from mnemesh_memory.indexing import index_texts
from mnemesh_memory.model import ListQuery, Memory, Source
from mnemesh_memory.text import content_hash


def listed(ledger: Ledger, **query: Any) -> list[Memory]:
    return list(ledger.page(ListQuery(**{"spaces": (SPACE,), "limit": 200, **query})).memories)


def names(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


# ---- by id, prefix, title -----------------------------------------------------------------------------------------


def find(ledger: Ledger, key: str, *spaces: str) -> Memory:
    (found,) = ledger.find([key], spaces or (SPACE,))
    if isinstance(found, Exception):
        raise found
    return found


def test_a_memory_is_found_by_id_prefix_and_title(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", title="Order of duties")).memory
    for key in (memory.id, memory.id.upper(), f" {memory.id} ", memory.id[:8], memory.id[:6], "Order of duties"):
        assert find(ledger, key) == memory, key


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


def test_a_title_that_looks_like_a_prefix_is_found(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", title="facade")).memory
    assert find(ledger, "facade") == memory


def test_of_several_with_a_title_the_active_one_is_meant_and_then_the_newest(ledger: Ledger, pen: Pen) -> None:
    one, two, three = (
        result.memory for result in all_done(ledger, *(pen.create(text, title="T") for text in ("one", "two", "three")))
    )
    assert find(ledger, "T").id == three.id
    done(ledger, pen.forget(three))
    assert find(ledger, "T").id == two.id
    done(ledger, pen.revise(one, content="one again"))
    assert find(ledger, "T").id == one.id


def test_many_are_found_at_once_each_with_its_own_answer(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    found, missing, again = ledger.find([memory.id, "nothing", memory.id], (SPACE,))
    assert found == again == memory
    assert isinstance(missing, NotFound)


def test_reading_by_id_leaves_out_what_is_unknown(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    assert ledger.read([memory.id, "unknown"]) == {memory.id: memory}
    assert ledger.read([]) == {}


# ---- listing ------------------------------------------------------------------------------------------------------


def test_the_newest_come_first_or_the_oldest_when_asked(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(text) for text in ("one", "two", "three")))
    assert names(listed(ledger)) == ["three", "two", "one"]
    assert names(listed(ledger, order="oldest")) == ["one", "two", "three"]


@pytest.fixture
def varied(ledger: Ledger, pen: Pen) -> Ledger:
    """Six memories that differ in what a listing can filter by."""
    other = Pen(agent="owner/other", now=pen.now + 100)
    results = all_done(
        ledger,
        pen.create("a", tags=("x",), kind="fact"),
        pen.create("b", tags=("x", "y"), kind="decision", source=Source("s1", "", 2)),
        pen.create("c", tags=("z",), kind="decision", source=Source("s1", "", 1)),
        pen.create("d", space=OTHER_SPACE),
        other.create("e", tags=("y", 'odd "tag"')),
        other.create("f"),
    )
    done(ledger, other.forget(results[5].memory))
    done(ledger, other.create("g", supersedes=(results[0].memory.id,)))
    return ledger


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


@settings(max_examples=40, derandomize=True, database=None, deadline=None)
@given(
    moments=st.lists(st.integers(0, 4), min_size=1, max_size=25),
    size=st.integers(1, 9),
    order=st.sampled_from(["newest", "oldest"]),
)
def test_pages_have_no_gaps_and_no_repeats_even_when_many_were_made_at_once(
    moments: list[int], size: int, order: str
) -> None:
    with Home.for_one_example() as home, home.opened() as ledger:
        # Moments repeat, so that the id has to decide; ids of one moment are in no order of writing.
        commands = [replace(home.pen.create(f"memory {number}"), at=at) for number, at in enumerate(moments)]
        written = [result.memory for result in all_done(ledger, *commands)]
        found = pages(ledger, size, order=order)
        expected = sorted(written, key=lambda memory: (memory.created_at, memory.id), reverse=order == "newest")
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


# ---- timeline -----------------------------------------------------------------------------------------------------


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


# ---- stats and export ---------------------------------------------------------------------------------------------


def test_stats_count_by_state_kind_tag_space_and_agent(varied: Ledger) -> None:
    stats = varied.stats((SPACE,))
    assert (stats.memories, stats.forgotten, stats.superseded, stats.conflicted) == (4, 1, 1, 0)
    assert stats.kinds == {"decision": 2, "fact": 2}
    assert stats.tags == {"y": 2, "x": 1, "z": 1, 'odd "tag"': 1}
    assert stats.spaces == {SPACE: 4}
    assert stats.agents == {AGENT: 2, "owner/other": 2}


def test_stats_over_all_spaces_count_them_all(varied: Ledger) -> None:
    stats = varied.stats(())
    assert (stats.memories, stats.spaces) == (5, {SPACE: 4, OTHER_SPACE: 1})
    assert varied.stats(("no/such",)).memories == 0


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


# ---- as of --------------------------------------------------------------------------------------------------------


def test_a_memory_is_shown_as_it_was(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", tags=("a",))).memory
    second = done(ledger, pen.revise(first, content="We deploy on Monday.")).memory
    done(ledger, pen.forget(first))
    forgotten_at = pen.now
    done(ledger, pen.restore(first))
    assert ledger.read_as_of([first.id], first.created_at - 1) == {}
    assert ledger.read_as_of([first.id], first.created_at) == {first.id: first}
    assert ledger.read_as_of([first.id], second.updated_at)[first.id].content == "We deploy on Monday."
    assert ledger.read_as_of([first.id], forgotten_at)[first.id].state == "forgotten"
    assert ledger.read_as_of([first.id], pen.now)[first.id] == read_back(ledger, first)
    assert ledger.read_as_of(["unknown"], pen.now) == {}


def test_a_superseded_memory_was_active_before(ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.create("We deploy on Monday.", supersedes=(old.id,)))
    assert ledger.read_as_of([old.id], old.created_at)[old.id] == old
    assert ledger.read_as_of([old.id], pen.now)[old.id].state == "superseded"


# ---- the feed of the index ----------------------------------------------------------------------------------------


def test_the_feed_gives_each_changed_memory_once_at_its_last_change_in_order(ledger: Ledger, pen: Pen) -> None:
    one, two, three = (done(ledger, pen.create(text)).memory for text in ("one", "two", "three"))
    done(ledger, pen.revise(one, content="one again"))
    done(ledger, pen.forget(two))
    page = ledger.feed(0, 100, GENERATION)
    assert [(seq, memory.content, memory.state) for seq, memory in page.memories] == [
        (3, "three", "active"),
        (4, "one again", "active"),
        (5, "two", "forgotten"),
    ]
    assert (page.seq, page.head) == (5, 5)
    assert [memory.id for _, memory in ledger.feed(3, 100, GENERATION).memories] == [one.id, two.id]
    assert three.id


def test_the_feed_is_read_in_pages_that_cover_every_entry(ledger: Ledger, pen: Pen) -> None:
    memories = [done(ledger, pen.create(str(number))).memory for number in range(10)]
    for memory in memories[:5]:
        done(ledger, pen.revise(memory, title="changed"))
    seen: dict[str, Memory] = {}
    after, steps = 0, []
    while after < 15:
        page = ledger.feed(after, 4, GENERATION)
        assert page.head == 15
        assert after < page.seq <= after + 4
        assert all(after < seq <= page.seq for seq, _ in page.memories)
        seen |= {memory.id: memory for _, memory in page.memories}
        after = page.seq
        steps.append(after)
    assert steps == [4, 8, 12, 15]
    assert seen == ledger.read([memory.id for memory in memories])


def test_a_feed_that_is_at_the_end_stays_there(ledger: Ledger, pen: Pen) -> None:
    assert (ledger.feed(0, 10, GENERATION).seq, ledger.feed(0, 10, GENERATION).head) == (0, 0)
    done(ledger, pen.create("one"))
    page = ledger.feed(1, 10, GENERATION)
    assert (page.memories, page.seq, page.head) == ((), 1, 1)


def test_both_sides_of_a_replacement_are_in_the_feed(ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("old")).memory
    done(ledger, pen.create("new", supersedes=(old.id,)))
    assert [memory.state for _, memory in ledger.feed(1, 10, GENERATION).memories] == ["active", "superseded"]


def test_a_refused_write_leaves_no_gap_that_the_feed_would_wait_for(ledger: Ledger, pen: Pen) -> None:
    ledger.commit([pen.create("one"), pen.create("x", supersedes=("ffffffff",)), pen.create("two")])
    page = ledger.feed(0, 10, GENERATION)
    assert names([memory for _, memory in page.memories]) == ["one", "two"]
    assert page.seq == page.head == ledger.status().seq


# ---- vectors ------------------------------------------------------------------------------------------------------


def test_the_feed_brings_the_vectors_that_came_with_the_write(ledger: Ledger, pen: Pen) -> None:
    kept = (content_hash("one"), b"\x00\x01" * 768)
    done(ledger, pen.create("one", vectors=Vectors(generation=GENERATION, items=(kept,))))
    done(ledger, pen.create("two"))
    assert ledger.feed(0, 10, GENERATION).vectors == dict([kept])
    assert ledger.feed(0, 10, "another.generation").vectors == {}
    assert ledger.vectors([kept[0], content_hash("two")], GENERATION) == dict([kept])


def test_the_feed_asks_for_the_vectors_of_every_part_of_a_long_memory(ledger: Ledger, pen: Pen) -> None:
    content = "".join(f"Sentence {number} says something of its own. " for number in range(300))
    memory = done(ledger, pen.create(content, title="Long")).memory
    hashes = [content_hash(dense) for dense, _ in index_texts(memory)]
    assert len(hashes) > 3
    ledger.keep_vectors(Vectors(generation=GENERATION, items=tuple((digest, b"v") for digest in hashes)))
    assert set(ledger.feed(0, 10, GENERATION).vectors) == set(hashes)


def test_a_vector_that_is_there_is_not_replaced_and_many_can_be_asked_for(ledger: Ledger) -> None:
    hashes = [content_hash(str(number)) for number in range(1200)]
    ledger.keep_vectors(Vectors(generation=GENERATION, items=tuple((digest, b"first") for digest in hashes)))
    ledger.keep_vectors(Vectors(generation=GENERATION, items=((hashes[0], b"second"),)))
    assert ledger.vectors([*hashes, hashes[0], content_hash("unknown")], GENERATION) == dict.fromkeys(hashes, b"first")


def test_vectors_survive_a_restart_and_those_of_a_refused_write_do_not(home: Home, pen: Pen) -> None:
    one, two = content_hash("one"), content_hash("two")
    with home.opened() as ledger:
        first, second = (Vectors(generation=GENERATION, items=((digest, b"v"),)) for digest in (one, two))
        refused = pen.create("two", supersedes=("ffffffff",), vectors=second)
        ledger.commit([pen.create("one", vectors=first), refused])
    with home.opened() as ledger:
        assert ledger.vectors([one, two], GENERATION) == {one: b"v"}
