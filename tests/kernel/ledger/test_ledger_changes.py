"""Changing what is there: update, forget, restore, supersede; a refused change leaves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import FULL, OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_back
from peer_builders import hand_over

from mnemesh_actors.ledger.commands import Committed, KeptVectors
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
)
from mnemesh_memory.values.model import Link, Memory

# ---- update ---------------------------------------------------------------------------------------------------------


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
    assert (result.action, result.seq, result.memory) == ("NOOP", 1, memory)
    assert home.entries() == 1


def test_tags_are_replaced_as_a_set_in_a_new_revision(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.", tags=("a", "b"))).memory
    changed = done(ledger, pen.revise(memory, tags=("b", "c"))).memory
    assert (changed.tags, changed.version, changed.content) == (("b", "c"), 2, memory.content)
    assert changed.heads != memory.heads
    assert done(ledger, pen.revise(changed, tags=())).memory.tags == ()


def test_a_memory_has_a_bounded_number_of_revisions_and_can_still_be_closed(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REVISIONS_MAX", 3)
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    for title in ("one", "two"):
        done(ledger, pen.revise(memory, title=title))
    with pytest.raises(FailedPrecondition, match=r"3 revisions.*supersede"):
        done(ledger, pen.revise(memory, title="three"))
    assert done(ledger, pen.revise(memory, title="two")).action == "NOOP"
    assert done(ledger, pen.forget(memory)).action == "FORGET"
    assert done(ledger, pen.restore(memory)).memory.title == "two"
    assert done(ledger, pen.create("We deploy on Monday.", supersedes=(memory.id,))).action == "SUPERSEDE"


def test_every_operation_of_a_door_stops_well_before_peers_take_no_more(
    home: Home, ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHANGES_MAX", 6)
    monkeypatch.setattr(limits, "LAST_CHANGES_MAX", 9)
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 10)
    memory, other = (one.memory for one in all_done(ledger, pen.create("We deploy on Friday."), pen.create("other")))
    for put in (True, False, True, False):
        done(ledger, pen.link(memory, "see-also", other, put=put))
    assert done(ledger, pen.revise(memory, tags=("x",))).action == "UPDATE"
    same = pen.create("We deploy on Friday.", supersedes=(other.id,))
    for command in (pen.link(memory, "see-also", other), pen.rate(memory, True), pen.revise(memory, title="y"), same):
        with pytest.raises(FailedPrecondition, match=r"6 changes.*`supersede`"):
            done(ledger, command)
    assert done(ledger, pen.forget(memory)).action == "FORGET"
    assert done(ledger, pen.restore(memory)).action == "RESTORE"
    assert done(ledger, pen.forget(memory)).action == "FORGET"
    with pytest.raises(FailedPrecondition, match=r"9 changes.*`purge`"):
        done(ledger, pen.restore(memory))
    with Home.for_one_example() as elsewhere, elsewhere.opened() as peer:
        assert sum(one.quarantined for one in hand_over(ledger, peer, home)) == 0
        assert peer.digest(SPACE) == ledger.digest(SPACE)


def test_a_memory_that_takes_no_change_is_replaced(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHANGES_MAX", 1)
    monkeypatch.setattr(limits, "LAST_CHANGES_MAX", 2)
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    assert done(ledger, pen.create("We deploy on Monday.", supersedes=(memory.id,))).action == "SUPERSEDE"
    with pytest.raises(FailedPrecondition, match="2 changes"):
        done(ledger, pen.forget(memory))


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
    with pytest.raises(FailedPrecondition, match="`restore` it first"):
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
        done(ledger, pen.revise(two, content=" We deploy  on Friday.\n"))
    assert caught.value.fields["field"] == "content"
    assert caught.value.fields["value"] == one.id
    assert home.entries() == 2
    assert done(ledger, pen.revise(two, content="We deploy on Friday.", force=True)).action == "UPDATE"


def test_a_memory_is_not_its_own_twin_nor_that_of_a_forgotten_one_or_another_space(ledger: Ledger, pen: Pen) -> None:
    one = done(ledger, pen.create("We deploy on Friday.")).memory
    assert done(ledger, pen.revise(one, content="We deploy  on Friday.")).action == "UPDATE"
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


# ---- forget and restore ---------------------------------------------------------------------------------------------


def test_forgetting_twice_and_restoring_what_is_there_change_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    assert done(ledger, pen.restore(memory)).action == "NOOP"
    done(ledger, pen.forget(memory))
    assert done(ledger, pen.forget(memory)).action == "NOOP"
    assert home.entries() == 2


def test_a_restore_does_not_make_a_twin(home: Home, ledger: Ledger, pen: Pen) -> None:
    one = done(ledger, pen.create("We deploy on Friday.")).memory
    two = done(ledger, pen.create("We deploy on Monday.")).memory
    done(ledger, pen.forget(one))
    done(ledger, pen.revise(two, content="We deploy  on Friday."))
    before = home.entries()
    with pytest.raises(AlreadyExists) as caught:
        done(ledger, pen.restore(one))
    assert (caught.value.fields["value"], home.entries()) == (two.id, before)
    done(ledger, pen.forget(two))
    assert done(ledger, pen.restore(one)).action == "RESTORE"


def test_what_needs_no_write_is_seen_once_the_write_before_it_is(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.create("another"))
    assert done(ledger, pen.create("We deploy on Friday.")).seq == 1
    assert done(ledger, pen.restore(memory)).seq == 1
    assert done(ledger, pen.revise(memory, title="")).seq == 1
    assert done(ledger, pen.forget(memory)).seq == 3
    done(ledger, pen.create("a third"))
    again = [done(ledger, pen.forget(memory)), done(ledger, pen.create("We deploy on Friday."))]
    assert [(result.action, result.seq) for result in again] == [("NOOP", 3)] * 2


def test_a_write_that_does_not_fit_is_refused_alone_and_is_no_damage(home: Home, ledger: Ledger, pen: Pen) -> None:
    ledger._db.execute(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON vector BEGIN SELECT raise(ABORT, 'no room for it'); END"
    )
    vectors = KeptVectors(generation="g", items=(("00" * 32, b"1234"),))
    results = ledger.commit([pen.create("one"), pen.create("two", vectors=vectors), pen.create("three")])
    assert [type(result) for result in results] == [Committed, MnemeshError, Committed]
    assert "damaged" not in str(results[1])
    assert home.entries() == 2


# ---- supersede ------------------------------------------------------------------------------------------------------


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


def test_a_text_that_is_there_takes_the_place_of_the_one_to_replace(home: Home, ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("We deploy on Friday.")).memory
    there = done(ledger, pen.create("We deploy on Monday.")).memory
    command = pen.create("We deploy  on Monday.", supersedes=(old.id,), idempotency_key="k")
    result = done(ledger, command)
    assert (result.action, result.deduplicated, result.memory.id) == ("SUPERSEDE", True, there.id)
    assert result.memory.links == (Link("supersedes", old.id),)
    assert [memory.superseded_by for memory in result.superseded] == [there.id]
    assert result.seq == home.entries() == 4
    assert read_back(ledger, there) == result.memory
    assert read_back(ledger, old).state == "superseded"
    again = done(ledger, pen.create("We deploy  on Monday.", supersedes=(old.id,), idempotency_key="k"))
    assert (again.action, again.replayed, again.memory) == ("SUPERSEDE", True, result.memory)
    assert home.entries() == 4


def test_a_memory_does_not_replace_itself(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    result = done(ledger, pen.create("We deploy on Friday.", supersedes=(memory.id,)))
    assert (result.action, result.memory) == ("NOOP", memory)
    assert home.entries() == 1


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
