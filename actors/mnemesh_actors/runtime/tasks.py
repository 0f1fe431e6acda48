"""Tasks that run beside their maker: how they are kept, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any


def begin_beside(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None], name: str) -> None:
    """Begin `work`, and keep it among `tasks` until it is over: an event loop keeps no task by itself."""
    task = asyncio.create_task(work, name=name)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def first_done(*work: Awaitable[Any]) -> list[asyncio.Future[Any] | None]:
    """Wait for the first of `work`. The others are called off, and None stands in their place."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [task if task in done else None for task in tasks]
    finally:
        await cancelled(*tasks)


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
