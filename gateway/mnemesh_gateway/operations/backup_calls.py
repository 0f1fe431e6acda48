"""The functions behind the rows of BackupService in the table of operations."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.access import grants
from mnemesh_memory.values.errors import MnemeshError, count_of
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import backup_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate


async def create(gate: MeshGate, caller: Caller, request: backup_pb2.CreateBackupRequest) -> Answer:
    """A new backup."""
    made = await gate.backups().create(await gate.ready(), request.to)
    return {"backup": made}


async def listed(gate: MeshGate, caller: Caller, request: backup_pb2.ListBackupsRequest) -> Answer:
    """The register."""
    return {"backups": await asyncio.to_thread(gate.backups().all)}


async def may_hold(gate: MeshGate, caller: Caller, created_at: int) -> list[str]:
    """Where backups lie that may hold a memory of that time (ms, 0 for all). A caller without a grant for the node gets
    their number only. A register that can not be read keeps nobody from erasing."""
    try:
        found = await asyncio.to_thread(gate.backups().may_hold, created_at)
    except MnemeshError as error:
        return [error.message]
    if grants.may(caller, grants.ADMINISTER, "admin"):
        return [one.path for one in found]
    return [f"{count_of(len(found), 'backup')} of the node; who administers it sees where"] if found else []
