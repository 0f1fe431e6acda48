"""The guarantees for a reader of the ledger: the intended memory, its neighbours, counts, and the past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ledger_builders import AGENT, OTHER_SPACE, SPACE, Pen, all_done, done, read_back

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store.reads import chain_ends
from mnemesh_actors.ledger.store.views import QUICK_HASHES_MAX, QUICK_ROWS_MAX
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import ListQuery, Memory, Source


def listed(ledger: Ledger, **query: Any) -> list[Memory]:
    return list(ledger.page(ListQuery(**{"spaces": (SPACE,), "limit": 200, **query})).memories)


def names(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


# ---- by id, prefix, title -------------------------------------------------------------------------------------------


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


# ---- as of ----------------------------------------------------------------------------------------------------------


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


def test_a_superseded_memory_was_active_before(ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.create("We deploy on Monday.", supersedes=(old.id,)))
    assert ledger.read_as_of([old.id], old.created_at)[old.id] == old
    assert ledger.read_as_of([old.id], pen.now)[old.id].state == "superseded"


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
        ("prepare", ([one], ["hash"], "model-1")),
    ]
    slow: list[tuple[str, tuple[object, ...]]] = [
        ("read", (["a"] * (QUICK_ROWS_MAX + 1),)),
        ("prepare", ([one, one], [], "model-1")),
        ("prepare", ([one], ["hash"] * (QUICK_HASHES_MAX + 1), "model-1")),
        ("commit", ([],)),
        ("page", (ListQuery(spaces=(SPACE,)),)),
    ]
    assert [ledger.quick(*call) for call in (*quick, *slow)] == [True] * len(quick) + [False] * len(slow)
