"""The operation anchor: a revision that pins a memory and says why, or lets it go."""

from __future__ import annotations

from dataclasses import replace

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import find
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.policy import anchors
from mnemesh_memory.values.model import Caller, Written


class Anchoring:
    """`writing` stores the revision."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing

    async def anchor(
        self, caller: Caller, key: str, reason: str = "", *, release: bool = False, wait: str = "indexed"
    ) -> Written:
        """Pin the memory `key` for `reason`, or let it go. Raises InvalidArgument, SecretRefused, NotFound,
        PermissionDenied, FailedPrecondition (forgotten)."""
        clean = anchors.reason_of(reason, release)
        memory = await find(self._parts, caller, key)
        patch = replace(anchors.anchored(memory, clean), expected_heads=memory.heads, wait=wait)
        return await self._writing.update(caller, memory.id, patch)
