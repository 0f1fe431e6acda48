"""The shown state of an actor on Ray, without Ray: from its answer, or from its last place."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

from mnemesh_actors.runtime.ray import RayHandle, process_gone, status_of
from mnemesh_memory.values.errors import Unavailable

HERE = "node-1"


class Place(RayHandle):
    """A handle to an actor that answers with the next item of `answers`. With an empty list the actor is at work."""

    def __init__(self, *answers: Any) -> None:
        super().__init__("ledger-0", "Ledger", None)
        self.answers = list(answers)

    async def _call(self, method: str, *args: Any) -> Any:
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def never_gone(pid: int, node: str) -> bool:
    return False


async def shown(handle: RayHandle, gone: Any = never_gone) -> tuple[str, int, str]:
    status = await status_of(handle, gone, limit_s=0.01)
    assert (status.name, status.type) == ("ledger-0", "Ledger")
    return status.state, status.pid, status.node


async def test_an_actor_that_is_at_work_is_busy_where_it_was_last() -> None:
    handle = Place((7, HERE), (8, HERE))
    assert await shown(handle) == ("ready", 7, HERE)
    assert await shown(handle) == ("ready", 8, HERE)
    assert await shown(handle) == ("busy", 8, HERE)


async def test_an_actor_that_never_answered_is_starting() -> None:
    assert await shown(Place()) == ("starting", 0, "")


async def test_an_actor_whose_process_is_gone_is_starting_and_its_number_is_not_shown() -> None:
    asked = []

    def gone(pid: int, node: str) -> bool:
        asked.append((pid, node))
        return True

    handle = Place((7, HERE))
    assert await shown(handle, gone) == ("ready", 7, HERE)
    assert await shown(handle, gone) == ("starting", 0, "")
    assert asked == [(7, HERE)]


async def test_an_actor_that_ray_calls_dead_is_starting() -> None:
    handle = Place((7, HERE), Unavailable("ledger-0 is restarting", part="ledger-0"))
    await shown(handle)
    assert await shown(handle) == ("starting", 0, "")


async def test_what_the_constructor_of_an_actor_raises_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="damaged"):
        await shown(Place(ValueError("damaged")))


def test_only_a_process_of_this_machine_can_be_known_to_be_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    assert process_gone(ended.pid, HERE, HERE)
    assert not process_gone(ended.pid, "node-2", HERE)
    assert not process_gone(os.getpid(), HERE, HERE)
    assert not process_gone(1, HERE, HERE)
