"""The ledger's answers to writes that meet a supersede: no acknowledged write goes without a word."""

from __future__ import annotations

import pytest
from ledger_builders import OTHER_SPACE, SPACE, START, Home, all_done, done, read_back, read_then
from peer_builders import OTHER, Node, all_entries, taken
from test_ledger_histories import create, in_conflict, resolve

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.document import revisions
from mnemesh_memory.values.errors import AlreadyExists
from mnemesh_memory.values.model import Link, ListQuery, Memory


def replaced_meanwhile(ledger: Ledger, home: Home, *, edit_first: bool = False) -> tuple[Memory, Memory]:
    """A memory superseded on one node and changed on another meanwhile, and its successor."""
    memory = create(ledger, home, "Ships on Friday.", tags=("a",))
    editor, closer = Node(), Node("other")
    for node in (editor, closer):
        node.knows(*all_entries(ledger))
    successor = create(ledger, home, "Ships daily.")
    closing = revisions.supersede(closer.document(memory.id).state(), successor.id, closer.agent, START + 1000)
    both = [(closer, closer.edits(closing, memory.id)), (editor, editor.says("Ships on Monday.", memory.id))]
    for node, entry in reversed(both) if edit_first else both:
        taken(ledger, node, entry)
    return read_back(ledger, memory), successor


@pytest.mark.parametrize("edit_first", [False, True])
def test_an_edit_that_met_a_supersede_is_listed_as_a_conflict_until_it_is_resolved(
    home: Home, ledger: Ledger, edit_first: bool
) -> None:
    memory, successor = replaced_meanwhile(ledger, home, edit_first=edit_first)
    assert (memory.state, memory.superseded_by, len(memory.heads)) == ("superseded", successor.id, 2)
    assert memory.valid_to == START + 1000
    (conflict,) = ledger.conflicts((SPACE,), 10, "").conflicts
    assert (conflict.memory, ledger.stats((SPACE,)).conflicted) == (memory, 1)
    assert {one.revision.content for one in conflict.versions} == {"Ships on Friday.", "Ships on Monday."}
    late = next(one.revision.id for one in conflict.versions if one.revision.content == "Ships on Monday.")
    result = done(ledger, resolve(home, memory, keep=late))
    found = result.memory
    assert (found.content, found.state, found.conflicts) == ("Ships on Monday.", "superseded", ())
    assert found.valid_to == START + 1000
    assert f"it stays superseded: recall leads to {successor.id} instead" in result.reason
    assert (ledger.conflicts((SPACE,), 10, "").total, ledger.stats((SPACE,)).conflicted) == (0, 0)


def test_a_conflict_of_a_superseded_memory_may_end_with_what_its_successor_says(home: Home, ledger: Ledger) -> None:
    memory, successor = replaced_meanwhile(ledger, home)
    assert done(ledger, resolve(home, memory, content=successor.content)).memory.content == successor.content
    assert ledger.read([successor.id])[successor.id] == successor


def test_two_who_supersede_one_memory_at_once_leave_nothing_to_resolve(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "Ships on Friday.", tags=("a",), paths=("a.py",), attrs={"ticket": "1"})
    far = Node()
    far.knows(*all_entries(ledger))
    closing = revisions.supersede(far.document(memory.id).state(), OTHER, far.agent, START + 1000)
    done(ledger, home.pen.create("Ships daily.", supersedes=(memory.id,)))
    taken(ledger, far, far.edits(closing, memory.id))
    found = read_back(ledger, memory)
    assert (found.state, found.conflicts, len(found.heads)) == ("superseded", (), 2)
    assert (ledger.conflicts((SPACE,), 10, "").total, ledger.stats((SPACE,)).conflicted) == (0, 0)
    assert read_then(ledger, [memory.id], START + 2_000_000)[memory.id] == found
    assert done(ledger, home.pen.revise(found, title="")).action == "NOOP"
    changed = done(ledger, home.pen.revise(found, content="Ships on Monday.")).memory
    assert (changed.content, changed.conflicts, len(changed.heads)) == ("Ships on Monday.", (), 1)


@pytest.mark.parametrize("ends", [(3, 50_000), (50_000, 3)])
def test_an_update_of_a_memory_that_two_superseded_at_once_keeps_the_first_end(
    home: Home, ledger: Ledger, ends: tuple[int, int]
) -> None:
    memory = create(ledger, home, "Ships on Friday.")
    nodes = (Node(), Node("other"))
    for node, end in zip(nodes, ends, strict=True):
        node.knows(*all_entries(ledger)[:1])
        closing = revisions.supersede(node.document(memory.id).state(), OTHER, node.agent, START + end)
        taken(ledger, node, node.edits(closing, memory.id))
    found = read_back(ledger, memory)
    assert (found.valid_to, len(found.heads)) == (START + 3, 2)
    asked = ListQuery(spaces=(SPACE,), state="superseded", valid_at=START + 4)
    assert ledger.page(asked).memories == ()
    changed = done(ledger, home.pen.revise(found, title="Shipping")).memory
    assert (changed.title, changed.valid_to, len(changed.heads)) == ("Shipping", START + 3, 1)


def test_a_successor_in_another_space_is_not_named_to_who_may_not_know_of_it(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "Ships on Friday.")
    hidden = create(ledger, home, "elsewhere", space=OTHER_SPACE)
    far = Node()
    far.knows(*all_entries(ledger))
    closing = revisions.supersede(far.document(memory.id).state(), hidden.id, far.agent, START + 1000)
    taken(ledger, far, far.edits(closing, memory.id))
    result = done(ledger, home.pen.revise(read_back(ledger, memory), content="Ships on Monday."))
    told = "recall leads to its successor instead, where that is there to be read"
    assert result.reason == f"new revision; it stays superseded: {told}"
    assert done(ledger, home.pen.forget(hidden)).action == "FORGET"
    again = done(ledger, home.pen.restore(memory))
    assert (again.action, again.reason) == ("NOOP", f"not forgotten but superseded; it stays superseded: {told}")


def test_what_replaces_a_memory_in_conflict_says_how_many_versions_it_closes(home: Home, ledger: Ledger) -> None:
    calm, memory = create(ledger, home, "of one mind"), in_conflict(ledger, home)
    result = done(ledger, home.pen.create("both at once", supersedes=(calm.id, memory.id)))
    closed = f"{memory.id} (it was in conflict: all its 2 versions are closed, and stay in its history)"
    assert result.reason == f"replaces {calm.id}, {closed}"
    assert ledger.conflicts((SPACE,), 10, "").total == 0
    said = {one.revision.content for one in ledger.history(memory.id, 10, "").revisions}
    assert said == {"first", "first: ana", "first: bob"}
    again = in_conflict(ledger, home, "second")
    result = done(ledger, home.pen.create("both at once", supersedes=(again.id,)))
    assert (result.deduplicated, f"{again.id} (it was in conflict" in result.reason) == (True, True)


def test_forgetting_a_memory_in_conflict_says_how_many_versions_go_and_which_comes_back(
    home: Home, ledger: Ledger
) -> None:
    memory = in_conflict(ledger, home)
    gone = done(ledger, home.pen.forget(memory))
    assert gone.reason == "forgotten with all its 2 versions; `restore` brings back the one that was shown"
    back = done(ledger, home.pen.restore(gone.memory)).memory
    assert (back.content, back.conflicts) == (memory.content, ())


# ---- what took its place is not there any more ----------------------------------------------------------------------


def replaced(ledger: Ledger, home: Home, *contents: str) -> list[Memory]:
    """A memory and its chain of successors."""
    chain = [create(ledger, home, contents[0], valid_to=START + 9_000_000)]
    for content in contents[1:]:
        chain.append(done(ledger, home.pen.create(content, supersedes=(chain[-1].id,))).memory)
    return [read_back(ledger, one) for one in chain]


def lose(ledger: Ledger, home: Home, memory: Memory, how: str) -> None:
    if how == "forgotten":
        done(ledger, home.pen.forget(memory))
    else:
        ledger.erase(home.pen.erase(memory.id))


@pytest.mark.parametrize("how", ["forgotten", "erased"])
@pytest.mark.parametrize("links", [1, 2])
def test_a_memory_whose_successor_is_gone_is_restored(home: Home, ledger: Ledger, how: str, links: int) -> None:
    old, *_, last = replaced(ledger, home, *("Ships on Friday.", "Ships daily.", "Ships hourly.")[: links + 1])
    lose(ledger, home, last, how)
    way = (
        f"restore {old.id}, and recall finds it" if how == "erased" else "restore one of the two, and recall finds that"
    )
    changed = done(ledger, home.pen.revise(old, content="Ships on Monday."))
    said = f"; it stays superseded: {last.id}, which took its place, is {how}; {way}"
    assert (changed.memory.state, changed.reason) == ("superseded", f"new revision{said}")
    back = done(ledger, home.pen.restore(old))
    assert (back.action, back.reason) == ("RESTORE", f"as it was before {changed.memory.superseded_by} took its place")
    found = back.memory
    assert (found.state, found.content, found.valid_to) == ("active", "Ships on Monday.", START + 9_000_000)
    assert (found.superseded_by, found.links, len(found.heads)) == ("", (), 1)
    assert done(ledger, home.pen.restore(found)).reason == "not forgotten but active"
    ledger.rebuild_view()
    assert read_back(ledger, old) == found


def test_a_memory_that_was_replaced_by_mistake_is_restored_beside_its_successor(home: Home, ledger: Ledger) -> None:
    old, successor = replaced(ledger, home, "Ships on Friday.", "The demo is on Friday.")
    back = done(ledger, home.pen.restore(old))
    assert (back.action, back.memory.state, back.memory.valid_to) == ("RESTORE", "active", START + 9_000_000)
    assert back.reason == f"as it was before {successor.id} took its place; {successor.id} stands beside it"
    ledger.rebuild_view()
    both = ledger.read([old.id, successor.id])
    assert [both[one.id].state for one in (old, successor)] == ["active", "active"]
    assert both[old.id].links == ()
    assert both[successor.id].links == (Link("both-hold", old.id),)


def test_a_memory_that_was_forgotten_too_says_what_it_came_back_as(home: Home, ledger: Ledger) -> None:
    old, successor = replaced(ledger, home, "Ships on Friday.", "Ships daily.")
    for one in (old, successor):
        done(ledger, home.pen.forget(one))
    first, second = (done(ledger, home.pen.restore(old)) for _ in range(2))
    assert first.reason.startswith(
        f"as it was before it was forgotten; it stays superseded: {successor.id}, which took"
    )
    assert (first.memory.state, second.memory.state) == ("superseded", "active")


def test_of_two_successors_the_one_that_is_there_goes_on_standing_for_it(home: Home, ledger: Ledger) -> None:
    old = create(ledger, home, "Ships on Friday.")
    far = Node()
    far.knows(*all_entries(ledger))
    stays = create(ledger, home, "Ships weekly.")
    closing = revisions.supersede(far.document(old.id).state(), stays.id, far.agent, START + 10)
    home.pen.now = START + 1000
    goes = done(ledger, home.pen.create("Ships daily.", supersedes=(old.id,))).memory
    taken(ledger, far, far.edits(closing, old.id))
    assert read_back(ledger, old).superseded_by == goes.id
    lose(ledger, home, goes, "erased")
    back = done(ledger, home.pen.restore(old))
    told = f"as it was before {goes.id} took its place; it stays superseded: recall leads to {stays.id} instead"
    assert (back.action, back.reason, back.memory.superseded_by) == ("RESTORE", told, stays.id)
    lose(ledger, home, stays, "erased")
    found = done(ledger, home.pen.restore(old)).memory
    assert (found.state, found.valid_to, len(found.heads)) == ("active", None, 1)


def test_what_replaced_each_other_at_once_is_restored(home: Home, ledger: Ledger) -> None:
    one, other = create(ledger, home, "Ships on Friday."), create(ledger, home, "Ships daily.")
    far = Node()
    far.knows(*all_entries(ledger))
    for old, new in ((one, other), (other, one)):
        closing = revisions.supersede(far.document(old.id).state(), new.id, far.agent, START + 1000)
        taken(ledger, far, far.edits(closing, old.id))
    result = done(ledger, home.pen.revise(read_back(ledger, one), title="Shipping"))
    assert result.reason.endswith(f"what took its place is in a circle; restore {one.id}, and recall finds it")
    assert done(ledger, home.pen.restore(one)).memory.state == "active"
    assert done(ledger, home.pen.restore(other)).memory.state == "active", "beside the one that is back"


def test_what_was_remembered_anew_is_not_said_twice_by_a_restore(home: Home, ledger: Ledger) -> None:
    old, successor = replaced(ledger, home, "Ships on Friday.", "Ships daily.")
    lose(ledger, home, successor, "forgotten")
    anew = done(ledger, home.pen.create(old.content)).memory
    assert anew.id != old.id
    with pytest.raises(AlreadyExists, match=anew.id):
        all_done(ledger, home.pen.restore(old))


def test_of_a_restored_memory_in_conflict_the_version_that_was_shown_comes_back(home: Home, ledger: Ledger) -> None:
    old, successor = replaced_meanwhile(ledger, home)
    lose(ledger, home, successor, "erased")
    back = done(ledger, home.pen.restore(old))
    assert back.reason.endswith("of its 2 versions the one that was shown, the others stay in its history")
    found = back.memory
    assert (found.state, found.content, found.valid_to, len(found.heads)) == ("active", old.content, None, 1)
