"""The meaning of revisions: conflicts are shown, forgetting can be undone, the past can be read, replicas agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from automerge.core import ROOT, ObjType, ScalarType
from crdt_scenarios import ID, OTHER, SPACE, actor, created, document, edited, foreign, memory, put, written

from mnemesh_crdt.document.document import DocumentState, Edit
from mnemesh_crdt.document.revisions import fields_of, forget, heads, history, materialise, restore, supersede
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Link, Revision


def state(*log: bytes) -> DocumentState:
    return document(*log).state()


def forgotten(log: list[bytes], number: int, at: int = 3000) -> bytes:
    return written(document(*log), forget(state(*log), "owner/forgetter", at), number)


def restored(log: list[bytes], number: int, at: int = 4000) -> bytes:
    return written(document(*log), restore(state(*log), "owner/restorer", at), number)


def test_a_document_without_changes_is_no_memory() -> None:
    empty = state()
    assert (heads(empty), history(empty), materialise(empty)) == ((), (), None)
    assert forget(empty, "a", 1) is restore(empty, "a", 1) is supersede(empty, OTHER, "a", 1) is None


def test_a_memory_is_its_winning_revision_with_the_time_and_author_of_its_first() -> None:
    first = created("first", at=1000, tags_put=("db",))
    second = written(
        document(first),
        Edit(revision=replace(put("second", heads(state(first)), 2000), by="owner/editor", refs=("a.py",)), at=2000),
        2,
    )
    found = memory(first, second)
    assert (found.id, found.space, found.content, found.state) == (ID, SPACE, "second", "active")
    assert (found.by, found.created_at, found.updated_at, found.version) == ("owner/test", 1000, 2000, 2)
    assert (found.tags, found.paths, found.conflicts, found.superseded_by) == (("db",), ("a.py",), (), "")
    assert [one.content for one in history(state(first, second))] == ["first", "second"]


def test_concurrent_edits_are_both_shown_and_every_replica_names_the_same_winner() -> None:
    first = created("first")
    left, right = edited([first], "left", 2), edited([first], "right", 3)
    found = memory(first, left, right)
    assert found == memory(right, left, first)
    assert {found.content, found.conflicts[0].content} == {"left", "right"}
    assert len(found.conflicts) == 1
    assert found.heads == tuple(sorted(found.heads, key=lambda head: head.split("@")[1], reverse=True))
    assert found.heads[1] == found.conflicts[0].id


def test_order_among_heads_is_by_count_before_actor_and_never_by_time() -> None:
    first = created("first")
    early_but_longer = [edited([first], "l1", 2, at=1)]
    early_but_longer.append(edited([first, *early_but_longer], "l2", 3, at=2))
    late = edited([first], "late", 4, at=9_000_000)
    assert memory(first, late, *early_but_longer).content == "l2"


def test_a_revision_that_names_both_heads_resolves_the_conflict() -> None:
    first = created("first")
    log = [first, edited([first], "left", 2), edited([first], "right", 3)]
    log.append(edited(log, "both", 4))
    found = memory(*log)
    assert (found.content, found.conflicts, len(found.heads), found.version) == ("both", (), 1, 4)


def test_a_forgotten_memory_comes_back_with_restore() -> None:
    log = [created("first", tags_put=("db",))]
    log.append(forgotten(log, 2))
    gone = memory(*log)
    assert (gone.state, gone.content, gone.tags, gone.conflicts) == ("forgotten", "first", ("db",), ())
    assert gone.updated_at == 3000
    assert forget(state(*log), "a", 1) is None
    log.append(restored(log, 3))
    back = memory(*log)
    assert (back.state, back.content, back.updated_at, back.version) == ("active", "first", 4000, 3)
    assert restore(state(*log), "a", 1) is None
    assert state(*log).revisions[back.heads[0]].by == "owner/restorer"


def test_the_forget_revision_holds_no_text() -> None:
    log = [created("content of the memory")]
    (gone,) = (one for one in state(*log, forgotten(log, 2)).revisions.values() if one.op == "forget")
    assert (gone.content, gone.title, gone.by) == ("", "", "owner/forgetter")


@pytest.mark.parametrize("edit_first", [True, False])
@pytest.mark.parametrize(("editor", "forgetter"), [(2, 3), (3, 2)])
def test_an_edit_made_while_another_node_forgets_survives(edit_first: bool, editor: int, forgetter: int) -> None:
    first = created("first")
    edit, gone = edited([first], "edited", editor), forgotten([first], forgetter)
    found = memory(first, edit, gone) if edit_first else memory(gone, edit, first)
    assert (found.state, found.content, found.conflicts, len(found.heads)) == ("active", "edited", (), 2)
    assert found.heads[0] == f"2@{actor(editor).hex()}", "a visible head wins over a forgetting one"


def test_forgetting_after_seeing_the_edit_forgets_it_too() -> None:
    first = created("first")
    log = [first, edited([first], "edited", 2), forgotten([first], 3)]
    log.append(forgotten(log, 4))
    assert memory(*log).state == "forgotten"
    log.append(restored(log, 5))
    assert (memory(*log).state, memory(*log).content) == ("active", "edited")


def test_a_memory_forgotten_on_two_nodes_is_restored_once() -> None:
    first = created("first")
    log = [first, forgotten([first], 2), forgotten([first], 3)]
    assert (memory(*log).state, len(memory(*log).heads)) == ("forgotten", 2)
    log.append(restored(log, 4))
    assert (memory(*log).state, len(memory(*log).heads)) == ("active", 1)


def test_restore_brings_back_the_last_visible_revision_of_a_forgotten_conflict() -> None:
    first = created("first")
    log = [first, edited([first], "left", 2), edited([first], "right", 3)]
    winner = memory(*log).content
    log.append(forgotten(log, 4))
    assert memory(*log).content == winner
    log.append(restored(log, 5))
    assert (memory(*log).content, memory(*log).conflicts) == (winner, ())


@pytest.mark.parametrize(("ended", "expected"), [(None, 3000), (2500, 2500), (9000, 3000)])
def test_a_superseded_memory_names_its_successor_and_when_it_ended(ended: int | None, expected: int) -> None:
    log = [written(document(), Edit(revision=put("old", valid_to=ended), at=1000), 1)]
    log.append(written(document(*log), supersede(state(*log), OTHER, "owner/test", 3000), 2))
    found = memory(*log)
    assert (found.state, found.superseded_by, found.content) == ("superseded", OTHER, "old")
    assert (found.valid_to, found.links) == (expected, (Link("superseded-by", OTHER),))
    log.append(forgotten(log, 3))
    assert memory(*log).state == "forgotten"
    assert supersede(state(*log), OTHER, "a", 1) is None


def test_after_two_supersedes_at_once_the_later_link_names_the_successor() -> None:
    first = created()
    third = OTHER[:-2] + "33"
    log = [first] + [
        written(document(first), supersede(state(first), successor, "owner/test", at), number)
        for number, (successor, at) in enumerate([(third, 3001), (OTHER, 3000)], start=2)
    ]
    assert memory(*log).superseded_by == third


@pytest.mark.parametrize("ends", [(3000, 50_000), (50_000, 3000)])
def test_a_memory_that_two_superseded_at_once_ended_when_the_first_of_them_says(ends: tuple[int, int]) -> None:
    first = created()
    both = [
        written(document(first), supersede(state(first), OTHER, "owner/test", at), number)
        for number, at in enumerate(ends, start=2)
    ]
    for log in ([first, *both], [first, *reversed(both)]):
        found = memory(*log)
        assert (found.state, found.valid_to, found.conflicts, len(found.heads)) == ("superseded", 3000, (), 2)


@pytest.mark.parametrize("ends", [(3000, 50_000), (50_000, 3000)])
def test_what_is_written_to_a_memory_that_two_superseded_keeps_the_first_end(ends: tuple[int, int]) -> None:
    first = created()
    log = [first]
    for number, at in enumerate(ends, start=2):
        log.append(written(document(first), supersede(state(first), OTHER, "owner/test", at), number))
    again = written(document(*log), supersede(state(*log), OTHER, "owner/test", 60_000), 4)
    assert memory(*log, again).valid_to == 3000
    log.append(forgotten(log, 5, 60_000))
    assert (memory(*log).state, memory(*log).valid_to) == ("forgotten", 3000)
    log.append(restored(log, 6, 70_000))
    assert (memory(*log).state, memory(*log).valid_to, len(memory(*log).heads)) == ("superseded", 3000, 1)


@pytest.mark.parametrize("numbers", [(2, 3), (3, 2)])
def test_a_memory_that_was_superseded_while_another_changed_it_ended_then(numbers: tuple[int, int]) -> None:
    log = [created()]
    closing = written(document(*log), supersede(state(*log), OTHER, "owner/test", 3000), numbers[0])
    log += [closing, edited(log, "changed meanwhile", numbers[1], at=9000)]
    found = memory(*log)
    assert (found.state, found.valid_to, len(found.conflicts)) == ("superseded", 3000, 1)
    assert {found.conflicts[0].valid_to, state(*log).revisions[found.heads[0]].valid_to} == {3000, None}


def test_unlinking_the_successor_brings_the_memory_back() -> None:
    log = [created()]
    log.append(written(document(*log), supersede(state(*log), OTHER, "owner/test", 3000), 2))
    log.append(written(document(*log), Edit(links_remove=(Link("superseded-by", OTHER),), at=4000), 3))
    assert (memory(*log).state, memory(*log).superseded_by) == ("active", "")


def test_fields_of_a_revision_write_the_same_revision_again() -> None:
    (revision,) = state(created("first", at=7)).revisions.values()
    assert (
        Revision(id=revision.id, **{name: getattr(fields_of(revision), name) for name in fields_of(revision).__slots__})
        == revision
    )


def test_pins_are_read_and_each_writer_has_one_vote_whatever_it_counts() -> None:
    def votes(transaction: Any, of: Any) -> None:
        transaction.put(of("pins"), "owner/a@node", ScalarType.Int, 5)
        for writer, useful, against in (("a@n", 2**31, 0), ("b@n", 3, 1), ("c@n", 0, 7), ("undecided@n", 2, 2)):
            one = transaction.put_object(of("feedback"), writer, ObjType.Map)
            transaction.put(one, "useful", ScalarType.Int, useful)
            transaction.put(one, "not", ScalarType.Int, against)

    first = created()
    found = state(first, foreign([first], 2, votes))
    assert found.pins == ("owner/a@node",)
    assert found.votes == {"a@n": True, "b@n": True, "c@n": False}
    memory = materialise(found)
    assert memory is not None
    assert (memory.useful, memory.not_useful) == (2, 1)


def _revision(transaction: Any, of: Any, name: str, **fields: Any) -> None:
    revision = transaction.put_object(of("rev"), name, ObjType.Map)
    for key, value in {"op": "put", "at": 5, **fields}.items():
        if isinstance(value, tuple):
            parents = transaction.put_object(revision, key, ObjType.Map)
            for parent in value:
                transaction.put(parents, parent, ScalarType.Int, 0)
        elif value is not None:
            kind = {str: ScalarType.Str, int: ScalarType.Int, bool: ScalarType.Boolean}[type(value)]
            transaction.put(revision, key, kind, value)


NAME = f"2@{actor(2).hex()}"


@pytest.mark.parametrize(
    "write",
    [
        lambda tx, of: tx.put(ROOT, "rev", ScalarType.Str, "gone"),
        lambda tx, of: tx.put(ROOT, "id", ScalarType.Str, OTHER),
        lambda tx, of: tx.put(ROOT, "space", ScalarType.Str, "team/other"),
        lambda tx, of: tx.put(ROOT, "v", ScalarType.Str, "1"),
        lambda tx, of: tx.delete(ROOT, "v"),
        lambda tx, of: tx.put(of("tags"), "db", ScalarType.Str, "1"),
        lambda tx, of: tx.put(of("tags"), "db", ScalarType.Boolean, True),
        lambda tx, of: tx.put(of("links"), "see-also", ScalarType.Int, 1),
        lambda tx, of: tx.put(of("feedback"), "me", ScalarType.Int, 1),
        lambda tx, of: _revision(tx, of, "one@two"),
        lambda tx, of: _revision(tx, of, NAME, op="drop"),
        lambda tx, of: _revision(tx, of, NAME, at=None),
        lambda tx, of: _revision(tx, of, NAME, at="now"),
        lambda tx, of: _revision(tx, of, NAME, at=True),
        lambda tx, of: _revision(tx, of, NAME, importance=1),
        lambda tx, of: _revision(tx, of, NAME, content=5),
        lambda tx, of: _revision(tx, of, NAME, parents=(NAME,)),
        lambda tx, of: _revision(tx, of, NAME, parents=(f"3@{actor(3).hex()}",)),
        lambda tx, of: _revision(tx, of, NAME, parents=("first",)),
    ],
)  # fmt: skip
def test_a_document_that_breaks_the_shape_is_data_loss_and_not_a_guess(write: Any) -> None:
    first = created()
    doc = document(first, foreign([first], 2, write))
    with pytest.raises(DataLoss, match="damaged"):
        doc.state()


@pytest.mark.parametrize("replace_with_text", [True, False])
def test_writing_to_a_document_without_its_collections_is_data_loss(replace_with_text: bool) -> None:
    def spoil(transaction: Any, _: Any) -> None:
        if replace_with_text:
            transaction.put(ROOT, "tags", ScalarType.Str, "gone")
        else:
            transaction.delete(ROOT, "tags")

    first = created()
    doc = document(first, foreign([first], 2, spoil))
    with pytest.raises(DataLoss, match="tags"):
        doc.write(Edit(tags_put=("db",), at=1), actor(3))
