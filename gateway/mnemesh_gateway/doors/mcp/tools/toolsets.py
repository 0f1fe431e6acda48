"""The names of the toolsets. Knows no tool, so the doctor can read it when a part of the installation is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mnemesh_memory.values.errors import InvalidArgument

TOOLSETS: Final = ("core", "curate", "session", "knowledge", "admin", "connector")


def select(names: Iterable[str]) -> tuple[str, ...]:
    """The toolsets called `names`, in the order of TOOLSETS, each once. Raises InvalidArgument for another
    name and when none is left."""
    wanted = {name.strip() for name in names} - {""}
    if unknown := sorted(wanted - set(TOOLSETS)):
        raise InvalidArgument("toolsets", unknown[0], f"toolsets are {', '.join(TOOLSETS)}, comma-separated")
    if not wanted:
        raise InvalidArgument("toolsets", "", f"name at least one of {', '.join(TOOLSETS)}")
    return tuple(name for name in TOOLSETS if name in wanted)
