"""The parts of sleep in a node: astrocytes where the runtime has room, the record in the data directory, idle jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from mnemesh_actors.actor_table import ASTROCYTE, SLEEP_RECORD
from mnemesh_actors.astrocytes.sleep_record import FILE
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.runtime.base import Runtime
from mnemesh_actors.runtime.worker_pool import WorkerPool
from mnemesh_actors.sleep.consolidation import Consolidating
from mnemesh_actors.sleep.idle_jobs import IdleParts
from mnemesh_actors.sleep.idle_scheduler import IdleScheduler, SleepConfig
from mnemesh_actors.storage.data_directory import DataDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Consolidation, and the scheduler that calls for it."""

    consolidating: Consolidating
    idle: IdleScheduler


async def start_sleep(
    directory: DataDirectory,
    runtime: Runtime,
    parts: NodePorts,
    config: SleepConfig,
    notice: Callable[[str], None],
    undo: AsyncExitStack,
) -> Sleep:
    """Consolidation with as many astrocytes as `config` says: usually one, on Ray one a machine with processors."""
    record = await SLEEP_RECORD.spawn_here(undo, str(directory.path / FILE))
    machines = await runtime.machines()
    usual = max(ASTROCYTE.count, sum(machine.processors for machine in machines[1:]))
    places = [ASTROCYTE.place] * (config.astrocytes or usual)
    alone = runtime.name != "local"
    astrocytes = WorkerPool(await ASTROCYTE.spawn_each(runtime, alone, places=places))
    consolidating = Consolidating(parts, record, astrocytes, notice)
    idle = IdleParts(parts=parts, consolidating=consolidating, owner=config.owner)
    return Sleep(consolidating=consolidating, idle=IdleScheduler(idle, config, notice).start())
