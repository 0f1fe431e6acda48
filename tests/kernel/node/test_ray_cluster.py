"""Ray without a cluster: loss, joining, and the shown state of actors."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from mnemesh_actors.node.assembly import _where_to_embed
from mnemesh_actors.runtime.base import Machine, Place
from mnemesh_actors.runtime.ray import RayHandle, _to_its_end, process_gone, status_of
from mnemesh_actors.runtime.ray_cluster import HEAD_AWAY_S, PRINTING_THREAD, LogLines, beside, loss, reachable
from mnemesh_memory.values.errors import Unavailable

WAIT_S = 10.0
DOORS, ONE, TWO = (Machine(name, f"10.0.0.{at}") for at, name in enumerate(("doors", "one", "two"), 1))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"raylet_answers": True, "alive": True, "away_s": 0.0}, ""),
        ({"raylet_answers": True, "alive": None, "away_s": HEAD_AWAY_S - 1}, ""),
        ({"raylet_answers": True, "alive": None, "away_s": HEAD_AWAY_S}, "head"),
        ({"raylet_answers": True, "alive": False, "away_s": 0.0}, "given this machine up"),
        ({"raylet_answers": False, "alive": True, "away_s": 0.0}, "raylet"),
    ],
)
def test_ray_is_lost_with_its_process_here_its_head_or_this_machines_place(known: dict[str, Any], told: str) -> None:
    assert (loss(**known) == "") == (told == "")
    assert told in loss(**known)


def test_what_rays_thread_prints_is_a_line_of_the_log_without_colours_and_all_else_passes() -> None:
    through = io.StringIO()
    lines = LogLines(through)
    with capture_logs() as logged:
        print("ready", file=lines, flush=True)
        printing = threading.Thread(
            name=PRINTING_THREAD, target=lambda: print("\x1b[33m(raylet)\x1b[0m gone\nfor good", file=lines)
        )
        printing.start()
        printing.join(WAIT_S)
    assert through.getvalue() == "ready\n"
    assert [entry["line"] for entry in logged] == ["(raylet) gone", "for good"]


async def test_a_question_beside_the_loop_gives_its_answer_or_its_error() -> None:
    assert await beside(lambda: 7) == 7

    def fail() -> int:
        raise ConnectionError("no head")

    with pytest.raises(ConnectionError, match="no head"):
        await beside(fail)


async def test_a_machine_that_refuses_a_connection_is_there_and_one_that_takes_none_is_not() -> None:
    left = asyncio.Event()

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()
        left.set()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert await reachable("127.0.0.1", port)
    await asyncio.wait_for(left.wait(), 10)
    server.close()
    await server.wait_closed()
    assert await reachable("127.0.0.1", port)
    with ExitStack() as sockets:
        full = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # the queue is full then, and nobody takes from it: the next caller hears nothing
            caller = sockets.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        assert not await reachable(*full.getsockname())


def test_a_machine_that_offers_no_processors_does_not_embed_unless_none_offers_any() -> None:
    idle = Machine("idle", "10.0.0.9", processors=False)
    assert {one.machine for one in _where_to_embed([DOORS, idle, ONE, TWO], 4)} == {"one", "two"}
    assert {one.machine for one in _where_to_embed([DOORS, idle], 1)} == {"doors"}
    assert all(one.works for one in _where_to_embed([DOORS, idle, ONE], 2))
    assert _where_to_embed([idle], 1) == [Place(roams=True, works=False)]


# ---- joining ---------------------------------------------------------------------------------------------------------
# A start that is given up while Ray is joined, without Ray.


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


# ---- status ----------------------------------------------------------------------------------------------------------
# The shown state of an actor on Ray, without Ray: from its answer, or from its last place.


HERE = "node-1"


class ActorPlace(RayHandle):
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
    handle = ActorPlace((7, HERE), (8, HERE))
    assert await shown(handle) == ("ready", 7, HERE)
    assert await shown(handle) == ("ready", 8, HERE)
    assert await shown(handle) == ("busy", 8, HERE)


async def test_an_actor_that_never_answered_is_starting() -> None:
    assert await shown(ActorPlace()) == ("starting", 0, "")


async def test_an_actor_whose_process_is_gone_is_starting_and_its_number_is_not_shown() -> None:
    asked = []

    def gone(pid: int, node: str) -> bool:
        asked.append((pid, node))
        return True

    handle = ActorPlace((7, HERE))
    assert await shown(handle, gone) == ("ready", 7, HERE)
    assert await shown(handle, gone) == ("starting", 0, "")
    assert asked == [(7, HERE)]


async def test_an_actor_that_ray_calls_dead_is_starting() -> None:
    handle = ActorPlace((7, HERE), Unavailable("ledger-0 is restarting", part="ledger-0"))
    await shown(handle)
    assert await shown(handle) == ("starting", 0, "")


async def test_what_the_constructor_of_an_actor_raises_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="damaged"):
        await shown(ActorPlace(ValueError("damaged")))


def test_only_a_process_of_this_machine_can_be_known_to_be_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    assert process_gone(ended.pid, HERE, HERE)
    assert not process_gone(ended.pid, "node-2", HERE)
    assert not process_gone(os.getpid(), HERE, HERE)
    assert not process_gone(1, HERE, HERE)
