"""Purge: a memory is erased for good, here at once and, with time, at every peer. Not an undo away, as forget is.

The ledger deletes its changes, view, pending and quarantined rows, and leaves nothing of them in its files. The index
drops its points in the order of the log, and an index in the making for another model drops them at once. The
embedder's cache of texts forgets all. The tombstone stays: the id, the space, and hashes of the deleted changes, so
that late copies are known and dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, find
from mnemesh_crdt.changes.envelope import ERASE
from mnemesh_memory.access import grants
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, NotFound, Unavailable
from mnemesh_memory.values.model import Caller, Memory
from mnemesh_memory.values.removal import Purged

ADMINS = ("owner", "admin")


class Purging:
    """The operation purge."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts

    async def purge(self, caller: Caller, key: str) -> Purged:
        """Erase the memory that `key` names, forgotten or not. A whole id also names a memory that was erased before
        and, for an admin, one of which only pending or quarantined changes are here. Raises NotFound, InvalidArgument
        (ambiguous), PermissionDenied unless the caller is an admin or began the memory."""
        memory: Memory | None = None
        try:
            memory = await find(self._parts, caller, key, forgotten=True)
            gone = await self._erased(caller, memory.id)
        except NotFound as unseen:
            gone = await self._out_of_view(caller, key, unseen)
        serving = self._parts.serving
        serving.forget()
        serving.publish(gone.seq)
        pending = [] if gone.folded else ["its bytes leave the write-ahead log with a later write"]
        if gone.alone:
            pending.append(f"other machines erase it once they are level again ({gone.alone})")
        try:
            await self._parts.follower.wait_for(gone.seq)
        except (DeadlineExceeded, Unavailable):
            pending.append(f"the index drops it later ({self._parts.follower.fault or 'it is behind'})")
        if serving.next is not None and not await serving.next.follower.take_out(gone.id):
            pending.append("the index that `reembed` is making drops it in its turn")
        if unreached := serving.unreached():
            pending.append(unreached)
        return Purged(
            id=gone.id,
            space=gone.space,
            changes=gone.changes,
            pending=tuple(pending),
            begun=memory.created_at if memory else 0,
            as_admin=gone.type == ERASE,
        )

    async def refused(self, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
        """The memories of `ids`, all readable, that the caller may not purge, and why."""
        if caller.role in ADMINS:
            return {}
        async with answered(self._parts, "ledger"):
            return await self._parts.ledger.not_to_erase(list(ids), caller.agent)

    async def _out_of_view(self, caller: Caller, key: str, unseen: NotFound) -> Gone:
        """The changes of a whole id that no memory in the view bears. Raises `unseen` when that is nothing, or not for
        the caller to see."""
        try:
            return await self._erased(caller, field_checks.memory_id("id", key))
        except (InvalidArgument, NotFound):
            raise unseen from None

    async def _erased(self, caller: Caller, id_: str) -> Gone:
        command = Erase(
            **self._parts.stamp(caller),
            id=id_,
            as_admin=caller.role in ADMINS,
            within=grants.readable(caller),
        )
        async with answered(self._parts, "ledger", f"it may or may not be erased; purge {id_} again to see"):
            return await self._parts.ledger.erase(command)
