"""What a node signs when it publishes an entry: who wrote which change of which memory, and from where.

Every field is prefixed with its length, so that no two different entries have the same bytes; the first field
names the purpose and version, so that a signature made for something else never fits.
"""

from __future__ import annotations

from typing import Final

_PURPOSE: Final = "mnemesh.entry.1"
_LENGTH_BYTES: Final = 4


def signing_bytes(doc: str, space: str, type: str, hash: str, agent: str, node: str) -> bytes:
    """The canonical input of an entry's ed25519 signature (RFC 8032).

    `type` is change or erase; `hash` is the change's hash in hex; `node` is the origin's id. Each field is
    written as its UTF-8 length in 4 bytes, big-endian, and its bytes.
    """
    fields = (_PURPOSE, doc, space, type, hash, agent, node)
    return b"".join(len(data).to_bytes(_LENGTH_BYTES, "big") + data for data in map(str.encode, fields))
