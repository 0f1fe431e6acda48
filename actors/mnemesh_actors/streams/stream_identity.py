"""The identity of both ends of a stream: the signature of this node's claim, and the admission of the peer.

A key signs claims here, and nothing else. That of a ledger on another machine stays there; its ledger is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_crdt.sync.proof import Claim, proof_bytes

Signing: TypeAlias = Callable[[Claim], Awaitable[bytes]]
# Why the peer of that node id and life is a copy, or "".
Admission: TypeAlias = Callable[[str, str], Awaitable[str]]


def signing_with(key: Ed25519PrivateKey) -> Signing:
    """Signs with a key of this process."""

    async def sign(claim: Claim) -> bytes:
        return key.sign(proof_bytes(claim))

    return sign


async def anyone(node_id: str, life: str) -> str:
    """Admits every peer."""
    return ""
