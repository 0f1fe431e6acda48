"""When Ray counts as lost, and where what it prints goes, without Ray."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
from contextlib import ExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from mnemesh_actors.node.start import _where_to_embed
from mnemesh_actors.runtime.base import Machine, Place
from mnemesh_actors.runtime.ray_cluster import HEAD_AWAY_S, PRINTING_THREAD, LogLines, beside, loss, reachable

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
def test_ray_is_lost_with_its_process_here_its_head_or_the_place_of_this_machine(
    known: dict[str, Any], told: str
) -> None:
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
