"""The parts of a space's digest: 4,096 buckets of documents, and one number for the heads of each document.

The ledger's table is made with these two functions. A bucket's hash is the XOR of its documents' fingerprints. So a
change of one document updates the hash without a look at the others.
"""

from __future__ import annotations

import hashlib
from typing import Final

BUCKETS: Final = 4096
HASH_HEX: Final = 64  # digits of a bucket's hash


def bucket_of(id: str) -> int:
    """The digest's bucket of a memory id, 0 to 4,095."""
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:2], "big") * BUCKETS >> 16


def fingerprint(id: str, heads: set[str] | None) -> int:
    """sha256 of a document's id and heads. An erased document has no heads."""
    return int.from_bytes(hashlib.sha256("\n".join([id, *sorted(heads or ())]).encode()).digest(), "big")
