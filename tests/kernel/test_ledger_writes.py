"""What a writer depends on: an acknowledged write is there, a repeated one is not twice, a refused one left nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import AGENT, DAY, OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_back

from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Command
from mnemesh_memory.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.limits import IDEMPOTENCY_DAYS
from mnemesh_memory.model import Link, ListQuery, Memory, Source

FULL = {
    "title": "Order of duties",
    "kind": "decision",
    "tags": ("durability", "ledger"),
    "importance": 0.0,
    "paths": ("actors/ledger.py", "a.py"),
    "source": Source("session-7", "/home/alice", 0),
    "valid_from": 0,
    "valid_to": 4_102_444_800_000,
    "keywords": ("wal", "fsync"),
    "attrs": {"empty": "", "ticket": "PAY-12"},
    "links": (Link("see-also", "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"),),
    "tier": "pinned",
}


# ---- acknowledged means there -------------------------------------------------------------------------------------


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


# ---- exact duplicates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again",
    ["We deploy on Friday.", "  we DEPLOY\n on  friday. ", "\uff37e deploy on Friday."],
)
def test_the_same_text_in_the_same_space_is_not_stored_twice(home: Home, ledger: Ledger, pen: Pen, again: str) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    second = done(ledger, pen.create(again, tags=("new",), title="Another"))
    assert (second.action, second.deduplicated, second.restorable, second.seq) == ("NOOP", True, False, 0)
    assert second.memory == first.memory
    assert home.entries() == 1


@pytest.mark.parametrize("other", ["We deploy on Friday", "We deploy on Monday.", "We deploy on Friday. "[:-2] + "!"])
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
    assert second.action == "ADD"
    assert {memory.id for memory in ledger.page(ListQuery(spaces=(SPACE,))).memories} == {
        first.memory.id,
        second.memory.id,
    }


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
    again = done(ledger, pen.create("we deploy on friday."))
    assert (again.action, again.restorable, again.memory.id) == ("NOOP", True, first.id)
    assert again.memory.state == "forgotten"
    assert first.id in again.reason
    assert home.entries() == 2
    assert done(ledger, pen.create("We deploy on Friday.", force=True)).action == "ADD"


def test_an_active_twin_is_named_before_a_forgotten_one(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    second = done(ledger, pen.create("We deploy on Friday.", force=True)).memory
    done(ledger, pen.forget(first))
    again = done(ledger, pen.create("We deploy on Friday."))
    assert (again.memory.id, again.restorable) == (second.id, False)


# ---- group commits ------------------------------------------------------------------------------------------------


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


# ---- the same command twice ---------------------------------------------------------------------------------------


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


# ---- idempotency keys ---------------------------------------------------------------------------------------------


def test_a_key_with_the_same_content_gives_the_first_answer_again(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    again = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1", wait="durable"))
    assert (again.action, again.replayed, again.memory) == ("ADD", True, first.memory)
    assert home.entries() == 1


def test_a_key_with_other_content_is_refused(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    with pytest.raises(AlreadyExists) as caught:
        done(ledger, pen.create("We deploy on Monday.", idempotency_key="import-1"))
    assert caught.value.fields["field"] == "idempotency_key"
    assert caught.value.fields["value"] == "import-1"
    assert first.memory.id in caught.value.message
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
    with home.looked_into() as db:
        assert db.execute("SELECT key FROM idempotency").fetchall() == [("later",)]


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


# ---- update -------------------------------------------------------------------------------------------------------


def test_an_update_makes_a_new_revision_and_leaves_what_it_does_not_name(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", **FULL)).memory
    changed = done(ledger, pen.revise(memory, content="We deploy on Monday."))
    assert (changed.action, changed.seq) == ("UPDATE", 2)
    assert changed.memory.version == 2
    assert changed.memory.updated_at == pen.now
    expected = replace(
        memory, content="We deploy on Monday.", version=2, updated_at=pen.now, heads=changed.memory.heads
    )
    assert changed.memory == expected == read_back(ledger, memory)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "fact"}, {"title": ""}, {"importance": 1.0}, {"paths": ()}, {"valid_from": 5}, {"valid_to": 6},
        {"keywords": ("one",)}, {"attrs": {}}, {"tier": "archive"},
    ],
)  # fmt: skip
def test_every_field_can_be_updated_alone(ledger: Ledger, pen: Pen, changes: dict[str, object]) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", **FULL)).memory
    changed = done(ledger, pen.revise(memory, **changes)).memory
    expected = replace(memory, version=2, updated_at=pen.now, heads=changed.heads, **changes)
    assert changed == expected == read_back(ledger, memory)


def test_an_update_that_changes_nothing_writes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", **FULL)).memory
    same = {name: value for name, value in FULL.items() if name not in ("source", "links")}
    result = done(ledger, pen.revise(memory, content="We deploy on Friday.", **same))
    assert (result.action, result.seq, result.memory) == ("NOOP", 0, memory)
    assert home.entries() == 1


def test_tags_are_replaced_as_a_set_without_a_new_revision(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", tags=("a", "b"))).memory
    changed = done(ledger, pen.revise(memory, tags=("b", "c"))).memory
    assert changed.tags == ("b", "c")
    assert changed.version == 1
    assert home.entries() == 2
    assert done(ledger, pen.revise(memory, tags=("b", "c"))).action == "NOOP"
    assert done(ledger, pen.revise(memory, tags=())).memory.tags == ()
    assert done(ledger, pen.revise(memory, tags=("a",))).memory.tags == ("a",)
    assert read_back(ledger, memory).tags == ("a",)


def test_an_update_of_other_heads_than_the_expected_is_aborted(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    mine = pen.revise(memory, content="We deploy on Monday.", expected_heads=memory.heads)
    theirs = pen.revise(memory, content="We deploy on Tuesday.", expected_heads=memory.heads)
    won, lost = ledger.commit([theirs, mine])
    assert not isinstance(won, Exception)
    assert isinstance(lost, Aborted)
    assert won.memory.heads[0] in lost.message
    assert lost.fields["limit"] == won.memory.heads[0]
    assert home.entries() == 2
    assert done(ledger, pen.revise(memory, content="both", expected_heads=won.memory.heads)).action == "UPDATE"


def test_a_forgotten_memory_is_not_updated(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.forget(memory))
    with pytest.raises(FailedPrecondition, match="restore it first"):
        done(ledger, pen.revise(memory, content="We deploy on Monday."))
    assert home.entries() == 2


def test_an_unknown_memory_is_not_updated_forgotten_or_restored(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = replace(done(ledger, pen.create("x")).memory, id="018f6f0e-7c1a-7000-8000-000000000000")
    for command in (pen.revise(memory, title="t"), pen.forget(memory), pen.restore(memory)):
        with pytest.raises(NotFound):
            done(ledger, command)
    assert home.entries() == 1


def test_an_update_does_not_make_a_twin_unless_forced(home: Home, ledger: Ledger, pen: Pen) -> None:
    one = done(ledger, pen.create("We deploy on Friday.")).memory
    two = done(ledger, pen.create("We deploy on Monday.")).memory
    with pytest.raises(AlreadyExists) as caught:
        done(ledger, pen.revise(two, content="WE DEPLOY  ON FRIDAY."))
    assert caught.value.fields["field"] == "content"
    assert caught.value.fields["value"] == one.id
    assert home.entries() == 2
    assert done(ledger, pen.revise(two, content="We deploy on Friday.", force=True)).action == "UPDATE"


def test_a_memory_is_not_its_own_twin_nor_that_of_a_forgotten_one_or_another_space(ledger: Ledger, pen: Pen) -> None:
    one = done(ledger, pen.create("We deploy on Friday.")).memory
    assert done(ledger, pen.revise(one, content="We deploy on FRIDAY.")).action == "UPDATE"
    gone = done(ledger, pen.create("We deploy on Monday.")).memory
    done(ledger, pen.forget(gone))
    assert done(ledger, pen.revise(one, content="We deploy on Monday.")).action == "UPDATE"
    done(ledger, pen.create("We deploy on Tuesday.", space=OTHER_SPACE))
    assert done(ledger, pen.revise(one, content="We deploy on Tuesday.")).action == "UPDATE"


@pytest.mark.parametrize("changes", [{"valid_to": 99}, {"valid_from": 201}])
def test_an_update_does_not_turn_the_times_of_a_memory_around(
    home: Home, ledger: Ledger, pen: Pen, changes: dict[str, int]
) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", valid_from=100, valid_to=200)).memory
    with pytest.raises(InvalidArgument) as caught:
        done(ledger, pen.revise(memory, **changes))
    assert caught.value.fields["field"] == "valid_to"
    assert home.entries() == 1
    assert done(ledger, pen.revise(memory, valid_to=100)).memory.valid_to == 100


def test_fields_that_are_too_large_together_are_refused_and_write_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("fits")).memory
    huge = {f"k{number}": f"{number:04}" * 1100 for number in range(64)}
    small, large, after = ledger.commit([pen.create("a"), pen.revise(memory, attrs=huge), pen.create("b")])
    assert not isinstance(small, Exception)
    assert isinstance(large, InvalidArgument)
    assert not isinstance(after, Exception)
    assert read_back(ledger, memory) == memory
    assert home.entries() == 3


# ---- forget and restore -------------------------------------------------------------------------------------------


def test_a_forgotten_memory_comes_back_with_restore_as_it_was(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", **FULL)).memory
    forgotten = done(ledger, pen.forget(memory))
    assert (forgotten.action, forgotten.memory.state) == ("FORGET", "forgotten")
    assert read_back(ledger, memory).content == "We deploy on Friday."
    restored = done(ledger, pen.restore(memory))
    assert restored.action == "RESTORE"
    changed = {"version": 3, "heads": restored.memory.heads, "updated_at": pen.now}
    assert restored.memory == replace(memory, **changed) == read_back(ledger, memory)


def test_forgetting_twice_and_restoring_what_is_there_change_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    assert done(ledger, pen.restore(memory)).action == "NOOP"
    done(ledger, pen.forget(memory))
    assert done(ledger, pen.forget(memory)).action == "NOOP"
    assert home.entries() == 2


# ---- supersede ----------------------------------------------------------------------------------------------------


def test_a_replacement_closes_the_old_and_links_both_ways(ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("We deploy on Friday.")).memory
    command = pen.create("We deploy on Monday.", supersedes=(old.id,))
    result = done(ledger, command)
    assert (result.action, result.seq) == ("SUPERSEDE", 3)
    assert result.reason == f"replaces {old.id}"
    assert result.memory.links == (Link("supersedes", old.id),)
    (closed,) = result.superseded
    assert closed == read_back(ledger, old)
    assert (closed.state, closed.superseded_by, closed.valid_to) == ("superseded", result.memory.id, command.at)
    assert closed.content == "We deploy on Friday."
    assert closed.links == (Link("superseded-by", result.memory.id),)
    assert read_back(ledger, result.memory) == result.memory


def test_several_are_replaced_at_once_and_may_be_named_by_prefix_or_title(ledger: Ledger, pen: Pen) -> None:
    one = done(ledger, pen.create("one", title="The first")).memory
    pen.now += 2**16
    two = done(ledger, pen.create("two")).memory
    result = done(ledger, pen.create("three", supersedes=("The first", two.id[:13])))
    assert [memory.id for memory in result.superseded] == [one.id, two.id]
    assert {link.id for link in result.memory.links} == {one.id, two.id}
    assert {read_back(ledger, memory).superseded_by for memory in (one, two)} == {result.memory.id}


def test_one_memory_named_twice_is_replaced_once(home: Home, ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("We deploy on Friday.", title="Deploys")).memory
    result = done(ledger, pen.create("We deploy on Monday.", supersedes=(old.id, "Deploys", old.id.upper())))
    assert [memory.id for memory in result.superseded] == [old.id]
    assert result.superseded[0].version == 2
    assert home.entries() == 3


def _unknown(ledger: Ledger, pen: Pen) -> str:
    return "018f6f0e-7c1a-7000-8000-000000000000"


def _elsewhere(ledger: Ledger, pen: Pen) -> str:
    return done(ledger, pen.create("elsewhere", space=OTHER_SPACE)).memory.id


def _forgotten(ledger: Ledger, pen: Pen) -> str:
    memory = done(ledger, pen.create("gone")).memory
    done(ledger, pen.forget(memory))
    return memory.id


def _superseded(ledger: Ledger, pen: Pen) -> str:
    memory: Memory = done(ledger, pen.create("replaced")).memory
    done(ledger, pen.create("its successor", supersedes=(memory.id,)))
    return memory.id


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (_unknown, NotFound),
        (_elsewhere, FailedPrecondition),
        (_forgotten, FailedPrecondition),
        (_superseded, FailedPrecondition),
    ],
)
def test_a_replacement_of_the_wrong_memory_writes_nothing(
    home: Home, ledger: Ledger, pen: Pen, bad: object, error: type[Exception]
) -> None:
    assert callable(bad)
    fine = done(ledger, pen.create("fine")).memory
    target = bad(ledger, pen)
    before = (home.entries(), ledger.status().memories)
    with pytest.raises(error) as caught:
        done(ledger, pen.create("new", supersedes=(fine.id, target), idempotency_key="k"))
    assert target in str(caught.value)
    assert (home.entries(), ledger.status().memories) == before
    assert read_back(ledger, fine) == fine
    assert done(ledger, pen.create("new", supersedes=(fine.id,), idempotency_key="k")).action == "SUPERSEDE"
