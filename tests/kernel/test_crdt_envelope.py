"""The bytes under a signature are unambiguous and never change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.changes.envelope import ERASE, ERASURES, Entry, erase_hash, node_id_of, signing_bytes, verify
from mnemesh_memory.values.errors import DataLoss

FIELDS = st.lists(st.text("a\0\u00e9", max_size=3), min_size=6, max_size=6)


@settings(max_examples=200, derandomize=True, database=None)
@given(FIELDS, FIELDS)
def test_different_entries_never_have_the_same_signing_bytes(left: list[str], right: list[str]) -> None:
    assert (signing_bytes(*left) == signing_bytes(*right)) == (left == right)


def test_signing_bytes_are_pinned() -> None:
    assert signing_bytes("d", "s", "change", "h", "\u00e9", "") == (
        b"\0\0\0\x0fmnemesh.entry.1\0\0\0\x01d\0\0\0\x01s\0\0\0\x06change\0\0\0\x01h\0\0\0\x02\xc3\xa9\0\0\0\0"
    )
    assert signing_bytes("ab", "c", "", "", "", "") != signing_bytes("a", "bc", "", "", "", "")


def entry_by(key: Ed25519PrivateKey, **fields: str) -> Entry:
    public = key.public_key().public_bytes_raw()
    signed = {"doc": "d", "space": "s", "type": "change", "hash": "ab", "agent": "ana/cli", "node": node_id_of(public)}
    signed |= fields
    return Entry(**signed, raw=b"raw", signature=key.sign(signing_bytes(**signed)), at=0)


def test_an_entry_is_genuine_with_its_own_nodes_key_alone() -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    entry = entry_by(key)
    verify(entry, key.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="not that of node"):
        verify(entry, other.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="not that of node"):
        verify(entry, b"short")
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry, signature=bytes(64)), key.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry, signature=b""), key.public_key().public_bytes_raw())


@pytest.mark.parametrize("field", ["doc", "space", "type", "hash", "agent"])
def test_no_signed_field_can_be_changed(field: str) -> None:
    key = Ed25519PrivateKey.generate()
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry_by(key), **{field: "other"}), key.public_key().public_bytes_raw())


def test_an_erasure_has_a_hash_of_its_own_for_each_type_who_erases_it_and_where() -> None:
    hashes = {erase_hash(type, "d", "s", a, n) for type in ERASURES for a in ("a", "b") for n in ("n", "m")}
    assert len(hashes) == 8
    assert erase_hash(ERASE, "d", "s", "a", "n") == erase_hash(ERASE, "d", "s", "a", "n")
    assert erase_hash(ERASE, "d", "s", "a", "n") not in {
        erase_hash(ERASE, "ds", "", "a", "n"),
        erase_hash(ERASE, "d", "s", "an", ""),
    }
