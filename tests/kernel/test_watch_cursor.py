"""Cursors: opaque, faithful to their content, and refused in any other form."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, OutOfRange, PermissionDenied
from mnemesh_memory.values.model import Caller
from mnemesh_memory.watch import watch_values
from mnemesh_memory.watch.watch_values import ADDED, ERASED, Change, WatchQuery

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
