"""The guarantees for a writer: acknowledged writes are there, repeated writes count once, refused writes leave
nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import AGENT, FULL, OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_back

from mnemesh_actors.ledger.commit.commands import Command
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.values.model import ListQuery

# ---- acknowledged means there ---------------------------------------------------------------------------------------


def test_an_acknowledged_write_is_there_after_opening_the_ledger_again(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        written = done(ledger, pen.create("The ledger commits before it answers.", **FULL))
    assert (written.action, written.seq, written.replayed, written.deduplicated) == ("ADD", 1, False, False)
    with home.opened() as ledger:
        assert read_back(ledger, written.memory) == written.memory


def test_every_field_of_a_draft_is_kept(ledger: Ledger, pen: Pen) -> None:
    command = pen.create("The ledger commits before it answers.", **FULL)
    memory = done(ledger, command).memory
    for name, value in FULL.items():
        assert getattr(memory, name) == value, name
    assert (memory.content, memory.space) == (command.draft.content, SPACE)
    assert (memory.id, memory.by, memory.created_at, memory.updated_at) == (command.id, AGENT, command.at, command.at)
    assert (memory.state, memory.version, memory.conflicts) == ("active", 1, ())
    assert read_back(ledger, memory) == memory


def test_a_write_that_was_answered_is_on_disk_before_the_ledger_is_closed(home: Home, ledger: Ledger, pen: Pen) -> None:
    written = done(ledger, pen.create("durable"))
    with home.looked_into() as db:
        assert db.execute("SELECT doc, agent FROM entry").fetchall() == [(written.memory.id, AGENT)]
        assert db.execute("SELECT content FROM memory").fetchall() == [("durable",)]


@pytest.mark.parametrize("content", ["' OR 1=1 --", "a\x00b", "記憶 🧠", "x" * 32768, "\u202e", "line\r\nline"])
def test_any_text_comes_back_as_it_was_written(home: Home, pen: Pen, content: str) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create(content)).memory
    with home.opened() as ledger:
        assert read_back(ledger, memory).content == content


# ---- exact duplicates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again",
    ["We deploy on Friday.", "  We deploy  on\tFriday. \r\n"],
)
def test_the_same_text_in_the_same_space_is_not_stored_twice(home: Home, ledger: Ledger, pen: Pen, again: str) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    second = done(ledger, pen.create(again, tags=("new",), title="Another"))
    assert (second.action, second.deduplicated, second.restorable) == ("NOOP", True, False)
    assert second.memory == first.memory
    assert home.entries() == 1


@pytest.mark.parametrize(
    "other",
    [
        "We deploy on Friday",
        "We deploy on Monday.",
        "We deploy on Friday!",
        "\uff37e deploy on Friday.",
        "We Deploy on Friday.",
        "We deploy\non Friday.",
    ],
)
def test_a_text_that_differs_in_one_character_is_another_memory(ledger: Ledger, pen: Pen, other: str) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    second = done(ledger, pen.create(other))
    assert second.action == "ADD"
    assert second.memory.id != first.memory.id


def test_the_same_text_in_another_space_is_another_memory(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    second = done(ledger, pen.create("We deploy on Friday.", space=OTHER_SPACE))
    assert second.action == "ADD"
    assert second.memory.id != first.memory.id
    assert second.memory.space == OTHER_SPACE


def test_duplicates_in_one_group_commit_are_found_too(home: Home, ledger: Ledger, pen: Pen) -> None:
    results = all_done(ledger, *(pen.create("the same") for _ in range(5)), pen.create("another"))
    assert [result.action for result in results] == ["ADD", "NOOP", "NOOP", "NOOP", "NOOP", "ADD"]
    assert len({result.memory.id for result in results}) == 2
    assert home.entries() == 2


def test_force_stores_the_same_text_anew(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    second = done(ledger, pen.create("We deploy on Friday.", force=True))
    assert (second.action, second.reason) == ("ADD", f"stored although {first.memory.id} says the same")
    assert ledger.activity([first.memory.id]) == {}, "it was not met by chance"
    assert {memory.id for memory in ledger.page(ListQuery(spaces=(SPACE,))).memories} == {
        first.memory.id,
        second.memory.id,
    }
    assert done(ledger, pen.create("We deploy on Monday.", force=True)).reason == "new in this space"


def test_a_duplicate_reinforces_the_memory_that_is_there(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    again = pen.create("We deploy on Friday.")
    done(ledger, again)
    assert ledger.activity([first.id]) == {first.id: (1, again.at)}


def test_a_text_that_was_changed_away_is_free_again(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.revise(first, content="We deploy on Monday."))
    assert done(ledger, pen.create("We deploy on Friday.")).action == "ADD"
    assert done(ledger, pen.create("We deploy on Monday.")).memory.id == first.id


def test_a_superseded_text_is_free_again(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.create("We deploy on Monday.", supersedes=(first.id,)))
    again = done(ledger, pen.create("We deploy on Friday."))
    assert again.action == "ADD"
    assert again.memory.id != first.id


def test_an_identical_text_that_was_forgotten_is_offered_for_restore(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.forget(first))
    again = done(ledger, pen.create("We deploy  on Friday.\n"))
    assert (again.action, again.restorable, again.memory.id) == ("NOOP", True, first.id)
    assert again.memory.state == "forgotten"
    assert first.id in again.reason
    assert home.entries() == 2
    forced = done(ledger, pen.create("We deploy on Friday.", force=True))
    assert (forced.action, forced.reason) == (
        "ADD",
        f"stored although {first.id}, which was forgotten, says the same",
    )


def test_an_active_twin_is_named_before_a_forgotten_one(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    second = done(ledger, pen.create("We deploy on Friday.", force=True)).memory
    done(ledger, pen.forget(first))
    again = done(ledger, pen.create("We deploy on Friday."))
    assert (again.memory.id, again.restorable) == (second.id, False)


# ---- group commits --------------------------------------------------------------------------------------------------


def test_a_refused_half_of_a_group_commit_does_not_hold_up_the_others(home: Home, ledger: Ledger, pen: Pen) -> None:
    unknown = replace(done(ledger, pen.create("to be missed")).memory, id="018f6f0e-7c1a-7000-8000-000000000000")
    before = home.entries()
    commands: list[Command] = []
    for number in range(10):
        commands += [pen.create(f"memory {number}"), pen.revise(unknown, title="x")]
    results = ledger.commit(commands)
    assert [type(result).__name__ for result in results] == ["Committed", "NotFound"] * 10
    assert home.entries() == before + 10
    assert {memory.content for memory in ledger.page(ListQuery(spaces=(SPACE,))).memories} == {
        "to be missed",
        *(f"memory {number}" for number in range(10)),
    }


def test_each_write_sees_those_before_it_in_the_same_group_commit(ledger: Ledger, pen: Pen) -> None:
    create = pen.create("first")
    memory = replace(done(ledger, pen.create("only for its shape")).memory, id=create.id)
    results = all_done(ledger, create, pen.revise(memory, content="second"), pen.forget(memory), pen.restore(memory))
    assert [result.action for result in results] == ["ADD", "UPDATE", "FORGET", "RESTORE"]
    assert [result.seq for result in results] == [2, 3, 4, 5]
    assert read_back(ledger, memory).content == "second"


def test_an_empty_group_commit_is_fine(ledger: Ledger) -> None:
    assert ledger.commit([]) == []


def test_a_value_that_is_no_command_is_a_mistake_of_the_caller_and_writes_nothing(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    shapeless = Command(agent=AGENT, at=1, actor=bytes(range(16)))
    with pytest.raises(TypeError, match="Command"):
        ledger.commit([pen.create("before it"), shapeless])
    assert home.entries() == 0
    assert done(ledger, pen.create("after it")).action == "ADD"


# ---- the same command twice -----------------------------------------------------------------------------------------


def test_a_command_that_arrives_twice_is_answered_and_not_written_twice(home: Home, ledger: Ledger, pen: Pen) -> None:
    create = pen.create("We deploy on Friday.")
    first = done(ledger, create)
    revise = pen.revise(first.memory, content="We deploy on Monday.")
    second = done(ledger, revise)
    forget = pen.forget(first.memory)
    done(ledger, forget)
    restore = pen.restore(first.memory)
    last = done(ledger, restore).memory
    for command, action in ((create, "ADD"), (revise, "UPDATE"), (forget, "FORGET"), (restore, "RESTORE")):
        again = done(ledger, command)
        assert (again.action, again.replayed, again.memory) == (action, True, last)
    assert home.entries() == 4
    assert second.memory.version == 2


def test_a_replacing_command_that_arrives_twice_is_answered_as_such(home: Home, ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("old")).memory
    command = pen.create("new", supersedes=(old.id,))
    first = done(ledger, command)
    again = done(ledger, command)
    assert (again.action, again.replayed, again.memory) == ("SUPERSEDE", True, first.memory)
    assert home.entries() == 3


def test_a_command_is_recognised_after_opening_again(home: Home, pen: Pen) -> None:
    command = pen.create("We deploy on Friday.", force=True)
    with home.opened() as ledger:
        first = done(ledger, command)
    with home.opened() as ledger:
        again = done(ledger, command)
    assert (again.replayed, again.memory) == (True, first.memory)
    assert home.entries() == 1
