"""Ids of memories: time-ordered for a fresh one, derived for one with an idempotency key. Chance is an argument."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from mnemesh_memory.model import Draft, Link, Patch, Source

NAMESPACE: Final = uuid.UUID("6d6e656d-6573-5068-8000-6d656d6f7279")
# These say how to answer, not what to store, so a retry may differ in them.
_NOT_CONTENT: Final = ("idempotency_key", "wait")
# Fields that came later: at these values they are left out, so that a key used before them still fits its request.
_LATER: Final = {"clear": ()}


def uuid7(at_ms: int, entropy: bytes) -> str:
    """A UUID version 7 (RFC 9562) from milliseconds since the epoch and 10 random bytes."""
    if len(entropy) != 10:
        raise ValueError(f"entropy: {len(entropy)} bytes, needs 10")
    value = (at_ms & (2**48 - 1)) << 80 | int.from_bytes(entropy)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def derived_id(space: str, agent: str, key: str) -> str:
    """The same id on every ledger for (space, agent, idempotency key): UUID version 5 (RFC 9562)."""
    return str(uuid.uuid5(NAMESPACE, json.dumps([space, agent, key], ensure_ascii=False)))


def fingerprint(request: Draft | Patch, target: str = "") -> bytes:
    """32 bytes that two requests share if and only if they ask for the same thing (SHA-256 of their canonical form)."""
    value = {one.name: getattr(request, one.name) for one in fields(request) if one.name not in _NOT_CONTENT}
    value = {name: one for name, one in value.items() if name not in _LATER or one != _LATER[name]}
    text = json.dumps([type(request).__name__, target, value], sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode()).digest()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Source):
        return [value.session, value.dir, value.seq]
    if isinstance(value, Link):
        return [value.type, value.id]
    raise TypeError(f"{type(value).__name__} has no canonical form")
