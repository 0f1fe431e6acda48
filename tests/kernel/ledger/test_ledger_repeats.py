"""A text that says nothing new by the verdict of the guard is kept, so that a wrong verdict loses no text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ledger_builders import SPACE, START, Home, done, read_back
from peer_builders import all_entries, hand_over
from test_ledger_histories import create

from mnemesh_actors.ledger.commands import Absorb, Create
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.policy.judge.guard import Verdict
from mnemesh_memory.values.model import Link, ListQuery, Memory

SAID = "Nobody merges when the build is red"
SAME = "When the build is red, nobody merges"


def repeat(home: Home, target: Memory, content: str = SAME, **fields: Any) -> Create:
    verdict = Verdict(
        action="NOOP", reason="says the same", novelty=0.0, target_id=target.id, heads={target.id: target.heads}
    )
    return replace(home.pen.create(content, **fields), verdict=verdict)


def test_a_repeat_is_written_once_and_the_memory_that_it_repeats_is_not_changed(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory, title="Merging", tags=("ci",), valid_to=START + 9_000_000, idempotency_key="k1")
    told = done(ledger, command)
    assert (told.action, told.memory, told.deduplicated) == ("NOOP", memory, True)
    assert told.hint == f'if it says something else, call restore(id="{command.id}")'
    kept = ledger.read([command.id])[command.id]
    assert (kept.content, kept.title, kept.tags) == (SAME, "Merging", ("ci",))
    assert (kept.state, kept.superseded_by, kept.valid_to) == ("superseded", memory.id, command.at)
    for sent in (command, replace(command, actor=bytes(16))):
        again = done(ledger, sent)
        assert (again.action, again.memory, again.deduplicated or again.replayed) == ("NOOP", memory, True)
    anew = done(ledger, repeat(home, memory))
    assert (anew.action, anew.memory, anew.hint, anew.reason) == ("NOOP", memory, told.hint, told.reason)
    plain = done(ledger, repeat(home, memory, SAID.upper() + "."))
    assert (plain.action, plain.hint, plain.reason) == ("NOOP", "", "says the same"), (
        "its words are there to the letter"
    )
    assert len(all_entries(ledger)) == 3
    ledger.rebuild_view()
    assert ledger.read([memory.id, kept.id]) == {memory.id: memory, kept.id: kept}


def test_a_repeat_does_not_hold_in_place_of_the_memory_that_was_forgotten(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    done(ledger, command)
    done(ledger, home.pen.forget(memory))
    assert ledger.page(ListQuery(spaces=(SPACE,), valid_at=home.pen.now + 1)).memories == ()
    back = done(ledger, home.pen.restore(ledger.read([command.id])[command.id]))
    assert (back.action, back.memory.state) == ("RESTORE", "active")


def test_a_repeat_has_the_first_change_of_an_added_memory(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    with Home.for_one_example() as far, far.opened() as other:
        hand_over(ledger, other, far)
        done(other, home.pen.revise(memory, title="Merging"))
        assert [done(one, command).action for one in (ledger, other)] == ["NOOP", "ADD"]
        raws = [{entry.raw for entry in all_entries(one) if entry.doc == command.id} for one in (ledger, other)]
        assert len(raws[0] & raws[1]) == 1
        hand_over(ledger, other, far)
        hand_over(other, ledger, home)
        states = [one.read([command.id])[command.id].state for one in (ledger, other)]
        assert states == ["superseded", "superseded"]


def test_a_retry_of_an_added_memory_that_was_merged_since_names_that_memory(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = home.pen.create(SAME, idempotency_key="k1")
    added = done(ledger, command).memory
    done(ledger, Absorb(**home.pen._next(), id=memory.id, others=(added.id,)))
    for sent in (command, replace(command, actor=bytes(16))):
        again = done(ledger, sent)
        assert (again.action, again.memory.id, again.replayed) == ("ADD", added.id, True)


def test_a_retry_of_a_repeat_whose_memory_is_erased_names_the_repeat(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    done(ledger, command)
    ledger.erase(home.pen.erase(memory.id))
    assert (done(ledger, command).memory.id, done(ledger, command).replayed) == (command.id, True)


def test_a_repeat_that_was_none_stands_beside_the_memory_after_a_restore(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory, valid_to=START + 9_000_000)
    done(ledger, command)
    back = done(ledger, home.pen.restore(ledger.read([command.id])[command.id]))
    assert (back.action, back.memory.state, back.memory.valid_to) == ("RESTORE", "active", START + 9_000_000)
    assert read_back(ledger, memory).links == (Link("both-hold", command.id),)
    assert done(ledger, home.pen.create(SAME)).memory.id == command.id


def test_a_repeat_of_a_memory_that_changed_meanwhile_is_added(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    done(ledger, home.pen.revise(memory, content="Merges wait for a review"))
    assert (done(ledger, command).action, ledger.read([command.id])[command.id].state) == ("ADD", "active")


def test_a_peer_keeps_a_repeat_out_of_recall_too(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    done(ledger, command)
    with Home.for_one_example() as far, far.opened() as other:
        hand_over(ledger, other, far)
        ids = [memory.id, command.id]
        assert other.read(ids) == ledger.read(ids)
