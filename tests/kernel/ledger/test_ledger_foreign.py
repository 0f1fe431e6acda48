"""Entries of other nodes enter the log in one way only: signed, granted, allowed, and after their parents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import AGENT, OTHER_SPACE, SPACE, Home, Pen, done, read_back
from peer_builders import (
    ANA,
    ANAS,
    BOB,
    FEED,
    ID,
    NOW,
    OTHER,
    Node,
    all_entries,
    contents,
    hand_over,
    outcome,
    pages,
    reasons,
    refused,
    taken,
)

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.intake.intake import Intake
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.ids import derived_id, key_mark
from mnemesh_memory.values.model import ListQuery, Memory

# ---- what is taken in -----------------------------------------------------------------------------------------------


def test_a_memory_of_another_node_is_read_as_one_of_ours(ledger: Ledger, node: Node) -> None:
    result = taken(ledger, node, node.says("from afar", title="Far"), feed=FEED, last_seq=7)
    assert outcome(result) == {"accepted": 1}
    assert (result.seq, result.first, result.last) == (7, 1, 1)
    memory = ledger.read([ID])[ID]
    assert (memory.content, memory.title, memory.by, memory.space, memory.state) == (
        "from afar", "Far", ANA, SPACE, "active",
    )  # fmt: skip
    assert ledger.page(ListQuery(spaces=(SPACE,))).memories == (memory,)


def test_a_nul_that_an_earlier_version_let_in_is_read_changed_and_handed_on_as_it_is(
    ledger: Ledger, pen: Pen, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    lenient = Intake(shelf=ledger._intake.shelf, judge=lambda key, entry, earlier: read_head(entry.raw))
    monkeypatch.setattr(ledger, "_intake", lenient)
    entries = [node.says("begin\0end", attrs={"raw": "a\0b"}), node.says("begins\0ends")]
    assert outcome(taken(ledger, node, *entries)) == {"accepted": 2}
    memory = ledger.read([ID])[ID]
    assert (memory.content, memory.attrs) == ("begins\0ends", {})
    assert [one.revision.content for one in ledger.history(ID, 10, "").revisions] == ["begins\0ends", "begin\0end"]
    titled = done(ledger, pen.revise(memory, title="Kept")).memory
    assert (titled.content, titled.title) == (memory.content, "Kept")
    assert done(ledger, pen.forget(titled)).memory.state == "forgotten"
    (page,) = pages(ledger)
    assert list(page.entries[:2]) == entries


def test_an_entry_goes_on_to_others_as_its_node_signed_it(ledger: Ledger, node: Node) -> None:
    entries = [node.says("one"), node.says("two"), node.says("other", OTHER)]
    taken(ledger, node, *entries)
    (page,) = pages(ledger)
    assert list(page.entries) == entries
    assert page.keys == node.keys


def test_what_came_from_a_peer_is_not_sent_back_to_it(ledger: Ledger, pen: Pen, node: Node) -> None:
    taken(ledger, node, node.says("theirs"))
    done(ledger, pen.create("ours"))
    back = ledger.sync_page(0, ("*",), node.origin, 10, 10_000)
    assert [entry.agent for entry in back.entries] == [AGENT]
    assert (back.last_seq, back.done) == (2, True)


def in_conflict(ledger: Ledger, pen: Pen, node: Node) -> Memory:
    mine = done(ledger, pen.create("as it was")).memory
    node.knows(*all_entries(ledger))
    done(ledger, pen.revise(mine, content="as we say"))
    taken(ledger, node, node.says("as they say", mine.id))
    return read_back(ledger, mine)


def test_two_nodes_that_wrote_at_once_keep_both_texts_and_say_so(ledger: Ledger, pen: Pen, node: Node) -> None:
    memory = in_conflict(ledger, pen, node)
    assert {memory.content, memory.conflicts[0].content} == {"as we say", "as they say"}
    assert len(memory.heads) == 2
    assert ledger.stats((SPACE,)).conflicted == 1
    settled = done(ledger, pen.revise(memory, content="as all say", expected_heads=memory.heads)).memory
    assert settled.conflicts == ()
    for text in ("as we say", "as they say"):
        assert done(ledger, pen.create(text)).action == "ADD", "a settled text is nobody's duplicate"


def test_both_texts_of_a_conflict_are_known_as_duplicates(ledger: Ledger, pen: Pen, node: Node) -> None:
    in_conflict(ledger, pen, node)
    assert [done(ledger, pen.create(text)).action for text in ("as we say", "as they say")] == ["NOOP", "NOOP"]


def test_the_index_is_told_of_what_came(ledger: Ledger, pen: Pen, node: Node) -> None:
    done(ledger, pen.create("ours"))
    result = taken(ledger, node, node.says("one"), node.says("other", OTHER), node.says("two"))
    page = ledger.feed(1, 100, "generation")
    assert {memory.id: memory.content for _, memory in page.memories} == {ID: "two", OTHER: "other"}
    assert (page.seq, page.head) == (result.last, result.last) == (4, 4)


# ---- what comes twice, early, or too much of it ---------------------------------------------------------------------


def test_a_cursor_never_goes_back_and_is_kept_for_each_feed(home: Home, node: Node) -> None:
    with home.opened() as ledger:
        taken(ledger, node, feed="a", last_seq=7)
        assert taken(ledger, node, feed="a", last_seq=5).seq == 7
        taken(ledger, node, feed="b", last_seq=2)
        taken(ledger, Node("second"), feed="a", last_seq=1)
        taken(ledger, node, node.says("one"))
    with home.opened() as ledger:
        assert ledger.cursors(node.id) == {"a": 7, "b": 2}
        assert ledger.cursors("nobody") == {}


def test_cursors_of_feeds_that_are_gone_do_not_gather_for_ever(ledger: Ledger, node: Node) -> None:
    for number in range(limits.SYNC_CURSORS_MAX + 3):
        taken(ledger, node, feed=f"feed {number}", last_seq=1)
    kept = ledger.cursors(node.id)
    assert len(kept) == limits.SYNC_CURSORS_MAX
    assert f"feed {limits.SYNC_CURSORS_MAX + 2}" in kept


def test_a_batch_is_bounded(ledger: Ledger, node: Node) -> None:
    entry = node.says("one")
    with pytest.raises(InvalidArgument, match="entries"):
        taken(ledger, node, *[entry] * (limits.BATCH_ITEMS_MAX + 1))
    assert all_entries(ledger) == []


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_what_a_stream_may_not_bring_is_quarantined_and_can_be_released(ledger: Ledger, node: Node) -> None:
    grant = PeerGrant(read=("*",), write=("other/*",), principal="ana", relay=True)
    one, two = node.says("one"), node.says("two")
    assert outcome(taken(ledger, node, one, two, grant=grant, feed=FEED, last_seq=2)) == {"quarantined": 2}
    assert ledger.cursors(node.id) == {FEED: 2}
    assert all("may not write to team/payments" in reason for reason in reasons(ledger))
    first, second = refused(ledger)
    assert (first.entry, first.size) == (replace(one, raw=b""), len(one.raw))
    assert (first.sender, first.origin, first.received) == (node.id, node.origin, NOW)
    assert outcome(ledger.release([second.id], NOW)) == {"quarantined": 1}, "what it builds on is refused still"
    assert outcome(ledger.release([first.id], NOW)) == {"accepted": 2}
    assert refused(ledger) == []
    assert contents(ledger) == ["two"]


def test_what_an_earlier_life_of_a_node_brought_goes_back_to_it_even_when_released(ledger: Ledger, node: Node) -> None:
    far = Node("farther")
    one = node.says("one")
    far.knows(one)
    beside = far.says("beside")
    two = node.says("two")
    node.knows(beside)
    both = node.says("both")
    taken(ledger, far, replace(one, signature=bytes(64)), keys=node.keys)
    assert outcome(taken(ledger, node, two, both)) == {"quarantined": 2}
    node.origin = "log of a node that was put back and lost both"
    assert outcome(taken(ledger, node, one)) == {"accepted": 2}
    assert ledger.backlog().pending == 1
    assert outcome(taken(ledger, node, beside, keys=far.keys)) == {"accepted": 2}
    assert list(ledger.sync_page(0, ("*",), node.origin, 10, 10_000).entries) == [two, both]


BOBS = PeerGrant(read=("*",), write=("team/*", "@bob"), principal="bob")


@pytest.mark.parametrize("key", ["", "import:notes.md#3"])
def test_who_takes_the_id_of_anothers_memory_keeps_it_from_nobody_whatever_came_first(key: str) -> None:
    ana, bob = Node("ana's"), Node("bob's", BOB)
    mark = key_mark(ANA, key) if key else ""
    id_ = derived_id(SPACE, "ana", mark) if key else ana.own_id()
    real = ana.says("the real one", id_, mark=mark)
    taking = [bob.says("mine now", id_, space, mark=mark) for space in ("@bob", OTHER_SPACE, SPACE)]
    digests = []
    for before, after in ((taking, []), ([], taking)):
        with Home.for_one_example() as home, home.opened() as hub:
            for entry in before:
                assert outcome(taken(hub, bob, entry, grant=BOBS)) == {"quarantined": 1}
            assert outcome(taken(hub, ana, real, grant=ANAS)) == {"accepted": 1}
            for entry in after:
                assert outcome(taken(hub, bob, entry, grant=BOBS)) == {"quarantined": 1}
            assert all("is not one that 'bob' can begin in" in reason for reason in reasons(hub))
            assert contents(hub, [id_]) == ["the real one"]
            digests.append([hub.digest(space) for space in (SPACE, OTHER_SPACE, "@bob")])
            assert outcome(taken(hub, ana, ana.retracts(id_), grant=ANAS)) == {"erased": 1}, "it is ana's alone"
            assert contents(hub, [id_]) == []
    assert digests[0] == digests[1]


def test_a_memory_is_begun_with_an_idempotency_key_on_two_nodes_of_one_principal(ledger: Ledger) -> None:
    mark = key_mark(ANA, "k")
    nodes, id_ = (Node("one"), Node("two")), derived_id(SPACE, "ana", mark)
    for node in nodes:
        assert outcome(taken(ledger, node, node.says("said twice", id_, mark=mark), grant=ANAS)) == {"accepted": 1}
    assert ledger.read([id_])[id_].version == 2
    assert outcome(taken(ledger, nodes[0], nodes[0].says("other", id_, OTHER_SPACE, mark=mark))) == {"quarantined": 1}


def test_a_memory_is_begun_by_the_change_that_its_id_names_and_by_no_later_one(ledger: Ledger, node: Node) -> None:
    id_ = node.own_id()
    taken(ledger, node, node.says("first", id_))
    other = Node("other of ana's")
    assert outcome(taken(ledger, other, other.says("second", id_))) == {"quarantined": 1}
    assert contents(ledger, [id_]) == ["first"]


def test_an_erasure_in_a_space_where_the_memory_is_not_leaves_it_where_it_is(pen: Pen, node: Node) -> None:
    id_ = node.own_id()
    said, elsewhere = node.says("stays", id_), node.erases(id_, OTHER_SPACE)
    digests = []
    for order in ((said, elsewhere), (elsewhere, said)):
        with Home.for_one_example() as home, home.opened() as hub:
            for entry in order:
                taken(hub, node, entry)
            assert contents(hub, [id_]) == ["stays"]
            digests.append([hub.digest(space) for space in (SPACE, OTHER_SPACE)])
    assert digests[0] == digests[1]


def test_an_old_id_is_that_of_one_memory_in_one_space(ledger: Ledger, pen: Pen, node: Node) -> None:
    mine = done(ledger, pen.create("ours")).memory
    assert outcome(taken(ledger, node, node.says("a"), node.says("b", space=OTHER_SPACE))) == {
        "accepted": 1, "quarantined": 1,
    }  # fmt: skip
    assert SPACE in reasons(ledger)[0]
    assert contents(ledger, [mine.id, ID]) == ["ours", "a"]


def test_a_memory_takes_in_any_number_of_changes_and_is_read_from_a_bounded_one(
    ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_CHANGES_MAX", 2)
    assert outcome(taken(ledger, node, *(node.says(str(n)) for n in range(4)))) == {"accepted": 4}
    assert contents(ledger) == ["1"]
    assert ledger.read([ID])[ID].notes == (
        "2 of its changes are kept but not read: it has over 8388608 bytes or 2 changes. "
        "Write a new memory with `supersede`",
    )


# ---- directories that live again ------------------------------------------------------------------------------------


def test_a_ledger_restored_from_an_old_copy_gets_back_what_it_lost_and_skips_nothing(home: Home, pen: Pen) -> None:
    with Home.for_one_example() as other, other.opened() as peer:
        other.pen = Pen(agent="owner/other")
        with home.opened() as ledger:
            one = done(ledger, pen.create("one")).memory
            hand_over(ledger, peer, home)
        copy = home.file.read_bytes()
        with home.opened() as ledger:
            done(ledger, pen.revise(one, content="one again"))
            two = done(ledger, pen.create("two")).memory
            hand_over(ledger, peer, home)
        home.file.write_bytes(copy)
        with home.opened() as ledger:
            three = done(ledger, pen.create("three")).memory
            theirs = done(peer, other.pen.create("theirs")).memory
            for _ in range(2):
                hand_over(ledger, peer, home)
                hand_over(peer, ledger, other)
            ids = [one.id, two.id, three.id, theirs.id]
            assert contents(ledger, ids) == contents(peer, ids) == ["one again", "two", "three", "theirs"]
            assert ledger.digest(SPACE) == peer.digest(SPACE)
            assert len(all_entries(ledger)) == len(all_entries(peer)) == 5
            assert refused(ledger) == refused(peer) == []


# ---- clocks ---------------------------------------------------------------------------------------------------------


def test_a_clock_a_year_ahead_is_shown_as_the_time_of_receipt(node: Node, pen: Pen, ledger: Ledger) -> None:
    node.now = NOW + 365 * 86_400_000
    latest = NOW + limits.CLOCK_AHEAD_MS_MAX
    entry = node.says("from the future")
    taken(ledger, node, entry)
    memory = ledger.read([ID])[ID]
    assert (memory.created_at, memory.updated_at) == (latest, latest)
    assert all_entries(ledger) == [entry], "the entry itself stays as it was signed"
    changed = done(ledger, pen.revise(memory, content="ours")).memory
    assert (changed.created_at, changed.updated_at) == (latest, pen.now)
    ledger.rebuild_view()
    assert ledger.read([ID])[ID] == changed


# ---- pages ----------------------------------------------------------------------------------------------------------


def test_pages_hold_no_more_than_was_asked_and_miss_nothing(ledger: Ledger, pen: Pen) -> None:
    for number in range(25):
        done(ledger, pen.create(f"text {number}", space=(SPACE, OTHER_SPACE)[number % 2]))
    everything = all_entries(ledger)
    assert len(everything) == 25
    assert [e for page in pages(ledger, size=4) for e in page.entries] == everything
    assert all(len(page.entries) <= 4 for page in pages(ledger, size=4))
    assert [e for page in pages(ledger, (SPACE,), size=4) for e in page.entries] == everything[::2]
    small = ledger.sync_page(0, ("*",), "", 256, 1)
    assert list(small.entries) == everything[:1], "one entry is always sent, however large"


def test_entries_of_other_spaces_are_passed_by_their_numbers(ledger: Ledger, pen: Pen) -> None:
    for number in range(5):
        done(ledger, pen.create(f"text {number}"))
    page = ledger.sync_page(0, ("elsewhere/*",), "", 10, 1000)
    assert (page.entries, page.last_seq, page.head, page.done) == ((), 5, 5, True)
