"""What was used, how often and when: counted without a write of its own, and there after a restart."""

from __future__ import annotations

from ledger_builders import Home, Pen, all_done, done

from mnemesh_actors.ledger import actor
from mnemesh_actors.ledger.actor import Ledger

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


def test_uses_that_wait_are_bounded_and_a_duplicate_may_be_the_one_too_many(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger.touch([f"id-{number}" for number in range(actor.ACTIVITY_PENDING_MAX)], 5)
    results = all_done(ledger, pen.create("two"), pen.create("one", idempotency_key="k"), pen.create("three"))
    assert [result.action for result in results] == ["ADD", "NOOP", "ADD"]
    assert ledger.activity([memory.id, "id-0"]) == {memory.id: (1, pen.now - 1), "id-0": (1, 5)}
    ledger.touch([f"other-{number}" for number in range(actor.ACTIVITY_PENDING_MAX + 1)], 6)
    with home.looked_into() as db:
        count = db.execute("SELECT count(*) FROM activity").fetchone()[0]
    assert count == 2 * actor.ACTIVITY_PENDING_MAX + 2
