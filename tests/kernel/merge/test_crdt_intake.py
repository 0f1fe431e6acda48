"""Merging is commutative, associative and idempotent. Nothing is lost, and nothing gets in without grant, signature and
parents. No attacker keeps a genuine entry out.

The property tests replay the same examples on every run (derandomized); a failure prints its example.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest
from automerge.core import ROOT, ScalarType
from crdt_scenarios import (
    AGENT,
    ID,
    KEY,
    OTHER,
    RELAY,
    SPACE,
    VERBS,
    Mesh,
    Replica,
    contents,
    created,
    document,
    edited,
    entry_of,
    erasure_of,
    foreign,
    merged,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.admission.admission import Refused, admit
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry, Key, node_id_of, signing_bytes, verify
from mnemesh_crdt.document.digest import bucket_of
from mnemesh_crdt.document.revisions import heads, materialise
from mnemesh_crdt.intake.shelf import Unstorable
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss

REPLICAS = 3
PROPERTY = settings(max_examples=150, derandomize=True, database=None)
WRITE = st.tuples(st.integers(0, REPLICAS - 1), st.sampled_from(VERBS), st.integers(0, 1), st.sampled_from(["a", "bb"]))
HAND_OVER = st.tuples(st.integers(0, REPLICAS - 1), st.integers(0, REPLICAS - 1))
STEPS = st.lists(st.one_of(WRITE, WRITE, WRITE, HAND_OVER), min_size=4, max_size=30)


def played(steps: list[Any]) -> Mesh:
    """A mesh in which the replicas wrote and met as `steps` say; they have not settled."""
    mesh = Mesh(REPLICAS)
    for step in steps:
        if len(step) == 2:
            mesh.hand_over(*step)
        else:
            mesh.do(*step)
    return mesh


def written(mesh: Mesh) -> list[Entry]:
    return [entry_of(key, raw) for key, raws in mesh.raws.items() for raw in raws]


def copy(replica: Replica) -> Replica:
    return merged(Replica(), replica)


def same(left: Replica, right: Replica) -> bool:
    return contents(left) == contents(right) and left.shelf.digest(SPACE) == right.shelf.digest(SPACE)


# ---- the laws of merging ---------------------------------------------------------------------------------------------


@PROPERTY
@given(STEPS)
def test_merging_is_commutative(steps: list[Any]) -> None:
    a, b, _ = played(steps).replicas
    assert same(merged(copy(a), b), merged(copy(b), a))


@PROPERTY
@given(STEPS)
def test_merging_is_associative(steps: list[Any]) -> None:
    a, b, c = played(steps).replicas
    assert same(merged(merged(copy(a), b), c), merged(copy(a), merged(copy(b), c)))


@PROPERTY
@given(STEPS)
def test_merging_is_idempotent(steps: list[Any]) -> None:
    a, b, _ = played(steps).replicas
    once = merged(copy(a), b)
    again = merged(copy(once), b, once)
    assert same(once, again)
    assert again.told(*once.all_entries()).keys() <= {"duplicates"}


@PROPERTY
@given(STEPS, st.data())
def test_any_order_of_the_same_changes_gives_the_same_state(steps: list[Any], data: st.DataObject) -> None:
    mesh = played(steps)
    mesh.settle()
    entries = written(mesh)
    replica = Replica()
    for entry in data.draw(st.permutations(entries + entries[: len(entries) // 2])):
        assert replica.told(entry).keys() <= {"accepted", "duplicates", "held"}
    assert same(replica, mesh.replicas[0])


@PROPERTY
@given(STEPS, st.data())
def test_an_erased_document_is_gone_whatever_came_before_or_after(steps: list[Any], data: st.DataObject) -> None:
    mesh = played(steps)
    mesh.settle()
    replica, other = Replica(), copy(mesh.replicas[0])
    for entry in data.draw(st.permutations([erasure_of(KEY), *written(mesh)])):
        replica.told(entry)
    other.told(erasure_of(KEY))
    assert KEY not in replica.shelf.memories()
    assert same(replica, other)


@PROPERTY
@given(STEPS)
def test_settled_replicas_hold_every_revision_ever_written_and_agree(steps: list[Any]) -> None:
    mesh = played(steps)
    mesh.settle()
    assert all(same(mesh.replicas[0], other) for other in mesh.replicas[1:])
    for key, raws in mesh.raws.items():
        assert len(mesh.replicas[0].raws(key)) == len(raws)
        state = mesh.replicas[0].state(key)
        named = {parent for one in state.revisions.values() for parent in one.parents}
        assert set(heads(state)) == set(state.revisions) - named
        memory = materialise(state)
        visible = [head for head in heads(state) if state.revisions[head].op == "put"]
        if memory is not None and memory.state != "forgotten":
            assert [memory.heads[0], *(one.id for one in memory.conflicts)] == visible


@PROPERTY
@given(STEPS)
def test_tags_are_an_observed_remove_set(steps: list[Any]) -> None:
    """A tag is there when one of its last changes put it. No other change of the tag saw a last change."""
    mesh = played(steps)
    mesh.settle()
    for key, touches in mesh.tag_touches.items():
        state = mesh.replicas[0].state(key)
        expected = set()
        for tag in {name for name, _, _ in touches}:
            own = [(hash, is_put) for name, hash, is_put in touches if name == tag]
            last = [is_put for hash, is_put in own if not any(hash in mesh.history[other] for other, _ in own)]
            if any(last):
                expected.add(tag)
        assert set(state.tags) == expected


# ---- changes that wait, and refused ones -----------------------------------------------------------------------------

SECRET = Ed25519PrivateKey.from_private_bytes(bytes(32))
SIGNER = SECRET.public_key().public_bytes_raw()
NODE_ID = node_id_of(SIGNER)
OWNER = replace(RELAY, principal="owner", relay=False)
STRANGER = replace(OWNER, principal="bob")


class Strict(Replica):
    """Believes no signature without a look."""

    def __init__(self, *entries: Entry, **rules: Any) -> None:
        super().__init__(verify=verify, **rules)
        self.hears(*entries)

    def hears(self, *entries: Entry, grant: PeerGrant = RELAY, signer: bytes | None = SIGNER) -> dict[str, int | bool]:
        return self.told(*entries, grant=grant, keys={NODE_ID: signer} if signer else {})

    def refuses(self, *entries: Entry, grant: PeerGrant = RELAY, signer: bytes | None = SIGNER) -> str:
        """The reason for the last of these."""
        assert "quarantined" in self.hears(*entries, grant=grant, signer=signer)
        return self.refused()[-1].reason

    def log(self) -> list[Entry]:
        return [one.entry for one in self.shelf.log.values()]


def signed(entry: Entry) -> Entry:
    entry = replace(entry, node=NODE_ID)
    covered = signing_bytes(entry.doc, entry.space, entry.type, entry.hash, entry.agent, entry.node)
    return replace(entry, signature=SECRET.sign(covered))


def change(raw: bytes) -> Entry:
    return signed(entry_of(KEY, raw))


def chain(length: int) -> list[Entry]:
    log = [created()]
    for number in range(2, length + 1):
        log.append(edited(log, f"text {number}", number))
    return [change(raw) for raw in log]


def unsigned(entry: Entry) -> Entry:
    return replace(entry, signature=bytes(64))


def retraction(agent: str = AGENT) -> Entry:
    return signed(erasure_of(KEY, agent=agent, node=NODE_ID, type=RETRACT))


@pytest.mark.parametrize(
    ("grant", "signer", "why"),
    [
        (replace(RELAY, write=("other/*",)), SIGNER, f"may not write to {SPACE}"),
        (STRANGER, SIGNER, "may not speak for owner/test"),
        (RELAY, None, "no key of node"),
        (RELAY, bytes(32), "no key of node"),
    ],
    ids=["space", "agent", "no key", "wrong key"],
)
def test_what_its_stream_may_not_bring_leaves_no_trace_but_in_quarantine(
    grant: PeerGrant, signer: bytes | None, why: str
) -> None:
    (entry,) = chain(1)
    replica = Strict()
    assert why in replica.refuses(entry, grant=grant, signer=signer)
    assert (replica.log(), replica.shelf.digest(SPACE)) == ([], {})
    for allowed in (RELAY, OWNER):
        assert Strict().hears(entry, grant=allowed) == {"accepted": 1}


def test_a_merge_revision_waits_for_both_sides_and_is_taken_in_once() -> None:
    first = created()
    left, right = edited([first], "left", 2), edited([first], "right", 3)
    both = edited([first, left, right], "both", 4)
    for order in permutations([first, left, right, both]):
        replica = Replica()
        assert sum(replica.told(entry_of(KEY, raw)).get("accepted", 0) for raw in order) == 4
        assert (replica.raws()[0], replica.raws()[-1]) == (first, both)


def test_only_so_many_changes_may_wait() -> None:
    first, second, third, fourth = chain(4)
    replica = Strict(third, pending_max=1)
    assert replica.hears(fourth) == {"full": True}
    assert replica.hears(signed(replace(second, doc=OTHER))) == {"full": True}
    assert replica.hears(third) == {"duplicates": 1}
    assert replica.hears(first) == {"accepted": 1}, "what need not wait is always taken in"
    assert replica.hears(second) == {"accepted": 2}
    assert replica.hears(fourth) == {"accepted": 1}


def test_a_change_that_would_spoil_its_document_is_refused_with_all_that_build_on_it() -> None:
    first = created()
    good = edited([first], "good", 2)
    poison = foreign([first], 3, lambda tx, of: tx.put(ROOT, "id", ScalarType.Str, OTHER))
    child = foreign([first, good, poison], 4, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    grandchild = foreign([first, good, poison, child], 5, lambda tx, of: tx.delete(of("tags"), "db"))
    replica = Strict(change(first))
    assert replica.hears(change(grandchild), change(child)) == {"held": 2}
    assert replica.hears(change(poison)) == {"quarantined": 1}, "the others wait for the good one first"
    assert replica.hears(change(good)) == {"accepted": 1, "quarantined": 2}
    assert [(one.brought.entry.raw, one.awaited) for one in replica.refused()] == [
        (poison, ""),
        (child, read_head(poison).hash),
        (grandchild, read_head(child).hash),
    ]
    assert (replica.waiting(), replica.state().tags) == ([], ())


def test_what_built_on_a_refused_entry_waits_for_the_rest_once_that_entry_comes_by_a_stream_that_may_bring_it() -> None:
    first = created()
    one, other = edited([first], "one", 2), edited([first], "other", 3)
    both = change(foreign([first, one, other], 4, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1)))
    replica = Strict(change(first))
    assert replica.hears(change(one), grant=replace(RELAY, write=("elsewhere",))) == {"quarantined": 1}
    assert replica.hears(both) == {"quarantined": 1}
    assert replica.hears(change(one)) == {"accepted": 1}
    assert (replica.waiting(), replica.refused()) == ([both], [])
    assert replica.hears(change(other)) == {"accepted": 2}


def test_a_first_change_that_is_refused_leaves_no_trace() -> None:
    raw = foreign([], 1, lambda tx, of: tx.put(ROOT, "v", ScalarType.Int, 2))
    replica = Replica()
    assert replica.told(entry_of(KEY, raw)) == {"quarantined": 1}
    assert (replica.shelf.memories(), replica.shelf.digest(SPACE), replica.all_entries()) == ([], {}, [])


def test_forging_an_entry_first_does_not_keep_the_genuine_one_out() -> None:
    first, second = chain(2)
    replica = Strict()
    assert replica.hears(replace(first, raw=b"garbage"), unsigned(second)) == {"quarantined": 2}
    assert replica.hears(second) == {"quarantined": 1}, "it builds on something in quarantine"
    for bad in (replace(second, raw=b"garbage"), replace(second, agent="owner/other")):
        assert replica.hears(bad) == {"quarantined": 1}
    assert replica.hears(second, grant=STRANGER) == {"quarantined": 1}
    assert replica.hears(first) == {"accepted": 2}
    assert (replica.log(), replica.refused()) == ([first, second], []), "never the forged envelope"


def test_a_forged_copy_of_a_change_that_waits_gives_way_to_it_and_condemns_nothing_that_builds_on_it() -> None:
    first, second, third = chain(3)
    replica = Strict(unsigned(second))
    assert replica.hears(second, third) == {"held": 2}
    assert replica.refused() == []
    assert replica.hears(unsigned(second)) == {"duplicates": 1}
    assert replica.hears(first) == {"accepted": 3}


def test_bytes_that_are_no_change_are_quarantined() -> None:
    (good,) = chain(1)
    garbage = [
        replace(good, raw=b""), replace(good, raw=b"\x00" * 50), replace(good, raw=good.raw[:-1]),
        replace(good, raw=good.raw + b"x"), replace(good, raw=bytes(limits.CHANGE_BYTES_MAX + 1)),
        replace(good, type="wish"), replace(good, hash="x"), replace(good, hash=good.hash.upper()),
        replace(good, node="not hex"), replace(good, signature=b"short"), replace(good, at=2**62),
        replace(good, doc="no id"), replace(good, doc=ID.upper()), replace(good, space="Team/Payments"),
        replace(good, space=""), replace(good, space="\udcff"), replace(good, agent="x" * 81), replace(good, agent=""),
        replace(good, agent="two\nlines"),
    ]  # fmt: skip
    replica = Strict()
    for entry in garbage:
        assert replica.refuses(entry)
    assert replica.log() == []
    assert replica.hears(good) == {"accepted": 1}


def test_the_quarantine_and_the_keys_of_nodes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUARANTINE_ENTRIES_MAX", 3)
    monkeypatch.setattr(limits, "NODE_KEYS_MAX", 0)
    replica = Strict()
    assert "keys of 0 nodes are kept" in replica.refuses(*chain(5))
    assert [one.brought.key for one in replica.refused()] == [SIGNER] * 3


def test_a_change_that_waited_is_judged_by_its_operations_when_its_time_comes() -> None:
    def late_judge(key: Key, entry: Entry, earlier: Any) -> Any:
        if entry.hash == second.hash and earlier is not None:
            raise Refused("no")
        return admit(key, entry, earlier)

    first, second, third = chain(3)
    replica = Strict(second, third, judge=late_judge)
    assert replica.hears(first) == {"accepted": 1, "quarantined": 2}
    assert [(one.brought.entry, one.awaited) for one in replica.refused()] == [(second, ""), (third, second.hash)]
    assert replica.refused()[0].reason == "no"


def test_a_second_change_of_an_actor_is_let_in_unless_it_knows_of_the_first() -> None:
    first = created()
    replica = Strict(change(first))
    again = foreign([first], 1, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    assert "fresh actor" in replica.refuses(change(again))
    left, right = change(edited([first], "left", 2)), change(edited([first], "right", 2))
    assert replica.hears(left, right) == {"accepted": 2}


def test_a_change_with_which_its_document_can_not_be_read_is_quarantined() -> None:
    def unreadable(key: Key, changes: Any) -> Any:
        raise DataLoss("it can not be read")

    assert Strict(read=unreadable).refuses(*chain(1)) == "it can not be read"


def test_a_good_change_that_the_storage_does_not_take_is_quarantined_and_can_come_again() -> None:
    def full(*appended: Any, new: bool) -> int:
        raise Unstorable("too large")

    first, second = chain(2)
    replica = Strict()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replica.shelf, "append", full)
        assert replica.refuses(first) == "the ledger does not take it (too large)"
    assert replica.hears(second) == {"quarantined": 1}
    assert replica.hears(first) == {"accepted": 2}


def test_a_digest_is_made_of_ids_and_heads_only() -> None:
    log = [created(), edited([created()], "left", 2), edited([created()], "right", 3)]
    replica = Replica()
    replica.told(*(entry_of(KEY, raw) for raw in log))
    expected = hashlib.sha256("\n".join([ID, *document(*log).heads()]).encode()).hexdigest()
    assert replica.shelf.digest(SPACE) == {bucket_of(ID): expected}
    assert bucket_of(ID) == int(hashlib.sha256(ID.encode()).hexdigest()[:3], 16)


# ---- erasing ---------------------------------------------------------------------------------------------------------


def test_erasing_deletes_what_is_kept_and_drops_late_copies() -> None:
    first, second, third, fourth = chain(4)
    erase = signed(erasure_of(KEY, node=NODE_ID))
    replica = Strict(first, second, fourth, unsigned(third), pending_max=1)
    assert replica.hears(erase) == {"erased": 1}
    assert (replica.all_entries(), replica.refused()) == ([erase], [])
    assert replica.hears(erase, signed(erasure_of(KEY, agent="owner/other"))) == {"duplicates": 2}
    assert replica.hears(third, unsigned(first)) == {"dropped": 2}
    assert (replica.shelf.erased(), replica.all_entries()) == ([KEY], [erase])
    assert Strict().hears(erase) == {"erased": 1}


def test_an_erasure_is_signed_and_granted_like_any_entry() -> None:
    erase = signed(erasure_of(KEY, node=NODE_ID))
    for wrong in (unsigned(erase), replace(erase, agent="bob/cli"), replace(erase, space="team/other")):
        assert "signature" in Strict().refuses(wrong)
    for wrong in (replace(erase, raw=b"text"), signed(replace(erase, hash="ab" * 32))):
        assert "no erasure" in Strict().refuses(wrong)


def test_who_began_a_memory_retracts_it_whoever_brings_that_and_nobody_else_does() -> None:
    first = change(created())
    bobs = change(edited([first.raw], "bob was here", 2))
    for grant in (OWNER, RELAY):
        assert Strict(first).hears(retraction(), grant=grant) == {"erased": 1}
        assert Strict(first, bobs).hears(retraction(), grant=grant) == {"erased": 1}, "edits are no beginning"
    for grant in (STRANGER, RELAY):
        assert "'bob/cli' did not begin" in Strict(first).refuses(retraction("bob/cli"), grant=grant)


def test_what_an_admin_erased_is_believed_of_peers_that_relay_alone() -> None:
    (first,) = chain(1)
    admins = signed(erasure_of(KEY, agent="bob/cli", node=NODE_ID))
    owners = signed(erasure_of(KEY, node=NODE_ID))
    for erase, grant in ((admins, STRANGER), (owners, OWNER)):
        assert "only a peer that relays" in Strict().refuses(erase, grant=grant)
        replica = Strict(first)
        assert "only a peer that relays" in replica.refuses(erase, grant=grant)
        assert replica.hears(erase) == {"erased": 1}
        assert replica.refused() == []


def test_a_signature_of_a_retraction_is_none_of_an_erasure() -> None:
    retract = retraction()
    for other in (replace(retract, type=ERASE), replace(retract, type=ERASE, hash=erasure_of(KEY, node=NODE_ID).hash)):
        assert Strict(*chain(1)).hears(other) == {"quarantined": 1}


def test_a_retraction_of_what_is_not_here_is_believed_of_a_relay_and_waits_when_its_agent_brings_it() -> None:
    assert Strict().hears(retraction()) == {"erased": 1}
    replica = Strict()
    assert replica.hears(retraction(), grant=OWNER) == {"held": 1}
    assert replica.hears(retraction(), grant=OWNER) == {"duplicates": 1}
    assert replica.hears(*chain(1)) == {"accepted": 1, "erased": 1}
    assert replica.all_entries() == [retraction()]
    waits = Strict()
    waits.hears(retraction(), grant=OWNER)
    assert waits.hears(retraction()) == {"erased": 1}, "it waits no more"


def test_a_retraction_that_waits_for_what_another_began_is_refused_when_that_comes() -> None:
    replica = Strict()
    replica.hears(retraction("bob/cli"), grant=STRANGER)
    assert replica.hears(*chain(1)) == {"accepted": 1, "quarantined": 1}
    assert (replica.shelf.memories(), replica.waiting()) == ([KEY], [])


@pytest.mark.parametrize("ways", list(product((OWNER, RELAY), repeat=2)))
def test_an_author_who_erases_while_another_edits_wins_in_every_order(ways: tuple[PeerGrant, PeerGrant]) -> None:
    first = created()
    family = [
        (change(first), ways[0]),
        (change(edited([first], "meanwhile", 2)), RELAY),
        (change(edited([first], "meanwhile, elsewhere", 3)), RELAY),
        (retraction(), ways[1]),
    ]
    batches = ((1, 1, 1, 1), (4,), (1, 3), (2, 2), (3, 1)) if ways == (RELAY, RELAY) else ((1, 1, 1, 1),)
    for order, sizes in product(permutations(family), batches):
        replica, left = Strict(), list(order)
        for size in sizes:
            batch, left = left[:size], left[size:]
            replica.hears(*(entry for entry, _ in batch), grant=batch[0][1])
        assert (replica.all_entries(), replica.refused()) == ([retraction()], []), (order, sizes)
