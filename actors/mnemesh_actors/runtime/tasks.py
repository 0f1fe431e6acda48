"""The end of tasks that run beside their maker."""

from __future__ import annotations

import asyncio
from typing import Any


async def cancelled(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel the tasks, and wait until all are over. Their errors are not raised."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def looked_at(task: asyncio.Future[Any]) -> None:
    """For a task that nobody waits for any more: asyncio then reports no error of the task."""
    if not task.cancelled():
        task.exception()
