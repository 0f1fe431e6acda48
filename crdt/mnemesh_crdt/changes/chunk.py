"""The head of a change's bytes, read without Automerge: hash, parents and actor.

Knows Automerge's binary format (https://automerge.org/automerge-binary-format-spec, "change chunk") only as far as the
fields before the operations. The checksum is verified, and sizes are bounded before anything is inflated.

    magic 4, checksum 4 (first bytes of the hash), type 1, length uleb, body; type 2 is type 1 deflated

    body: number of deps uleb, 32 bytes each, actor length uleb, actor, seq uleb, ...
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.limits import CHANGE_BYTES_MAX, CHANGE_INFLATED_BYTES_MAX

_MAGIC: Final = b"\x85\x6f\x4a\x83"
_CHANGE: Final = 1
_DEFLATED_CHANGE: Final = 2
DEFLATED: Final = bytes([_DEFLATED_CHANGE])  # the ninth byte of a change that has to be inflated
_HEAD_BYTES: Final = 9
_HASH_BYTES: Final = 32
_RAW_DEFLATE: Final = -15


@dataclass(frozen=True, slots=True)
class ChangeHead:
    """Hash, hashes of the changes that it builds on, and actor, all in hex; `seq` counts an actor's
    changes."""

    hash: str
    deps: tuple[str, ...]
    actor: str
    seq: int


def read_head(raw: bytes) -> ChangeHead:
    """The head of exactly one change. Raises DataLoss when the bytes are anything else, damaged or over a
    limit."""
    return open_change(raw)[0]


def open_change(raw: bytes) -> tuple[ChangeHead, bytes, int]:
    """The head of exactly one change, its inflated body, and the place in the body of the first operation's number.
    Raises DataLoss as `read_head` does."""
    if len(raw) > CHANGE_BYTES_MAX:
        raise unreadable(f"{len(raw)} bytes, at most {CHANGE_BYTES_MAX} are allowed")
    if len(raw) < _HEAD_BYTES or raw[:4] != _MAGIC or raw[8] not in (_CHANGE, _DEFLATED_CHANGE):
        raise unreadable("it does not start as one")
    length, start = read_uleb(raw, _HEAD_BYTES)
    if start + length != len(raw):
        raise unreadable(f"{length} bytes are announced, {len(raw) - start} are there")
    body = _inflate(raw[start:]) if raw[8] == _DEFLATED_CHANGE else raw[start:]
    digest = hashlib.sha256(bytes([_CHANGE]) + uleb_bytes(len(body)) + body).digest()
    if digest[:4] != raw[4:8]:
        raise unreadable("wrong checksum")
    count, at = read_uleb(body, 0)
    ends = at + count * _HASH_BYTES
    deps = part_of(body, at, ends)
    actor_length, at = read_uleb(body, ends)
    actor = part_of(body, at, at + actor_length)
    seq, at = read_uleb(body, at + actor_length)
    head = ChangeHead(
        hash=digest.hex(),
        deps=tuple(deps[i : i + _HASH_BYTES].hex() for i in range(0, len(deps), _HASH_BYTES)),
        actor=actor.hex(),
        seq=seq,
    )
    return head, body, at


def inflated_size_max(raw: bytes) -> int:
    """An upper bound of the inflated size in bytes, without inflating the change."""
    return CHANGE_INFLATED_BYTES_MAX if raw[8:9] == DEFLATED else len(raw)


def chunk_of(body: bytes) -> tuple[str, bytes]:
    """The hash (hex) and the bytes of the change with that body, not deflated."""
    rest = bytes([_CHANGE]) + uleb_bytes(len(body)) + body
    digest = hashlib.sha256(rest).digest()
    return digest.hex(), _MAGIC + digest[:4] + rest


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj(_RAW_DEFLATE)
    try:
        body = inflater.decompress(data, CHANGE_INFLATED_BYTES_MAX + 1)
    except zlib.error as error:
        raise unreadable(f"it can not be inflated ({error})") from error
    if len(body) > CHANGE_INFLATED_BYTES_MAX:
        raise unreadable(f"over {CHANGE_INFLATED_BYTES_MAX} bytes when inflated")
    if not inflater.eof or inflater.unused_data:
        raise unreadable("its deflated part does not end where it should")
    return body


def read_uleb(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned LEB128 number (DWARF 5, 7.6) that begins at `at`, and where it ends. Raises DataLoss when it is cut
    off, over 64 bits, or not in its shortest form, because equal changes must have equal bytes."""
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise unreadable("it ends too early")
        byte = data[at]
        at += 1
        if byte < 0x80:
            value |= byte << shift
            if (byte == 0 and shift) or value >= 1 << 64:
                raise unreadable("a number is not in its shortest form, or over 64 bits")
            return value, at
        value |= (byte & 0x7F) << shift
    raise unreadable("a number is too long")


def uleb_bytes(value: int) -> bytes:
    """`value` as unsigned LEB128, in its shortest form."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def part_of(data: bytes, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`. Raises DataLoss when there are fewer."""
    if end > len(data):
        raise unreadable("it ends too early")
    return data[start:end]


def unreadable(why: str) -> DataLoss:
    """The error for bytes that are no change."""
    return DataLoss(f"these bytes are not a change that can be read: {why}", field="change")
