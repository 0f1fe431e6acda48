"""The digest kept with every write equals the pure replica's, and leads to the differences.

Entries of other nodes, in any order and portions, lead to the same view and digest. A failure at any statement loses
and repeats nothing.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from crdt_scenarios import Replica
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import AGENT, OTHER_SPACE, SPACE, Home, Pen, all_done, done
from peer_builders import BOB, EVERYTHING, FEED, ID, NOW, OTHER, Node, all_entries, hand_over, refused, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.store import schema
from mnemesh_crdt.changes.envelope import Entry, Key
from mnemesh_crdt.document.digest import bucket_of
from mnemesh_crdt.document.revisions import materialise
from mnemesh_memory.values.errors import MnemeshError

SPACES = (SPACE, OTHER_SPACE)
VIEW = ("memory", "text_hash", "link", "document", "digest", "erased", "pending")
IDS = (ID, OTHER, "018f6f0e-7c1a-7000-8000-3f1f8d2f6a33")


def replica_of(ledger: Ledger) -> Replica:
    """The intake on a shelf in memory, after it was told what a ledger holds."""
    return told(all_entries(ledger))


def told(entries: list[Entry]) -> Replica:
    replica = Replica()
    replica.told(*entries)
    return replica


# ---- kept with every write ------------------------------------------------------------------------------------------


def test_the_digest_of_own_writes_is_that_of_the_pure_replica(home: Home, ledger: Ledger, pen: Pen) -> None:
    assert ledger.digest(SPACE) == {}
    one, two, three = (
        result.memory
        for result in all_done(ledger, pen.create("one"), pen.create("two", space=OTHER_SPACE), pen.create("three"))
    )
    done(ledger, pen.revise(one, content="one again"))
    done(ledger, pen.forget(three))
    done(ledger, pen.create("four", supersedes=(one.id,)))
    ledger.erase(pen.erase(three.id))
    replica = replica_of(ledger)
    for space in SPACES:
        assert ledger.digest(space) == replica.shelf.digest(space) != {}
    assert ledger.digests(("*",)) == {space: replica.shelf.digest(space) for space in SPACES}
    assert ledger.digests(("team/pay*", OTHER_SPACE)) == {OTHER_SPACE: replica.shelf.digest(OTHER_SPACE)}
    assert set(ledger.digest(SPACE)) == {bucket_of(id_) for (id_,) in _ids(home, SPACE)}
    ledger.rebuild_view()
    assert ledger.digest(SPACE) == replica.shelf.digest(SPACE)
    assert two.space == OTHER_SPACE


def _ids(home: Home, space: str) -> list[Any]:
    with home.looked_into() as db:
        return db.execute("SELECT DISTINCT doc FROM entry WHERE space = ?", (space,)).fetchall()


def test_a_refused_command_leaves_the_digest_as_it_was(ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("one"))
    results = ledger.commit([pen.create("two", supersedes=("ffffffff",)), pen.create("three")])
    assert isinstance(results[0], MnemeshError)
    assert ledger.digest(SPACE) == replica_of(ledger).shelf.digest(SPACE)


def test_a_directory_of_before_the_mesh_gets_its_digest(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create("one")).memory
        done(ledger, pen.revise(memory, content="two"))
        before, entries = ledger.digest(SPACE), all_entries(ledger)
    home.rewrite_in_format(2)
    with home.opened() as ledger:
        assert ledger.digest(SPACE) == before
        assert all_entries(ledger) == entries
        assert done(ledger, pen.create("three")).seq == 3


def test_buckets_that_differ_lead_to_what_is_missing(home: Home, ledger: Ledger, pen: Pen) -> None:
    with Home.for_one_example() as other, other.opened() as peer:
        memories = [done(ledger, pen.create(f"text {number}")).memory for number in range(30)]
        hand_over(ledger, peer, home)
        done(ledger, pen.revise(memories[3], content="changed"))
        ledger.erase(pen.erase(memories[5].id))
        mine, theirs = ledger.digest(SPACE), peer.digest(SPACE)
        differ = [bucket for bucket in mine | theirs if mine.get(bucket) != theirs.get(bucket)]
        assert set(differ) == {bucket_of(memories[number].id) for number in (3, 5)}
        after, sent, finished = 0, [], False
        while not finished:
            page = ledger.resend(SPACE, differ, after, 1, 1)
            sent += page.entries
            after, finished = page.last_seq, page.done
        assert {entry.doc for entry in sent} == {memories[number].id for number in (3, 5)}
        node = home.directory.node_id
        peer.take_in(IncomingEntries(peer=node, origin="x", grant=EVERYTHING, entries=tuple(sent), keys=page.keys), NOW)
        assert peer.digest(SPACE) == mine
        assert peer.cursors(node) == {ledger.status().incarnation: 30}, "what is sent again moves no cursor"


# ---- any order, any portions, any number of times -------------------------------------------------------------------

SCRIPT = st.lists(
    st.tuples(st.sampled_from(["say", "say", "tag", "forget", "erase", "learn"]), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=14,
)


def history_of(script: list[tuple[str, int, int]]) -> tuple[list[Entry], dict[str, bytes]]:
    """The writes of three nodes about three memories, with an exchange now and then."""
    nodes = [Node("a"), Node("b", BOB), Node("c")]
    entries: list[Entry] = []
    for verb, who, which in script:
        node, id_ = nodes[who], IDS[which]
        known = (SPACE, id_) in node.logs
        match verb:
            case "learn":
                node.knows(*(one for one in entries if one.doc == id_ and one.raw and one.raw not in _log(node, id_)))
            case "erase":
                entries.append(node.erases(id_))
            case "tag" if known:
                entries.append(node.tags(f"tag {who}", id=id_))
            case "forget" if known and node.document(id_).state().revisions:
                with suppress(AssertionError):  # it is forgotten already
                    entries.append(node.forgets(id_))
            case _:
                entries.append(node.says(f"text {len(entries)}", id_))
    return entries, {node.id: node.public for node in nodes}


def _log(node: Node, id: str) -> list[bytes]:
    return node.logs.get((SPACE, id), [])


def view(ledger: Ledger) -> dict[str, list[Any]]:
    """The content of the view, the digest and the pending table, without numbers that depend on order."""
    found = {}
    for table in VIEW:
        columns = [row[1] for row in ledger._db.execute(f"PRAGMA table_info({table})")]
        kept = ", ".join(c for c in columns if c not in ("seq", "id", "checksum") or (table == "memory" and c == "id"))
        if table == "erased":
            kept = "doc, space"
        found[table] = sorted(ledger._db.execute(f"SELECT {kept} FROM {table}").fetchall(), key=repr)
    return found


@settings(max_examples=60, derandomize=True, database=None)
@given(SCRIPT, st.randoms(use_true_random=False))
def test_any_order_repetition_and_portions_give_the_same_view_as_the_pure_replica(
    script: list[tuple[str, int, int]], chance: random.Random
) -> None:
    entries, keys = history_of(script)
    replica = told(entries)
    views = []
    for _ in range(3):
        shuffled = entries + chance.sample(entries, len(entries) // 2)
        chance.shuffle(shuffled)
        with Home.for_one_example() as home, home.opened() as ledger:
            while shuffled:
                size = chance.randrange(1, 9)
                portion, shuffled = shuffled[:size], shuffled[size:]
                taken(ledger, Node("relay"), *portion, keys=keys)
            assert ledger.digest(SPACE) == replica.shelf.digest(SPACE)
            assert refused(ledger) == []
            assert ledger.backlog().pending == 0
            for id_ in IDS:
                state = replica.state(Key(SPACE, id_))
                expected = materialise(state) if state else None
                assert ledger.read([id_]).get(id_) == expected
            views.append(view(ledger))
            ledger.rebuild_view()
            assert view(ledger) == views[-1]
    assert views[0] == views[1] == views[2]


# ---- a failure at every statement -----------------------------------------------------------------------------------


class Broken(BaseException):
    """As a kill: nothing after it runs, and nobody handles it."""


class Fragile(sqlite3.Connection):
    """Counts its statements, and breaks at a chosen statement."""

    left = -1

    def execute(self, *args: Any) -> sqlite3.Cursor:
        self._count()
        return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        self._count()
        return super().executemany(*args)

    def _count(self) -> None:
        if Fragile.left == 0:
            raise Broken
        Fragile.left -= 1


@contextmanager
def fragile(monkeypatch: pytest.MonkeyPatch, home: Home) -> Iterator[Ledger]:
    """A ledger on a connection that can break. Its file is then as a killed process leaves it."""
    Fragile.left = -1
    plain = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(schema.sqlite3, "connect", lambda *a, **k: plain(*a, factory=Fragile, **k))
        ledger = home.open()
    try:
        yield ledger
    finally:
        Fragile.left = -1
        ledger._lock.close()
        ledger._db.close()


def portions() -> tuple[list[list[Entry]], dict[str, bytes]]:
    """Three batches with everything in them: new, early, forged, refused, relieved, erased."""
    a, b = Node("a"), Node("b", BOB)
    one, two, three = a.says("one"), a.says("two"), a.says("three")
    b.knows(one)
    side = b.says("other two")
    x, y = b.says("x", OTHER), b.says("y", OTHER)
    forged = replace(side, signature=bytes(64))
    gone = a.says("gone", IDS[2])
    batches = [[one, three, forged, y, gone], [side, b.tags("t", id=OTHER), a.erases(IDS[2])], [two, x, gone]]
    return batches, {**a.keys, **b.keys}


def take(ledger: Ledger, number: int, batch: list[Entry], keys: dict[str, bytes]) -> None:
    """As a peer does: from the cursor that is durable."""
    node = Node("relay")
    if ledger.cursors(node.id).get(FEED, 0) < number:
        taken(ledger, node, *batch, keys=keys, feed=FEED, last_seq=number)


def test_a_kill_at_any_statement_of_taking_in_loses_and_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    batches, keys = portions()
    with Home.for_one_example() as home, home.opened() as ledger:
        for number, batch in enumerate(batches, 1):
            take(ledger, number, batch, keys)
        expected = view(ledger)
        assert {row[0] for row in expected["memory"]} == {ID, OTHER}
    statement, broke = 0, True
    while broke:
        broke = False
        with Home.for_one_example() as home:
            for number, batch in enumerate(batches, 1):
                with fragile(monkeypatch, home) as ledger:
                    Fragile.left = statement
                    try:
                        take(ledger, number, batch, keys)
                    except Broken:
                        broke = True
                with home.opened() as ledger:
                    take(ledger, number, batch, keys)
            with home.opened() as ledger:
                assert view(ledger) == expected, statement
                seqs = [seq for (seq,) in ledger._db.execute("SELECT seq FROM entry ORDER BY seq")]
                assert len(seqs) == len(set(seqs)) == 8, statement
                assert ledger.digest(SPACE) == replica_of(ledger).shelf.digest(SPACE)
        statement += 1
    assert statement > 30


def test_a_kill_at_any_statement_of_an_erasure_leaves_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    statement, broke = 0, True
    while broke:
        broke = False
        with Home.for_one_example() as home:
            with home.opened() as ledger:
                memory = done(ledger, home.pen.create("one")).memory
                done(ledger, home.pen.revise(memory, content="two"))
                command = home.pen.erase(memory.id)
            with fragile(monkeypatch, home) as ledger:
                Fragile.left = statement
                try:
                    ledger.erase(command)
                except Broken:
                    broke = True
            with home.opened() as ledger:
                left = len(ledger.read([memory.id]))
                assert len(all_entries(ledger)) == (2 if left else 1), statement
                ledger.erase(command)
                assert (ledger.read([memory.id]), len(all_entries(ledger))) == ({}, 1)
                assert ledger.digest(SPACE) == replica_of(ledger).shelf.digest(SPACE)
        statement += 1
    assert statement > 10


def test_an_error_of_the_disk_in_the_middle_leaves_a_sound_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    batches, keys = portions()
    monkeypatch.setattr(Fragile, "_count", _fail_softly)
    for statement in range(0, 60, 7):
        with Home.for_one_example() as home, fragile(monkeypatch, home) as ledger:
            done(ledger, home.pen.create("before"))
            Fragile.left = statement
            with suppress(MnemeshError):
                take(ledger, 1, batches[0], keys)
            Fragile.left = -1
            for number, batch in enumerate(batches, 1):
                take(ledger, number, batch, keys)
            done(ledger, home.pen.create("after"))
            assert ledger.digest(SPACE) == replica_of(ledger).shelf.digest(SPACE), statement
            assert {entry.agent for entry in all_entries(ledger)} >= {AGENT}


def _fail_softly(self: Fragile) -> None:
    if Fragile.left == 0:
        Fragile.left = -1
        raise sqlite3.OperationalError("disk I/O error")
    Fragile.left -= 1
