"""The parts of sleep in a node: astrocytes where the runtime has room, and the record in the data directory."""

from __future__ import annotations

from contextlib import AsyncExitStack

from mnemesh_actors.actor_table import ASTROCYTE, SLEEP_RECORD
from mnemesh_actors.astrocytes.sleep_record import FILE, SleepRecord
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.runtime.base import Runtime
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.runtime.worker_pool import WorkerPool
from mnemesh_actors.sleep.consolidation import Consolidating
from mnemesh_actors.storage.data_directory import DataDirectory


async def start_sleep(
    directory: DataDirectory, runtime: Runtime, parts: NodePorts, workers: int, undo: AsyncExitStack
) -> Consolidating:
    """Consolidation with `workers` astrocytes; 0 for one here, and on Ray for one a machine with processors."""
    record: LocalHandle[SleepRecord] = LocalHandle(f"{SLEEP_RECORD.name}-0")
    await record.construct(SleepRecord, str(directory.path / FILE))
    undo.push_async_callback(record.shut)
    machines = await runtime.machines()
    usual = max(1, sum(machine.processors for machine in machines[1:]))
    places = [ASTROCYTE.place] * (workers or usual)
    return Consolidating(parts, record, WorkerPool(await ASTROCYTE.spawn_each(runtime, places=places)))
