"""Going back, and ending a conflict: new revisions name every head, so nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from crdt_scenarios import ID, OTHER, actor, created, document, edited, memory, put, written

from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import DocumentState, Edit
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import Source

FIRST = f"1@{actor(1).hex()}"


def state(*log: bytes) -> DocumentState:
    return document(*log).state()


def back(log: list[bytes], to: str, number: int, then: list[bytes] | None = None, at: int = 5000) -> bytes | None:
    """The change that rolls back to `to`. `then` are the changes known to its writer."""
    now = state(*log)
    edit = revisions.rollback(now, state(*(then or log[:1])), to, "owner/back", at)
    return None if edit is None else written(document(*log), edit, number)


def test_a_rollback_says_again_all_that_the_old_revision_said() -> None:
    full: dict[str, Any] = {
        "attrs": {"ticket": "1"},
        "importance": 0.5,
        "tier": "pinned",
        "source": Source("s", "/home", 1),
        "keywords": ("k",),
        "refs": ("a.py",),
        "valid_from": 1,
        "valid_to": 9_000_000,
    }
    first = replace(put("first", **full), title="One", kind="decision")
    log = [written(document(), Edit(revision=first, at=1000), 1)]
    log.append(edited(log, "second", 2))
    change = back(log, FIRST, 3)
    assert change is not None
    log.append(change)
    found = state(*log)
    (head,) = revisions.heads(found)
    again = found.revisions[head]
    assert revisions.fields_of(again) == replace(first, by="owner/back", at=5000, parents=(f"2@{actor(2).hex()}",))
    assert [one.content for one in revisions.history(found)] == ["first", "second", "first"]
    assert memory(*log).content == "first"


def test_a_rollback_names_every_head_and_so_ends_a_conflict() -> None:
    log = [created("first")]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    change = back(log, FIRST, 4)
    assert change is not None
    found = memory(*log, change)
    assert (found.content, found.conflicts, len(found.heads), found.version) == ("first", (), 1, 4)


def test_a_rollback_to_a_head_of_a_conflict_keeps_that_head() -> None:
    log = [created("first")]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    shown, other = revisions.visible(state(*log))
    for wanted in (shown, other):
        change = back(log, wanted.id, 4)
        assert change is not None
        assert (memory(*log, change).content, len(memory(*log, change).heads)) == (wanted.content, 1)


def test_a_rollback_to_what_the_memory_says_is_no_edit() -> None:
    log = [created("first")]
    assert back(log, FIRST, 2) is None
    log.append(edited(log, "second", 2))
    change = back(log, FIRST, 3)
    assert change is not None
    log.append(change)
    assert back(log, FIRST, 4) is None, "it says so by another revision"


def test_the_tags_of_then_come_back_and_later_ones_go() -> None:
    log = [created("first", tags_put=("a", "b"))]
    second = Edit(revision=put("second", (FIRST,), 2000), tags_put=("c",), tags_remove=("b",), at=2000)
    log.append(written(document(*log), second, 2))
    change = back(log, FIRST, 3)
    assert change is not None
    assert memory(*log, change).tags == ("a", "b")
    tags_only = written(document(*log, change), Edit(tags_put=("d",), at=6000), 4)
    change = back([*log, change, tags_only], FIRST, 5, at=7000)
    assert change is not None, "a tag more is a difference"


def test_a_superseded_memory_stays_so_and_ended_when_it_did() -> None:
    log = [created("first")]
    log.append(edited(log, "second", 2))
    log.append(written(document(*log), revisions.supersede(state(*log), OTHER, "owner/test", 3000), 3))
    change = back(log, FIRST, 4)
    assert change is not None
    found = memory(*log, change)
    assert (found.content, found.state, found.superseded_by, found.valid_to) == ("first", "superseded", OTHER, 3000)


def test_a_conflict_ends_by_keeping_one_head() -> None:
    log = [created("first")]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    for kept in revisions.visible(state(*log)):
        edit = revisions.settle(state(*log), kept.id, "owner/judge", 3000)
        found = memory(*log, written(document(*log), edit, 4))
        assert (found.content, found.conflicts, len(found.heads), found.version) == (kept.content, (), 1, 4)


def test_what_ends_a_conflict_of_a_superseded_memory_leaves_it_closed_when_it_was() -> None:
    log = [created("first")]
    late = [edited(log, "late", 2), edited(log, "later", 3)]
    closing = revisions.supersede(state(*log), OTHER, "owner/closer", 2000)
    assert closing is not None
    log += [*late, written(document(*log), closing, 4)]
    now = state(*log)
    assert len(revisions.heads(now)) == 3
    ends = [revisions.settle(now, keep, "owner/back", 5000) for keep in revisions.heads(now)]
    again = revisions.rollback(now, state(*log[:1]), FIRST, "owner/back", 5000)
    for edit in (*ends, again):
        assert edit is not None
        found = memory(*log, written(document(*log), edit, 5))
        assert (found.state, found.superseded_by, found.valid_to, found.conflicts) == ("superseded", OTHER, 2000, ())


def test_a_conflict_ends_with_another_text_and_the_fields_of_the_head_it_takes() -> None:
    log = [written(document(), Edit(revision=replace(put("first"), title="T"), at=1000), 1)]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    shown = revisions.shown(state(*log))
    edit = revisions.settle(state(*log), shown.id, "owner/judge", 3000, content="left and right")
    found = memory(*log, written(document(*log), edit, 4))
    assert (found.content, found.title, found.conflicts) == ("left and right", shown.title, ())


def test_settling_does_not_hide_an_edit_that_was_not_seen() -> None:
    log = [created("first")]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    unseen = edited(log[:1], "unseen", 4)
    settled = written(
        document(*log), revisions.settle(state(*log), revisions.heads(state(*log))[0], "owner/judge", 3000, "both"), 5
    )
    found = memory(*log, unseen, settled)
    assert {found.content, *(one.content for one in found.conflicts)} == {"both", "unseen"}


def test_the_shown_revision_of_a_forgotten_memory_is_its_last_visible_one() -> None:
    log = [created("first")]
    log.append(edited(log, "second", 2))
    assert revisions.shown(state(*log)).content == "second"
    log.append(written(document(*log), revisions.forget(state(*log), "owner/f", 3000), 3))
    assert revisions.visible(state(*log)) == ()
    assert revisions.shown(state(*log)).content == "second"


def test_a_revision_is_named_by_its_id_or_a_beginning_that_fits_no_other() -> None:
    log = [created("first")]
    log += [edited(log[:1], "left", 2), edited(log[:1], "right", 3)]
    now = state(*log)
    assert revisions.named(now, "to", "1").id == FIRST
    assert revisions.named(now, "to", FIRST[:6]).id == FIRST
    assert revisions.named(now, "to", FIRST).id == FIRST
    left = f"2@{actor(2).hex()}"
    assert revisions.named(now, "to", left).content == "left"
    with pytest.raises(InvalidArgument, match="fits one revision only") as refused:
        revisions.named(now, "to", "2")
    assert refused.value.fields["field"] == "to"
    for unknown in ("3", "11", f"1@{actor(9).hex()}"):
        with pytest.raises(NotFound, match=ID) as missing:
            revisions.named(now, "keep", unknown)
        assert missing.value.fields["field"] == "keep"
