"""The count and times of uses: noted without a write of their own, and there after a restart."""

from __future__ import annotations

from dataclasses import replace

from ledger_builders import AGENT, SPACE, Home, Pen, all_done, done

from mnemesh_actors.ledger.commit.commands import Committed, Lookup
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import uses
from mnemesh_memory.text.text import duplicate_key

PAGE_BYTES = 4096


def incarnation(home: Home) -> str:
    with home.opened() as ledger:
        return ledger.status().incarnation


def filled(home: Home, count: int = 250) -> None:
    """A ledger of `count` memories, all of it folded into the one file."""
    with home.opened() as ledger:
        all_done(
            ledger, *(home.pen.create(f"Memory number {n} says something. " * 8, title=f"T{n}") for n in range(count))
        )


def test_uses_are_counted_and_survive_a_restart(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        one, two = (result.memory.id for result in all_done(ledger, pen.create("one"), pen.create("two")))
        ledger.touch([one, two], 10)
        ledger.touch([one], 20)
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
    with home.opened() as ledger:
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
        ledger.touch([one], 15)
        assert ledger.activity([one]) == {one: (3, 20)}
        done(ledger, pen.create("three"))
        assert ledger.activity([one]) == {one: (3, 20)}
    with home.opened() as ledger:
        assert ledger.activity([one]) == {one: (3, 20)}
        assert ledger.activity([]) == {}


def test_noting_a_use_writes_nothing_until_the_next_commit(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    before = ledger._db.total_changes
    for moment in range(100):
        ledger.touch([memory.id], moment)
        ledger.activity([memory.id])
    assert ledger._db.total_changes == before
    done(ledger, pen.create("two"))
    with home.looked_into() as db:
        assert db.execute("SELECT accesses, last_used FROM activity").fetchall() == [(100, 99)]


def test_of_too_many_uses_that_wait_the_oldest_are_lost_and_a_read_writes_nothing(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    memory = done(ledger, pen.create("one")).memory
    before = ledger._db.total_changes
    ledger.touch([memory.id, *(f"id-{number}" for number in range(uses.PENDING_MAX - 1))], 5)
    ledger.touch([memory.id], 6)
    ledger.touch(["one too many"], 7)
    assert ledger._db.total_changes == before
    asked = [memory.id, "id-0", "id-1", "one too many"]
    assert ledger.activity(asked) == {memory.id: (2, 6), "id-1": (1, 5), "one too many": (1, 7)}
    done(ledger, pen.create("two"))
    with home.looked_into() as db:
        assert db.execute("SELECT count(*) FROM activity").fetchone()[0] == uses.PENDING_MAX


def test_a_use_can_be_noted_when_nothing_can_be_written(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger._db.execute("PRAGMA query_only=ON")
    for number in range(3 * uses.PENDING_MAX):
        ledger.touch([f"id-{number}"], number)
    ledger.touch([memory.id], 9)
    assert ledger.activity([memory.id]) == {memory.id: (1, 9)}
    ledger._db.execute("PRAGMA query_only=OFF")


def test_a_duplicate_in_a_full_list_of_uses_is_written_with_its_commit(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger.touch([f"id-{number}" for number in range(uses.PENDING_MAX)], 5)
    results = all_done(ledger, pen.create("two"), pen.create("one", idempotency_key="k"), pen.create("three"))
    assert [result.action for result in results] == ["ADD", "NOOP", "ADD"]
    assert ledger.activity([memory.id]) == {memory.id: (1, pen.now - 1)}


def test_only_a_write_reinforces_a_duplicate(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    lookup = Lookup(AGENT, SPACE, duplicate_key("one"), "", b"", False, 7, touch=False)
    ((known,), _) = ledger.prepare([lookup], [], "")
    assert isinstance(known, Committed)
    assert (known.action, ledger.activity([memory.id])) == ("NOOP", {})
    ledger.prepare([replace(lookup, touch=True)], [], "")
    assert ledger.activity([memory.id]) == {memory.id: (1, 7)}
