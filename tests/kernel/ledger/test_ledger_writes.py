"""The guarantees for a writer of the ledger, and idempotency keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import AGENT, DAY, FULL, GENERATION, SPACE, Home, Pen, all_done, done, read_back

from mnemesh_actors.ledger.commands import Command, Lookup
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.errors import AlreadyExists, NotFound
from mnemesh_memory.values.ids import fingerprint
from mnemesh_memory.values.limits import IDEMPOTENCY_DAYS
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


@pytest.mark.parametrize("again", ["We deploy on Friday.", "  We deploy  on\tFriday. \r\n"])
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
    assert (forced.action, forced.reason) == ("ADD", f"stored although {first.id}, which was forgotten, says the same")


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


# ---- idempotency keys -----------------------------------------------------------------------------------------------


def test_a_key_with_the_same_content_gives_the_first_answer_again(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    again = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1", wait="durable"))
    assert (again.action, again.replayed, again.memory) == ("ADD", True, first.memory)
    assert home.entries() == 1


def test_a_key_belongs_to_its_agent(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    other = Pen(agent="owner/another", now=pen.now)
    second = done(ledger, other.create("We deploy on Monday.", idempotency_key="import-1"))
    assert second.action == "ADD"
    assert second.memory.id != first.memory.id


def test_the_key_of_a_duplicate_keeps_its_answer(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).action == "NOOP"
    done(ledger, pen.revise(first.memory, content="We deploy on Monday."))
    again = done(ledger, pen.create("We deploy on Friday.", idempotency_key="k"))
    assert (again.action, again.replayed, again.memory.id) == ("NOOP", True, first.memory.id)


def test_a_key_is_not_used_up_by_an_offer_to_restore(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.forget(first))
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).restorable
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k", force=True)).action == "ADD"


def test_a_key_is_not_used_up_by_a_refusal(ledger: Ledger, pen: Pen) -> None:
    with pytest.raises(NotFound):
        done(ledger, pen.create("new", idempotency_key="k", supersedes=("018f6f0e-7c1a-7000-8000-000000000000",)))
    assert done(ledger, pen.create("newer", idempotency_key="k")).action == "ADD"


def test_a_key_lives_7_days_and_is_free_afterwards(ledger: Ledger, pen: Pen) -> None:
    assert IDEMPOTENCY_DAYS == 7
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="k"))
    used = pen.now
    pen.now = used + 7 * DAY - 1
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).replayed
    pen.now = used + 7 * DAY
    later = pen.create("We deploy on Monday.", idempotency_key="k")
    assert later.id == first.memory.id, "the derived id is taken, so the memory needs another"
    second = done(ledger, later)
    assert (second.action, second.memory.id) == ("ADD", later.spare_id)
    assert read_back(ledger, first.memory) == first.memory
    again = done(ledger, pen.create("We deploy on Monday.", idempotency_key="k"))
    assert (again.replayed, again.memory.id) == (True, second.memory.id)


def test_keys_that_are_past_their_life_are_dropped_from_the_file(home: Home, ledger: Ledger, pen: Pen) -> None:
    for number in range(5):
        done(ledger, pen.create(f"memory {number}", idempotency_key=f"k{number}"))
    pen.now += 8 * DAY
    done(ledger, pen.create("a later one", idempotency_key="later"))
    assert home.sql("SELECT key FROM idempotency") == [("later",)]


def test_a_key_of_an_update_replays_it_and_refuses_another(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    other = done(ledger, pen.create("We test on Thursday.")).memory
    first = done(ledger, pen.revise(memory, content="We deploy on Monday.", idempotency_key="k"))
    again = done(ledger, pen.revise(memory, content="We deploy on Monday.", idempotency_key="k"))
    assert (again.action, again.replayed, again.memory) == ("UPDATE", True, first.memory)
    for command in (
        pen.revise(memory, content="We deploy on Tuesday.", idempotency_key="k"),
        pen.revise(other, content="We deploy on Monday.", idempotency_key="k"),
    ):
        with pytest.raises(AlreadyExists):
            done(ledger, command)
    assert home.entries() == 3


# ---- before a write is prepared -------------------------------------------------------------------------------------


def test_a_key_whose_memory_was_forgotten_since_offers_it_for_restore(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("said once", idempotency_key="k"))
    assert not first.restorable
    assert not done(ledger, pen.create("said once", idempotency_key="k")).restorable
    done(ledger, pen.forget(first.memory))
    again = done(ledger, pen.create("said once", idempotency_key="k"))
    assert (again.action, again.replayed, again.restorable) == ("ADD", True, True)
    assert (again.memory.id, again.memory.state) == (first.memory.id, "forgotten")
    assert "forgotten since" in again.reason
    assert f"`restore` brings {first.memory.id}" in again.reason
    done(ledger, pen.restore(again.memory))
    after = done(ledger, pen.create("said once", idempotency_key="k"))
    assert (after.restorable, after.reason) == (False, "this key was seen before")


def test_what_prepare_says_is_what_a_commit_would_say_and_writes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    known = pen.create("known", idempotency_key="k")
    first = done(ledger, known).memory

    def lookup(content: str, key: str = "", force: bool = False, space: str = SPACE) -> Lookup:
        draft = pen.create(content, idempotency_key=key, space=space, force=force).draft
        return Lookup(pen.agent, space, duplicate_key(content), key, fingerprint(draft), force, pen.now)

    before = ledger._db.total_changes
    outcomes, vectors = ledger.prepare(
        [
            lookup("new"),
            lookup(" known\n"),
            lookup("known", key="k"),
            lookup("other", key="k"),
            lookup("known", force=True),
            lookup("known", space="team/ops"),
        ],
        [content_hash("known")],
        GENERATION,
    )
    assert ledger._db.total_changes == before
    assert vectors == {}
    new, duplicate, replayed, refused, forced, elsewhere = outcomes
    assert (new, forced, elsewhere) == (None, None, None)
    assert not isinstance(duplicate, Exception | None)
    assert not isinstance(replayed, Exception | None)
    assert (duplicate.action, duplicate.deduplicated, duplicate.memory) == ("NOOP", True, first)
    assert (replayed.action, replayed.replayed, replayed.memory) == ("ADD", True, first)
    assert type(refused).__name__ == "AlreadyExists"
