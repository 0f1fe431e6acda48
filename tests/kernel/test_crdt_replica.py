"""Merging replicas is commutative, associative and idempotent; nothing is lost, nothing damaged gets in.

The property tests replay the same examples on every run (derandomized); a failure prints its example.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import permutations
from typing import Any

from automerge.core import ROOT, ScalarType
from crdt_scenarios import (
    ID,
    KEY,
    OTHER,
    SPACE,
    VERBS,
    Mesh,
    contents,
    created,
    document,
    edited,
    entry_of,
    erased,
    erasure_of,
    foreign,
    merged,
    received,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from replica_model import Accepted, Dropped, Duplicate, Full, Held, Purged, Quarantined, Received, Replica

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.digest import bucket_of
from mnemesh_crdt.document.revisions import heads, materialise
from mnemesh_memory.access.grants import PeerGrant

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


def copy(replica: Replica) -> Replica:
    return merged(Replica(), replica)


def same(left: Replica, right: Replica) -> bool:
    return contents(left) == contents(right) and left.digest(SPACE) == right.digest(SPACE)


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
    assert all(isinstance(effect, Duplicate) for event in once.events() for effect in again.handle(event))


@PROPERTY
@given(STEPS, st.data())
def test_any_order_of_the_same_changes_gives_the_same_state(steps: list[Any], data: st.DataObject) -> None:
    mesh = played(steps)
    mesh.settle()
    events = [received(key, raw) for key, raws in mesh.raws.items() for raw in raws]
    replica = Replica()
    for event in data.draw(st.permutations(events + events[: len(events) // 2])):
        assert not any(isinstance(effect, Quarantined | Full) for effect in replica.handle(event))
    assert same(replica, mesh.replicas[0])


@PROPERTY
@given(STEPS, st.data())
def test_an_erased_document_is_gone_whatever_came_before_or_after(steps: list[Any], data: st.DataObject) -> None:
    mesh = played(steps)
    mesh.settle()
    events = [erased(KEY), *(received(key, raw) for key, raws in mesh.raws.items() for raw in raws)]
    replica, other = Replica(), merged(Replica(), mesh.replicas[0])
    for event in data.draw(st.permutations(events)):
        replica.handle(event)
    other.handle(erased(KEY))
    assert KEY not in replica.documents()
    assert same(replica, other)


@PROPERTY
@given(STEPS)
def test_settled_replicas_hold_every_revision_ever_written_and_agree(steps: list[Any]) -> None:
    mesh = played(steps)
    mesh.settle()
    assert all(same(mesh.replicas[0], other) for other in mesh.replicas[1:])
    for key, raws in mesh.raws.items():
        assert len(mesh.replicas[0].changes(key)) == len(raws)
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
    """A tag is there when one of the last changes that touched it put it: a change no other such change had seen."""
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


def chain(length: int) -> list[bytes]:
    log = [created()]
    for number in range(2, length + 1):
        log.append(edited(log, f"text {number}", number))
    return log


def kinds(effects: list[Any]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_a_change_that_comes_early_waits_for_what_it_builds_on() -> None:
    first, second, third = chain(3)
    replica = Replica()
    (held,) = replica.handle(received(KEY, third))
    assert held == Held(KEY, entry_of(KEY, third), (read_head(second).hash,))
    assert replica.pending() == (entry_of(KEY, third),)
    assert (replica.documents(), replica.state(KEY), replica.changes(KEY)) == ((), None, ())
    assert kinds(replica.handle(received(KEY, second))) == ["Held"]
    assert kinds(replica.handle(received(KEY, third))) == ["Duplicate"]
    effects = replica.handle(received(KEY, first))
    assert [effect.entry.raw for effect in effects if isinstance(effect, Accepted)] == [first, second, third]
    assert replica.documents() == (KEY,)
    assert kinds(replica.handle(received(KEY, first))) == ["Duplicate"]


def test_an_accepted_change_is_kept_as_the_entry_that_it_came_in() -> None:
    entry = entry_of(KEY, created(number=5))
    replica = Replica()
    assert replica.handle(Received(entry)) == [Accepted(KEY, entry)]
    assert replica.entries(KEY) == (entry,)
    assert replica.entries(Key(SPACE, OTHER)) == ()


def test_a_merge_revision_waits_for_both_sides_and_is_taken_in_once() -> None:
    first = created()
    left, right = edited([first], "left", 2), edited([first], "right", 3)
    both = edited([first, left, right], "both", 4)
    for order in permutations([first, left, right, both]):
        replica = Replica()
        effects = [effect for raw in order for effect in replica.handle(received(KEY, raw))]
        assert kinds(effects).count("Accepted") == 4
        assert replica.changes(KEY)[0] == first
        assert replica.changes(KEY)[-1] == both


def test_waiting_changes_travel_when_replicas_merge() -> None:
    first, second = chain(2)
    early = Replica()
    early.handle(received(KEY, second))
    late = merged(Replica(), early)
    assert late.digest(SPACE) == {}
    assert kinds(late.handle(received(KEY, first))) == ["Accepted", "Accepted"]


def test_only_so_many_changes_may_wait() -> None:
    first, second, third, fourth = chain(4)
    replica = Replica(pending_max=1)
    replica.handle(received(KEY, third))
    assert replica.handle(received(KEY, fourth)) == [Full(KEY, read_head(fourth).hash, 1)]
    elsewhere = Key(SPACE, OTHER)
    assert kinds(replica.handle(received(elsewhere, second))) == ["Full"]
    assert kinds(replica.handle(received(KEY, third))) == ["Duplicate"]
    assert kinds(replica.handle(received(KEY, first))) == ["Accepted"], "what need not wait is always taken in"
    assert kinds(replica.handle(received(KEY, second))) == ["Accepted", "Accepted"]
    assert kinds(replica.handle(received(KEY, fourth))) == ["Accepted"]


def test_erasing_deletes_what_is_kept_and_drops_late_copies() -> None:
    first, second, third, fourth = chain(4)
    replica = Replica(pending_max=1)
    for raw in (first, second, fourth):
        replica.handle(received(KEY, raw))
    assert replica.handle(erased(KEY)) == [
        Accepted(KEY, erasure_of(KEY)),
        Purged(KEY, (read_head(first).hash, read_head(second).hash, read_head(fourth).hash)),
    ]
    assert kinds(replica.handle(erased(KEY))) == ["Duplicate"]
    assert kinds(replica.handle(Received(erasure_of(KEY, agent="owner/other")))) == ["Duplicate"]
    assert replica.handle(received(KEY, third)) == [Dropped(KEY, read_head(third).hash, "its memory was erased")]
    assert (replica.erased(), replica.entries(KEY), replica.pending()) == ((KEY,), (erasure_of(KEY),), ())
    assert kinds(replica.handle(received(Key(SPACE, OTHER), fourth))) == ["Held"], "the place is free again"
    assert Replica().handle(erased(KEY)) == [Accepted(KEY, erasure_of(KEY))]
    assert next(iter(merged(Replica(), replica).events())) == erased(KEY)


def test_damaged_bytes_are_refused_and_kept_out() -> None:
    raw = created()
    replica = Replica()
    for bad in (b"", raw[:-1], raw[:20] + b"\0" + raw[21:], raw + raw):
        (refused,) = replica.handle(received(KEY, bad))
        assert isinstance(refused, Quarantined)
        assert (refused.entry.raw, refused.root) == (bad, "")
        replica = Replica()
    assert replica.documents() == ()


def test_a_change_that_would_spoil_its_document_is_refused_with_all_that_build_on_it() -> None:
    def rename(transaction: Any, _: Any) -> None:
        transaction.put(ROOT, "id", ScalarType.Str, OTHER)

    def tag(transaction: Any, of: Any) -> None:
        transaction.put(of("tags"), "db", ScalarType.Int, 1)

    def untag(transaction: Any, of: Any) -> None:
        transaction.delete(of("tags"), "db")

    first = created()
    good = edited([first], "good", 2)
    poison = foreign([first], 3, rename)
    child = foreign([first, good, poison], 4, tag)
    grandchild = foreign([first, good, poison, child], 5, untag)
    replica = Replica()
    replica.handle(received(KEY, first))
    for early in (grandchild, child):
        assert kinds(replica.handle(received(KEY, early))) == ["Held"]
    effects = replica.handle(received(KEY, poison))
    assert kinds(effects) == ["Quarantined", "Quarantined", "Quarantined"]
    assert [effect.entry.raw for effect in effects] == [poison, child, grandchild]
    assert [effect.root for effect in effects] == ["", read_head(poison).hash, read_head(child).hash]
    assert (len(replica.quarantined()), replica.pending()) == (3, ())
    assert kinds(replica.handle(received(KEY, good))) == ["Accepted"]
    state = replica.state(KEY)
    assert state.tags == ()


def test_what_built_on_a_refused_entry_waits_for_the_rest_once_that_entry_comes_by_a_stream_that_may_bring_it() -> None:
    first = created()
    one, other = edited([first], "one", 2), edited([first], "other", 3)
    both = foreign([first, one, other], 4, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    elsewhere = PeerGrant(read=(), write=("elsewhere",), principal="", relay=True)
    replica = Replica()
    replica.handle(received(KEY, first))
    assert kinds(replica.handle(replace(received(KEY, one), grant=elsewhere))) == ["Quarantined"]
    assert kinds(replica.handle(received(KEY, both))) == ["Quarantined"]
    assert kinds(replica.handle(received(KEY, one))) == ["Accepted", "Held"]
    assert ([entry.raw for entry in replica.pending()], list(replica.quarantined())) == ([both], [])
    assert kinds(replica.handle(received(KEY, other))) == ["Accepted", "Accepted"]


def test_a_first_change_that_is_refused_leaves_no_trace() -> None:
    raw = foreign([], 1, lambda tx, of: tx.put(ROOT, "v", ScalarType.Int, 2))
    replica = Replica()
    (refused,) = replica.handle(received(KEY, raw))
    assert isinstance(refused, Quarantined)
    assert (replica.documents(), replica.digest(SPACE), list(replica.events())) == ((), {}, [])
    assert kinds(replica.handle(Received(refused.entry))) == ["Duplicate"]


def test_a_second_change_of_one_actor_is_refused() -> None:
    first = created(number=1)
    again = foreign([first], 1, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    replica = Replica()
    replica.handle(received(KEY, first))
    (refused,) = replica.handle(received(KEY, again))
    assert isinstance(refused, Quarantined)
    assert "fresh actor" in refused.reason


def test_a_digest_is_made_of_ids_and_heads_only() -> None:
    log = [created(), edited([created()], "left", 2), edited([created()], "right", 3)]
    replica = Replica()
    for raw in log:
        replica.handle(received(KEY, raw))
    expected = hashlib.sha256("\n".join([ID, *document(*log).heads()]).encode()).hexdigest()
    assert replica.digest(SPACE) == {bucket_of(ID): expected}
    assert bucket_of(ID) == int(hashlib.sha256(ID.encode()).hexdigest()[:3], 16)


def test_digests_differ_exactly_where_documents_do() -> None:
    first, second = chain(2)
    left, right = Replica(), Replica()
    for replica in (left, right):
        replica.handle(received(KEY, first))
    assert left.digest(SPACE) == right.digest(SPACE) != {}
    assert left.digest("team/other") == {}
    right.handle(received(KEY, second))
    differing = {one for one in range(4096) if left.digest(SPACE).get(one) != right.digest(SPACE).get(one)}
    assert differing == {bucket_of(ID)}
    left.handle(received(KEY, second))
    assert left.digest(SPACE) == right.digest(SPACE)
    right.handle(erased(KEY))
    assert left.digest(SPACE) != right.digest(SPACE) != {}
    left.handle(erased(KEY))
    assert left.digest(SPACE) == right.digest(SPACE)
