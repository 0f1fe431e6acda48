"""Questions of the tests to a running node, and bounded waits: a condition, a deadline, and the last answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psutil
from node_process import alive
from scenario_doors import Door

Answer = TypeVar("Answer")
WAIT_S = 60.0
POLL_S = 0.05
# A node that is asked more often is not at rest.
REST_POLL_S = 0.25
PAGE = 200


async def eventually(
    ask: Callable[[], Awaitable[Answer]],
    holds: Callable[[Answer], bool],
    what: str,
    limit_s: float = WAIT_S,
    poll_s: float = POLL_S,
) -> Answer:
    """The first answer for which `holds`; an AssertionError that names `what` after `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while not holds(answer := await ask()):
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s; the last answer was {answer}"
        await asyncio.sleep(poll_s)
    return answer


async def all_gone(processes: list[psutil.Process], limit_s: float = WAIT_S) -> None:
    """Wait until each of `processes` has ended."""
    await eventually(
        lambda: asyncio.sleep(0, alive(processes)), lambda left: left == [], "the processes have ended", limit_s
    )


async def pid_of(door: Door, actor: str) -> int:
    """The process of an actor, 0 for an actor that has none."""
    actors = (await door.call("status"))["actors"]
    return next(int(one["pid"]) for one in actors if one["name"] == actor)


async def finds(door: Door, text: str, space: str) -> bool:
    """Whether a recall of `text` gives the memory that says so, and no other."""
    answer = await door.call("recall", query=text, spaces=[space], limit=1)
    return [hit["content"] for hit in answer["results"]] == [text]


async def settled(door: Door) -> dict[str, Any]:
    """The node's status once the index has caught up with the ledger."""

    def caught_up(status: dict[str, Any]) -> bool:
        index = status["index"][0]
        return bool(index["lag"] == 0 and index["seq"] == status["ledger"]["seq"] and status["state"] == "ready")

    return await eventually(lambda: door.call("status"), caught_up, "the index caught up with the ledger")


async def judged(door: Door) -> dict[str, Any]:
    """The same once the node has also judged at rest what was written, which may add links to the log."""

    def at_rest(status: dict[str, Any]) -> bool:
        return not any(one["lag"] for one in status["consumers"])

    await eventually(lambda: door.call("status"), at_rest, "everything that was written is judged", poll_s=REST_POLL_S)
    return await settled(door)


async def memories(door: Door, space: str, state: str = "active") -> list[dict[str, Any]]:
    """Every memory of the space that is in `state`, or in any for "all", oldest first."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await door.call("list", spaces=[space], state=state, limit=PAGE, order="oldest", cursor=cursor)
        found += page["memories"]
        cursor = page["cursor"]
        if not cursor:
            return found


async def contents(door: Door, space: str) -> list[str]:
    """The text of every memory of the space, oldest first."""
    return [memory["content"] for memory in await memories(door, space)]
