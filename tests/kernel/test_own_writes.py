"""A peer with the same log admits every change of a node itself, with any content."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import SPACE, Home, Pen, done, read_back
from peer_builders import BOB, Node, all_entries, outcome, taken

from mnemesh_actors.ledger.commit.commands import Resolve, Rollback
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.admission.admission import Refused, admit
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Memory

AWS_KEY = "AKIA" + "Q3EGRIHWM6ZPLKJT"
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
