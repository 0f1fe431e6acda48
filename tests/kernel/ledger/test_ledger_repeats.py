"""A text that says nothing new by the verdict of the guard is kept aside, so that a wrong verdict loses no text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ledger_builders import START, Home, done, read_back
from peer_builders import all_entries, hand_over
from test_ledger_histories import create

from mnemesh_actors.ledger.commands import Create
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.policy.judge.guard import Verdict
from mnemesh_memory.values.model import Link, Memory

SAID = "Nobody merges when the build is red"
SAME = "When the build is red, nobody merges"


def repeat(home: Home, target: Memory, content: str = SAME, **fields: Any) -> Create:
    verdict = Verdict(
        action="NOOP", reason="says the same", novelty=0.0, target_id=target.id, heads={target.id: target.heads}
    )
    return replace(home.pen.create(content, **fields), verdict=verdict)


def test_a_repeat_is_written_once_and_the_memory_that_it_repeats_is_not_changed(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory, title="Merging", tags=("ci",), valid_to=START + 9_000_000)
    told = done(ledger, command)
    assert (told.action, told.memory, told.deduplicated) == ("NOOP", memory, True)
    assert told.hint == f'if it says something else, call restore(id="{command.id}")'
    aside = ledger.read([command.id])[command.id]
    assert (aside.content, aside.title, aside.tags) == (SAME, "Merging", ("ci",))
    assert (aside.state, aside.superseded_by) == ("superseded", memory.id)
    again = done(ledger, command)
    assert (again.action, again.memory, again.seq) == ("NOOP", memory, told.seq)
    anew = done(ledger, repeat(home, memory))
    assert (anew.action, anew.memory, anew.hint, anew.reason) == ("NOOP", memory, "", "says the same")
    assert len(all_entries(ledger)) == 2
    assert done(ledger, repeat(home, memory, SAID.upper() + ".")).hint == "", "its words are there to the letter"
    assert len(all_entries(ledger)) == 2
    ledger.rebuild_view()
    assert ledger.read([memory.id, aside.id]) == {memory.id: memory, aside.id: aside}


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


def test_a_peer_has_a_repeat_aside_too(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, SAID)
    command = repeat(home, memory)
    done(ledger, command)
    with Home.for_one_example() as far, far.opened() as other:
        hand_over(ledger, other, far)
        ids = [memory.id, command.id]
        assert other.read(ids) == ledger.read(ids)
