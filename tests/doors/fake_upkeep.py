"""The upkeep operations of FakeMesh: anchors by the real policy."""

from __future__ import annotations

from collections.abc import Callable

from mnemesh_memory.policy import anchors
from mnemesh_memory.values.model import Caller, Memory, Written


class FakeUpkeep:
    """Over FakeMesh's own dict."""

    _one: Callable[[str], Memory]
    _change: Callable[..., Written]

    async def anchor(self, caller: Caller, key: str, reason: str, *, release: bool, wait: str) -> Written:
        patch = anchors.anchored(memory := self._one(key), anchors.reason_of(reason, release))
        return self._change(memory, "UPDATE", "new revision", tier=patch.tier, attrs=patch.attrs)
