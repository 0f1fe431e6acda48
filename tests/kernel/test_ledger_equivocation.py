"""A hostile writer tells two ledgers different things under one actor. After any order of meetings all hold the
same, and honest writes stand everywhere, even after a restart."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest
from ledger_builders import SPACE, Home, Pen, done
from peer_builders import BOB, Node, all_entries, hand_over, outcome, reasons, taken

from mnemesh_actors.ledger.commit.commands import Resolve
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.values.model import Memory

LINES = ((0, 1, 1, 2), (1, 2, 0, 1), (2, 0, 1, 0))


@pytest.fixture
def homes() -> Iterator[list[Home]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Home.for_one_example()) for _ in range(3)]


def liar(ledger: Ledger) -> Node:
    node = Node("liar", BOB)
    node.knows(*all_entries(ledger))
    return node


def two_faced(ledger: Ledger, memory: Memory, words: Sequence[str] = ("ONE", "TWO")) -> list[tuple[Node, Entry]]:
    """An entry for each word, all by one actor."""
    nodes = [liar(ledger) for _ in words]
    return [(node, node.says(word, memory.id)) for node, word in zip(nodes, words, strict=True)]


def begun(first: Ledger, others: Sequence[tuple[Ledger, Home]], home: Home) -> Memory:
    memory = done(first, home.pen.create("as it was")).memory
    for other, _ in others:
        hand_over(first, other, home)
    return memory


def said(ledger: Ledger, id_: str) -> tuple[set[str], set[str], dict[int, str]]:
    memory = ledger.read([id_])[id_]
    past = {one.revision.content for one in ledger.history(id_, 50, "").revisions}
    return {memory.content, *(one.content for one in memory.conflicts)}, past, ledger.digest(SPACE)


def meet(homes: Sequence[Home], ledgers: Sequence[Ledger], order: Sequence[int]) -> None:
    for _ in range(2):
        for left, right in itertools.pairwise([*order, order[0]]):
            hand_over(ledgers[left], ledgers[right], homes[left])
            hand_over(ledgers[right], ledgers[left], homes[right])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_three_nodes_that_were_told_different_things_agree_in_any_order(homes: list[Home], order: list[int]) -> None:
    ledgers = [home.open() for home in homes]
    pens = [Pen(f"writer{number}/cli", now=1_700_000_100_000 + number) for number in range(3)]
    memory = begun(ledgers[0], [(ledgers[1], homes[1]), (ledgers[2], homes[2])], homes[0])
    (one, first), (two, second) = two_faced(ledgers[0], memory)
    assert first.hash != second.hash
    taken(ledgers[0], one, first)
    taken(ledgers[1], two, second)
    for number in (0, 1):
        now = ledgers[number].read([memory.id])[memory.id]
        done(ledgers[number], pens[number].revise(now, content=f"{now.content}, seen at {number}"))
    meet(homes, ledgers, order)
    outcomes = [said(ledger, memory.id) for ledger in ledgers]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0][0] == {"ONE, seen at 0", "TWO, seen at 1"}
    assert outcomes[0][1] == {"as it was", "ONE", "TWO", "ONE, seen at 0", "TWO, seen at 1"}
    assert [reasons(ledger) for ledger in ledgers] == [[], [], []]
    ledgers[2].close()
    ledgers[2] = homes[2].open()
    now = ledgers[2].read([memory.id])[memory.id]
    settled = done(ledgers[2], pens[2].revise(now, content="settled", expected_heads=now.heads)).memory
    assert settled.conflicts == ()
    meet(homes, ledgers, order)
    outcomes = [said(ledger, memory.id) for ledger in ledgers]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0][0] == {"settled"}
    assert ledgers[0].rebuild_view() == 1
    assert said(ledgers[0], memory.id) == outcomes[1]
    for ledger in ledgers:
        ledger.close()


def test_every_door_of_the_past_tells_the_two_texts_apart(ledger: Ledger, home: Home, pen: Pen) -> None:
    memory = done(ledger, pen.create("as it was")).memory
    for node, entry in two_faced(ledger, memory):
        assert outcome(taken(ledger, node, entry)) == {"accepted": 1}
    (conflict,) = ledger.conflicts((SPACE,), 10, "").conflicts
    assert {one.revision.content for one in conflict.versions} == {"ONE", "TWO"}
    assert {one.node for one in conflict.versions} == {Node("liar", BOB).id}
    page = ledger.changes(0, (SPACE,), 10)
    assert [one.type for one in page.changes] == ["added", "updated", "conflicted"]
    assert {one.revision for one in page.changes[1:]} <= {*conflict.memory.heads}
    for one in conflict.versions:
        assert ledger.revision(memory.id, "revision", one.revision.id).content == one.revision.content
    kept = conflict.versions[1].revision.id
    resolved = done(
        ledger,
        Resolve(**pen._next(), id=memory.id, keep=kept, content=None, expected_heads=conflict.memory.heads),
    ).memory
    assert (resolved.content, resolved.conflicts) == (conflict.versions[1].revision.content, ())


def test_what_a_version_before_put_aside_is_judged_again_at_the_start(home: Home) -> None:
    with home.opened() as ledger:
        memory = done(ledger, home.pen.create("as it was")).memory
        (one, first), (two, second) = two_faced(ledger, memory)
        taken(ledger, one, first)
        later = two.says("TWO, and more", memory.id)
        taken(ledger, two, second, later)
    with home.looked_into() as db:
        _as_before(db, second, later)
    with home.opened() as ledger:
        found = ledger.read([memory.id])[memory.id]
        assert {found.content, *(one.content for one in found.conflicts)} == {"ONE", "TWO, and more"}
        assert reasons(ledger) == []


def _as_before(db: sqlite3.Connection, second: Entry, later: Entry) -> None:
    """The second change of the actor in quarantine, together with its descendants."""
    for entry, reason, awaited in (
        (second, "its actor wrote before; every change has a fresh actor", None),
        (later, f"it builds on {second.hash}, which is quarantined", bytes.fromhex(second.hash)),
    ):
        db.execute("DELETE FROM entry WHERE hash = ?", (bytes.fromhex(entry.hash),))
        db.execute(
            "INSERT INTO quarantine (doc, space, type, hash, raw, agent, node, signature, at, origin, received, "
            "awaited, reason, sender) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'far', 1700000000000, ?, ?, 'bob')",
            (
                *(entry.doc, entry.space, entry.type, bytes.fromhex(entry.hash), entry.raw, entry.agent, entry.node),
                *(entry.signature, entry.at, awaited, reason),
            ),
        )
    db.execute("UPDATE meta SET value = '0' WHERE key = 'view_version'")
