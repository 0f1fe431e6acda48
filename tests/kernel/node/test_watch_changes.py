"""Changes for a watcher, and the cursors of a watch."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_builders import OTHER_SPACE, SPACE, Home, Pen, all_done, done
from peer_builders import BOB, ID, NOW, OTHER, Node, contents, outcome, taken

from mnemesh_actors.ledger.feeds import feeds
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.document.happenings import happenings
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, OutOfRange, PermissionDenied
from mnemesh_memory.values.model import Caller
from mnemesh_memory.watch import watch_values
from mnemesh_memory.watch.watch_values import ADDED, ERASED, Change, WatchQuery

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
        (A, _put("one", 1), ()), (B, _put("", 2, ONE, op="forget"), (A,)), (C, _put("two", 3, ONE), (A,))
    ) == {"01": "added", "02": "forgotten", "03": "restored"}


def test_a_forgetting_that_did_not_know_of_an_edit_forgets_nothing() -> None:
    assert _merged(
        (A, _put("one", 1), ()), (B, _put("two", 2, ONE), (A,)), (C, _put("", 3, ONE, op="forget"), (A,))
    ) == {"01": "added", "02": "updated", "03": "updated"}


def test_a_page_ends_at_its_limit_and_the_next_goes_on_there(ledger: Ledger, pen: Pen) -> None:
    all_done(ledger, *(pen.create(f"memory {number}") for number in range(10)))
    page = ledger.changes(0, BOTH, 3)
    assert ([one.seq for one in page.changes], page.seq, page.head) == ([1, 2, 3], 3, 10)
    assert [one.seq for one in told(ledger, limit=3)] == list(range(1, 11))


def test_a_page_ends_at_its_bytes_after_one_change(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "CHANGES_BYTES_MAX", 10)
    all_done(ledger, *(pen.create(f"a memory of some length {number}") for number in range(3)))
    page = ledger.changes(0, BOTH, 64)
    assert (len(page.changes), page.seq) == (1, 1)
    assert len(told(ledger)) == 3


def test_entries_of_other_spaces_are_passed_over(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SPAN", 4)
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
    taken(ledger, bob, bob.signs(OTHER, SPACE, change.raw, BOB))
    assert contents(ledger, [OTHER]) == ["not this"]
    again = done(ledger, rating)
    assert (again.memory.id, again.replayed) == (rated.id, False)


# ---- watch cursor ----------------------------------------------------------------------------------------------------
# Cursors: opaque, faithful to their content, and refused in any other form.


CALLER = Caller("owner/test", "owner", default_space="team/payments")
HERE, THERE = "a" * 32, "b" * 32
POSITIONS = st.dictionaries(
    st.text("0123456789abcdef", min_size=32, max_size=32), st.integers(0, 2**63 - 1), max_size=8
)


@given(POSITIONS)
def test_a_cursor_says_what_was_written_into_it_and_fits_its_limit(positions: dict[str, int]) -> None:
    token = watch_values.write_cursor(positions)
    assert watch_values.read_cursor(token) == positions
    assert len(token) <= limits.WATCH_CURSOR_CHARS_MAX


@given(POSITIONS, st.integers(0, 1000), st.integers(1, 255))
def test_a_cursor_with_one_changed_byte_is_refused(positions: dict[str, int], place: int, change: int) -> None:
    token = watch_values.write_cursor(positions)
    data = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    data[place % len(data)] ^= change
    with pytest.raises(InvalidArgument):
        watch_values.read_cursor(base64.urlsafe_b64encode(bytes(data)).decode())


def _token(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.crc32(data).to_bytes(4, "big") + data).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    ["x", "not a cursor", "ünicode", "AAAA", "A" * 5000, _token(b"[]"), _token(b"{"), _token(b'{"a":-1}'),
     _token(b'{"a":true}'), _token(b'{"a":1.5}'), _token(b'{"a":9223372036854775808}'), _token(b"[" * 600)],
)  # fmt: skip
def test_what_is_no_cursor_is_refused_by_name(token: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        watch_values.read_cursor(token)
    assert caught.value.fields["field"] == "cursor"


def test_without_a_cursor_a_watch_begins_now_and_with_from_start_at_the_beginning() -> None:
    assert watch_values.begin(WatchQuery(), {HERE: 7}) == ({HERE: 7}, "")
    assert watch_values.begin(WatchQuery(from_start=True), {HERE: 7}) == ({HERE: 0}, "")


def test_a_cursor_is_resumed_where_it_was_up_to_the_very_end() -> None:
    for seq in (0, 3, 7):
        query = WatchQuery(cursor=watch_values.write_cursor({HERE: seq}))
        assert watch_values.begin(query, {HERE: 7}) == ({HERE: seq}, "")


def test_a_ledger_that_the_cursor_does_not_know_is_told_from_its_beginning_and_that_is_said() -> None:
    query = WatchQuery(cursor=watch_values.write_cursor({THERE: 3}))
    positions, reason = watch_values.begin(query, {HERE: 7})
    assert positions == {HERE: 0}
    assert HERE in reason
    both = WatchQuery(cursor=watch_values.write_cursor({THERE: 3, HERE: 5}))
    assert watch_values.begin(both, {HERE: 7}) == ({HERE: 5}, "")


def test_a_cursor_from_the_future_is_refused() -> None:
    with pytest.raises(OutOfRange) as caught:
        watch_values.begin(WatchQuery(cursor=watch_values.write_cursor({HERE: 8})), {HERE: 7})
    assert (caught.value.fields["field"], caught.value.fields["limit"]) == ("cursor", "the end of this log")


def test_a_cursor_and_from_start_exclude_each_other() -> None:
    with pytest.raises(InvalidArgument):
        watch_values.checked(WatchQuery(cursor="x", from_start=True), CALLER)


def test_a_watch_looks_where_a_read_looks_and_nowhere_else() -> None:
    assert watch_values.checked(WatchQuery(), CALLER).spaces == ("team/payments", "@owner")
    narrow = Caller("ana", "ana", role="reader", spaces=("team/*",))
    assert watch_values.checked(WatchQuery(spaces=("team/x", "@ana")), narrow).spaces == ("team/x", "@ana")
    for space in ("@owner", "other"):
        with pytest.raises(PermissionDenied):
            watch_values.checked(WatchQuery(spaces=(space,)), narrow)


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        (WatchQuery(), True),
        (WatchQuery(kinds=("fact",)), True),
        (WatchQuery(kinds=("decision",)), False),
        (WatchQuery(not_agent="owner/a"), False),
        (WatchQuery(not_agent="owner/b"), True),
    ],
)
def test_filters_let_through_what_they_say(query: WatchQuery, passes: bool) -> None:
    change = Change(seq=1, type=ADDED, id="i", space="s", agent="owner/a", node="n", at=0, kind="fact")
    assert watch_values.wanted(change, query) is passes


def test_an_erasure_passes_every_filter_of_kinds() -> None:
    change = Change(seq=1, type=ERASED, id="i", space="s", agent="owner/a", node="n", at=0)
    assert watch_values.wanted(change, WatchQuery(kinds=("decision",)))
