"""A writer gives one actor two changes. Replicas with the same changes show the same, in any order, and honest edits
on either stand."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from automerge.core import ROOT, ObjType, ScalarType
from crdt_scenarios import (
    ID,
    KEY,
    SPACE,
    actor,
    created,
    document,
    edited,
    entry_of,
    foreign,
    memory,
    put,
    received,
    written,
)

from mnemesh_crdt.admission.admission import admit
from mnemesh_crdt.admission.refusal import Refused
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, genesis_hash
from mnemesh_crdt.document.equivocation import Equivocation, names
from mnemesh_crdt.document.shape import state_of
from mnemesh_crdt.intake.replica import Replica
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import Link

FIRST = created("first", 1)
ONE = edited([FIRST], "ONE", 2)
TWO = edited([FIRST], "TWO", 2)
AT_A = edited([FIRST, ONE], "ONE, and more", 3)
AT_B = edited([FIRST, TWO], "TWO, and more", 4)
LOG = (FIRST, ONE, TWO, AT_A, AT_B)


def contents(*log: bytes) -> set[str]:
    found = memory(*log)
    return {found.content, *(one.content for one in found.conflicts)}


def hash_of(raw: bytes) -> str:
    return read_head(raw).hash


def all_admitted(raw: bytes, log: list[bytes]) -> None:
    admit(KEY, entry_of(KEY, raw), {hash_of(one): one for one in log})


def test_both_texts_are_a_conflict_and_both_stand_in_history() -> None:
    assert contents(FIRST, ONE, TWO) == {"ONE", "TWO"}
    said = revisions.history(document(FIRST, ONE, TWO).state())
    assert {one.content for one in said} == {"first", "ONE", "TWO"}
    assert len({one.id for one in said}) == 3


def test_the_revision_of_the_lower_hash_keeps_its_id_and_the_other_is_named_by_its_hash() -> None:
    low, high = sorted((ONE, TWO), key=hash_of)
    found = {one.id: one.content for one in revisions.history(document(FIRST, ONE, TWO).state())}
    assert found[f"2@{actor(2).hex()}"] == ("ONE" if low == ONE else "TWO")
    assert found[f"2@{hash_of(high)[:32]}"] == ("TWO" if low == ONE else "ONE")


def test_honest_edits_on_either_branch_stand() -> None:
    assert contents(*LOG) == {"ONE, and more", "TWO, and more"}


def test_every_order_of_arrival_ends_in_the_same_state() -> None:
    outcomes = set()
    for order in itertools.permutations(LOG):
        replica = Replica()
        for raw in order:
            replica.handle(received(KEY, raw))
        assert not replica.quarantined()
        assert not replica.pending()
        outcomes.add((repr(replica.state(KEY)), repr(replica.digest(SPACE))))
    assert len(outcomes) == 1


def test_a_replica_counts_the_heads_of_both_branches() -> None:
    assert document(*LOG).heads() == tuple(sorted((hash_of(AT_A), hash_of(AT_B))))


@pytest.mark.parametrize("here", [LOG, (FIRST, TWO, AT_B, ONE, AT_A), (FIRST, TWO, ONE, AT_A, AT_B)])
def test_one_edit_ends_the_conflict_wherever_it_is_made(here: tuple[bytes, ...]) -> None:
    settled = edited(here, "settled", 5)
    all_admitted(settled, list(here))
    assert contents(*here, settled) == {"settled"}
    again = edited([*here, settled], "later", 6)
    all_admitted(again, [*here, settled])
    assert contents(*here, settled, again) == {"later"}


def test_a_writer_that_never_saw_the_other_branch_goes_on_with_the_settled_memory() -> None:
    settled = edited(LOG, "settled", 5)
    late = edited([FIRST, TWO], "late", 6)
    assert contents(*LOG, settled, late) == {"settled", "late"}
    assert contents(*LOG, settled, late, edited([*LOG, settled, late], "all", 7)) == {"all"}


def test_tags_links_and_votes_of_both_branches_are_united_and_go_by_one_edit() -> None:
    link = Link("see-also", "018f6f0e-7c1a-7000-8000-000000000001")
    one = written(document(FIRST), Edit(tags_put=("one",), links_put=(link,), at=5), 2)
    two = written(document(FIRST), Edit(tags_put=("two",), vote=("owner/test@" + "0" * 32, False), at=5), 2)
    log = [FIRST, one, two]
    state = document(*log).state()
    assert (state.tags, state.links, list(state.votes.values())) == (("one", "two"), (link,), [False])
    edit = Edit(tags_remove=("one", "two"), links_remove=(link,), vote=("owner/test@" + "0" * 32, True), at=9)
    for here in (log, [FIRST, two, one]):
        gone = written(document(*here), edit, 3)
        all_admitted(gone, here)
        state = document(*here, gone).state()
        assert (state.tags, state.links, list(state.votes.values())) == ((), (), [True])


def test_a_removal_of_more_than_one_change_may_name_is_admitted_and_the_next_one_takes_the_rest() -> None:
    tags = tuple(f"t{n}" for n in range(limits.CHANGE_TAGS_MAX))
    log = [FIRST]
    for n in range(limits.NEWER_KEYS_MAX // len(tags) + 2):  # one of them loads with the first change
        log.append(written(document(FIRST), Edit(tags_put=tags, at=5 + n), 2))
        all_admitted(log[-1], log[:-1])
    log += [edited([*log[:1], branch], f"text {n}", 20 + n) for n, branch in enumerate(log[1:4])]
    left = []
    for number in (7, 8):
        state = document(*log).state()
        fields = put(f"clean {number}", revisions.heads(state))
        raw = written(document(*log), Edit(revision=fields, tags_remove=state.tags, at=9), number)
        all_admitted(raw, log)
        log.append(raw)
        left.append(len(document(*log).state().tags))
    assert 0 < left[0] < len(tags)
    assert left[1] == 0


def test_nobody_takes_the_vote_of_another_away_from_another_branch() -> None:
    voter = "owner/test@" + "0" * 32
    one = written(document(FIRST), Edit(vote=(voter, True), at=5), 2)
    two = written(document(FIRST), Edit(tags_put=("two",), at=5), 2)

    def forged(transaction: Any, of: Any) -> None:
        home = transaction.put_object(ROOT, f"x/removed/{actor(9).hex()}", ObjType.Map)
        for counter in range(1, 40):
            transaction.put(home, f"{counter}@{hash_of(one)[:32]}", ScalarType.Int, counter)

    raw = foreign([FIRST, two], 9, forged)
    all_admitted(raw, [FIRST, one, two])
    assert document(FIRST, one, two, raw).state().votes == {voter: True}


def test_what_builds_on_both_is_refused_by_itself() -> None:
    log = {hash_of(raw): raw for raw in LOG}
    joined = foreign([FIRST, ONE, AT_A], 8, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    admit(KEY, entry_of(KEY, joined), log)
    repeated = foreign([FIRST, ONE, AT_A], 1, lambda tx, of: tx.put(of("tags"), "db", ScalarType.Int, 1))
    with pytest.raises(Refused, match=r"an actor wrote twice|change 2 of its actor"):
        admit(KEY, entry_of(KEY, repeated), log)


def test_an_actor_that_copies_the_name_of_a_change_gives_way_to_it() -> None:
    high = max(hash_of(ONE), hash_of(TWO))
    actors = {hash_of(raw): read_head(raw).actor for raw in (ONE, TWO)} | {"e" * 64: high[:32]}
    assert len(set(names(actors).values())) == 3
    assert names(actors)["e" * 64] == "e" * 32


@pytest.mark.parametrize("seed", range(60))
def test_what_is_read_here_is_what_automerge_reads(seed: int) -> None:
    rng = random.Random(seed)
    log = [FIRST]
    for number in range(10, 24):
        base = closed(log, rng)
        doc = document(*base)
        heads = revisions.heads(doc.state())
        tags = rng.sample(("a", "b", "c"), rng.randrange(3))
        gone = rng.sample(("a", "b", "c"), rng.randrange(3))
        edit = Edit(
            revision=put(f"text {number}", heads[: rng.randrange(1, len(heads) + 1)]) if rng.random() < 0.5 else None,
            tags_put=tuple(tags),
            tags_remove=tuple(gone),
            vote=(f"owner/{rng.choice('ab')}@{'0' * 32}", rng.random() < 0.5) if rng.random() < 0.4 else None,
            at=rng.randrange(5),
        )
        if change := doc.write(edit, actor(number)):
            log.append(change.raw)
    rng.shuffle(log)
    expected = MemoryDocument(ID, SPACE, log)
    found = Equivocation(ID, SPACE, genesis_hash(ID, SPACE), log)
    assert state_of(ID, SPACE, found.tree()) == expected.state()
    assert found.heads() == expected.heads()


@pytest.mark.parametrize("seed", range(40))
def test_any_repeated_actors_in_any_order_give_the_same_state_and_every_edit_is_admitted(seed: int) -> None:
    rng = random.Random(seed)
    log = [FIRST]
    for number in range(30, 44):
        base = closed(log, rng)
        doc = document(*base)
        heads = revisions.heads(doc.state())
        edit = Edit(
            revision=put(f"text {number}", heads) if rng.random() < 0.6 else None,
            tags_put=tuple(rng.sample(("a", "b", "c"), 1)),
            tags_remove=tuple(rng.sample(("a", "b", "c"), 1)),
            at=rng.randrange(9),
        )
        writer = rng.choice((30, 31)) if rng.random() < 0.4 else number
        used = {read_head(raw).actor for raw in base}
        if actor(writer).hex() in used:
            writer = 100 + number
        if change := doc.write(edit, actor(writer)):
            all_admitted(change.raw, [*log])
            log.append(change.raw)
            if edit.revision is not None:
                assert contents(*base, change.raw) == {edit.revision.content}
    outcomes = set()
    for _ in range(4):
        rng.shuffle(log)
        replica = Replica()
        for raw in log:
            replica.handle(received(KEY, raw))
        assert not replica.quarantined(), [one.reason for one in replica.quarantined()]
        outcomes.add((repr(replica.state(KEY)), repr(replica.digest(SPACE))))
    assert len(outcomes) == 1


def closed(log: list[bytes], rng: random.Random) -> list[bytes]:
    """Some of the changes with all their parents: the knowledge of a writer."""
    heads = {hash_of(raw): read_head(raw) for raw in log}
    wanted = set(rng.sample(sorted(heads), rng.randrange(1, len(heads) + 1)))
    while more := {dep for hash in wanted for dep in heads[hash].deps if dep in heads} - wanted:
        wanted |= more
    return [raw for raw in log if hash_of(raw) in wanted or raw == FIRST]
