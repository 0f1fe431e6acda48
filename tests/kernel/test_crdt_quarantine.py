"""An entry without grant or signature is kept apart with its reason. No attacker keeps a genuine entry out this way."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from crdt_scenarios import AGENT, ID, KEY, SPACE, created, edited, entry_of, erased, erasure_of, received
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from replica_model import Accepted, Dropped, Duplicate, Effect, Held, Kept, Purged, Quarantined, Received, Replica

from mnemesh_crdt.admission.admission import Refused, admit
from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry, Key, node_id_of, signing_bytes
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import DataLoss

SECRET = Ed25519PrivateKey.from_private_bytes(bytes(32))
SIGNER = SECRET.public_key().public_bytes_raw()
NODE_ID = node_id_of(SIGNER)
RELAY = PeerGrant(read=(), write=("team/*",), principal="hub", relay=True)
OWNER = replace(RELAY, principal="owner", relay=False)
STRANGER = replace(OWNER, principal="bob")


def signed(entry: Entry) -> Entry:
    entry = replace(entry, node=NODE_ID)
    covered = signing_bytes(entry.doc, entry.space, entry.type, entry.hash, entry.agent, entry.node)
    return replace(entry, signature=SECRET.sign(covered))


def change(raw: bytes) -> Entry:
    return signed(entry_of(KEY, raw))


def told(
    replica: Replica, entry: Entry, grant: PeerGrant | None = RELAY, signer: bytes | None = SIGNER
) -> list[Effect]:
    return replica.handle(Received(entry, grant, signer))


def reason(effects: list[Effect]) -> str:
    (effect,) = effects
    assert isinstance(effect, Quarantined)
    return effect.reason


def kinds(effects: list[Any]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def family() -> tuple[Entry, Entry, Entry]:
    """A change, a second change on top, and a third on top of the second."""
    first = created()
    second = edited([first], "second", 2)
    third = edited([first, second], "third", 3)
    return change(first), change(second), change(third)


@pytest.mark.parametrize(
    ("grant", "signer", "why"),
    [
        (replace(RELAY, write=("other/*",)), SIGNER, "outside of what this peer may write"),
        (STRANGER, SIGNER, "may not speak for agent 'owner/test'"),
        (RELAY, None, "was not shown"),
        (RELAY, bytes(32), "not that of node"),
    ],
    ids=["space", "agent", "no key", "wrong key"],
)
def test_what_its_stream_may_not_bring_is_quarantined(grant: PeerGrant, signer: bytes | None, why: str) -> None:
    replica = Replica()
    entry, _, _ = family()
    assert why in reason(told(replica, entry, grant, signer))
    assert [one.entry for one in replica.quarantined()] == [entry]
    assert (replica.documents(), replica.digest(SPACE), list(replica.events())) == ((), {}, [])


def test_a_changed_envelope_is_quarantined() -> None:
    entry, _, _ = family()
    for forged in (replace(entry, agent="owner/other"), replace(entry, signature=bytes(64))):
        assert "is not by node" in reason(told(Replica(), forged))


def test_what_its_stream_may_bring_and_its_node_signed_is_taken_in() -> None:
    entry, _, _ = family()
    for grant in (RELAY, OWNER):
        assert told(Replica(), entry, grant) == [Accepted(KEY, entry)]


def test_what_builds_on_a_quarantined_change_shares_its_fate() -> None:
    first, second, third = family()
    replica = Replica()
    told(replica, first, STRANGER)
    assert told(replica, first, STRANGER) == [Duplicate(KEY, first.hash)]
    (tainted,) = told(replica, second)
    assert tainted == Quarantined(
        KEY, second, f"it builds on {first.hash[:16]}, which is in quarantine", root=first.hash
    )
    assert told(replica, second) == [Duplicate(KEY, second.hash)]
    assert kinds(told(replica, third)) == ["Quarantined"]
    assert told(replica, first) == [Accepted(KEY, first), Accepted(KEY, second), Accepted(KEY, third)]
    assert (replica.quarantined(), replica.entries(KEY)) == ((), (first, second, third))


def test_what_waits_is_quarantined_when_what_it_waits_for_is() -> None:
    first, second, third = family()
    replica = Replica()
    assert kinds([*told(replica, third), *told(replica, second)]) == ["Held", "Held"]
    effects = told(replica, first, signer=None)
    assert [(type(one).__name__, one.entry, one.root) for one in effects if isinstance(one, Quarantined)] == [
        ("Quarantined", first, ""),
        ("Quarantined", second, first.hash),
        ("Quarantined", third, second.hash),
    ]
    assert (replica.pending(), len(replica.quarantined())) == ((), 3)
    assert kinds(told(replica, first)) == ["Accepted"] * 3


def test_forging_an_entry_first_does_not_keep_the_genuine_one_out() -> None:
    first, second, _ = family()
    replica = Replica()
    for forged in (replace(first, raw=b"garbage"), replace(second, signature=bytes(64))):
        assert kinds(told(replica, forged)) == ["Quarantined"]
    assert kinds(told(replica, second)) == ["Quarantined"], "it builds on something in quarantine"
    assert told(replica, replace(second, raw=b"garbage")) == [Duplicate(KEY, second.hash)]
    assert told(replica, first) == [Accepted(KEY, first), Accepted(KEY, second)]
    assert replica.entries(KEY) == (first, second), "never the forged envelope"


def test_a_forged_entry_of_a_change_that_waits_gives_way_to_it() -> None:
    first, second, _ = family()
    replica = Replica()
    assert kinds(told(replica, replace(second, signature=b""))) == ["Quarantined"]
    assert told(replica, second) == [Held(KEY, second, (first.hash,))]
    assert replica.quarantined() == ()
    assert told(replica, replace(second, signature=b"")) == [Duplicate(KEY, second.hash)]
    assert kinds(told(replica, first)) == ["Accepted", "Accepted"]


def test_bytes_that_are_not_the_signed_change_are_quarantined() -> None:
    first, second, _ = family()
    assert "entry says" in reason(told(Replica(), replace(first, raw=second.raw)))
    assert "not a change" in reason(told(Replica(), replace(first, raw=b"")))


def test_a_change_that_waited_is_judged_by_its_operations_when_its_time_comes() -> None:
    def late_judge(key: Key, entry: Entry, earlier: Any) -> Any:
        if entry.hash == second.hash and earlier is not None:
            raise Refused("no")
        return admit(key, entry, earlier)

    first, second, third = family()
    replica = Replica(judge=late_judge)
    assert kinds([*told(replica, second), *told(replica, third)]) == ["Held", "Held"]
    accepted, refused, tainted = told(replica, first)
    assert accepted == Accepted(KEY, first)
    assert refused == Quarantined(KEY, second, "no")
    assert isinstance(tainted, Quarantined)
    assert tainted.root == second.hash


def test_the_quarantine_holds_only_so_many_and_what_is_more_is_not_kept() -> None:
    first, second, third = family()
    replica = Replica(quarantine_max=1)
    told(replica, replace(first, signature=b""))
    (dropped,) = told(replica, second)
    assert isinstance(dropped, Dropped)
    assert "1 entries are in quarantine" in dropped.reason
    assert kinds(told(replica, first)) == ["Accepted"]
    assert kinds(told(replica, second)) == ["Accepted"]
    assert kinds(told(replica, replace(third, signature=b""))) == ["Quarantined"], "there is room again"


def test_what_was_quarantined_before_a_restart_is_released_after_it() -> None:
    first, second, third = family()
    before = Replica()
    told(before, first, STRANGER)
    told(before, second)
    told(before, third)
    after = Replica()
    for kept in before.quarantined():
        assert kinds(after.handle(kept)) == ["Quarantined"]
    assert after.quarantined() == before.quarantined()
    assert kinds(told(after, first)) == ["Accepted", "Accepted", "Accepted"]


# ---- erasing ---------------------------------------------------------------------------------------------------------


def test_an_erasure_is_signed_and_granted_like_any_entry() -> None:
    erase = signed(erasure_of(KEY, node=NODE_ID))
    assert told(Replica(), erase) == [Accepted(KEY, erase)]
    assert kinds(told(Replica(), replace(erase, signature=bytes(64)))) == ["Quarantined"]
    for wrong in (replace(erase, raw=b"text"), signed(replace(erase, hash="ab" * 32))):
        assert "no erasure" in reason(told(Replica(), wrong))
        assert "no erasure" in reason(told(Replica(), wrong, None, None))


def retraction(agent: str = AGENT) -> Entry:
    return signed(erasure_of(KEY, agent=agent, node=NODE_ID, type=RETRACT))


def holding(*raws: bytes) -> Replica:
    replica = Replica()
    for raw in raws:
        told(replica, change(raw))
    return replica


def test_who_began_a_memory_retracts_it_whoever_brings_that_and_nobody_else_does() -> None:
    first = created()
    bobs = edited([first], "bob was here", 2)
    for grant in (OWNER, RELAY):
        assert kinds(told(holding(first), retraction(), grant)) == ["Accepted", "Purged"]
        assert kinds(told(holding(first, bobs), retraction(), grant)) == ["Accepted", "Purged"], (
            "edits are no beginning"
        )
    for grant in (STRANGER, RELAY):
        assert "'bob/cli' did not begin" in reason(told(holding(first), retraction("bob/cli"), grant))
    assert "'bob/cli' did not begin" in reason(told(holding(first), retraction("bob/cli"), None, None)), "not even here"


def test_what_an_admin_erased_is_believed_of_peers_that_relay_alone() -> None:
    first = created()
    admins = signed(erasure_of(KEY, agent="bob/cli", node=NODE_ID))
    owners = signed(erasure_of(KEY, node=NODE_ID))
    assert kinds(told(holding(first), admins, RELAY)) == ["Accepted", "Purged"]
    for erase, grant in ((admins, STRANGER), (owners, OWNER)):
        assert "only a peer that relays" in reason(told(holding(first), erase, grant))
        assert "only a peer that relays" in reason(told(Replica(), erase, grant))


def test_a_signature_of_a_retraction_is_none_of_an_erasure() -> None:
    retract = retraction()
    for other in (replace(retract, type=ERASE), replace(retract, type=ERASE, hash=erasure_of(KEY, node=NODE_ID).hash)):
        assert kinds(told(holding(created()), other)) == ["Quarantined"]


def test_a_retraction_of_what_is_not_here_is_believed_of_a_relay_and_waits_when_its_agent_brings_it() -> None:
    first = change(created())
    assert kinds(told(Replica(), retraction())) == ["Accepted"]
    replica = Replica()
    (held,) = told(replica, retraction(), OWNER)
    assert isinstance(held, Held)
    assert kinds(told(replica, retraction(), OWNER)) == ["Duplicate"]
    assert kinds(told(replica, first)) == ["Accepted", "Accepted", "Purged"]
    assert (replica.erased(), replica.pending(), replica.entries(KEY)) == ((KEY,), (), (retraction(),))


def test_a_retraction_that_waits_for_what_another_began_is_refused_when_that_comes() -> None:
    replica = Replica()
    told(replica, retraction("bob/cli"), STRANGER)
    accepted, refused = told(replica, change(created()))
    assert kinds([accepted, refused]) == ["Accepted", "Quarantined"]
    assert (replica.documents(), replica.pending()) == ((KEY,), ())


def test_a_retraction_that_waits_goes_on_waiting_after_a_restart_and_is_carried_out_for_a_relay() -> None:
    before = Replica(pending_max=1)
    told(before, retraction(), OWNER)
    other = Key(SPACE, ID[:-1] + "9")
    more = signed(erasure_of(other, node=NODE_ID, type=RETRACT))
    assert kinds(told(before, more, OWNER)) == ["Full"]
    for events in ([Received(one, waited=True) for one in before.pending()], list(before.events())):
        after = Replica()
        assert [kinds(after.handle(event)) for event in events] == [["Held"]]
        assert after.erased() == ()
        assert kinds(told(after, retraction())) == ["Accepted"], "it waits no more"


@pytest.mark.parametrize("ways", list(itertools.product((OWNER, RELAY), repeat=2)))
def test_an_author_who_erases_while_another_edits_wins_in_every_order(ways: tuple[PeerGrant, PeerGrant]) -> None:
    first = created()
    family = [
        (change(first), ways[0]),
        (change(edited([first], "meanwhile", 2)), RELAY),
        (change(edited([first], "meanwhile, elsewhere", 3)), RELAY),
        (retraction(), ways[1]),
    ]
    for order in itertools.permutations(family):
        replica = Replica()
        for entry, grant in order:
            told(replica, entry, grant)
        assert (replica.erased(), replica.documents(), replica.pending()) == ((KEY,), (), ()), order
        assert replica.quarantined() == ()


def test_an_erasure_that_was_quarantined_is_carried_out_when_somebody_brings_it_who_may() -> None:
    first, _, _ = family()
    erase = signed(erasure_of(KEY, agent="bob/cli", node=NODE_ID))
    replica = Replica()
    told(replica, first)
    assert kinds(told(replica, erase, STRANGER)) == ["Quarantined"]
    assert told(replica, erase, RELAY) == [Accepted(KEY, erase), Purged(KEY, (first.hash,))], "not the erasure itself"


def test_erasing_takes_quarantined_and_waiting_entries_with_it() -> None:
    first, second, third = family()
    replica = Replica(quarantine_max=2)
    told(replica, replace(first, signature=b""))
    told(replica, replace(third, signature=b""))
    told(replica, second)
    erase = signed(erasure_of(KEY, node=NODE_ID))
    assert told(replica, erase) == [Accepted(KEY, erase), Purged(KEY, (first.hash, third.hash))]
    assert replica.quarantined() == ()
    assert told(replica, replace(first, signature=b"")) == [Dropped(KEY, first.hash, "its memory was erased")]
    assert replica.handle(Kept(first, "why")) == [Dropped(KEY, first.hash, "its memory was erased")]
    other = Key(SPACE, ID[:-1] + "9")
    assert kinds(told(replica, signed(entry_of(other, b"garbage")))) == ["Quarantined"], "there is room again"


def test_the_same_memory_in_another_space_is_another_document() -> None:
    replica = Replica()
    replica.handle(erased(Key("team/other", ID)))
    assert kinds(replica.handle(received(KEY, created()))) == ["Accepted"]


def test_a_second_change_of_an_actor_that_does_not_know_of_the_first_is_let_in() -> None:
    first = created()
    left, right = change(edited([first], "left", 2)), change(edited([first], "right", 2))
    replica = Replica()
    told(replica, change(first))
    assert kinds(told(replica, left)) == ["Accepted"]
    assert kinds(told(replica, right)) == ["Accepted"]


def test_a_change_with_which_its_document_can_not_be_read_is_quarantined() -> None:
    def unreadable(key: Key, changes: Any) -> Any:
        raise DataLoss("it can not be read")

    first, _, _ = family()
    assert reason(told(Replica(read=unreadable), first)) == "it can not be read"
