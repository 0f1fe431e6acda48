"""One entry of a ledger as it travels: a change of a memory or its erasure, signed by the first node.

The length of every signed field stands before the field, so no two different entries have the same bytes. The first
field names purpose and version, so a signature for another purpose never fits. A node's id is a hash of its public key.
So a key proves itself, whoever hands it over, and provenance survives any number of relays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from mnemesh_memory.values.errors import DataLoss

CHANGE: Final = "change"
# An admin erases any memory, its beginner retracts it. Both delete for good.
ERASE: Final = "erase"
RETRACT: Final = "retract"
ERASURES: Final = (ERASE, RETRACT)
KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
NODE_ID_BYTES: Final = 16
_PURPOSE: Final = "mnemesh.entry.1"
_LENGTH_BYTES: Final = 4
KEYS_KEPT: Final = 64


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A document: a memory id in a space (the same id in two spaces is two documents)."""

    space: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`hash` (hex) is the change's own, or `erase_hash`. `raw` is the change, b"" for an erasure. `agent` is the
    writer, `node` the id of the node that signed. `at` (ms) is the clock of that node, unsigned and for display."""

    doc: str
    space: str
    type: str
    hash: str
    raw: bytes
    agent: str
    node: str
    signature: bytes
    at: int


def signing_bytes(doc: str, space: str, type: str, hash: str, agent: str, node: str) -> bytes:
    """The canonical input of an entry's ed25519 signature (RFC 8032).

    `type` is change, erase or retract; `hash` is the change's hash in hex; `node` is the origin's id.
    """
    return joined(_PURPOSE, doc, space, type, hash, agent, node)


def erase_hash(type: str, doc: str, space: str, agent: str, node: str) -> str:
    """The hash of an entry that erases or retracts a document: another one for each agent and node."""
    return hashlib.sha256(joined(f"mnemesh.{type}.1", doc, space, agent, node)).hexdigest()


def node_id_of(public_key: bytes) -> str:
    """The id of the node whose raw ed25519 public key (32 bytes) this is: 32 hex characters of its SHA-256."""
    return hashlib.sha256(public_key).digest()[:NODE_ID_BYTES].hex()


def verify(entry: Entry, public_key: bytes) -> None:
    """Raises DataLoss unless the key is that of the entry's node and the signature covers the entry."""
    if len(public_key) != KEY_BYTES or (known := _key(public_key))[0] != entry.node:
        raise DataLoss(f"the key is not that of node {entry.node[:40]}", field="node", value=entry.node[:40])
    signed = signing_bytes(entry.doc, entry.space, entry.type, entry.hash, entry.agent, entry.node)
    try:
        known[1].verify(entry.signature, signed)
    except InvalidSignature:
        raise DataLoss(
            f"the signature of {entry.hash[:16]} is not by node {entry.node[:40]}", field="signature"
        ) from None


# Few nodes sign most entries, and reading a key costs a tenth of a signature.
@lru_cache(maxsize=KEYS_KEPT)
def _key(public_key: bytes) -> tuple[str, Ed25519PublicKey]:
    """The id of the node whose key this is, and the key."""
    return node_id_of(public_key), Ed25519PublicKey.from_public_bytes(public_key)


def joined(*fields: str) -> bytes:
    """The bytes to sign or hash of several fields: each as its UTF-8 length in 4 bytes, big-endian, and its bytes."""
    return b"".join(len(data).to_bytes(_LENGTH_BYTES, "big") + data for data in map(str.encode, fields))


class Refused(Exception):
    """The change must not enter its document; `reason` says why, for the quarantine."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
