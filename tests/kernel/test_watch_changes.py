"""The ledger's account of its entries: every entry in order, its effect, and never more than a page."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_builders import OTHER_SPACE, SPACE, Home, Pen, all_done, done
from peer_builders import BOB, ID, NOW, OTHER, Node, contents, outcome, taken

from mnemesh_actors.ledger.feeds import changes
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.document.happenings import happenings
from mnemesh_memory.watch.watch_values import Change

BOTH = (SPACE, OTHER_SPACE)


def told(ledger: Ledger, *spaces: str, after: int = 0, limit: int = 64) -> list[Change]:
    """Everything after `after`, page by page."""
    found: list[Change] = []
    while True:
        page = ledger.changes(after, spaces or BOTH, limit)
        found += page.changes
        assert page.seq > after or page.seq == page.head
        if page.seq >= page.head:
            return found
        after = page.seq


def test_every_write_is_told_once_in_order_with_what_it_did(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", title="Deploys", kind="decision")).memory
    done(ledger, pen.revise(first, content="We deploy on Monday."))
    done(ledger, pen.forget(first))
    done(ledger, pen.restore(first))
    done(ledger, pen.revise(first, tags=("x",)))
    second = done(ledger, pen.create("We never deploy.", supersedes=(first.id,))).memory
    found = told(ledger)
    assert [(one.seq, one.type, one.id) for one in found] == [
        (1, "added", first.id),
        (2, "updated", first.id),
        (3, "forgotten", first.id),
        (4, "restored", first.id),
        (5, "updated", first.id),
        (6, "added", second.id),
        (7, "superseded", first.id),
    ]
    assert [one.content for one in found[:4]] == [
        "We deploy on Friday.", "We deploy on Monday.", "", "We deploy on Monday.",
    ]  # fmt: skip
    assert {(one.kind, one.title, one.space, one.agent) for one in found if one.id == first.id} == {
        ("decision", "Deploys", SPACE, pen.agent)
    }


def _put(content: str, at: int, *parents: str, op: str = "put") -> Edit:
    return Edit(
        revision=RevisionFields(op=op, kind="fact", title="", content=content, by="owner/a", at=at, parents=parents),
        at=at,
    )


def _merged(*edits: tuple[bytes, Edit, tuple[bytes, ...]]) -> dict[str, str]:
    """The effect of each change, in this order of arrival. Each change builds on the changes of the actors it names."""
    raws: dict[bytes, bytes] = {}
    for actor, edit, known in edits:
        document = MemoryDocument("018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", SPACE, [raws[one] for one in known])
        change = document.write(edit, actor)
        assert change is not None
        raws[actor] = change.raw
    state = MemoryDocument("018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", SPACE, raws.values()).state()
    order = [actor.hex() for actor in raws]
    return {actor[:2]: one.type for actor, one in happenings(state, order, order).items()}


A, B, C, D = (bytes([number]) * 16 for number in (1, 2, 3, 4))
ONE = f"1@{A.hex()}"


def test_two_edits_that_did_not_know_of_each_other_are_a_conflict_and_one_that_names_both_resolves_it() -> None:
    assert _merged(
        (A, _put("one", 1), ()),
        (B, _put("two", 2, ONE), (A,)),
        (C, _put("three", 3, ONE), (A,)),
        (D, _put("four", 4, f"2@{B.hex()}", f"2@{C.hex()}"), (A, B, C)),
    ) == {"01": "added", "02": "updated", "03": "conflicted", "04": "resolved"}


def test_an_edit_that_did_not_know_of_the_forgetting_brings_the_memory_back() -> None:
    assert _merged(
        (A, _put("one", 1), ()),
        (B, _put("", 2, ONE, op="forget"), (A,)),
        (C, _put("two", 3, ONE), (A,)),
    ) == {"01": "added", "02": "forgotten", "03": "restored"}


def test_a_forgetting_that_did_not_know_of_an_edit_forgets_nothing() -> None:
    assert _merged(
        (A, _put("one", 1), ()),
        (B, _put("two", 2, ONE), (A,)),
        (C, _put("", 3, ONE, op="forget"), (A,)),
    ) == {"01": "added", "02": "updated", "03": "updated"}


def test_a_page_ends_at_its_limit_and_the_next_goes_on_there(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(f"memory {number}") for number in range(10)))
    page = ledger.changes(0, BOTH, 3)
    assert ([one.seq for one in page.changes], page.seq, page.head) == ([1, 2, 3], 3, 10)
    assert [one.seq for one in told(ledger, limit=3)] == list(range(1, 11))


def test_a_page_ends_at_its_bytes_but_holds_one_change_at_least(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "CHANGES_BYTES_MAX", 10)
    all_done(ledger, *(pen.create(f"a memory of some length {number}") for number in range(3)))
    page = ledger.changes(0, BOTH, 64)
    assert (len(page.changes), page.seq) == (1, 1)
    assert len(told(ledger)) == 3


def test_entries_of_other_spaces_are_passed_and_the_position_moves_over_them(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "SPAN", 4)
    all_done(ledger, *(pen.create(f"noise {number}", space=OTHER_SPACE) for number in range(10)))
    here = done(ledger, pen.create("here")).memory
    page = ledger.changes(0, (SPACE,), 64)
    assert (page.changes, page.seq, page.head) == ((), 4, 11)
    assert [one.id for one in told(ledger, SPACE)] == [here.id]


def test_at_the_end_of_the_log_the_position_stays(ledger: Ledger, pen: Pen) -> None:
    assert (ledger.changes(0, BOTH, 64).seq, ledger.position()[1]) == (0, 0)
    done(ledger, pen.create("one"))
    page = ledger.changes(1, BOTH, 64)
    assert (page.changes, page.seq, page.head) == ((), 1, 1)
    assert ledger.position() == (page.incarnation, 1)


def test_a_page_is_read_by_number_and_never_through_the_whole_log(home: Home, ledger: Ledger) -> None:
    statements: list[str] = []
    ledger._db.set_trace_callback(statements.append)
    ledger.changes(5, BOTH, 64)
    ledger.entries(5, 64)
    ledger._db.set_trace_callback(None)
    asked = [one for one in statements if " FROM entry WHERE " in one]
    assert len(asked) == 2
    with home.looked_into() as db:
        for one in asked:
            (plan,) = db.execute("EXPLAIN QUERY PLAN " + one).fetchall()
            assert "SEARCH entry USING INTEGER PRIMARY KEY (rowid>?" in plan[3]


def test_what_an_erasure_left_is_told_as_one(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("gone")).memory
    ledger._db.execute("DELETE FROM entry WHERE doc = ?", (memory.id,))
    fields: tuple[Any, ...] = (SPACE, memory.id, b"h" * 32, b"a" * 16, b"", "owner/a", "n" * 32, b"s" * 64, 5)
    ledger._db.execute(
        "INSERT INTO entry (space, doc, type, hash, actor, raw, agent, node, signature, at) "
        "VALUES (?, ?, 'erase', ?, ?, ?, ?, ?, ?, ?)",
        fields,
    )
    (change,) = told(ledger)
    assert (change.type, change.id, change.space, change.content) == ("erased", memory.id, SPACE, "")


def test_memories_that_were_touched_are_named_once_a_page(ledger: Ledger, pen: Pen) -> None:
    first, second = (one.memory for one in all_done(ledger, pen.create("one"), pen.create("two")))
    done(ledger, pen.revise(first, content="three"))
    pages = [ledger.entries(after, 64) for after in (0, 2, 3)]
    assert [page.ids for page in pages] == [[first.id, second.id], [first.id], []]
    assert [(page.seq, page.head) for page in pages] == [(3, 3)] * 3


# ---- actors of another memory --------------------------------------------------------------------------------------


def copied(bob: Node, raw: bytes, content: str) -> bytes:
    """The memory `bob` begins with the actor of the change `raw` of another memory, as its revision shows."""
    actor = bytes.fromhex(read_head(raw).actor)
    said = RevisionFields(op="put", kind="fact", title="", content=content, by=BOB, at=NOW)
    change = MemoryDocument(OTHER, SPACE).write(Edit(revision=said, at=NOW), actor)
    assert change is not None
    return change.raw


def test_an_actor_that_was_seen_in_another_memory_puts_no_words_in_its_writers_mouth(ledger: Ledger) -> None:
    ana, bob = Node("ana's"), Node("bob's", BOB)
    real = ana.says("Deploys need two approvals.")
    taken(ledger, ana, real)
    forged = bob.signs(OTHER, SPACE, copied(bob, real.raw, "Deploys need no approval."), BOB)
    assert outcome(taken(ledger, bob, forged)) == {"accepted": 1}
    assert [(one.id, one.agent, one.content) for one in told(ledger)] == [
        (ID, ana.agent, "Deploys need two approvals."),
        (OTHER, BOB, "Deploys need no approval."),
    ]


def test_a_write_that_is_sent_again_is_answered_with_its_own_memory_whoever_used_its_actor(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    rated = done(ledger, pen.create("rated")).memory
    bob, rating = Node("bob's", BOB), pen.rate(rated, True)
    said = RevisionFields(op="put", kind="fact", title="", content="not this", by=BOB, at=NOW)
    change = MemoryDocument(OTHER, SPACE).write(Edit(revision=said, at=NOW), rating.actor)
    assert change is not None
    taken(ledger, bob, bob.signs(OTHER, SPACE, change.raw, BOB))
    assert contents(ledger, [OTHER]) == ["not this"]
    again = done(ledger, rating)
    assert (again.memory.id, again.replayed) == (rated.id, False)
