"""Runs the idle jobs, in the order of the table, once nobody has waited for the node for a while and the log went on.

An error of a job is logged and told. The next try comes after a pause, and each failure in a row doubles the pause.
Nothing here decides what a memory means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.sleep.idle_jobs import IDLE_JOBS, IdleJob, IdleParts
from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values.errors import MnemeshError

# Between two looks at whether the node is idle.
LOOK_S = 30.0
# After a job that failed.
RETRY_S = 30.0
RETRY_MAX_S = 1800.0
QUIET_S = 0.1  # a shorter pause between questions is no idleness
log = structlog.get_logger("mnemesh.sleep")


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepConfig:
    """When a node sleeps: after `idle_s` without an operation, never when None. `share` is that of the time while
    operations are under way. `astrocytes` plan, 0 for the usual number. `owner` is the node's principal."""

    idle_s: float | None = None
    share: float = 0.25
    astrocytes: int = 0
    owner: str = OWNER


@dataclass(eq=False)
class IdleScheduler:
    """`notice` hears of jobs that fail."""

    parts: IdleParts
    config: SleepConfig
    notice: Callable[[str], None]
    jobs: Sequence[IdleJob] = IDLE_JOBS

    def __post_init__(self) -> None:
        self._budget = Budget(self.parts.parts.foreground, self.config.share, QUIET_S)
        self._task: asyncio.Task[None] | None = None
        self.slept = asyncio.Event()  # set after each sleep
        self.last: dict[str, str] = {}  # by job, what was done last

    def start(self) -> IdleScheduler:
        """Begin to wait for an idle node."""
        if self.config.idle_s is not None:
            self._task = asyncio.create_task(self._follow(self.config.idle_s), name="idle-jobs")
        return self

    async def close(self) -> None:
        """Stop. A job goes on with the next start."""
        await cancelled(self._task)

    async def _follow(self, idle_s: float) -> None:
        parts = self.parts.parts
        done = -1  # the entry up to which the last sleep has seen the log
        failures = 0  # in a row
        while True:
            left = idle_s - parts.foreground.idle_for()
            if left > 0 or parts.follower.head <= done:
                await asyncio.sleep(min(LOOK_S, max(left, 0.05 if idle_s < 1 else 1.0)))
                continue
            done = parts.follower.head
            whole = await self._sleep()
            self.slept.set()
            failures = 0 if whole else failures + 1
            if failures:
                done = -1
                await asyncio.sleep(min(RETRY_MAX_S, RETRY_S * 2.0 ** min(failures - 1, 30)))

    async def _sleep(self) -> bool:
        """Run each job once. Returns whether none failed."""
        whole = True
        for job in self.jobs:
            try:
                report = await job.run(self.parts, self._budget)
            except MnemeshError as error:
                whole = False
                log.warning("idle_job_failed", job=job.name, reason=error.message)
                self.notice(Notice(f"idle job {job.name}", f"idle job {job.name} failed: {error.message}"))
                continue
            except Exception as error:  # boundary: a bug of a job ends neither the others nor the sleep of the node
                whole = False
                log.exception("idle_job_failed", job=job.name)
                report = f"idle job {job.name} failed by a fault of ours: {error!r}; the node's log says more"
                self.notice(Notice(f"idle job {job.name}", report))
                continue
            self.notice(Notice(f"idle job {job.name}", ""))
            if report:
                self.last[job.name] = report
                log.info("idle_job_done", job=job.name, done=report)
        return whole
