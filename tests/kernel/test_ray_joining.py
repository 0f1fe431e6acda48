"""A start that is given up while Ray is joined, without Ray."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from mnemesh_actors.runtime.ray import _to_its_end

WAIT_S = 10.0


async def test_who_cancels_a_call_waits_for_its_end_and_hears_nothing_of_its_failure() -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    begun, on = threading.Event(), threading.Event()

    def join() -> None:
        begun.set()
        assert on.wait(WAIT_S)
        raise ConnectionError("no cluster there")

    joining = asyncio.create_task(_to_its_end(join))
    assert await asyncio.to_thread(begun.wait, WAIT_S)
    joining.cancel()
    assert not (await asyncio.wait((joining,), timeout=0))[0]
    on.set()
    await asyncio.wait((joining,), timeout=WAIT_S)
    assert joining.cancelled()
    del joining
    gc.collect()
    assert told == []


async def test_the_failure_of_a_call_that_nobody_cancels_is_told() -> None:
    def join() -> None:
        raise ConnectionError("no cluster there")

    with pytest.raises(ConnectionError, match="no cluster there"):
        await _to_its_end(join)
