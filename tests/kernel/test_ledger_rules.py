"""The doors' rules hold for peers: each change is judged by itself, in any order, and again by other rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import SPACE, Home, Pen, done
from peer_builders import ANA, BOB, EVERYTHING, ID, OTHER, Node, contents, outcome, reasons, refused, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers import exchange, foreign
from mnemesh_crdt.admission.admission import RULES
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.intake.replica import Replica
from mnemesh_crdt.intake.replica_events import Received
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import Link

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
        model = Replica()
        for entry in order:
            model.handle(Received(entry, EVERYTHING, KEYS[entry.node]))
        assert {one.entry.hash for one in model.quarantined()} == {entry.hash for entry in HOSTILE}
        assert model.digest(SPACE) == ledger.digest(SPACE)


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


def test_a_change_that_other_rules_refused_is_judged_again_when_the_ledger_opens(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(foreign.Intake.__init__, "__defaults__", (lenient, limits.PENDING_CHANGES_MAX, {}))
    with home.opened() as ledger:
        assert (contents(ledger), refused(ledger)) == (["two"], []), "and what builds on it"
        assert ledger.history(ID, 10, "").total == 3


def lenient(key: object, entry: Entry, earlier: object) -> foreign.ChangeHead:
    return foreign.read_head(entry.raw)


def test_what_a_stream_might_not_bring_is_not_judged_again(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("ours"))
        ana = Node()
        taken(ledger, ana, ana.says("theirs"), grant=PeerGrant(read=("*",), write=("team/else",), principal="ana"))
        assert "may not write" in reasons(ledger)[0]
    with home.looked_into() as db:
        assert db.execute("SELECT rules FROM quarantine").fetchall() == [(0,)]
