"""Whole meshes through every class of fault: nothing acknowledged is lost, all agree, and planted bugs are found.

The first 100 seeds are played with the tests, 2,000 by `make seeds`, which CI runs. `MNEMESH_TEST_MESH_SEEDS` is
another number of seeds, `MNEMESH_TEST_MESH_FIRST` another first one.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import pytest
from mesh_node import BUGS, DUTIES, Memo, Node, Violation
from simulator import FAULTS, FORGERIES, WRITES, World, failure_of, run, smallest

from mnemesh_actors.ledger.commit.write_admission import Admission
from mnemesh_actors.ledger.peers.sqlite_shelf import SqliteShelf
from mnemesh_crdt.changes.envelope import Entry, Key
from mnemesh_crdt.document.document import Edit, RevisionFields
from mnemesh_crdt.intake.arrivals import Brought
from mnemesh_crdt.sync.messages import Ask
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.ids import fresh_id

SEEDS = int(os.environ.get("MNEMESH_TEST_MESH_SEEDS", "100"))
FIRST = int(os.environ.get("MNEMESH_TEST_MESH_FIRST", "1"))
PLANTED_FOUND_WITHIN = 200
# Beside some the ledger's shelf on SQLite takes in the same, which costs more.
MIRRORED = max(20, SEEDS // 40)


@pytest.mark.timeout(1200)
def test_no_seed_breaks_an_invariant(capsys: pytest.CaptureFixture[str]) -> None:
    failures = run(FIRST, FIRST + SEEDS - 1)
    with capsys.disabled():
        print(f"\nmesh: seeds {FIRST} to {FIRST + SEEDS - 1}, {len(failures)} failed", end=" ")
    if failures:
        pytest.fail(f"{smallest(failures[0])}\nfailing seeds: {[one.seed for one in failures]}")


def play_mirrored(first: int, end: int) -> None:
    for seed in range(first, end):
        World(seed, mirrors=True).run()


@pytest.mark.timeout(600)
def test_the_ledgers_shelf_on_sqlite_comes_to_the_same_as_that_in_memory() -> None:
    play_mirrored(FIRST, FIRST + MIRRORED)


def test_a_node_tells_a_later_life_what_an_earlier_one_brought_and_the_later_one_released() -> None:
    memo = Memo()
    far, other, near = (Node(number, memo, 0) for number in range(3))
    grant = PeerGrant(read=("*",), write=("*",), principal="p0", relay=True)

    def actor(tag: str) -> bytes:
        return tag.encode().rjust(16, b".")

    key = Key("team/a", fresh_id(1, "team/a", "p0", actor("one")))

    def wrote(node: Node, tag: str, revision: RevisionFields | None = None) -> Entry:
        said: list[Entry] = []
        node.write(key, Edit(revision=revision, tags_put=(tag,), at=1), actor(tag), said.append)
        return said[0]

    def told(node: Node, origin: str, *entries: Entry) -> None:
        keys = {one.id: one.key for one in (far, other)}
        node.take_in("p0", origin, grant, f"{origin}/x", 0, entries, keys, lambda: None)

    text = RevisionFields(op="put", kind="fact", title="", content="text", by=far.agent, at=1, parents=())
    one = wrote(far, "one", text)
    told(other, "far-0", one)
    beside, two = wrote(other, "beside"), wrote(far, "two")
    told(far, "other-0", beside)
    both = wrote(far, "both")
    told(near, "mallory", replace(one, signature=bytes(64)))
    told(near, "far-0", two, both)
    told(near, "far-1", one)
    told(near, "far-1", beside)
    assert near.page(Ask(0, ("*",), "far-1")).entries == (two, both)


def test_a_ledger_that_gives_an_id_that_is_retracted_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_what_waits(self: Admission, id_: str) -> bool:
        return self._db.execute("SELECT 1 FROM entry WHERE doc = ?", (id_,)).fetchone() is not None

    monkeypatch.setattr(Admission, "taken", without_what_waits)

    with pytest.raises(Violation, match=r"the ledger says that id .* is free"):
        play_mirrored(1, 41)


def test_a_ledger_that_forgets_who_brought_what_waited_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = SqliteShelf.take

    def by_nobody(self: SqliteShelf, table: str, key: Key, awaited: str) -> list[Brought]:
        return [replace(one, origin="") for one in take(self, table, key, awaited)]

    monkeypatch.setattr(SqliteShelf, "take", by_nobody)

    with pytest.raises(Violation, match="differs from the ledger: log: only the node"):
        play_mirrored(1, 21)


@pytest.mark.parametrize("bug", BUGS)
def test_each_planted_bug_is_found(bug: str) -> None:
    found = next((one for seed in range(1, PLANTED_FOUND_WITHIN + 1) if (one := failure_of(seed, bug))), None)
    assert found is not None
    made_small = smallest(found, bug, tries_max=40)
    assert made_small.seed == found.seed
    assert len(made_small.trace) < len(found.trace)
    assert failure_of(found.seed) is None, "without the bug the same seed holds"


def test_each_seed_has_at_least_three_nodes_fifty_writes_and_every_class_of_fault() -> None:
    for seed in range(1, 21):
        world = World(seed)
        seen = world.run()
        assert len(world.nodes) >= 3
        assert seen["write"] >= WRITES >= 50
        assert [fault for fault in FAULTS if not seen[fault]] == []


def test_the_first_seeds_have_every_shape_of_mesh_and_skewed_clocks() -> None:
    worlds = [World(seed) for seed in range(1, 31)]
    assert {len(world.edges) for world in worlds if len(world.nodes) == 3} == {2, 3}
    assert len({tuple(world.edges) for world in worlds if len(world.nodes) == 4}) == 3
    assert max(abs(node.skew_ms) for world in worlds for node in world.nodes) > 300 * 24 * 3600 * 1000


def test_nodes_die_while_they_take_in_batches_too_and_every_forgery_is_tried() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1, 41):
        seen += World(seed).run()
    assert [duty for duty in DUTIES if not seen[f"{duty} of a batch"]] == []
    assert seen["swallowed"]
    assert seen["refusal changed"]
    assert [kind for kind in FORGERIES if not seen[f"forged {kind}"]] == []
    assert [said for said in ("Batch", "Digest", "Resend") if not seen[said]] == [], "what may leave was looked at"


def test_what_a_writer_wrote_itself_is_not_told_again_as_a_forgery() -> None:
    for seed in range(1, 5):
        world, rng = World(seed), random.Random(seed)
        for name in (*["write"] * 10, *["equivocate"] * 10, *["forge"] * 100):
            world._act(name, rng)
            for _ in range(10):
                world._step(rng)
        assert world.seen["forge"] == 100


def test_a_seed_always_plays_the_same() -> None:
    left, right = World(5), World(5)
    assert left.run() == right.run()
    assert left.trace == right.trace
