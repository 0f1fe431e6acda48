"""The ledger's record of contacts with other nodes, and its picture for a person."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from ledger_builders import Home
from peer_builders import EVERYTHING, FEED, NOW, Node

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.contacts import DAY_MS, Contact
from mnemesh_actors.ledger.peers.exchange import Incoming
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.sync.messages import Status
from mnemesh_gateway.peers.peer_contacts import Contacts
from mnemesh_gateway.peers.peer_status import PeerStatus, Standing, gone
from mnemesh_memory.values import limits

CONTACT = Contact(
    peer=":" + "0" * 32, heard=NOW, caught_up=NOW - 5, cursor_out=7, head_in=9, target="hub:1", direction="both",
    spaces=("team/*", "@me"), auth="accepted", error="",
)  # fmt: skip
PEER = PeerStatus(name="hub", incoming=False, target="hub:1", direction="both", spaces=("team/*",))


def read_up_to(node: Node, feed: str, last_seq: int) -> Incoming:
    return Incoming(peer=node.id, origin=node.origin, grant=EVERYTHING, entries=(), feed=feed, last_seq=last_seq)


def test_a_contact_is_known_after_a_restart_with_the_durable_cursor_in_its_feed(home: Home) -> None:
    node = Node()
    contact = replace(CONTACT, peer=node.id)
    with home.opened() as ledger:
        ledger.take_in(read_up_to(node, "inc/old", 90), NOW)
        ledger.keep_contacts([contact, CONTACT], NOW)
    with home.opened() as ledger:
        assert ledger.contacts(NOW) == [CONTACT, replace(contact, cursor_in=90)]
        ledger.take_in(read_up_to(node, FEED, 3), NOW + 1)
        ledger.take_in(read_up_to(node, "inc/repair", 50), NOW + 2)
        assert ledger.contacts(NOW)[1].cursor_in == 3, "of the feed that was read last, and of no repair"


def test_what_a_node_has_read_of_an_earlier_life_of_the_log_counts_as_nothing(home: Home) -> None:
    with home.opened() as ledger:
        ledger.keep_contacts([CONTACT], NOW)
    home.file.with_suffix(".lock").write_text("ended")
    with home.opened() as ledger:
        assert ledger.contacts(NOW) == [replace(CONTACT, cursor_out=0)]


def test_contacts_are_bounded_and_forgotten_in_time(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PEER_CONTACTS_MAX", 2)
    three = [replace(CONTACT, peer=f"ana:{number}", heard=NOW + number) for number in range(3)]
    ledger.keep_contacts(three, NOW)
    assert [one.peer for one in ledger.contacts(NOW)] == ["ana:2", "ana:1"]
    later = NOW + 1 + limits.PEER_CONTACT_DAYS * DAY_MS + 1
    assert [one.peer for one in ledger.contacts(later)] == ["ana:2"]
    ledger.keep_contacts([], later)
    assert [one.peer for one in ledger.contacts(NOW)] == ["ana:2"]


def test_the_lag_is_the_time_since_both_sides_had_all_that_the_other_had() -> None:
    assert PEER.at(5, NOW).lag_s is None, "they never had"
    open_ = Status(phase="open", node_id="n", acked=3, taken=4, peer_head=6)
    behind = PEER.with_stream(open_, NOW)
    assert behind.at(5, NOW).lag_s is None
    level = behind.with_stream(replace(open_, caught_up=True), NOW)
    assert level.at(5, NOW + 9_000).lag_s == 0
    again = level.with_stream(open_, NOW + 9_000)
    assert again.at(5, NOW + 9_000).lag_s == 0
    assert again.at(5, NOW + 11_500).lag_s == 2.5
    away = again.ended("offline", "the wire is cut", NOW + 20_000)
    assert away.at(5, NOW + 69_000).lag_s == 60
    assert (away.last_error, away.caught_up) == ("the wire is cut", False)


@pytest.mark.parametrize(("direction", "pending"), [("both", (2, 2)), ("push", (2, 0)), ("pull", (0, 2))])
def test_only_what_goes_in_a_direction_of_the_stream_is_pending(direction: str, pending: tuple[int, int]) -> None:
    status = replace(PEER, direction=direction, cursor_out=3, cursor_in=4, head_in=6).at(5, NOW)
    assert (status.pending_out, status.pending_in) == pending


@pytest.mark.parametrize(
    ("direction", "takes", "effective", "pending"),
    [
        ("both", None, "both", 3),
        ("both", ("team/a",), "both", 3),
        ("both", (), "pull", 0),
        ("push", (), "none", 0),
        ("pull", (), "pull", 0),
    ],
)
def test_nothing_is_pending_for_a_peer_whose_token_takes_nothing(
    direction: str, takes: tuple[str, ...] | None, effective: str, pending: int
) -> None:
    status = replace(PEER, direction=direction, takes=takes, cursor_out=4).at(7, NOW)
    assert (status.effective, status.pending_out) == (effective, pending)


def test_a_peer_that_called_once_is_shown_as_it_was() -> None:
    contact = replace(CONTACT, peer="ana:" + "1" * 32, cursor_in=4, error="cut")
    shown = gone(contact)
    assert (shown.name, shown.incoming, shown.node_id, shown.state) == ("ana", True, "1" * 32, "offline")
    assert (shown.last_contact, shown.last_error, shown.auth) == (NOW, "cut", "accepted")
    assert shown.contact() == contact
    assert replace(shown, last_contact=None).contact() is None
    assert PEER.contact() is None, "its node is not known"


async def test_a_node_that_comes_with_another_token_or_name_is_the_one_that_was_caught_up(home: Home) -> None:
    node_id, other = "1" * 32, "2" * 32
    with home.opened() as ledger:
        ledger.keep_contacts([replace(CONTACT, peer=f"ana:{node_id}"), replace(CONTACT, peer=f":{other}")], NOW)

        async def kept() -> list[Contact]:
            return ledger.contacts(NOW)

        contacts = Contacts(cast(Syncing, SimpleNamespace(contacts=kept)))
        await contacts.load()
    called = replace(PEER, name="bob", incoming=True)
    contacts.left(replace(called, node_id=node_id, last_contact=NOW, caught_up_at=NOW - 3))
    contacts.left(replace(called, name="eve", node_id=node_id, last_contact=NOW))
    for status, node, lag_s in ((called, node_id, 1.003), (PEER, other, 1.005), (called, "3" * 32, None)):
        standing = Standing(status, lambda: NOW, contacts.level)
        standing.heard(Status(phase="greeting", node_id=node))
        assert standing.status.at(9, NOW + 1_000).lag_s is None, "it has not proved yet who it is"
        standing.heard(Status(phase="open", node_id=node, peer_head=6))
        assert standing.status.at(9, NOW + 1_000).lag_s == lag_s
