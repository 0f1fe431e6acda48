"""Between the ledgers of one node operations are judged once, by the ledger that wrote or took in an entry first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import SPACE
from peer_builders import ID, Node, contents, outcome, reasons, taken

from mnemesh_actors.ledger.actor import Ledger
from mnemesh_crdt.document import MemoryDocument
from mnemesh_crdt.envelope import Entry
from mnemesh_memory.grants import EVERY_SPACE, PeerGrant

SIBLING = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)


@pytest.fixture
def node() -> Node:
    return Node()


def by_another(node: Node) -> Entry:
    """A change that no judge lets in: it is written by another agent than its revision says."""
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
