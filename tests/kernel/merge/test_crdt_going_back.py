"""Blame, going back, and ending a conflict."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from crdt_scenarios import ID, OTHER, actor, created, document, edited, memory, put, written

from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.blame import blamed, kept_lines
from mnemesh_crdt.document.document import DocumentState, Edit
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.limits import BLAME_LINES_MAX
from mnemesh_memory.values.model import Link, Source
from mnemesh_memory.values.past import BlamedField, Origin


def state(*log: bytes) -> DocumentState:
    return document(*log).state()


def revised(log: list[bytes], number: int, at: int, parents: tuple[str, ...] | None = None, **fields: Any) -> bytes:
    """A revision like the shown one, but for `fields`."""
    now = state(*log)
    names = revisions.heads(now) if parents is None else parents
    before = revisions.fields_of(revisions.shown(now))
    said = replace(before, by=f"owner/{number}", at=at, parents=names, **fields)
    return written(document(*log), Edit(revision=said, at=at), number)


def lines(log: list[bytes], revision: str = "") -> list[tuple[int, str, str]]:
    """(first line, text, who) of each run."""
    now = state(*log)
    found, _ = blamed(now, revision or revisions.heads(now)[0], {})
    return [(run.first, run.text, run.by) for run in found]


def fields(log: list[bytes], origins: Any = None) -> dict[str, BlamedField]:
    now = state(*log)
    return {one.field: one for one in blamed(now, revisions.shown(now).id, origins or {})[1]}


def begun(*texts: str) -> list[bytes]:
    """A memory that said "first", and then each of `texts` by a writer who knew of no other."""
    first = [created("first")]
    return first + [edited(first, text, number) for number, text in enumerate(texts, 2)]


def kept(old: list[str], new: list[str]) -> dict[int, int]:
    """Position in `new` of each line that stayed -> its position in `old`."""
    pairs = [(position + n, start + n) for start, position, length in kept_lines(old, new) for n in range(length)]
    assert len(dict(pairs)) == len(pairs), "no line stays twice"
    return dict(pairs)


def test_a_line_belongs_to_the_revision_that_said_it_first() -> None:
    log = [created("one\ntwo\nthree")]
    log.append(revised(log, 2, 2000, content="zero\none\ntwo\nthree"))
    log.append(revised(log, 3, 3000, content="zero\none\n2\nthree\nfour"))
    assert lines(log) == [
        (1, "zero", "owner/2"),
        (2, "one", "owner/test"),
        (3, "2", "owner/3"),
        (4, "three", "owner/test"),
        (5, "four", "owner/3"),
    ]


def test_consecutive_lines_of_one_revision_are_one_run() -> None:
    log = [created("a\n\nb")]
    log.append(revised(log, 2, 2000, content="a\n\nb\n\nc"))
    assert lines(log) == [(1, "a\n\nb", "owner/test"), (4, "\nc", "owner/2")]


def test_an_older_revision_is_blamed_as_it_was() -> None:
    log = [created("one\ntwo")]
    first = revisions.heads(state(*log))[0]
    log.append(revised(log, 2, 2000, content="1\n2"))
    assert lines(log, first) == [(1, "one\ntwo", "owner/test")]


def test_a_merge_keeps_what_each_side_said_and_owns_only_what_is_new() -> None:
    log = [created("top\nmiddle\nend")]
    base = revisions.heads(state(*log))
    left = revised(log, 2, 2000, base, content="left\nmiddle\nend")
    right = revised(log, 3, 2000, base, content="top\nmiddle\nright")
    log += [left, right]
    log.append(revised(log, 4, 3000, content="left\nmiddle\nright\nboth"))
    assert lines(log) == [
        (1, "left", "owner/2"),
        (2, "middle", "owner/test"),
        (3, "right", "owner/3"),
        (4, "both", "owner/4"),
    ]


def test_what_both_sides_of_a_merge_said_alike_belongs_to_the_later_of_them() -> None:
    log = [created("old")]
    base = revisions.heads(state(*log))
    log += [revised(log, number, 2000, base, content="new", title="T") for number in (2, 3)]
    later = max(revisions.heads(state(*log)), key=lambda one: one.split("@")[1])
    log.append(revised(log, 4, 3000, content="new"))
    now = state(*log)
    ((run,), _) = blamed(now, revisions.heads(now)[0], {})
    assert run.revision == later
    assert fields(log)["title"].revision == later


def test_forgetting_and_restoring_change_no_blame() -> None:
    log = [created("one\ntwo")]
    log.append(revised(log, 2, 2000, content="one\n2"))
    before = lines(log)
    log.append(written(document(*log), revisions.forget(state(*log), "owner/f", 3000), 3))
    log.append(written(document(*log), revisions.restore(state(*log), "owner/r", 4000), 4))
    assert lines(log) == before == [(1, "one", "owner/test"), (2, "2", "owner/2")]


def test_forgetting_twice_on_two_nodes_is_looked_through_once() -> None:
    log = [created("one")]
    gone = [written(document(*log), revisions.forget(state(*log), "owner/f", 3000), number) for number in (2, 3)]
    log += gone
    log.append(written(document(*log), revisions.restore(state(*log), "owner/r", 4000), 4))
    assert lines(log) == [(1, "one", "owner/test")]


def test_a_rollback_owns_the_lines_that_it_brought_back() -> None:
    log = [created("one\ntwo")]
    first = revisions.heads(state(*log))[0]
    log.append(revised(log, 2, 2000, content="one\n2"))
    edit = revisions.rollback(state(*log), state(log[0]), first, "owner/back", 3000)
    log.append(written(document(*log), edit, 3))
    assert lines(log) == [(1, "one", "owner/test"), (2, "two", "owner/back")]


def test_each_field_belongs_to_the_revision_that_gave_it_its_value() -> None:
    log = [created("x")]
    log.append(revised(log, 2, 2000, title="T", importance=0.5, attrs={"ticket": "1", "other": "a"}))
    log.append(revised(log, 3, 3000, valid_from=0, refs=("a.py", "b.py"), attrs={"ticket": "2", "other": "a"}))
    log.append(revised(log, 4, 4000, source=Source("s", "/home", 3), keywords=("k",), title=""))
    found = fields(log)
    assert {name: (one.value, one.by) for name, one in found.items()} == {
        "kind": ("fact", "owner/test"),
        "tier": ("normal", "owner/test"),
        "importance": ("0.5", "owner/2"),
        "attrs.other": ("a", "owner/2"),
        "attrs.ticket": ("2", "owner/3"),
        "valid_from": ("1970-01-01T00:00:00Z", "owner/3"),
        "paths": ("a.py, b.py", "owner/3"),
        "source": ("s #3 /home", "owner/4"),
        "keywords": ("k", "owner/4"),
        "title": ("", "owner/4"),
    }
    assert list(found) == sorted(found)


def test_tags_and_links_belong_to_the_change_that_put_them() -> None:
    log = [created("x", tags_put=("a",))]
    link = Link("see-also", OTHER)
    log.append(written(document(*log), Edit(tags_put=("b",), links_put=(link,), at=2000), 2))
    origins = {
        actor(1).hex(): Origin("owner/test", "n1", 1000, 1000),
        actor(2).hex(): Origin("owner/linker", "n2", 2000, 2000),
    }
    found = fields(log, origins)
    assert (found["tags.a"].by, found["tags.a"].node, found["tags.a"].revision) == (
        "owner/test",
        "n1",
        f"1@{actor(1).hex()}",
    )
    assert (found["tags.b"].by, found["tags.b"].at, found["tags.b"].revision) == ("owner/linker", 2000, "")
    assert found[f"links.see-also:{OTHER}"].node == "n2"
    assert found["kind"].node == "n1"


@pytest.mark.parametrize("origins", [{}, {actor(n).hex(): Origin("a", "n", 1000, 1000) for n in (1, 2)}])
def test_nobody_is_named_for_a_tag_that_no_change_or_several_may_have_put(origins: Any) -> None:
    found = fields([created("x", tags_put=("a",))], origins)["tags.a"]
    assert (found.by, found.node, found.revision, found.at) == ("", "", "", 1000)


def test_the_time_of_a_tag_is_shown_as_that_of_a_revision_when_a_clock_ran_ahead() -> None:
    log = [created("x", tags_put=("a",))]
    log.append(written(document(*log), Edit(tags_put=("b",), at=9000), 2))
    origins = {
        actor(1).hex(): Origin("owner/test", "n1", 1000, 1000), actor(2).hex(): Origin("ana/cli", "n2", 9000, 5000),
    }  # fmt: skip
    found = fields(log, origins)
    assert (found["tags.a"].at, found["tags.b"].at, found["tags.b"].by) == (1000, 5000, "ana/cli")
    unnamed = fields(log, {one: replace(origin, at=0) for one, origin in origins.items()})
    assert (unnamed["tags.b"].at, unnamed["tags.b"].by) == (5000, "")


def test_a_text_of_too_many_lines_is_blamed_as_a_whole() -> None:
    long = "\n".join(str(number) for number in range(BLAME_LINES_MAX + 1))
    log = [created(long)]
    log.append(revised(log, 2, 2000, title="T"))
    assert lines(log) == [(1, long, "owner/test")]
    log.append(revised(log, 3, 3000, content=long + "\nmore"))
    assert lines(log) == [(1, long + "\nmore", "owner/3")]
    log.append(revised(log, 4, 4000, content="short"))
    log.append(revised(log, 5, 5000, content="short\nagain"))
    assert lines(log) == [(1, "short", "owner/4"), (2, "again", "owner/5")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", {}),
        ("abc", "abc", {0: 0, 1: 1, 2: 2}),
        ("abc", "xabcy", {1: 0, 2: 1, 3: 2}),
        ("abcd", "acbd", {0: 0, 1: 2, 3: 3}),
        ("aab", "ab", {0: 0, 1: 2}),
        ("x.y.z", "x.z.y", {0: 0, 1: 1, 2: 4}),
        ("aaaa", "aa", {0: 0, 1: 1}),
        ("abc", "def", {}),
    ],
)  # fmt: skip
def test_lines_are_kept_in_their_order(old: str, new: str, expected: dict[int, int]) -> None:
    found = kept(list(old), list(new))
    assert {position: old[found[position]] for position in found} == {p: new[p] for p in found}
    assert len(found) == len(expected)


def test_kept_lines_are_equal_and_rise_on_both_sides_whatever_the_texts() -> None:
    chance = random.Random(7)
    for _ in range(500):
        old = [chance.choice("abcdefgh") for _ in range(chance.randrange(12))]
        new = [chance.choice("abcdefgh") for _ in range(chance.randrange(12))]
        found = kept(old, new)
        assert all(new[position] == old[found[position]] for position in found)
        ordered = [found[position] for position in sorted(found)]
        assert ordered == sorted(set(ordered))


def test_a_text_of_one_line_repeated_keeps_all_but_what_changed() -> None:
    same = ["" for _ in range(BLAME_LINES_MAX)]
    assert len(kept(same, [*same[:-1], "end"])) == BLAME_LINES_MAX - 1


# ---- going back ------------------------------------------------------------------------------------------------------
# Going back, and ending a conflict: new revisions name every head, so nothing is lost.


FIRST = f"1@{actor(1).hex()}"


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
    log.append(back(log, FIRST, 3))
    found = state(*log)
    (head,) = revisions.heads(found)
    again = found.revisions[head]
    assert revisions.fields_of(again) == replace(first, by="owner/back", at=5000, parents=(f"2@{actor(2).hex()}",))
    assert [one.content for one in revisions.history(found)] == ["first", "second", "first"]
    assert memory(*log).content == "first"


def test_a_rollback_to_a_head_of_a_conflict_keeps_that_head() -> None:
    log = begun("left", "right")
    shown, other = revisions.visible(state(*log))
    for wanted in (shown, other):
        change = back(log, wanted.id, 4)
        assert (memory(*log, change).content, len(memory(*log, change).heads)) == (wanted.content, 1)


def test_a_rollback_to_what_the_memory_says_is_no_edit() -> None:
    log = [created("first")]
    assert back(log, FIRST, 2) is None
    log.append(edited(log, "second", 2))
    log.append(back(log, FIRST, 3))
    assert back(log, FIRST, 4) is None, "it says so by another revision"


def test_the_tags_of_then_come_back_and_later_ones_go() -> None:
    log = [created("first", tags_put=("a", "b"))]
    second = Edit(revision=put("second", (FIRST,), 2000), tags_put=("c",), tags_remove=("b",), at=2000)
    log.append(written(document(*log), second, 2))
    change = back(log, FIRST, 3)
    assert memory(*log, change).tags == ("a", "b")
    tags_only = written(document(*log, change), Edit(tags_put=("d",), at=6000), 4)
    change = back([*log, change, tags_only], FIRST, 5, at=7000)
    assert change is not None, "a tag more is a difference"


def test_a_superseded_memory_stays_so_and_ended_when_it_did() -> None:
    log = begun("second")
    log.append(written(document(*log), revisions.supersede(state(*log), OTHER, "owner/test", 3000), 3))
    found = memory(*log, back(log, FIRST, 4))
    assert (found.content, found.state, found.superseded_by, found.valid_to) == ("first", "superseded", OTHER, 3000)


def test_a_conflict_ends_by_keeping_one_head() -> None:
    log = begun("left", "right")
    for kept in revisions.visible(state(*log)):
        edit = revisions.settle(state(*log), kept.id, "owner/judge", 3000)
        found = memory(*log, written(document(*log), edit, 4))
        assert (found.content, found.conflicts, len(found.heads), found.version) == (kept.content, (), 1, 4)


def test_what_ends_a_conflict_of_a_superseded_memory_leaves_it_closed_when_it_was() -> None:
    log = [created("first")]
    late = [edited(log, "late", 2), edited(log, "later", 3)]
    closing = revisions.supersede(state(*log), OTHER, "owner/closer", 2000)
    log += [*late, written(document(*log), closing, 4)]
    now = state(*log)
    assert len(revisions.heads(now)) == 3
    ends = [revisions.settle(now, keep, "owner/back", 5000) for keep in revisions.heads(now)]
    again = revisions.rollback(now, state(*log[:1]), FIRST, "owner/back", 5000)
    for edit in (*ends, again):
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
    log = begun("left", "right")
    unseen = edited(log[:1], "unseen", 4)
    settled = written(
        document(*log), revisions.settle(state(*log), revisions.heads(state(*log))[0], "owner/judge", 3000, "both"), 5
    )
    found = memory(*log, unseen, settled)
    assert {found.content, *(one.content for one in found.conflicts)} == {"both", "unseen"}


def test_the_shown_revision_of_a_forgotten_memory_is_its_last_visible_one() -> None:
    log = begun("second")
    assert revisions.shown(state(*log)).content == "second"
    log.append(written(document(*log), revisions.forget(state(*log), "owner/f", 3000), 3))
    assert revisions.visible(state(*log)) == ()
    assert revisions.shown(state(*log)).content == "second"


def test_a_revision_is_named_by_its_id_or_a_beginning_that_fits_no_other() -> None:
    log = begun("left", "right")
    now = state(*log)
    assert revisions.named(now, "to", "1").id == FIRST
    assert revisions.named(now, "to", FIRST[:6]).id == FIRST
    assert revisions.named(now, "to", FIRST).id == FIRST
    assert revisions.named(now, "to", f"2@{actor(2).hex()}").content == "left"
    with pytest.raises(InvalidArgument, match="fits one revision only") as refused:
        revisions.named(now, "to", "2")
    assert refused.value.fields["field"] == "to"
    for unknown in ("3", "11", f"1@{actor(9).hex()}"):
        with pytest.raises(NotFound, match=ID) as missing:
            revisions.named(now, "keep", unknown)
        assert missing.value.fields["field"] == "keep"
