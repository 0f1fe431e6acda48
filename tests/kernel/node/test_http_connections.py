"""HTTP connections and JSON."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_gateway.doors.http_connections import (
    ConnectionGuard,
    ConnectionLimits,
    RestingListener,
    connections_of_a_door,
)
from mnemesh_memory.values import limits
from mnemesh_proto.json_text import UNKNOWN, NotJson, read_json

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


# ---- json text -------------------------------------------------------------------------------------------------------
# JSON is read as Python reads it, and a fault is told in plain words with its place.


PYTHON = ("Expecting", "Unterminated", "Extra data", "delimiter", "char ", "sys.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing (column 1)"),
        ('{"a": }', "a value is missing (column 7)"),
        ("{a: 1}", "a field name in double quotes is missing (column 2)"),
        ('{"a" 1}', "a colon is missing (column 6)"),
        ("[1 2]", "a comma or a closing bracket is missing (column 4)"),
        ("{} {}", "more text follows a complete JSON value (column 4)"),
        ('"open', "the text that begins there has no closing quote (column 1)"),
        ('"a\tb"', "a text holds a control character that is not escaped (column 3)"),
        (r'"\q"', "a text holds an unknown escape (column 2)"),
        ("\ufeff{}", f"{UNKNOWN} (column 1)"),
        ("[" * 100_000, "it is nested too deeply"),
        ("9" * 5_000, "a number has too many digits"),
    ],
)
def test_a_fault_is_told_in_plain_words(text: str, message: str) -> None:
    with pytest.raises(NotJson) as caught:
        read_json(text)
    assert str(caught.value) == message


@given(st.text(alphabet='{}[]",:0 1e-.tn\\u\n', max_size=12))
def test_any_text_is_read_as_python_reads_it_or_told_without_python_s_words(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(NotJson) as caught:
            read_json(text)
        assert not any(word in str(caught.value) for word in PYTHON)
        assert caught.value.line >= 1
    else:
        assert read_json(text) == value
