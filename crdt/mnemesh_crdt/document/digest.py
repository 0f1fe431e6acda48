"""What the digest of a space is made of: 4,096 buckets of documents, and one number for what each document holds.

The replica in memory and the ledger's table compute the same from these two functions. A bucket's hash is the XOR of
its documents' fingerprints, so that a change of one document changes it without reading the others.
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
    """sha256 of a document's id and its heads, or of its id alone when it is erased."""
    return int.from_bytes(hashlib.sha256("\n".join([id, *sorted(heads or ())]).encode()).digest(), "big")
