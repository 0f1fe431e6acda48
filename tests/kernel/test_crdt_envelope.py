"""What a signature covers is unambiguous and never changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.envelope import signing_bytes

FIELDS = st.lists(st.text("a\0\u00e9", max_size=3), min_size=6, max_size=6)


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(FIELDS, FIELDS)
def test_different_entries_never_have_the_same_signing_bytes(left: list[str], right: list[str]) -> None:
    assert (signing_bytes(*left) == signing_bytes(*right)) == (left == right)


def test_signing_bytes_are_pinned() -> None:
    assert signing_bytes("d", "s", "change", "h", "\u00e9", "") == (
        b"\0\0\0\x0fmnemesh.entry.1\0\0\0\x01d\0\0\0\x01s\0\0\0\x06change\0\0\0\x01h\0\0\0\x02\xc3\xa9\0\0\0\0"
    )
    assert signing_bytes("ab", "c", "", "", "", "") != signing_bytes("a", "bc", "", "", "", "")
