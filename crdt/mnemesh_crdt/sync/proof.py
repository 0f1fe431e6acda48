"""The proof on a stream that a node has the key of its claimed id: a signature that fits this stream alone.

- The random numbers (nonces) of both sides are covered, so no recorded signature fits.

- The role is covered, so no signature can be said back to its maker.

- The incarnation is covered, because entries are filed under it.

- The life is covered, because it tells a copy from a restarted node.

- The id of the receiver is covered. So a called node can't pass the signature on to a third node in the caller's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from mnemesh_crdt.changes.envelope import KEY_BYTES, joined, node_id_of
from mnemesh_memory.values.errors import DataLoss

NONCE_BYTES: Final = 32
_PURPOSE: Final = "mnemesh.stream.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of one side of a stream to be `node_id`, in that incarnation, life and role, towards `peer_id`. `nonce`
    is from its own Hello, `peer_nonce` from the other's."""

    node_id: str
    incarnation: str
    life: str
    role: str
    nonce: bytes
    peer_id: str
    peer_nonce: bytes


def proof_bytes(claim: Claim) -> bytes:
    """The canonical input of a proof's ed25519 signature (RFC 8032), made as that of an entry; nonces are in hex."""
    nonces = claim.nonce.hex(), claim.peer_nonce.hex()
    return joined(_PURPOSE, claim.node_id, claim.incarnation, claim.life, claim.role, claim.peer_id, *nonces)


def check_proof(claim: Claim, key: bytes, signature: bytes) -> None:
    """Raises DataLoss unless the raw public key is that of the claim's node and the signature covers the claim."""
    if len(key) != KEY_BYTES or node_id_of(key) != claim.node_id:
        raise DataLoss(f"the key is not that of node {claim.node_id[:40]}", field="key")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, proof_bytes(claim))
    except InvalidSignature:
        raise DataLoss(f"the signature is not by node {claim.node_id[:40]}", field="signature") from None
