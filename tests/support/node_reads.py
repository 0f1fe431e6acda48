"""What tests ask of a running node, and how they wait for it: a condition, a deadline, and the last answer when it
is missed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from scenario_doors import Door

Answer = TypeVar("Answer")
WAIT_S = 60.0
POLL_S = 0.05
PAGE = 200


async def eventually(
    ask: Callable[[], Awaitable[Answer]], holds: Callable[[Answer], bool], what: str, limit_s: float = WAIT_S
) -> Answer:
    """The first answer for which `holds`; an AssertionError that names `what` after `limit_s` seconds."""
    deadline = time.monotonic() + limit_s
    while not holds(answer := await ask()):
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s; the last answer was {answer}"
        await asyncio.sleep(POLL_S)
    return answer


async def settled(door: Door) -> dict[str, Any]:
    """The node's status once the index has caught up with the ledger."""

    def caught_up(status: dict[str, Any]) -> bool:
        index = status["index"][0]
        return bool(index["lag"] == 0 and index["seq"] == status["ledger"]["seq"] and status["state"] == "ready")

    return await eventually(lambda: door.call("status"), caught_up, "the index caught up with the ledger")


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
