"""Ids of memories: time-ordered for a fresh one, derived for one with an idempotency key. Chance is an argument.

An id names its space and the principal that begins it, by a hash (`belongs`). Every reader of the beginning can check
the hash. So nobody else can begin a memory of that id, in this space or another, and a replica needs no knowledge of
others to see it. Such an id is a UUID version 8 (RFC 9562). Older ids of versions 7 and 5 hold no hash and name nobody.

A fresh id has 74 bits of hash over its time, too: a second beginning for it takes 2^74 tries. An owner of both
beginnings needs 2^37, and harms nobody else's memory. A derived id has 122 bits.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from mnemesh_memory.values.model import Draft, Link, Patch, Source

NAMESPACE: Final = "mnemesh memory id"
# These fields say how to answer, not what to store, so a retry may differ here.
_NOT_CONTENT: Final = ("idempotency_key", "wait")
# Later fields are left out at these values, so an earlier key still fits its request.
_LATER: Final = {"clear": (), "created_at": None}


def fresh_id(at_ms: int, space: str, principal: str, actor: bytes) -> str:
    """The id, ordered by time (ms since the epoch), of a memory that `principal` begins in `space`. The random bytes of
    the beginning's Automerge actor, `actor`, make every id another."""
    at = at_ms & (2**48 - 1)
    return _uuid8(at << 80 | int.from_bytes(hashed(NAMESPACE, "fresh", at, space, principal, actor.hex())[:10]))


def derived_id(space: str, principal: str, mark: str) -> str:
    """The same id on every ledger for what `principal` writes in `space` with the idempotency key of `mark`."""
    return _uuid8(int.from_bytes(hashed(NAMESPACE, "key", space, principal, mark)[:16]))


def key_mark(agent: str, key: str) -> str:
    """The mark of an idempotency key in the beginning of a memory with a derived id: 32 hex digits."""
    return hashed(NAMESPACE, "mark", agent, key)[:16].hex()


def belongs(id_: str, space: str, principal: str, actor: bytes, mark: str) -> bool:
    """Whether `principal` may begin memory `id_` in `space`, by a change of `actor` that shows `mark`, or "". Anyone
    may begin an id that names nobody."""
    if id_[14:15] != "8":
        return True
    at = int(id_[:13].replace("-", ""), 16)
    return id_ in (fresh_id(at, space, principal, actor), derived_id(space, principal, mark) if mark else "")


def hashed(namespace: str, *parts: str | int) -> bytes:
    """The SHA-256 of a list that begins with the name of its use, so that no other use has the same hash."""
    return hashlib.sha256(json.dumps([namespace, *parts], ensure_ascii=False).encode()).digest()


def _uuid8(value: int) -> str:
    """A UUID version 8 of 128 bits, six of which give way to version and variant."""
    value = value & ~(0xF << 76) | 0x8 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def fingerprint(request: Draft | Patch, target: str = "") -> bytes:
    """32 bytes shared by two requests if and only if both ask for the same thing (SHA-256 of the canonical form)."""
    value = {field.name: getattr(request, field.name) for field in fields(request) if field.name not in _NOT_CONTENT}
    value = {name: part for name, part in value.items() if name not in _LATER or part != _LATER[name]}
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
