"""How many connections HTTP takes, and what becomes of it when the process is out of descriptors."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

import pytest

from mnemesh_gateway.doors.http.http_connections import (
    ConnectionGuard,
    ConnectionLimits,
    RestingListener,
    connections_of_a_door,
)
from mnemesh_memory.values import limits

BOUNDS = ConnectionLimits(total=4, per_address=2, header_s=1, body_s=1)


class Connection:
    """The questions of the guard to a connection."""

    def __init__(self, guard: ConnectionGuard, address: str, answering: bool = False) -> None:
        self.guard: Any = guard
        self.address = address
        self.answering = answering
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self.guard.left(self)


def opened(guard: Any, address: str, answering: bool = False) -> Connection | None:
    made = Connection(guard, address, answering)
    return made if guard.admit(made) else None


def test_a_stranger_too_many_takes_the_place_of_the_oldest_that_asks_for_nothing() -> None:
    guard = ConnectionGuard(BOUNDS)
    busy, idle = opened(guard, "a", answering=True), opened(guard, "a")
    assert busy is not None
    assert idle is not None
    third = opened(guard, "a", answering=True)
    assert third is not None
    assert (busy.closed, idle.closed) == (False, True)
    assert opened(guard, "a") is None
    assert opened(guard, "b") is not None


def test_whoever_has_shown_a_token_makes_room_for_others_of_the_same_address_but_not_beyond_the_total() -> None:
    guard: Any = ConnectionGuard(BOUNDS)
    kept = []
    for _ in range(BOUNDS.total):
        one = opened(guard, "a")
        assert one is not None
        guard.known(one)
        kept.append(one)
    assert opened(guard, "a") is None
    assert not any(one.closed for one in kept)
    kept[0].close()
    assert opened(guard, "a") is not None


def test_connections_leave_enough_files_for_the_node_itself() -> None:
    assert connections_of_a_door(4_096, 65_536) == 4_096
    assert 2 * connections_of_a_door(4_096, 1_024) <= 1_024 - limits.OPEN_FILES_RESERVED
    assert connections_of_a_door(4_096, 64) == limits.CONNECTIONS_MIN


async def test_out_of_descriptors_the_listener_rests_and_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, told = [], asyncio.Event()

    def accept(self: socket.socket) -> tuple[socket.socket, Any]:
        tries.append(self)
        raise OSError(errno.EMFILE, "Too many open files")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.set())
    listener = RestingListener.of(socket.create_server(("127.0.0.1", 0)), ConnectionGuard(BOUNDS))
    server = await loop.create_server(asyncio.Protocol, sock=listener, backlog=512)
    monkeypatch.setattr(socket.socket, "accept", accept)
    with socket.create_connection(listener.getsockname()):
        await asyncio.wait_for(told.wait(), 10)
        for _ in range(100):
            await asyncio.sleep(0)
    assert len(tries) == 1
    monkeypatch.undo()
    server.close()
    await server.wait_closed()
