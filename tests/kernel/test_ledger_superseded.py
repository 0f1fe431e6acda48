"""What the ledger tells of writes that meet a supersede: nothing that was acknowledged goes without a word."""

from __future__ import annotations

import pytest
from ledger_builders import OTHER_SPACE, SPACE, START, Home, done, read_back
from peer_builders import Node, all_entries, taken
from test_ledger_histories import create, in_conflict, resolve, rollback
from test_ledger_histories import home as home
from test_ledger_histories import ledger as ledger

from mnemesh_actors.ledger.actor import Ledger
from mnemesh_crdt import revisions
from mnemesh_memory.model import Memory


def replaced_meanwhile(ledger: Ledger, home: Home, *, edit_first: bool = False) -> tuple[Memory, Memory]:
    """A memory that was superseded on one node while another changed it, and its successor."""
    memory = create(ledger, home, "Ships on Friday.", tags=("a",))
    editor, closer = Node(), Node("other")
    for node in (editor, closer):
        node.knows(*all_entries(ledger))
    successor = create(ledger, home, "Ships daily.")
    closing = revisions.supersede(closer.document(memory.id).state(), successor.id, closer.agent, START + 1000)
    assert closing is not None
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
    closing = revisions.supersede(far.document(memory.id).state(), memory.id, far.agent, START + 1000)
    assert closing is not None
    done(ledger, home.pen.create("Ships daily.", supersedes=(memory.id,)))
    taken(ledger, far, far.edits(closing, memory.id))
    found = read_back(ledger, memory)
    assert (found.state, len(found.heads)) == ("superseded", 2)
    assert (ledger.conflicts((SPACE,), 10, "").total, ledger.stats((SPACE,)).conflicted) == (0, 0)


def test_a_write_to_a_superseded_memory_says_where_recall_leads_instead(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "Ships on Friday.")
    successor = done(ledger, home.pen.create("Ships daily.", supersedes=(memory.id,))).memory
    result = done(ledger, home.pen.revise(read_back(ledger, memory), content="Ships on Monday."))
    told = f"; it stays superseded: recall leads to {successor.id} instead"
    assert (result.action, result.reason, result.memory.state) == ("UPDATE", f"new revision{told}", "superseded")
    back = done(ledger, rollback(home, result.memory, "1"))
    assert (back.reason.endswith(told), back.memory.state) == (True, "superseded")
    other = done(ledger, home.pen.revise(successor, content="Ships hourly."))
    assert other.reason == "new revision"


def test_a_successor_in_another_space_is_not_named_to_who_may_not_know_of_it(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "Ships on Friday.")
    hidden = create(ledger, home, "elsewhere", space=OTHER_SPACE)
    far = Node()
    far.knows(*all_entries(ledger))
    closing = revisions.supersede(far.document(memory.id).state(), hidden.id, far.agent, START + 1000)
    assert closing is not None
    taken(ledger, far, far.edits(closing, memory.id))
    result = done(ledger, home.pen.revise(read_back(ledger, memory), content="Ships on Monday."))
    assert result.reason == "new revision; it stays superseded: recall leads to its successor instead"


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
