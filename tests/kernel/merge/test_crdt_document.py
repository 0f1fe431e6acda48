"""One memory as one document, and the meaning of its revisions."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from automerge.core import ROOT, ObjType, ScalarType
from crdt_scenarios import (
    ID,
    OTHER,
    SPACE,
    actor,
    created,
    document,
    edited,
    foreign,
    genesis,
    memory,
    put,
    with_checksum,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.document import document as document_module
from mnemesh_crdt.document.document import DocumentState, Edit, MemoryDocument, genesis_hash
from mnemesh_crdt.document.revisions import fields_of, forget, heads, history, materialise, restore, supersede
from mnemesh_crdt.document.shape import next_revision_id, rank
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument
from mnemesh_memory.values.model import Link, Revision, Source


def test_every_field_of_a_revision_is_read_back_as_it_was_written() -> None:
    fields = put(
        "content with \0 and \U0001f980",
        attrs={"type": "ValueError", "x:y": ""},
        valid_from=0,
        valid_to=limits.TIME_MS_MAX,
        importance=0.25,
        tier="archive",
        source=Source("session", "/dir", 0),
        keywords=("zebra", "ant"),
        refs=("b.py", "a.py"),
    )
    doc = document()
    change = doc.write(
        Edit(revision=fields, tags_put=("db", "a:b"), links_put=(Link("see-also", OTHER),), at=7), actor(1)
    )
    state = document(change.raw).state()
    (revision,) = state.revisions.values()
    assert revision.id == f"1@{change.actor}"
    assert {name: getattr(revision, name) for name in fields.__slots__} == {
        name: getattr(fields, name) for name in fields.__slots__
    }
    assert (state.tags, state.links) == (("a:b", "db"), (Link("see-also", OTHER),))
    assert (state.tagged_at, state.linked_at) == ({"db": 7, "a:b": 7}, {Link("see-also", OTHER): 7})
    assert (state.id, state.space, state.pins, state.votes) == (ID, SPACE, (), {})


def test_genesis_is_what_any_other_implementation_computes() -> None:
    assert genesis_hash(ID, SPACE) == bytes(genesis().get_heads()[0]).hex()
    # Pinned: another hash here means that no replica in the world could merge a new memory with ours.
    assert genesis_hash(ID, SPACE) == "a7e652293b1b2389ea8df97c801cc4978853825ec8eb1dd4f6ae10d3cfef8967"
    assert document().heads() == (genesis_hash(ID, SPACE),)
    assert genesis_hash(OTHER, SPACE) != genesis_hash(ID, SPACE) != genesis_hash(ID, "team")


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300) | st.just("\x7f" * 40),
)
def test_genesis_is_what_automerge_makes_of_any_id_and_space(id: str, space: str) -> None:
    change = document_module._genesis(id, space).get_changes([])[0]
    assert document_module._genesis_change(id, space) == (bytes(change.hash).hex(), bytes(change.raw_bytes))


def test_genesis_is_not_part_of_what_is_logged() -> None:
    assert b"space" not in created()


def test_the_same_id_created_on_two_nodes_shows_both_revisions() -> None:
    state = document(created("here", 1), created("there", 2)).state()
    assert sorted(one.content for one in state.revisions.values()) == ["here", "there"]
    assert len(heads(state)) == 2


def test_an_empty_edit_is_nothing() -> None:
    doc = document(created(tags_put=("kept",)))
    assert doc.write(Edit(at=5), actor(2)) is None
    assert doc.write(Edit(tags_remove=("absent",), links_remove=(Link("see-also", OTHER),), at=5), actor(2)) is None
    assert doc.state().tags == ("kept",)
    assert doc.write(Edit(tags_remove=("kept",), at=5), actor(2)) is not None, "an actor is used up by a change only"


def test_putting_a_tag_that_is_there_writes_a_new_value_even_when_the_clock_stands_still_or_goes_back() -> None:
    doc = document(created(tags_put=("db",), at=1000))
    assert doc.state().tagged_at == {"db": 1000}
    for number, (at, expected) in enumerate([(1000, 1001), (5, 1002), (3000, 3000)], start=2):
        assert doc.write(Edit(tags_put=("db",), at=at), actor(number)) is not None
        assert doc.state().tagged_at == {"db": expected}


def test_putting_a_tag_again_wins_over_removing_it_elsewhere_at_the_same_time() -> None:
    first = created(tags_put=("db",), links_put=(Link("see-also", OTHER),), at=1000)
    link = (Link("see-also", OTHER),)
    removed = written(document(first), Edit(tags_remove=("db",), links_remove=link, at=1000), 2)
    renewed = written(document(first), Edit(tags_put=("db",), links_put=link, at=1000), 3)
    assert document(first, removed).state().tags == ()
    for log in ((first, removed, renewed), (first, renewed, removed)):
        assert (document(*log).state().tags, document(*log).state().links) == (("db",), link)


def test_something_both_removed_and_put_is_put() -> None:
    doc = document(created(tags_put=("db",)))
    written(doc, Edit(tags_put=("db", "new"), tags_remove=("db", "new"), at=1), 2)
    assert doc.state().tagged_at == {"db": 1001, "new": 1}


def test_a_revision_counts_one_more_than_its_largest_parent() -> None:
    assert next_revision_id((), "ff") == "1@ff"
    assert next_revision_id((f"9@{'0' * 32}", f"10@{'f' * 32}"), "aa") == "11@aa"
    assert rank(f"10@{'0' * 32}") > rank(f"9@{'f' * 32}")


def test_an_unknown_parent_is_refused_and_changes_nothing() -> None:
    doc = document(created())
    before = doc.state()
    with pytest.raises(InvalidArgument, match="parents"):
        doc.write(Edit(revision=put("x", (f"1@{'0' * 32}",)), tags_put=("db",), at=1), actor(2))
    assert doc.state() == before
    assert doc.write(Edit(revision=put("y", heads(before)), at=1), actor(3)) is not None


def test_more_versions_at_once_than_peers_let_in_can_not_be_joined() -> None:
    versions = [
        document().write(Edit(revision=put(f"version {n}"), at=n), actor(n)) for n in range(limits.REVISIONS_MAX + 1)
    ]
    doc = document(*(one.raw for one in versions if one is not None))
    many = tuple(doc.state().revisions)
    with pytest.raises(InvalidArgument, match="at most 1000 versions at once; purge the memory"):
        doc.write(Edit(revision=put("joined", many), at=1), actor(9_999))
    assert doc.write(Edit(revision=put("joined", many[1:]), at=1), actor(9_999)) is not None


def test_text_that_is_not_unicode_is_a_bug_of_the_caller_and_changes_nothing() -> None:
    doc = document(created())
    before = doc.state()
    with pytest.raises(UnicodeEncodeError):
        doc.write(Edit(revision=put("\ud800", heads(before)), tags_put=("db",), at=1), actor(2))
    assert doc.state() == before


def test_an_empty_key_is_a_bug_of_the_caller_and_changes_nothing() -> None:
    doc = document(created())
    before = doc.state()
    for edit in (Edit(revision=put("x", attrs={"": "value"}), at=1), Edit(revision=put("x", refs=("",)), at=1)):
        with pytest.raises(ValueError, match="empty keys"):
            doc.write(edit, actor(2))
    assert doc.state() == before


@pytest.mark.parametrize("bad", [b"", b"short", bytes(16), bytes(17)])
def test_an_actor_is_sixteen_bytes_and_never_the_one_of_genesis(bad: bytes) -> None:
    with pytest.raises(ValueError, match="actor"):
        document().write(Edit(tags_put=("a",), at=1), bad)


def test_an_actor_that_wrote_before_is_refused_and_changes_nothing() -> None:
    doc = document(created(number=1))
    before = doc.state()
    with pytest.raises(ValueError, match="fresh"):
        doc.write(Edit(tags_put=("db",), at=1), actor(1))
    assert doc.state() == before


def test_merging_takes_duplicates_and_any_order() -> None:
    first = created()
    second = edited([first], "second", 2)
    doc = document(first)
    doc.merge([second, first, second])
    assert doc.state() == document(second, first, second).state()
    assert doc.heads() == document(first, second).heads()


def test_a_merge_that_misses_a_change_takes_in_nothing() -> None:
    first = created()
    second = edited([first], "second", 2)
    third = edited([first, second], "third", 3)
    doc = document(first)
    with pytest.raises(DataLoss, match="backup or a peer"):
        doc.merge([third])
    assert doc.state() == document(first).state()
    doc.merge([third, second])
    assert doc.state() == document(first, second, third).state()


@settings(max_examples=150, derandomize=True, database=None)
@given(position=st.integers(0, 10_000), flip=st.integers(1, 255), cut=st.booleans())
def test_damaged_bytes_are_never_read(position: int, flip: int, cut: bool) -> None:
    raw = created("some content that is long enough", tags_put=("db",))
    at = position % len(raw)
    bad = raw[:at] if cut else raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :]
    with pytest.raises(DataLoss):
        document(bad)
    doc = document(raw)
    with pytest.raises(DataLoss):
        doc.merge([bad + b"rest"])
    assert doc.state() == document(raw).state()


def test_a_panic_of_the_library_is_data_loss_and_not_the_end_of_the_process() -> None:
    def count(transaction: Any, _: Any) -> None:
        transaction.put(ROOT, "x/hits", ScalarType.Int, 1)

    first = created()
    honest = foreign([first], 2, count)
    assert honest.count(b"\x7f\x14") == 1, "one value: type 4 (int), 1 byte"
    counter = with_checksum(honest.replace(b"\x7f\x14", b"\x7f\x18"))  # type 8, which can not be read
    with pytest.raises(DataLoss, match="can not be read"):
        document(first, counter).state()
    assert document(first, honest).state() == document(first).state()


def test_what_a_newer_minor_version_adds_under_x_is_kept_and_harmless() -> None:
    first = created()
    name = f"1@{actor(2).hex()}"

    def newer(transaction: Any, collection: Any) -> None:
        tx, of = transaction, collection
        tx.put(ROOT, "x/mood", ScalarType.Str, "calm")
        revision = tx.put_object(of("rev"), name, ObjType.Map)
        for key, value in (("op", "put"), ("content", "newer"), ("by", "owner/new"), ("x/tone", "dry")):
            tx.put(revision, key, ScalarType.Str, value)
        tx.put(revision, "at", ScalarType.Int, 5)
        tx.put_object(revision, "x/map", ObjType.Map)

    second = foreign([first], 2, newer)
    doc = document(first, second)
    assert doc.state().revisions[name].content == "newer"
    third = written(doc, Edit(revision=put("ours again", heads(doc.state())), at=9), 3)
    kept: list[object] = []

    def look(transaction: Any, collection: Any) -> None:
        tx, of = transaction, collection
        kept.append(tx.get(ROOT, "x/mood")[0][1])
        kept.append(tx.get(tx.get(of("rev"), name)[1], "x/tone")[0][1])
        tx.put(ROOT, "x/seen", ScalarType.Int, 1)

    foreign([first, second, third], 4, look)
    assert kept == ["calm", "dry"]


def test_a_newer_major_version_is_refused_and_named() -> None:
    def newer(transaction: Any, _: Any) -> None:
        transaction.put(ROOT, "v", ScalarType.Int, 2)

    first = created()
    doc = document(first, foreign([first], 2, newer))
    with pytest.raises(FailedPrecondition, match=r"format 2.*upgrade"):
        doc.state()


def test_the_stub_that_plain_pip_installs_is_recognised_at_import(tmp_path: Path) -> None:
    (tmp_path / "automerge").mkdir()
    (tmp_path / "automerge" / "__init__.py").write_text("class Doc: pass\n")
    (tmp_path / "automerge-0.1.2.dist-info").mkdir()
    (tmp_path / "automerge-0.1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: automerge\nVersion: 0.1.2\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", "import mnemesh_crdt.document.document"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "ImportError: Mnemesh needs automerge 1.0.0rc1; found: 0.1.2" in ran.stderr
    assert "pip install 'automerge==1.0.0rc1'" in ran.stderr


def test_a_missing_automerge_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> str:
        raise document_module.PackageNotFoundError

    monkeypatch.setattr(document_module, "version", absent)
    with pytest.raises(ImportError, match="not installed"):
        document_module._require_automerge()


def test_documents_of_another_memory_or_space_do_not_load() -> None:
    for id, space in ((OTHER, SPACE), (ID, "team/other")):
        with pytest.raises(DataLoss):
            MemoryDocument(id, space, [created()])


# ---- revisions -------------------------------------------------------------------------------------------------------
# The meaning of revisions: conflicts are shown, forgetting can be undone, the past can be read, replicas agree.


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
def test_what_is_written_to_a_memory_that_two_superseded_keeps_the_first_end(ends: tuple[int, int]) -> None:
    first = created()
    log = [first]
    for number, at in enumerate(ends, start=2):
        log.append(written(document(first), supersede(state(first), OTHER, "owner/test", at), number))
    found = memory(*log)
    assert (found.state, found.valid_to, found.conflicts, len(found.heads)) == ("superseded", 3000, (), 2)
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


def test_a_forced_text_stays_forced_while_its_words_stay_and_nobody_else_can_force_it() -> None:
    log = [document().write(Edit(revision=put("first"), forced=True, at=1), actor(1)).raw]

    def then(number: int, content: str, by: str, *, forced: bool = False) -> bool:
        fields = replace(put(content, parents=memory(*log).heads), by=by)
        log.append(written(document(*log), Edit(revision=fields, forced=forced, at=number), number))
        return memory(*log).forced

    writer = memory(*log).by
    assert memory(*log).forced
    assert then(2, "first", "bob/any")
    assert not then(3, "second", "bob/any", forced=True)
    assert not then(4, "third", writer)
    assert then(5, "third", f"{writer.partition('/')[0]}/another", forced=True)
    assert not memory(created()).forced


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
