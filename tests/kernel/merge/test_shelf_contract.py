"""The promises of a shelf of the intake, held by the one on SQLite and by the one in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from crdt_scenarios import AGENT, ID, KEY, NODE, OTHER, SPACE, actor, created, edited, entry_of, erasure_of
from memory_shelf import MemoryShelf
from sqlite_holdings import OpenShelf

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import RETRACT, Entry, Key
from mnemesh_crdt.document.digest import bucket_of, fingerprint
from mnemesh_crdt.intake.arrivals import Brought, read_document
from mnemesh_crdt.intake.intake import Intake
from mnemesh_crdt.intake.shelf import NODE_KEY, PENDING, QUARANTINE, Shelf, Unstorable
from mnemesh_memory.access.grants import PeerGrant

FIRST = created()
SECOND = edited([FIRST], "second", 2)
ELSEWHERE = Key("team/else", ID)
RELAY = PeerGrant(read=(), write=("*",), principal="hub", relay=True)


@pytest.fixture(params=["SQLite", "memory"])
def kept(request: pytest.FixtureRequest) -> Iterator[OpenShelf | MemoryShelf]:
    if request.param == "memory":
        yield MemoryShelf()
        return
    opened = OpenShelf(NODE)
    with opened.journal.transaction():
        yield opened


@pytest.fixture
def shelf(kept: OpenShelf | MemoryShelf) -> Shelf:
    return kept.shelf if isinstance(kept, OpenShelf) else kept


def brought(entry: Entry, sender: str = "hub", origin: str = "a log") -> Brought:
    return Brought(entry, origin, 5, sender)


def append(shelf: Shelf, *raws: bytes, known: tuple[bytes, ...] = ()) -> int:
    changes = {read_head(raw).hash: raw for raw in (*known, *raws)}
    entries = [(brought(entry_of(KEY, raw)), read_head(raw).actor) for raw in raws]
    return shelf.append(read_document(KEY, changes), entries, new=not known)


def refused(number: int, sender: str = "hub", *, awaited: str = "") -> tuple[str, Brought, str]:
    entry = entry_of(KEY, b"", hash=f"{number:064x}", signature=bytes([number]) * 64)
    return QUARANTINE, brought(entry, sender), awaited


def test_what_is_appended_is_logged_in_order_with_its_actor(shelf: Shelf) -> None:
    assert (append(shelf, FIRST), append(shelf, SECOND, known=(FIRST,))) == (1, 2)
    hashes = [read_head(raw).hash for raw in (FIRST, SECOND)]
    assert list(shelf.changes(ID).items()) == list(zip(hashes, (FIRST, SECOND), strict=True))
    assert sorted(shelf.logged({ID, OTHER})) == sorted((KEY, hash, actor(n).hex()) for n, hash in enumerate(hashes, 1))
    assert list(shelf.homes({ID})) == [(KEY, False)]
    assert (shelf.changes(OTHER), list(shelf.logged({OTHER})), list(shelf.homes({OTHER}))) == ({}, [], [])


def test_a_change_that_does_not_fit_leaves_nothing_behind(shelf: Shelf, kept: OpenShelf | MemoryShelf) -> None:
    append(shelf, FIRST)
    if isinstance(kept, OpenShelf):
        kept.journal.digest.write()
    before = kept.holdings()
    with pytest.raises(Unstorable):
        append(shelf, SECOND, FIRST, known=(FIRST,))
    if isinstance(kept, OpenShelf):
        kept.journal.digest.write()
    assert kept.holdings() == before


def test_an_erasure_takes_all_of_its_document_with_it_and_all_that_was_refused_under_its_id(shelf: Shelf) -> None:
    append(shelf, FIRST)
    elsewhere = entry_of(ELSEWHERE, b"", hash="ef" * 32)
    for waiting in (entry_of(KEY, SECOND), elsewhere):
        shelf.put(PENDING, brought(waiting), "ab" * 32)
        shelf.put(QUARANTINE, brought(waiting), "")
    erasure = erasure_of(KEY)
    assert shelf.erase(brought(erasure)) == 2
    assert list(shelf.logged({ID})) == [(KEY, erasure.hash, "")]
    assert (list(shelf.homes({ID})), shelf.changes(ID)) == ([(KEY, True)], {})
    assert list(shelf.waiting({ID})) == [(ELSEWHERE, elsewhere.hash)]
    assert shelf.count(QUARANTINE) == 0


def test_the_digest_follows_the_heads_of_each_document(shelf: Shelf, kept: OpenShelf | MemoryShelf) -> None:
    for heads, write in (
        ({read_head(FIRST).hash}, lambda: append(shelf, FIRST)),
        ({read_head(SECOND).hash}, lambda: append(shelf, SECOND, known=(FIRST,))),
        (None, lambda: shelf.erase(brought(erasure_of(KEY)))),
    ):
        write()
        if isinstance(kept, OpenShelf):
            kept.journal.digest.write()
        assert kept.holdings()["digests"] == {SPACE: {bucket_of(ID): f"{fingerprint(ID, heads):064x}"}}


@pytest.mark.parametrize("table", [PENDING, QUARANTINE])
def test_entries_are_taken_by_the_change_that_stops_them_oldest_first(shelf: Shelf, table: str) -> None:
    one, two, other = (refused(number)[1] for number in (3, 2, 1))
    for item, awaited in ((one, "ab" * 32), (other, "cd" * 32), (two, "ab" * 32)):
        shelf.put(table, item, awaited)
    assert shelf.take(table, ELSEWHERE, "ab" * 32) == []
    assert shelf.take(table, KEY, "ab" * 32) == [one, two]
    assert shelf.take(table, KEY, "ab" * 32) == []
    assert shelf.count(table) == 1


def test_copies_of_a_refused_change_go_by_signature_or_all_at_once(shelf: Shelf) -> None:
    table, one, awaited = refused(1)
    other = replace(one, entry=replace(one.entry, signature=bytes([9]) * 64), sender="far")
    shelf.put(table, one, awaited, "why", 3)
    shelf.put(table, other, awaited, "why not")
    hash = one.entry.hash
    assert shelf.is_refused(KEY, hash)
    assert not shelf.is_refused(ELSEWHERE, hash)
    assert not shelf.is_refused(KEY, hash, one.entry.signature), "it fell with no other"
    assert shelf.drop_refused(KEY, hash, bytes(64)) == []
    assert shelf.drop_refused(KEY, hash, other.entry.signature) == ["far"]
    shelf.put(table, other, awaited)
    assert sorted(shelf.drop_refused(KEY, hash)) == ["far", "hub"]
    assert not shelf.is_refused(KEY, hash)
    shelf.put(table, other, "ab" * 32)
    assert shelf.is_refused(KEY, hash, other.entry.signature)
    assert not shelf.is_refused(KEY, hash, one.entry.signature)


def test_the_greediest_sender_and_the_oldest_entry_give_way(shelf: Shelf, kept: OpenShelf | MemoryShelf) -> None:
    for number, sender in enumerate(("b", "a", "b", "c", "c"), 1):
        shelf.put(*refused(number, sender))
    assert shelf.greediest(QUARANTINE) == "b", "of equal parts the first name"
    shelf.drop_oldest(QUARANTINE, "b")
    left = [item[0].entry.signature[0] for item in kept.holdings()["quarantine"]]
    assert left == [2, 3, 4, 5]
    assert shelf.greediest(QUARANTINE) == "c"
    assert [shelf.count(QUARANTINE, sender) for sender in ("a", "b", "c", "d", None)] == [1, 1, 2, 0, 4]


def test_waiting_erasures_are_counted_and_dropped_apart_from_changes(shelf: Shelf) -> None:
    retractions = [erasure_of(KEY, agent=f"{AGENT}-{number}", type=RETRACT) for number in range(2)]
    for item in (brought(entry_of(KEY, SECOND), "greedy"), *(brought(one) for one in retractions)):
        shelf.put(PENDING, item, "ab" * 32)
    assert [shelf.count(PENDING, erasures=kind) for kind in (None, True, False)] == [3, 2, 1]
    assert [shelf.count(PENDING, "greedy", erasures=kind) for kind in (None, True, False)] == [1, 0, 1]
    assert shelf.greediest(PENDING, erasures=True) == "hub"
    shelf.drop_oldest(PENDING, "hub", erasures=True)
    assert {hash for _, hash in shelf.waiting({ID})} == {read_head(SECOND).hash, retractions[1].hash}


def test_keys_of_nodes_are_kept_with_their_sender(shelf: Shelf) -> None:
    shelf.keep_key("one", b"1", "hub")
    shelf.keep_key("two", b"2", "far")
    assert shelf.node_keys({"one", "three"}) == {"one": b"1"}
    assert [shelf.count(NODE_KEY, sender) for sender in ("hub", None, "nobody")] == [1, 2, 0]


def test_the_intake_leaves_the_same_on_both_shelves() -> None:
    early, family = edited([FIRST, SECOND], "third", 3), [entry_of(KEY, raw) for raw in (FIRST, SECOND)]
    batches: list[Any] = [
        [entry_of(KEY, early), replace(family[1], raw=b"garbage")],
        [replace(family[0], space="no space", signature=b""), erasure_of(Key(SPACE, OTHER))],
        [*family, family[0]],
    ]
    opened, memory = OpenShelf(NODE), MemoryShelf()
    shelves: tuple[Shelf, ...] = (opened.shelf, memory)
    for shelf in shelves:
        shelf.keep_key(NODE, bytes(32), "")
    for entries in batches:
        outcomes = []
        for shelf in shelves:
            intake = Intake(shelf=shelf, verify=lambda entry, key: None)
            with opened.journal.transaction():
                outcomes.append(intake.take_in("a log", RELAY, entries, {}, 5, "hub"))
        assert outcomes[0] == outcomes[1]
        assert opened.holdings() == memory.holdings()
    assert memory.memories() == [KEY]
