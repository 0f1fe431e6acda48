"""The head of a change is read as Automerge reads it, and from nothing but an undamaged change."""

from __future__ import annotations

import zlib

import pytest
from automerge.core import Document
from crdt_scenarios import actor, created, document, edited, genesis, put, with_checksum
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.document.document import Edit, genesis_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss

HEAD = b"\x85\x6f\x4a\x83\0\0\0\0"


def uleb(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded + bytes([value]))


def deflated(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(body) + packer.flush()
    return HEAD + b"\x02" + uleb(len(data)) + data


@pytest.mark.parametrize("content", ["short", "long " * 5000])
def test_hash_deps_actor_and_sequence_are_those_that_the_library_gives(content: str) -> None:
    first = created()
    log = [first, edited([first], content, 2), edited([first], "other", 3)]
    log.append(edited(log, content, 4))
    loaded = Document.load(b"".join([bytes(genesis().get_changes([])[0].raw_bytes), *log]))
    expected = {
        bytes(change.hash).hex(): (
            sorted(bytes(dep).hex() for dep in change.deps),
            bytes(change.actor_id).hex(),
            change.seq,
        )
        for change in loaded.get_changes([])
    }
    for raw in log:
        head = read_head(raw)
        assert (sorted(head.deps), head.actor, head.seq) == expected[head.hash]
    assert read_head(first).deps == (genesis_hash(document().id, document().space),)
    assert read_head(log[3]).actor == actor(4).hex()


@pytest.mark.parametrize("content", ["short", "long " * 5000])
@settings(max_examples=150, derandomize=True, database=None)
@given(position=st.integers(0, 100_000), flip=st.integers(1, 255), cut=st.booleans())
def test_any_single_damage_is_noticed(content: str, position: int, flip: int, cut: bool) -> None:
    change = document().write(Edit(revision=put(content), at=1), actor(1))
    assert change is not None
    raw = change.raw
    at = position % len(raw)
    with pytest.raises(DataLoss, match="not a change"):
        read_head(raw[:at] if cut else raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :])


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "start"),
        (bytes(limits.CHANGE_BYTES_MAX + 1), "at most"),
        (HEAD + b"\x00\x00", "start"),
        (HEAD + b"\x01", "too early"),
        (HEAD + b"\x01" + b"\xff" * 10, "too long"),
        (HEAD + b"\x02\x01\xff", "inflated"),
        (deflated(bytes(limits.CHANGE_INFLATED_BYTES_MAX + 1)), "when inflated"),
        (deflated(b"abc")[:-1].replace(b"\x02\x05", b"\x02\x04"), "end where it should"),
        (deflated(b"abc").replace(b"\x02\x05", b"\x02\x06") + b"x", "end where it should"),
        (with_checksum(HEAD + b"\x01\x00"), "too early"),
        (with_checksum(HEAD + b"\x01\x01\x02"), "too early"),
        (with_checksum(HEAD + b"\x01\x02\x00\x10"), "too early"),
        (with_checksum(HEAD + b"\x01\x01\x00") + b"\x00", "announced"),
    ],
)
def test_what_is_wrong_is_said(raw: bytes, why: str) -> None:
    with pytest.raises(DataLoss, match=why):
        read_head(raw)


def test_a_bomb_is_not_inflated_beyond_the_limit() -> None:
    bomb = deflated(bytes(50_000_000))
    assert len(bomb) < limits.CHANGE_BYTES_MAX
    with pytest.raises(DataLoss, match="when inflated"):
        read_head(bomb)
