"""Judgement of foreign entries: rules, siblings, and writers with two faces."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import SPACE, Home, Pen, done, read_back
from peer_builders import ANA, BOB, ID, OTHER, Node, all_entries, contents, hand_over, outcome, reasons, refused, taken

from mnemesh_actors.ledger.commands import Resolve, Rollback
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers import exchange
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.store.replica_cursors import cursor_name
from mnemesh_crdt.admission.admission import RULES, Refused, admit
from mnemesh_crdt.changes.chunk import ChangeHead, read_head
from mnemesh_crdt.changes.envelope import Entry, Key
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.intake.intake import Intake
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Link, Memory

AWS_KEY = "AKIA" + "Q3EGRIHWM6ZPLKJT"
FIRST = Node().says("Ships on Friday.", attrs={"ticket": "1"})


def hostile() -> list[Entry]:
    """Changes of one memory that each break a rule of the doors, and a change on top of the first."""
    entries = []
    for number, edit in enumerate(
        [
            Edit(tags_put=tuple(f"{n}" for n in range(4_000)), at=1),
            Edit(links_put=tuple(Link("see-also", f"{OTHER[:-4]}{n:04x}") for n in range(4_000)), at=1),
            Edit(links_put=(Link("superseded-by", ID),), at=1),
            Edit(tags_put=(AWS_KEY,), at=1),
        ]
    ):
        eve = Node(f"eve {number}", agent="eve")
        eve.knows(FIRST)
        entries.append(eve.edits(edit))
        if not number:
            entries.append(eve.says("It stands on what no door would take."))
    for number, said in enumerate(({"content": f"The key is {AWS_KEY}."}, {"content": "a\0b"}, {"content": " "})):
        eve = Node(f"eve says {number}", agent="eve")
        eve.knows(FIRST)
        entries.append(eve.says(**said))
    named = Node("eve named", agent="eve/\u202etset")
    named.knows(FIRST)
    return [*entries, named.says("It is said by nobody.")]


def honest() -> list[Entry]:
    bob = Node("bob", agent=BOB)
    bob.knows(FIRST)
    return [FIRST, bob.says("Ships daily."), bob.tags("release"), bob.edits(Edit(vote=(f"{BOB}@{bob.id}", True), at=1))]


HOSTILE, HONEST = hostile(), honest()
KEYS = {
    node.id: node.public
    for node in (Node(), Node("bob"), Node("eve named"), *(Node(f"eve {n}") for n in range(4)),
                 *(Node(f"eve says {n}") for n in range(3)))
}  # fmt: skip


@settings(max_examples=12, derandomize=True, database=None, deadline=None)
@given(st.permutations([*HONEST, *HOSTILE]), st.integers(1, 5))
def test_any_order_of_honest_and_hostile_changes_ends_in_the_same_memory_and_the_same_quarantine(
    order: list[Entry], size: int
) -> None:
    with Home.for_one_example() as home, home.opened() as ledger:
        for start in range(0, len(order), size):
            taken(ledger, Node(), *order[start : start + size], keys=KEYS)
        memory = ledger.read([ID])[ID]
        assert (memory.content, memory.tags, memory.useful, memory.links) == ("Ships daily.", ("release",), 1, ())
        assert {one.entry.hash for one in refused(ledger)} == {entry.hash for entry in HOSTILE}
        assert ledger.digest(SPACE) == honest_digest()


def honest_digest() -> dict[int, str]:
    with Home.for_one_example() as home, home.opened() as ledger:
        taken(ledger, Node(), *HONEST, keys=KEYS)
        return ledger.digest(SPACE)


def test_every_reason_names_the_field_and_the_limit_and_no_credential(ledger: Ledger) -> None:
    taken(ledger, Node(), FIRST, *HOSTILE, keys=KEYS)
    found = " ".join(reasons(ledger))
    for part in (
        "it puts 4000 tags, at most 128", "it puts 4000 links, at most 80", "it links the memory to itself",
        "its tag holds a credential (AWS", "its content holds a credential (AWS", "content holds a NUL",
        "a revision that puts has content", "is not a token's name",
    ):  # fmt: skip
        assert part in found
    assert AWS_KEY not in found


def test_a_change_that_other_rules_refused_is_judged_at_the_start(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = Node(agent=ANA)
    entries = [ana.says("one"), ana.says("a\0b"), ana.says("two")]
    with home.opened() as ledger:
        assert outcome(taken(ledger, ana, *entries)) == {"accepted": 1, "quarantined": 2}
        before = refused(ledger)
    with home.opened() as ledger:
        assert refused(ledger) == before, "by the same rules nothing is judged again"
    with home.looked_into() as db:
        assert db.execute("SELECT rules FROM quarantine ORDER BY id").fetchall() == [(RULES,), (0,)]
        db.execute("UPDATE quarantine SET rules = 1 WHERE rules > 0")
    with home.opened() as ledger:
        assert contents(ledger) == ["one"], "the present rules refuse it, too"
    monkeypatch.setattr(exchange, "RULES", RULES + 1)
    monkeypatch.setitem(Intake.__init__.__kwdefaults__, "judge", lenient)
    with home.opened() as ledger:
        assert (contents(ledger), refused(ledger)) == (["two"], []), "and what builds on it"
        assert ledger.history(ID, 10, "").total == 3


def lenient(key: object, entry: Entry, earlier: object) -> ChangeHead:
    return read_head(entry.raw)


def test_what_a_stream_might_not_bring_is_not_judged_again(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("ours"))
        ana = Node()
        taken(ledger, ana, ana.says("theirs"), grant=PeerGrant(read=("*",), write=("team/else",), principal="ana"))
        assert "may not write" in reasons(ledger)[0]
    assert home.sql("SELECT rules FROM quarantine") == [(0,)]


# ---- siblings --------------------------------------------------------------------------------------------------------
# Between the ledgers of one node operations are judged once, by the ledger that wrote or took in an entry first.


SIBLING = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)


def by_another(node: Node) -> Entry:
    """A change that no judge lets in: its entry and its revision name different agents."""
    return node.signs(ID, SPACE, node.says("whose?").raw, "bob/cli")


def test_what_a_peer_brings_is_judged_and_those_of_a_sibling_were_before(ledger: Ledger, node: Node) -> None:
    entry = by_another(node)
    assert outcome(taken(ledger, node, entry)) == {"quarantined": 1}
    assert outcome(taken(ledger, node, entry, grant=SIBLING)) == {"accepted": 1}
    assert contents(ledger) == ["whose?"]
    assert reasons(ledger) == []


def test_signature_hash_and_document_are_proved_between_siblings_too(ledger: Ledger, node: Node) -> None:
    entry = node.says("one")
    unsigned = replace(node.says("two"), agent="bob/cli")
    broken = replace(entry, raw=entry.raw[:-1] + bytes([entry.raw[-1] ^ 1]))
    taken(ledger, node, unsigned, grant=SIBLING)
    taken(ledger, node, broken, grant=SIBLING)
    assert len(reasons(ledger)) == 2
    assert "signature" in " ".join(reasons(ledger))
    assert "checksum" in " ".join(reasons(ledger))
    assert contents(ledger) == []
    assert outcome(taken(ledger, node, entry, grant=SIBLING)) == {"accepted": 1}
    assert contents(ledger) == ["one"]


def test_what_a_peer_brought_early_is_judged_even_when_a_sibling_completes_it(ledger: Ledger, node: Node) -> None:
    first = node.says("one")
    second = by_another(node)
    assert MemoryDocument(ID, SPACE, [first.raw, second.raw]).state().revisions
    taken(ledger, node, second)
    taken(ledger, node, first, grant=SIBLING)
    assert contents(ledger) == ["one"]


def test_a_vote_repeated_after_another_ledger_took_it_counts_once(ledger: Ledger, pen: Pen, node: Node) -> None:
    memory = done(ledger, pen.create("rated")).memory

    def voted(brought_as: str, by: Node) -> None:
        by.knows(*ledger.sync_page(0, ("*",), "", 10, 10**6).entries)
        entry = by.edits(Edit(vote=(f"{pen.agent}@{by.id}", True), at=by.now), memory.id, agent=pen.agent)
        batch = IncomingEntries(
            peer=brought_as, origin=by.origin, grant=SIBLING, entries=(entry,), feed=f"{by.id}/scope", last_seq=1,
            keys=by.keys,
        )  # fmt: skip
        assert ledger.take_in(batch, pen.now).accepted == 1

    voted("ana:" + node.id, node)
    again = done(ledger, pen.rate(memory, True))
    assert (again.action, again.memory.useful) == ("RATE", 2), "another node's agent of that name is another"
    second = done(ledger, pen.create("rated, too")).memory
    memory, twin = second, Node("the other ledger")
    voted(cursor_name(twin.id), twin)
    again = done(ledger, pen.rate(memory, True))
    assert (again.action, again.memory.useful, again.memory.not_useful) == ("NOOP", 1, 0)
    assert done(ledger, pen.rate(memory, True, cited=True)).action == "NOOP"
    otherwise = done(ledger, pen.rate(memory, False))
    assert (otherwise.action, otherwise.memory.useful, otherwise.memory.not_useful) == ("RATE", 1, 1)
    assert done(ledger, pen.rate(memory, False)).action == "NOOP"


# ---- equivocation ----------------------------------------------------------------------------------------------------
# A hostile writer tells two ledgers different things under one actor. After any order of meetings all hold the same,
# and honest writes stand everywhere, even after a restart.


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
        ledger, Resolve(**pen._next(), id=memory.id, keep=kept, content=None, expected_heads=conflict.memory.heads)
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


# ---- a peer with the same log admits every change of a node itself, with any content -------------------------------

PASSWORD = "Tr0ub4" + "dor&3xy"
# An earlier detector let these in.
KNOWN: dict[str, Any] = {
    "title": AWS_KEY, "attrs": {"password": PASSWORD}, "keywords": (AWS_KEY,), "paths": (f"/{AWS_KEY}",),
    "tags": (AWS_KEY, "t"),
}  # fmt: skip
VERBS = (
    "title", "content", "tags", "no tags", "forget", "restore", "first again", "resolve", "link", "unlink", "rate",
    "supersede", "liar", "crowd",
)  # fmt: skip
STEPS = st.lists(st.sampled_from(VERBS), min_size=2, max_size=10)


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(STEPS)
def test_every_change_that_a_node_writes_itself_is_let_in_by_a_peer_that_holds_the_same(steps: list[str]) -> None:
    with Home.for_one_example() as home, home.opened() as ledger:
        memory = done(ledger, home.pen.create(f"pwd for jenkins = {PASSWORD}", **KNOWN)).memory
        (first,) = all_entries(ledger)
        other = done(ledger, home.pen.create("other")).memory
        for number, verb in enumerate(steps):
            if verb in ("liar", "crowd"):
                lie(ledger, memory, number, crowd=verb == "crowd")
                continue
            with suppress(MnemeshError):  # a door may refuse; what it takes has to enter
                write(ledger, home.pen, read_back(ledger, memory), other, verb, number)
        earlier: dict[str, dict[str, bytes]] = {memory.id: {first.hash: first.raw}}
        for entry in all_entries(ledger):
            here = earlier.setdefault(entry.doc, {})
            if entry.hash not in here:
                try:
                    admit(Key(SPACE, entry.doc), entry, here)
                except Refused as refused:
                    raise AssertionError(f"{steps}: {refused.reason}") from refused
                here[entry.hash] = entry.raw


def write(ledger: Ledger, pen: Pen, memory: Memory, other: Memory, verb: str, number: int) -> None:
    match verb:
        case "forget" | "restore":
            done(ledger, getattr(pen, verb)(memory))
        case "first again":
            to = min(one.revision.id for one in ledger.history(memory.id, 50, "").revisions)
            done(ledger, Rollback(**pen._next(), id=memory.id, to=to, expected_heads=memory.heads))
        case "resolve":
            done(
                ledger,
                Resolve(**pen._next(), id=memory.id, keep=memory.heads[-1], content=None, expected_heads=memory.heads),
            )
        case "link" | "unlink":
            done(ledger, getattr(pen, verb)(memory, "see-also", other))
        case "rate":
            done(ledger, pen.rate(memory, number % 2 == 0))
        case "supersede":
            done(ledger, pen.create(f"in its place {number}", supersedes=(memory.id,)))
        case "tags" | "no tags":
            done(ledger, pen.revise(memory, tags=() if verb == "no tags" else (f"new {number}", "t")))
        case _:
            done(ledger, pen.revise(memory, **{verb: f"other {verb} {number}"}))


def lie(ledger: Ledger, memory: Memory, number: int, *, crowd: bool) -> None:
    """A hostile writer gives one actor several changes: two texts, or more tags than one change may take away."""
    for face in range(10 if crowd else 2):
        liar = Node(f"liar {number}", BOB)
        liar.knows(*(entry for entry in all_entries(ledger)[:1]))
        if crowd:
            tags = tuple(f"c{n}" for n in range(limits.CHANGE_TAGS_MAX))
            entry = liar.edits(Edit(tags_put=tags, at=5 + face), memory.id)
        else:
            entry = liar.says(f"face {face}", memory.id)
        assert outcome(taken(ledger, liar, entry)) == {"accepted": 1}
