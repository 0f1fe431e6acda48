"""Between the ledgers of one node operations are judged once, by the ledger that wrote or took in an entry first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import SPACE, Pen, done
from peer_builders import ID, Node, contents, outcome, reasons, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import Incoming
from mnemesh_actors.ledger.peers.replica_keys import cursor_name
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant

SIBLING = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)


@pytest.fixture
def node() -> Node:
    return Node()


def by_another(node: Node) -> Entry:
    """A change that no judge lets in: its entry and its revision name different agents."""
    entry = node.says("whose?")
    return node.signs(ID, SPACE, entry.raw, "bob/cli")


def test_what_a_peer_brings_is_judged_and_what_the_other_ledger_brings_was_judged_there(
    ledger: Ledger, node: Node
) -> None:
    entry = by_another(node)
    assert outcome(taken(ledger, node, entry)) == {"quarantined": 1}
    assert outcome(taken(ledger, node, entry, grant=SIBLING)) == {"accepted": 1}
    assert contents(ledger) == ["whose?"]
    assert reasons(ledger) == []


def test_signature_hash_and_document_are_proved_between_siblings_too(ledger: Ledger, node: Node) -> None:
    entry = node.says("one")
    unsigned = replace(node.says("two"), agent="bob/cli")
    broken = replace(entry, raw=entry.raw[:-1] + bytes([entry.raw[-1] ^ 1]))
    taken(ledger, node, unsigned, grant=SIBLING)
    taken(ledger, node, broken, grant=SIBLING)
    assert len(reasons(ledger)) == 2
    assert "signature" in " ".join(reasons(ledger))
    assert "checksum" in " ".join(reasons(ledger))
    assert contents(ledger) == []
    assert outcome(taken(ledger, node, entry, grant=SIBLING)) == {"accepted": 1}
    assert contents(ledger) == ["one"]


def test_what_a_peer_brought_early_is_judged_also_when_the_other_ledger_brings_what_it_waits_for(
    ledger: Ledger, node: Node
) -> None:
    first = node.says("one")
    second = by_another(node)
    assert MemoryDocument(ID, SPACE, [first.raw, second.raw]).state().revisions
    taken(ledger, node, second)
    taken(ledger, node, first, grant=SIBLING)
    assert contents(ledger) == ["one"]


def test_a_vote_that_is_repeated_after_another_ledger_of_the_node_took_it_counts_once(
    ledger: Ledger, pen: Pen, node: Node
) -> None:
    memory = done(ledger, pen.create("rated")).memory

    def voted(brought_as: str, by: Node) -> None:
        by.knows(*ledger.sync_page(0, ("*",), "", 10, 10**6).entries)
        entry = by.edits(Edit(vote=(f"{pen.agent}@{by.id}", True), at=by.now), memory.id, agent=pen.agent)
        batch = Incoming(
            peer=brought_as, origin=by.origin, grant=SIBLING, entries=(entry,), feed=f"{by.id}/scope", last_seq=1,
            keys=by.keys,
        )  # fmt: skip
        assert ledger.take_in(batch, pen.now).accepted == 1

    voted("ana:" + node.id, node)
    again = done(ledger, pen.rate(memory, True))
    assert (again.action, again.memory.useful) == ("RATE", 2), "another node's agent of that name is another"
    second = done(ledger, pen.create("rated, too")).memory
    memory, twin = second, Node("the other ledger")
    voted(cursor_name(twin.id), twin)
    again = done(ledger, pen.rate(memory, True))
    assert (again.action, again.memory.useful, again.memory.not_useful) == ("NOOP", 1, 0)
    assert done(ledger, pen.rate(memory, True, cited=True)).action == "NOOP"
    otherwise = done(ledger, pen.rate(memory, False))
    assert (otherwise.action, otherwise.memory.useful, otherwise.memory.not_useful) == ("RATE", 1, 1)
    assert done(ledger, pen.rate(memory, False)).action == "NOOP"
