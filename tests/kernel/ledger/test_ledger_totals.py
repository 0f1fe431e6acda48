"""The sum of many changes decides no admission and stops no honest writer. Reads of it are bounded."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import SPACE, Home, Pen, done, read_back, read_then
from peer_builders import BOB, ID, OTHER, Node, all_entries, outcome, pages, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.admission import ancestry, budget
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.changes.operations import read_operations
from mnemesh_crdt.document.document import Edit, RevisionFields
from mnemesh_crdt.document.revisions import materialise
from mnemesh_crdt.intake.intake import Intake
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.model import Link, Memory

READ = 6


def flood(node: Node, first: Entry, count: int, edit: Edit) -> list[Entry]:
    """As many changes of one memory, each aware of its beginning alone."""
    entries = []
    for _ in range(count):
        node.logs.clear()
        node.knows(first)
        entries.append(node.edits(edit, first.doc, first.space))
    return entries


@cache
def scene() -> tuple[list[Entry], dict[str, bytes]]:
    """A memory, two edits of it, tags, and three times as many changes by two flooders."""
    ana, bob, eve, mallory = Node(), Node("bob", agent=BOB), Node("eve", agent="eve"), Node("mal", agent="mallory")
    first = ana.says("one")
    bob.knows(first)
    entries = [first, ana.says("two"), bob.says("three"), bob.tags("t")]
    entries += flood(eve, first, READ, Edit(tags_put=("noise",), at=1))
    for n in range(READ):
        mallory.logs.clear()
        mallory.knows(first)
        entries.append(mallory.says(f"noise {n}"))
    return entries, {node.id: node.public for node in (ana, bob, eve, mallory)}


@settings(max_examples=12, derandomize=True, database=None, deadline=None)
@given(st.permutations(scene()[0]), st.integers(1, 6))
def test_any_order_of_more_than_can_be_read_ends_in_the_same_memory(order: list[Entry], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch, Home.for_one_example() as home, home.opened() as ledger:
        patch.setattr(limits, "DOCUMENT_CHANGES_MAX", READ)
        for start in range(0, len(order), size):
            taken(ledger, Node(), *order[start : start + size], keys=scene()[1])
        memory, again = ledger.read([ID])[ID], in_order()
        assert (memory, ledger.digest(SPACE)) == again
        assert "of its changes are kept but not read: it has over 8388608 bytes or 6 changes" in memory.notes[-1]
        assert {memory.content, *(head.content for head in memory.conflicts)} >= {"two", "three"}
        assert len(all_entries(ledger)) == len(order), "all of it goes on to others"
        ledger.rebuild_view()
        assert (ledger.read([ID])[ID], ledger.digest(SPACE)) == again


@cache
def in_order() -> tuple[Memory, dict[int, str]]:
    entries, keys = scene()
    with Home.for_one_example() as home, home.opened() as ledger:
        taken(ledger, Node(), *entries, keys=keys)
        return ledger.read([ID])[ID], ledger.digest(SPACE)


@pytest.fixture
def flooded(ledger: Ledger, pen: Pen) -> Memory:
    """A memory of ours to which a peer put 4,000 links and 6,400 tags, as many as one change may at a time."""
    memory = done(ledger, pen.create("Ships on Friday.", tags=("ours",), links=(Link("see-also", OTHER),))).memory
    (first,) = all_entries(ledger)
    eve = Node("eve", agent="eve")
    for start in range(0, 4_000, limits.CHANGE_LINKS_MAX):
        ids = (f"{OTHER[:-6]}ff{n:04x}" for n in range(start, start + limits.CHANGE_LINKS_MAX))
        tags = tuple(f"a{n}" for n in range(start * 16 // 10, start * 16 // 10 + limits.CHANGE_TAGS_MAX))
        edit = Edit(links_put=tuple(Link("see-also", one) for one in ids), tags_put=tags, at=1)
        assert outcome(taken(ledger, eve, *flood(eve, first, 1, edit))) == {"accepted": 1}
    return read_back(ledger, memory)


def test_a_reader_is_shown_the_first_and_the_last_tags_and_links_and_told_how_many_there_are(flooded: Memory) -> None:
    assert (len(flooded.tags), len(flooded.links)) == (limits.TAGS_SHOWN_MAX, limits.LINKS_SHOWN_MAX)
    assert "ours" in flooded.tags
    assert Link("see-also", OTHER) in flooded.links
    assert flooded.notes == (
        "200 of 6401 tags shown: those that were put first and last",
        "200 of 4001 links shown: those that were put first and last",
    )


def test_an_owner_links_and_unlinks_and_tags_what_a_peer_filled(ledger: Ledger, pen: Pen, flooded: Memory) -> None:
    other = done(ledger, pen.create("other")).memory
    linked = done(ledger, pen.link(flooded, "part-of", other)).memory
    assert Link("part-of", other.id) in linked.links
    hidden = next(one for n in range(4_000) if Link("see-also", one := f"{OTHER[:-6]}ff{n:04x}") not in linked.links)
    assert done(ledger, pen.unlink(linked, "see-also", hidden)).action == "UNLINK"
    assert done(ledger, pen.unlink(linked, "see-also", hidden)).action == "NOOP"
    left = 6_401
    while left > 1:
        tagged = done(ledger, pen.revise(read_back(ledger, flooded), tags=("mine",))).memory
        left = max(left - limits.CHANGE_REMOVALS_MAX, 0) + (left == 6_401)
        shown = f"{limits.TAGS_SHOWN_MAX} of {left} tags shown"
        assert (shown in tagged.notes[0]) == (left > limits.TAGS_SHOWN_MAX)
    assert tagged.tags == ("mine",)
    with Home.for_one_example() as elsewhere, elsewhere.opened() as peer:
        (page,) = pages(ledger)
        assert outcome(taken(peer, Node(), *page.entries, keys=page.keys)) == {"accepted": len(page.entries)}


def test_a_writer_stops_at_the_links_that_it_put_itself(ledger: Ledger, pen: Pen, flooded: Memory) -> None:
    targets = [done(ledger, pen.create(f"target {n}")).memory for n in range(limits.LINKS_MAX)]
    for target in targets[:-1]:
        done(ledger, pen.link(flooded, "see-also", target))
    with pytest.raises(FailedPrecondition, match="64 links by owner; unlink one first"):
        done(ledger, pen.link(flooded, "see-also", targets[-1]))
    done(ledger, pen.unlink(flooded, "see-also", targets[0]))
    assert done(ledger, pen.link(flooded, "see-also", targets[-1])).action == "LINK"


def test_a_change_is_let_in_without_a_look_at_all_that_it_does_not_build_on(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(ledger, pen.create("ours"))
    (first,) = all_entries(ledger)
    eve = Node("eve", agent="eve")
    looked: list[bytes] = []
    monkeypatch.setattr(ancestry, "_HEADS_MAX", 0)
    monkeypatch.setattr(ancestry, "read_head", lambda raw: looked.append(raw) or read_head(raw))
    for _ in range(2):
        taken(ledger, eve, *flood(eve, first, 60, Edit(tags_put=("noise",), at=1)))
    assert len(all_entries(ledger)) == 121
    assert not looked


def test_a_log_longer_than_the_table_of_weights_is_not_all_weighed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    eve, ana = Node("eve", agent="eve"), Node()
    log = {one.hash: one.raw for one in flood(eve, ana.says("one"), 200, Edit(tags_put=("noise",), at=1))}
    weighed: list[bytes] = []
    monkeypatch.setattr(budget, "_WEIGHED", OrderedDict())
    monkeypatch.setattr(budget, "_KEPT", 100)
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 30)
    monkeypatch.setattr(budget, "read_operations", lambda raw: weighed.append(raw) or read_operations(raw))
    before = budget.deps_of(log)
    assert len(weighed) == 200
    assert budget.deps_of(log) == before
    assert len(weighed) < 350, "about 75 of 200 are known"


def test_a_flood_of_changes_stops_nobody_else(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = done(ledger, pen.create("ours")).memory
    (first,) = all_entries(ledger)
    eve = Node("eve", agent="eve")
    monkeypatch.setattr(limits, "CHANGES_MAX", 6)
    monkeypatch.setattr(limits, "LAST_CHANGES_MAX", 8)
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 10)
    taken(ledger, eve, *flood(eve, first, 40, Edit(tags_put=("noise",), at=1)))
    for n in range(5):
        memory = done(ledger, pen.revise(memory, title=f"{n}")).memory
        assert memory.title == f"{n}"
    with pytest.raises(FailedPrecondition, match="6 changes by owner, every one of which is kept; at most 6"):
        done(ledger, pen.rate(memory, True))
    assert done(ledger, pen.forget(memory)).memory.state == "forgotten"
    taken(ledger, eve, *flood(eve, first, 1, Edit(tags_put=("more noise",), at=1)))
    assert read_back(ledger, memory).state == "forgotten"


def test_an_unread_change_that_repeats_an_actor_tells_nothing_of_the_one_that_is_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 2)
    ana, mallory = Node(), Node("mal", agent="mallory")
    first, second = ana.says("one"), ana.says("two")
    mallory.knows(first)
    edit = Edit(revision=replace(revision_by(mallory), parents=tuple(mallory.document().state().revisions)), at=1)
    change = mallory.document().write(edit, bytes.fromhex(read_head(second.raw).actor))
    taken(ledger, ana, first, second)
    taken(ledger, mallory, mallory.signs(ID, SPACE, change.raw, "mallory"))
    said = {one.revision.content: one.node for one in ledger.history(ID, 10, "").revisions}
    assert said == {"one": ana.id, "two": ana.id}
    before = read_then(ledger, [ID], second.at - 1)[ID]
    assert (before.content, before.version) == ("noise", 2), "then both of its changes were read"


def crowded(ledger: Ledger, pen: Pen, count: int, *, chain: bool) -> tuple[Memory, Entry, Node]:
    """A memory of ours, its beginning, and the node whose `count` changes it took: a chain of texts, or tags."""
    memory = done(ledger, pen.create("ours")).memory
    (first,) = all_entries(ledger)
    eve = Node("eve", agent="eve")
    eve.knows(first)
    says = [eve.says(f"noise {n}", first.doc, first.space) for n in range(count)] if chain else []
    taken(ledger, eve, *says, *flood(eve, first, 0 if chain else count, Edit(tags_put=("noise",), at=1)))
    return memory, first, eve


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("count", range(7, 16, 2))
def test_an_owners_edit_is_read_back_from_the_log_however_full_the_memory_is(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch, count: int, chain: bool
) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 12)
    memory, *_ = crowded(ledger, pen, count, chain=chain)
    assert not isinstance(ledger.commit([pen.revise(memory, content="edit 0")])[0], Exception), "the first has room"
    for n in range(1, 6):
        before = read_back(ledger, memory)
        assert any(f"edit {n - 1}" == one.content for one in (before, *before.conflicts))
        assert materialise(ledger._journal.state(before)) == before
        (answer,) = ledger.commit([pen.revise(memory, content=f"edit {n}")])
        if isinstance(answer, Exception):
            assert isinstance(answer, FailedPrecondition)
            assert read_back(ledger, memory) == before
            break


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("count", [9, 10, 11])
def test_an_owner_forgets_a_memory_that_others_filled_when_no_edit_has_room(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch, count: int, chain: bool
) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 12)
    memory, first, eve = crowded(ledger, pen, count, chain=chain)
    for n in range(12):
        (answer,) = ledger.commit([pen.revise(read_back(ledger, memory), content=f"edit {n}")])
        if isinstance(answer, FailedPrecondition):
            break
    else:
        pytest.fail("there is always room for an edit")
    assert done(ledger, pen.forget(memory)).memory.state == "forgotten"
    taken(ledger, eve, *flood(eve, first, 12, Edit(tags_put=("more noise",), at=1)))
    assert read_back(ledger, memory).state == "forgotten"
    assert materialise(ledger._journal.state(read_back(ledger, memory))).state == "forgotten"


def test_an_edit_that_nobody_would_read_is_refused(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 4)
    memory = done(ledger, pen.create("ours")).memory
    for n in range(3):
        memory = done(ledger, pen.revise(memory, content=f"edit {n}")).memory
    with pytest.raises(FailedPrecondition, match=r"is full: of its changes at most .* 4 changes are read"):
        done(ledger, pen.revise(memory, content="one more"))
    assert read_back(ledger, memory) == memory
    assert len(all_entries(ledger)) == 4


def test_a_writer_stops_at_the_bytes_that_it_wrote_itself(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HISTORY_BYTES_MAX", 100_000)
    memory = done(ledger, pen.create("x" * 30_000)).memory
    for word in "yzv":
        memory = done(ledger, pen.revise(memory, content=word * 30_000)).memory
    with pytest.raises(FailedPrecondition, match=r"1\d{5} bytes of changes by owner.*at most 100000.*`supersede`"):
        done(ledger, pen.revise(memory, content="w"))
    assert done(ledger, pen.create("new", supersedes=(memory.id,))).action == "SUPERSEDE"


def test_pages_of_a_history_and_of_conflicts_end_by_bytes_and_go_on(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemesh_actors.ledger.commit.history_writes.READ_BYTES_MAX", 100_000)
    memory = done(ledger, pen.create("x" * 30_000)).memory
    for n in range(9):
        memory = done(ledger, pen.revise(memory, content=f"{n}" * 30_000)).memory
    found, cursor = [], ""
    while page := ledger.history(memory.id, 200, cursor):
        assert 1 <= len(page.revisions) <= 3
        found += [one.revision.content[0] for one in page.revisions]
        if not (cursor := page.cursor):
            break
    assert found == [*"876543210", "x"]
    bob = Node("bob", agent=BOB)
    for n in range(3):
        other = done(ledger, pen.create(f"{n} ours")).memory
        first = all_entries(ledger)[-1]
        done(ledger, pen.revise(other, content=f"{n}a" * 15_000))
        taken(ledger, bob, *flood_of_text(bob, first, f"{n}b" * 15_000))
    ids, cursor = [], ""
    while conflicts := ledger.conflicts((SPACE,), 200, cursor):
        assert (len(conflicts.conflicts), conflicts.total) == (1, 3)
        ids += [one.memory.id for one in conflicts.conflicts]
        if not (cursor := conflicts.cursor):
            break
    assert len(set(ids)) == 3


def revision_by(node: Node) -> RevisionFields:
    return RevisionFields(op="put", kind="fact", title="", content="noise", by=node.agent, at=1)


def flood_of_text(node: Node, first: Entry, text: str) -> list[Entry]:
    node.logs.clear()
    node.knows(first)
    return [node.says(text, first.doc, first.space)]


def test_what_an_earlier_version_let_in_is_read_within_the_limit(
    home: Home, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown fields of 7 x 32 kB a change, as one attack brought them."""
    eve = Node("eve", agent="eve")
    with home.opened() as ledger:
        memory = done(ledger, pen.create("ours", title="kept")).memory
        (first,) = all_entries(ledger)
        big = [unknown(eve, first, n) for n in range(60)]
        assert sum(len(one.raw) for one in big) < 60_000
        assert outcome(taken(ledger, eve, *big)) == {"quarantined": 60}
        lenient = Intake(shelf=ledger._intake.shelf, judge=lambda key, entry, earlier: read_head(entry.raw))
        monkeypatch.setattr(ledger, "_intake", lenient)
        assert outcome(taken(ledger, eve, *big)) == {"accepted": 60}
    with home.opened() as ledger:
        chosen, unread = budget.within(memory.id, SPACE, ledger._journal.log(memory.id))
        assert 0 < unread.changes < 60
        assert sum(budget.weigh(read_head(raw).hash, raw).size for raw in chosen) <= limits.DOCUMENT_BYTES_MAX
        found = done(ledger, pen.revise(memory, title="still kept")).memory
        assert (found.title, found.content) == ("still kept", "ours")
        assert ledger.history(memory.id, 10, "").total == 2
        assert read_then(ledger, [memory.id], pen.now)[memory.id].title == "still kept"


def unknown(node: Node, first: Entry, number: int) -> Entry:
    """A change that writes 7 texts of 32 kB below a key of newer versions."""
    from automerge.core import ROOT, Document, ObjType, ScalarType

    from mnemesh_crdt.document.document import _genesis_change

    document = Document.load(_genesis_change(first.doc, first.space)[1] + first.raw)
    document.set_actor(bytes([7, *number.to_bytes(2), *bytes(13)]))
    before = document.get_heads()
    with document.transaction() as transaction:
        home = transaction.put_object(ROOT, "x/a", ObjType.Map)
        for n in range(7):
            transaction.put(home, f"{n}", ScalarType.Str, "x" * 32_000)
    (change,) = document.get_changes(before)
    return node.signs(first.doc, first.space, bytes(change.bytes), "eve")
