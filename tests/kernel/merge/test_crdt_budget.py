"""The budget of a document, and writers with two faces."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Mapping
from typing import Any

import pytest
from automerge.core import ROOT, ObjType, ScalarType
from change_forge import STEPS, Steps, Writers
from crdt_scenarios import (
    ID,
    KEY,
    SPACE,
    Replica,
    actor,
    created,
    document,
    edited,
    entry_of,
    foreign,
    memory,
    put,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.admission import budget
from mnemesh_crdt.admission.admission import admit
from mnemesh_crdt.admission.budget import WeighedChange, choose, within
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import Refused
from mnemesh_crdt.changes.operations import read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, genesis_hash
from mnemesh_crdt.document.equivocation import Equivocation, names
from mnemesh_crdt.document.shape import state_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import Link

GENESIS = genesis_hash(ID, SPACE)
MIB = 1024 * 1024
WHO = ("ana", "bob", "eve", "")


@st.composite
def logs(draw: st.DrawFn) -> dict[str, WeighedChange]:
    """A log whose first change is ana's. Each other change builds on up to three earlier ones."""
    log: dict[str, WeighedChange] = {}
    for number in range(draw(st.integers(1, 25))):
        known = list(log)
        deps = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)) if known else [GENESIS]
        who, forgets = draw(st.sampled_from(WHO)), draw(st.booleans())
        size = draw(st.integers(1, limits.CHANGE_INFLATED_BYTES_MAX if forgets else 3 * MIB))
        log[f"{number:064x}"] = WeighedChange(tuple(deps), size, who, forgets)
    first = next(iter(log))
    return log | {first: log[first]._replace(writer="ana", size=1)}


def shuffled(log: Mapping[str, WeighedChange], chance: random.Random) -> dict[str, WeighedChange]:
    """The same log as it came elsewhere, in another order: nothing comes before its parents."""
    left, come = dict(log), dict[str, WeighedChange]()
    while left:
        ready = [hash for hash, one in left.items() if all(dep in come or dep == GENESIS for dep in one.deps)]
        come[hash] = left.pop(hash := chance.choice(ready))
    return come


def weight(log: Mapping[str, WeighedChange], hashes: set[str]) -> int:
    return sum(max(log[hash].size, budget.least_weight()) for hash in hashes)


@settings(max_examples=300, derandomize=True, database=None)
@given(logs(), st.randoms(use_true_random=False))
def test_the_choice_is_bounded_closed_and_the_same_in_every_order(
    log: dict[str, WeighedChange], chance: random.Random
) -> None:
    chosen = choose(log, GENESIS)
    assert weight(log, chosen) <= limits.DOCUMENT_BYTES_MAX + budget.spare_to_forget()
    assert all(dep in chosen or dep == GENESIS for hash in chosen for dep in log[hash].deps)
    assert choose(shuffled(log, chance), GENESIS) == chosen
    if weight(log, set(log)) <= limits.DOCUMENT_BYTES_MAX:
        assert chosen == set(log)


def heads(log: Mapping[str, WeighedChange], chosen: set[str]) -> tuple[str, ...]:
    built_on = {dep for hash in chosen for dep in log[hash].deps}
    return tuple(sorted(chosen - built_on))


@settings(max_examples=300, derandomize=True, database=None)
@given(logs(), st.integers(1, limits.CHANGE_INFLATED_BYTES_MAX), st.randoms(use_true_random=False))
def test_who_began_a_memory_forgets_it_however_full_it_is(
    log: dict[str, WeighedChange], size: int, chance: random.Random
) -> None:
    log = {hash: one._replace(forgets=False) for hash, one in log.items()}
    room = limits.DOCUMENT_BYTES_MAX - weight(log, chosen := choose(log, GENESIS))
    if room >= budget.least_weight():  # full to the last byte by an edit of everything
        log |= {"e" * 64: WeighedChange(heads(log, chosen), room, "ana")}
    before = choose(log, GENESIS)
    after = log | {"f" * 64: WeighedChange(heads(log, before), size, "ana", forgets=True)}
    assert choose(after, GENESIS) == before | {"f" * 64}
    late = flood("eve", 3, 2 * MIB, next(iter(log)))
    assert "f" * 64 in choose(shuffled(after | late, chance), GENESIS)


def flood(writer: str, count: int, size: int, on: str, start: int = 0) -> dict[str, WeighedChange]:
    return {
        f"{writer or 'no'}{n:08d}".rjust(64, "0"): WeighedChange((on,), size, writer)
        for n in range(start, start + count)
    }


@pytest.mark.parametrize("writer", ["eve", ""])
@pytest.mark.parametrize(("count", "size"), [(2_900, 224 * 1024), (20_000, 200)])
def test_a_flood_pushes_out_nothing_that_others_wrote_before_or_after_it(writer: str, count: int, size: int) -> None:
    first = {"a" * 64: WeighedChange((GENESIS,), 1_000, "ana")}
    log = {**first, **{f"{n}".rjust(64, "b"): WeighedChange(("a" * 64,), 2_000, "bob") for n in range(20)}}
    honest = set(log)
    for round_ in range(4):
        log |= flood(writer, count // 4, size, "a" * 64, round_ * count)
        chosen = choose(log, GENESIS)
        assert honest <= chosen
        # A writer's next change builds on everything read here, the flood's share included.
        heads = tuple(sorted(chosen - {dep for hash in chosen for dep in log[hash].deps}))
        for who in ("ana", "bob"):
            name = f"{who}{round_}".rjust(64, "c")
            log[name] = WeighedChange(heads, 3_000, who)
            honest.add(name)
    assert honest <= choose(log, GENESIS)


def test_choosing_from_a_long_log_takes_time_in_proportion_to_it() -> None:
    """Long chains of one writer. All hang on chains of another writer, too long to fit."""
    log = {"a" * 64: WeighedChange((GENESIS,), 1_000, "ana")}
    tips = []
    for branch in range(40):
        on = "a" * 64
        for step in range(400):
            name = f"{branch:04d}{step:04d}".rjust(64, "d")
            log[name] = WeighedChange((on,), 3_000, "zoe")
            on = name
        tips.append(on)
    log |= {f"{n}".rjust(64, "e"): WeighedChange((tips[n % 40],), 10, "eve") for n in range(4_000)}
    before = time.process_time()
    chosen = choose(log, GENESIS)
    assert time.process_time() - before < 5
    assert weight(log, chosen) <= limits.DOCUMENT_BYTES_MAX


@settings(max_examples=40, derandomize=True, database=None)
@given(STEPS, st.integers(1, 20))
def test_what_is_chosen_of_a_real_log_can_be_read_and_written_on(steps: Steps, changes: int) -> None:
    log = {read_head(raw).hash: raw for raw in Writers.after(steps).log}
    whole = MemoryDocument(ID, SPACE, log.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "DOCUMENT_CHANGES_MAX", changes)
        raws, unread = within(ID, SPACE, log)
        doc = MemoryDocument(ID, SPACE, raws, unread)
        assert len(raws) == min(len(log), changes) or unread is not None
        assert doc.heads() == whole.heads(), "the digest counts what is not read"
        assert doc.state().unread == len(log) - len(raws)
        change = doc.write(Edit(revision=put("more", revisions.heads(doc.state())), at=1), actor(999))
        log[change.hash] = change.raw
        assert doc.heads() == MemoryDocument(ID, SPACE, log.values()).heads()


def test_a_change_weighs_what_it_has_inflated_and_says_who_wrote_its_revision() -> None:
    raw = written(document(), Edit(revision=put("x" * 30_000), at=1), 1)
    assert raw[8] == 2, "it is deflated"
    one = budget.weigh(read_head(raw).hash, raw)
    assert (one.deps, one.writer) == ((GENESIS,), "owner")
    assert one.size == read_operations(raw).size > 30_000
    tagged = written(document(raw), Edit(tags_put=("t",), at=1), 2)
    assert budget.weigh(read_head(tagged).hash, tagged).writer == ""
    assert KEY.id == ID


# ---- equivocation ----------------------------------------------------------------------------------------------------
# A writer gives one actor two changes. Replicas with the same changes show the same, in any order, and honest edits
# on either stand.


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
        assert replica.told(*(entry_of(KEY, raw) for raw in order)) == {"accepted": len(LOG)}
        outcomes.add((repr(replica.state()), repr(replica.shelf.digest(SPACE))))
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
        doc = document(*closed(log, rng))
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
            replica.told(entry_of(KEY, raw))
        assert not replica.refused(), [one.reason for one in replica.refused()]
        outcomes.add((repr(replica.state()), repr(replica.shelf.digest(SPACE))))
    assert len(outcomes) == 1


def closed(log: list[bytes], rng: random.Random) -> list[bytes]:
    """Some of the changes with all their parents: the knowledge of a writer."""
    heads = {hash_of(raw): read_head(raw) for raw in log}
    wanted = set(rng.sample(sorted(heads), rng.randrange(1, len(heads) + 1)))
    while more := {dep for hash in wanted for dep in heads[hash].deps if dep in heads} - wanted:
        wanted |= more
    return [raw for raw in log if hash_of(raw) in wanted or raw == FIRST]
