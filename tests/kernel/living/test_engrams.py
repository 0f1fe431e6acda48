"""Neighbours in time: slots that compete, bounded, and rebuilt from the log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from follower_scene import until
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_scene import READER, Here, running

from mnemesh_memory.policy.dynamics.engram import CAPACITY, MINUTE_MS, NEIGHBOURS_MAX, REACH_MS, EngramTable, in_words

times = st.integers(-REACH_MS, 20 * REACH_MS)
writes = st.lists(st.tuples(times, st.sampled_from(["a", "b", "c"]), st.sampled_from(["s", "t"])), max_size=120)


def table_of(made: list[tuple[int, str, str]]) -> EngramTable:
    table = EngramTable()
    for number, (at, agent, space) in enumerate(made):
        table.take(str(number), space, agent, at)
    return table


@settings(max_examples=150)
@given(writes)
def test_neighbours_are_few_of_the_same_space_and_of_each_other(made: list[tuple[int, str, str]]) -> None:
    table = table_of(made)
    for number, (at, _, space) in enumerate(made):
        near = table.neighbours(str(number))
        assert len(near) <= NEIGHBOURS_MAX
        for one in near:
            there, _, other = made[int(one.id)]
            assert (other, there - at) == (space, one.apart_ms)
        distances = [abs(one.apart_ms) for one in near]
        assert distances == sorted(distances)


@settings(max_examples=60)
@given(writes, st.data())
def test_an_erased_memory_is_nobodys_neighbour_and_the_order_of_slots_holds(
    made: list[tuple[int, str, str]], data: st.DataObject
) -> None:
    table = table_of(made)
    gone = data.draw(st.sets(st.integers(0, max(0, len(made) - 1))))
    for number in gone:
        table.end(str(number))
    for number in range(len(made)):
        assert not gone & {int(one.id) for one in table.neighbours(str(number))}
    for slots in table._slots.values():
        assert [slot.order for slot in slots] == sorted(slot.order for slot in slots)
        assert all(slot.members for slot in slots)


def test_a_day_of_writing_does_not_fall_into_one_slot() -> None:
    table = table_of([(minute * MINUTE_MS, "a", "s") for minute in range(600)])
    sizes = Counter(id(table._place[str(number)][1]) for number in range(600))
    assert max(sizes.values()) <= CAPACITY
    assert all(len(table.neighbours(str(number))) <= NEIGHBOURS_MAX for number in range(600))


def test_two_agents_who_write_at_the_same_time_get_slots_of_their_own() -> None:
    table = table_of([(number * MINUTE_MS, "ab"[number % 2], "s") for number in range(20)])
    for number in range(20):
        assert {int(one.id) % 2 for one in table.neighbours(str(number))} == {number % 2}


def test_a_pause_begins_a_slot_and_a_clock_that_jumps_does_no_harm() -> None:
    year = 365 * 24 * 60 * MINUTE_MS
    table = table_of([(0, "a", "s"), (MINUTE_MS, "a", "s"), (MINUTE_MS + 2 * REACH_MS, "a", "s"), (-year, "a", "s")])
    assert [one.id for one in table.neighbours("0")] == ["1"]
    assert table.neighbours("2") == table.neighbours("3") == []
    assert in_words(table.neighbours("1")[0]) == "temporal: written 1 min before"


async def test_related_names_neighbours_in_time_also_after_a_start(here: Here, tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        first = await mesh.remember(READER, here.draft("Lids are sealed with wax."))
        second = await mesh.remember(READER, here.draft("Bo owns the parser of invoices."))
    async with running(tmp_path) as again:
        end = await again._parts.ledger.position()
        await until(lambda: again._parts.temporal.position == end)
        (near,) = (await again.related(READER, first.memory.id)).results
    assert near.memory.id == second.memory.id
    assert near.reasons == ("temporal: written 0 min after",)
