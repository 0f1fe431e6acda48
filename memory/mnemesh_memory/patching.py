"""What a field of a memory is after an update. Pure; the ledger asks inside its commit."""

from __future__ import annotations

from typing import TypeVar

from mnemesh_memory.model import Patch

Value = TypeVar("Value")


def patched(patch: Patch, name: str, now: Value | None) -> Value | None:
    """The field `name` after `patch`, when it is `now` before: none when it is cleared, `now` when it is not given."""
    if name in patch.clear:
        return None
    given: Value | None = getattr(patch, name)
    return now if given is None else given
