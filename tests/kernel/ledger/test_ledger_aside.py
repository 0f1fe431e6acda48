"""Entries put aside: each peer's share of the room, and a person's way to read and judge them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import Home
from peer_builders import ANAS, EVERYTHING, FEED, ID, NOW, OTHER, Node, contents, outcome, reasons, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.put_aside import PutAside, Which, sender_of
from mnemesh_actors.ledger.store.replica_cursors import cursor_name
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant, principal_name
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument

NOTHING = replace(EVERYTHING, write=())
IDS = [f"018f6f0e-7c1a-7000-8000-3f1f8d2f6b{number:02}" for number in range(20)]


def brought(ledger: Ledger, peer: str, node: Node, *entries: Entry, grant: PeerGrant = EVERYTHING) -> dict[str, object]:
    """The outcome of what `node` signed and a peer brings under that name of cursors."""
    batch = IncomingEntries(
        peer=peer, origin=node.origin, grant=grant, entries=entries, keys=node.keys, feed=FEED, last_seq=1
    )  # fmt: skip
    return dict(outcome(ledger.take_in(batch, NOW)))


def aside(ledger: Ledger, table: str = "quarantine", newest: bool = True, **which: str) -> list[PutAside]:
    return list(ledger.put_aside(table, Which(**which), 0, 100, newest).entries)


def early(node: Node, *ids: str) -> list[Entry]:
    """Changes of memories whose beginning nobody has brought."""
    entries = []
    for id_ in ids:
        node.says("one", id_)
        entries.append(node.says("two", id_))
    return entries


# ---- shares ---------------------------------------------------------------------------------------------------------


def test_a_share_is_that_of_a_token_or_of_a_node_that_is_called() -> None:
    assert sender_of("ana:" + "1" * 32) == "ana"
    assert sender_of(":" + "1" * 32) == ":" + "1" * 32
    own = sender_of(cursor_name("1" * 32))
    with pytest.raises(InvalidArgument, match="name"):
        principal_name("name", own)


def test_one_peer_can_not_fill_what_waits_for_all(ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PENDING_SHARE_MAX", 2)
    changes = early(node, *IDS[:4])
    assert brought(ledger, "ana:1", node, *changes[:3]) == {"held": 2, "full": True}
    assert brought(ledger, "ana:2", node, changes[2]) == {"full": True}, "another node of hers has the same share"
    assert brought(ledger, "bob:1", node, *changes[2:]) == {"held": 2}
    assert ledger.cursors("ana:1") == {}
    assert [one.sender for one in aside(ledger, "pending", newest=False)] == ["ana", "ana", "bob", "bob"]


def test_room_of_a_share_may_be_used_again(ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PENDING_SHARE_MAX", 1)
    one, two = node.says("one"), node.says("two")
    later = early(node, OTHER)
    assert brought(ledger, "ana:1", node, two) == {"held": 1}
    assert brought(ledger, "bob:1", node, one) == {"accepted": 2}
    assert brought(ledger, "ana:1", node, *later) == {"held": 1}


def test_a_change_that_still_waits_after_a_step_stays_in_its_bringers_share(ledger: Ledger, node: Node) -> None:
    far = Node("second", "bob/cli")
    one = node.says("one")
    far.knows(one)
    two, other = node.says("two"), far.says("other")
    node.knows(other)
    both = node.says("both")
    keys = {**node.keys, **far.keys}
    batch = IncomingEntries(peer="ana:1", origin=node.origin, grant=EVERYTHING, entries=(both,), keys=keys)
    ledger.take_in(batch, NOW)
    assert brought(ledger, "bob:1", node, one, two) == {"accepted": 2}
    assert [found.sender for found in aside(ledger, "pending")] == ["ana"]


def test_erasures_that_wait_take_no_room_from_changes_and_the_oldest_gives_way(
    ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PENDING_SHARE_MAX", 2)
    monkeypatch.setattr(limits, "PENDING_ERASURES_SHARE_MAX", 3)
    erasures = [node.retracts(id_) for id_ in IDS[:5]]
    assert brought(ledger, "ana:1", node, *erasures, grant=ANAS) == {"held": 5}
    assert [one.entry.doc for one in aside(ledger, "pending", newest=False)] == IDS[2:5]
    assert brought(ledger, "ana:1", node, *early(node, *IDS[5:7]), grant=ANAS) == {"held": 2}
    assert brought(ledger, "ana:1", node, node.retracts(IDS[7]), grant=ANAS) == {"held": 1}
    assert [one.entry.doc for one in aside(ledger, "pending", newest=False)] == [*IDS[3:7], IDS[7]]


def test_of_all_erasures_that_wait_those_of_the_greediest_give_way(
    ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PENDING_ERASURES_MAX", 3)
    erasures = [node.retracts(id_) for id_ in IDS[:4]]
    brought(ledger, "ana:1", node, *erasures[:2], grant=ANAS)
    brought(ledger, "bob:1", node, *erasures[2:], grant=ANAS)
    assert [(one.sender, one.entry.doc) for one in aside(ledger, "pending", newest=False)] == [
        ("ana", IDS[1]), ("bob", IDS[2]), ("bob", IDS[3]),
    ]  # fmt: skip


def test_the_oldest_refused_entries_of_a_peer_give_way_to_its_own_next_ones(
    ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "QUARANTINE_SHARE_MAX", 2)
    entries = [node.says("text", id_) for id_ in IDS[:5]]
    brought(ledger, "bob:1", node, entries[0], grant=NOTHING)
    assert brought(ledger, "ana:1", node, *entries[1:], grant=NOTHING) == {"quarantined": 4}
    brought(ledger, "ana:1", node, entries[4], grant=NOTHING)  # once more: in its own place
    found = [(one.sender, one.entry.doc) for one in aside(ledger, newest=False)]
    assert found == [("bob", IDS[0]), ("ana", IDS[3]), ("ana", IDS[4])]
    brought(ledger, "bob:1", node, entries[4], grant=NOTHING)
    assert sorted(one.sender for one in aside(ledger)) == ["ana", "bob", "bob"]


def test_when_the_quarantine_is_full_who_has_most_in_it_gives_way(
    ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "QUARANTINE_ENTRIES_MAX", 3)
    entries = [node.says("text", id_) for id_ in IDS[:5]]
    brought(ledger, "ana:1", node, *entries[:3], grant=NOTHING)
    brought(ledger, "bob:1", node, *entries[3:], grant=NOTHING)
    found = [(one.sender, one.entry.doc) for one in aside(ledger, newest=False)]
    assert found == [("ana", IDS[2]), ("bob", IDS[3]), ("bob", IDS[4])]


def test_a_peer_brings_keys_of_so_many_nodes_and_one_that_may_not_relay_of_few(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "NODE_KEYS_OF_WRITER_MAX", 1)
    monkeypatch.setattr(limits, "NODE_KEYS_SHARE_MAX", 2)
    nodes = [Node(f"node {number}") for number in range(6)]
    said = [node.says("text", id_) for node, id_ in zip(nodes, IDS, strict=False)]
    refused = {"quarantined": 1}
    outcomes = [brought(ledger, "ana:1", node, one, grant=ANAS) for node, one in zip(nodes[:2], said, strict=False)]
    assert outcomes == [{"accepted": 1}, refused]
    assert reasons(ledger) == ["keys of 1 nodes that this peer brought are kept, no more are allowed"]
    assert brought(ledger, "hub:1", nodes[1], said[1]) == {"accepted": 1}
    assert brought(ledger, "hub:1", nodes[2], said[2]) == {"accepted": 1}
    assert brought(ledger, "hub:1", nodes[3], said[3]) == refused
    assert brought(ledger, "ana:1", nodes[2], nodes[2].says("more", IDS[2]), grant=ANAS) == {"accepted": 1}, "known"
    whole = replace(EVERYTHING, write=(EVERY_SPACE,))
    assert brought(ledger, cursor_name("1"), nodes[4], said[4], grant=whole) == {"accepted": 1}
    assert brought(ledger, cursor_name("1"), nodes[5], said[5], grant=whole) == {"accepted": 1}
    assert brought(ledger, cursor_name("1"), nodes[3], said[3], grant=whole) == {"accepted": 1}, "a ledger of this node"


def test_an_entry_of_a_node_beyond_those_whose_keys_a_writer_may_bring_is_let_in_by_a_person(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "NODE_KEYS_OF_WRITER_MAX", 1)
    nodes = [Node(f"node {number}") for number in range(2)]
    first, second = (node.says("text", id_) for node, id_ in zip(nodes, IDS, strict=False))
    third = nodes[1].says("text", IDS[2])
    forged = replace(nodes[1].says("text", IDS[3]), signature=bytes(64))
    with home.opened() as ledger:
        assert brought(ledger, "ana:1", nodes[0], first, grant=ANAS) == {"accepted": 1}
        assert brought(ledger, "ana:1", nodes[1], forged, second, grant=ANAS) == {"quarantined": 2}
    with home.opened() as ledger:
        numbers = [one.id for one in aside(ledger, newest=False)]
        assert outcome(ledger.release(numbers, NOW, {"ana": ANAS})) == {"quarantined": 2}, "there is no more room"
        numbers = [one.id for one in aside(ledger, newest=False)]
        assert outcome(ledger.release(numbers, NOW)) == {"quarantined": 1, "accepted": 1}
        assert [one.entry.doc for one in aside(ledger)] == [forged.doc]
        assert brought(ledger, "ana:1", nodes[1], third, grant=ANAS) == {"accepted": 1}, "its node is known now"


def test_another_ledger_of_the_node_has_no_share(ledger: Ledger, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PENDING_SHARE_MAX", 1)
    whole = replace(EVERYTHING, write=(EVERY_SPACE,))
    assert brought(ledger, cursor_name("1"), node, *early(node, *IDS[:3]), grant=whole) == {"held": 3}


def test_what_was_put_aside_before_there_were_shares_is_kept(home: Home, node: Node) -> None:
    with home.opened() as ledger:
        taken(ledger, node, *early(node, ID))
        taken(ledger, node, node.says("refused", OTHER), grant=NOTHING)
    home.rewrite_in_format(5)
    with home.opened() as ledger:
        assert [(one.entry.doc, one.sender) for one in aside(ledger, "pending")] == [(ID, "")]
        assert [(one.entry.doc, one.sender) for one in aside(ledger)] == [(OTHER, "")]
        assert outcome(ledger.release([one.id for one in aside(ledger)], NOW)) == {"accepted": 1}


# ---- looking at it --------------------------------------------------------------------------------------------------


def test_entries_are_found_by_space_and_by_who_brought_them(ledger: Ledger, node: Node) -> None:
    spaces = ("team", "team/a", "team/a/b", "team-x", "team0")
    entries = [node.says("text", id_, space) for id_, space in zip(IDS, spaces, strict=False)]
    brought(ledger, "ana:1", node, *entries[:4], grant=NOTHING)
    brought(ledger, "bob:1", node, *entries[4:], grant=NOTHING)
    assert {one.entry.space for one in aside(ledger, space="team/*")} == {"team/a", "team/a/b"}
    assert {one.entry.space for one in aside(ledger, space="team")} == {"team"}
    assert {one.entry.space for one in aside(ledger, sender="bob")} == {"team0"}
    assert aside(ledger, sender="bob", space="team") == []
    (found,) = aside(ledger, space="team")
    assert (found.entry.raw, found.size) == (b"", len(entries[0].raw)), "what it says is not shown"


# ---- deciding about it ----------------------------------------------------------------------------------------------


def test_what_is_judged_again_is_judged_by_what_its_peer_may_do_now(ledger: Ledger, node: Node) -> None:
    one, two = node.says("one"), node.says("other", OTHER)
    brought(ledger, "ana:1", node, one, grant=NOTHING)
    brought(ledger, "bob:1", node, two, grant=NOTHING)
    ids = [found.id for found in aside(ledger)]
    assert outcome(ledger.release(ids, NOW, {})) == {}, "nobody may bring anything"
    assert [found.id for found in aside(ledger)] == ids
    elsewhere = replace(ANAS, write=("home/*",))
    assert outcome(ledger.release(ids, NOW, {"ana": elsewhere})) == {"quarantined": 1}
    assert [found.sender for found in aside(ledger)] == ["ana", "bob"]
    ids = [found.id for found in aside(ledger)]
    assert outcome(ledger.release(ids, NOW, {"ana": ANAS})) == {"accepted": 1}
    assert contents(ledger, [ID, OTHER]) == ["one"]
    bobs = PeerGrant(read=(), write=("*",), principal="bob")
    assert outcome(ledger.release(ids, NOW, {"bob": bobs})) == {"quarantined": 1}, "ana wrote it"
    assert outcome(ledger.release([found.id for found in aside(ledger)], NOW)) == {"accepted": 1}, "a person trusts it"


def test_what_waits_can_be_deleted_and_brought_again(ledger: Ledger, node: Node) -> None:
    one, two = node.says("one"), node.says("two")
    taken(ledger, node, two)
    (waits,) = aside(ledger, "pending")
    assert (waits.awaited, waits.reason) == (one.hash, "")
    assert ledger.discard("pending", [waits.id, 99]) == 1
    assert outcome(taken(ledger, node, one)) == {"accepted": 1}
    assert outcome(taken(ledger, node, two)) == {"accepted": 1}


def test_a_number_of_what_waited_is_never_that_of_another_entry(ledger: Ledger, node: Node) -> None:
    first, second = early(node, *IDS[:2])
    taken(ledger, node, first)
    (one,) = aside(ledger, "pending")
    ledger.discard("pending", [one.id])
    taken(ledger, node, second)
    assert ledger.discard("pending", [one.id]) == 0
