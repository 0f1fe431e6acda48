"""Which changes of a memory are read when all are too much: the same everywhere, bounded, closed, and fair."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

import pytest
from change_forge import STEPS, Steps, Writers
from crdt_scenarios import ID, KEY, SPACE, actor, document, put, written
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.admission import budget
from mnemesh_crdt.admission.budget import Weighed, choose, within
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.operations import read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, genesis_hash
from mnemesh_memory.values import limits

GENESIS = genesis_hash(ID, SPACE)
MIB = 1024 * 1024
WHO = ("ana", "bob", "eve", "")


@st.composite
def logs(draw: st.DrawFn) -> dict[str, Weighed]:
    """A log whose first change is ana's. Each other change builds on up to three earlier ones."""
    log: dict[str, Weighed] = {}
    for number in range(draw(st.integers(1, 25))):
        known = list(log)
        deps = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)) if known else [GENESIS]
        who, forgets = draw(st.sampled_from(WHO)), draw(st.booleans())
        size = draw(st.integers(1, limits.CHANGE_INFLATED_BYTES_MAX if forgets else 3 * MIB))
        log[f"{number:064x}"] = Weighed(tuple(deps), size, who, forgets)
    first = next(iter(log))
    return log | {first: log[first]._replace(writer="ana", size=1)}


def shuffled(log: Mapping[str, Weighed], chance: random.Random) -> dict[str, Weighed]:
    """The same log as it came elsewhere, in another order: nothing comes before its parents."""
    left, come = dict(log), dict[str, Weighed]()
    while left:
        ready = [hash for hash, one in left.items() if all(dep in come or dep == GENESIS for dep in one.deps)]
        come[hash] = left.pop(hash := chance.choice(ready))
    return come


def weight(log: Mapping[str, Weighed], hashes: set[str]) -> int:
    return sum(max(log[hash].size, budget.least_weight()) for hash in hashes)


@settings(max_examples=300, derandomize=True, database=None)
@given(logs(), st.randoms(use_true_random=False))
def test_the_choice_is_bounded_closed_and_the_same_in_every_order(
    log: dict[str, Weighed], chance: random.Random
) -> None:
    chosen = choose(log, GENESIS)
    assert weight(log, chosen) <= limits.DOCUMENT_BYTES_MAX + budget.spare_to_forget()
    assert all(dep in chosen or dep == GENESIS for hash in chosen for dep in log[hash].deps)
    assert choose(shuffled(log, chance), GENESIS) == chosen
    if weight(log, set(log)) <= limits.DOCUMENT_BYTES_MAX:
        assert chosen == set(log)


def heads(log: Mapping[str, Weighed], chosen: set[str]) -> tuple[str, ...]:
    built_on = {dep for hash in chosen for dep in log[hash].deps}
    return tuple(sorted(chosen - built_on))


@settings(max_examples=300, derandomize=True, database=None)
@given(logs(), st.integers(1, limits.CHANGE_INFLATED_BYTES_MAX), st.randoms(use_true_random=False))
def test_who_began_a_memory_forgets_it_however_full_it_is(
    log: dict[str, Weighed], size: int, chance: random.Random
) -> None:
    log = {hash: one._replace(forgets=False) for hash, one in log.items()}
    room = limits.DOCUMENT_BYTES_MAX - weight(log, chosen := choose(log, GENESIS))
    if room >= budget.least_weight():  # full to the last byte by an edit of everything
        log |= {"e" * 64: Weighed(heads(log, chosen), room, "ana")}
    before = choose(log, GENESIS)
    after = log | {"f" * 64: Weighed(heads(log, before), size, "ana", forgets=True)}
    assert choose(after, GENESIS) == before | {"f" * 64}
    late = flood("eve", 3, 2 * MIB, next(iter(log)))
    assert "f" * 64 in choose(shuffled(after | late, chance), GENESIS)


def flood(writer: str, count: int, size: int, on: str, start: int = 0) -> dict[str, Weighed]:
    return {
        f"{writer or 'no'}{n:08d}".rjust(64, "0"): Weighed((on,), size, writer) for n in range(start, start + count)
    }


@pytest.mark.parametrize("writer", ["eve", ""])
@pytest.mark.parametrize(("count", "size"), [(2_900, 224 * 1024), (20_000, 200)])
def test_a_flood_pushes_out_nothing_that_others_wrote_before_or_after_it(writer: str, count: int, size: int) -> None:
    first = {"a" * 64: Weighed((GENESIS,), 1_000, "ana")}
    log = {**first, **{f"{n}".rjust(64, "b"): Weighed(("a" * 64,), 2_000, "bob") for n in range(20)}}
    honest = set(log)
    for round_ in range(4):
        log |= flood(writer, count // 4, size, "a" * 64, round_ * count)
        chosen = choose(log, GENESIS)
        assert honest <= chosen
        # A writer's next change builds on everything read here, the flood's share included.
        heads = tuple(sorted(chosen - {dep for hash in chosen for dep in log[hash].deps}))
        for who in ("ana", "bob"):
            name = f"{who}{round_}".rjust(64, "c")
            log[name] = Weighed(heads, 3_000, who)
            honest.add(name)
    assert honest <= choose(log, GENESIS)


def test_choosing_from_a_long_log_takes_time_in_proportion_to_it() -> None:
    """Long chains of one writer. All hang on chains of another writer, too long to fit."""
    log = {"a" * 64: Weighed((GENESIS,), 1_000, "ana")}
    tips = []
    for branch in range(40):
        on = "a" * 64
        for step in range(400):
            name = f"{branch:04d}{step:04d}".rjust(64, "d")
            log[name] = Weighed((on,), 3_000, "zoe")
            on = name
        tips.append(on)
    log |= {f"{n}".rjust(64, "e"): Weighed((tips[n % 40],), 10, "eve") for n in range(4_000)}
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
        assert change is not None
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
