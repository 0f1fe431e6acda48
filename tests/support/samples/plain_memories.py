"""A memory of plain values, for tests of a few fields, and ids of memories that are numbered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from mnemesh_memory.values.model import Memory

_PLAIN = Memory(
    id="m", space="s", kind="fact", title="", content="text", state="active", by="ana", created_at=0, updated_at=0,
    heads=("1@a",),
)  # fmt: skip


def plain_memory(id_: str = "m", content: str = "text", at: int = 0, **fields: Any) -> Memory:
    """An active fact, written at `at` (ms), but for `fields`."""
    return replace(_PLAIN, id=id_, content=content, **{"created_at": at, "updated_at": at, **fields})


def memory_id(number: int) -> str:
    """The id of the memory of that number."""
    return str(UUID(int=number, version=4))
