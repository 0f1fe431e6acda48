"""Connections of HTTP: how many there may be, and how long a client may take to say what it wants.

Rules: a connection without a request is closed after `header_s`, one with half a body after `body_s`. A connection that
has shown a valid token counts in the total alone, and streams that have begun have no end here. A stranger too many
takes the place of the oldest that asks for nothing, so that half-open sockets never keep an honest client out.
"""

from __future__ import annotations

import asyncio
import errno
import json
import resource
import socket
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

import structlog
from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from mnemesh_gateway.contract import status
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, MnemeshError, Overloaded

log = structlog.get_logger("mnemesh.http")

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SHED_AT_ONCE: Final = 16
RETRY_AFTER_S: Final = 2.0
CONNECTION: Final = "mnemesh.connection"  # where the state of a request names its connection


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`total` connections, of which `per_address` of one address without a token. `header_s` and `body_s` are the
    seconds until all headers, and then the whole body, have to be there."""

    total: int
    per_address: int
    header_s: float
    body_s: float


def raise_open_files_limit() -> int:
    """Let this process open as many files as the system allows it, at most OPEN_FILES_MAX. Gives the number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limits.OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, limits.OPEN_FILES_MAX)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return limits.OPEN_FILES_MAX if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def connections_of_a_door(asked: int, open_files: int) -> int:
    """How many connections each of the two doors may have. The node must still be able to open its files."""
    return max(limits.CONNECTIONS_MIN, min(asked, (open_files - limits.OPEN_FILES_RESERVED) // 2))


class ConnectionGuard:
    """All connections of one HTTP server."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self.bounds = bounds
        self._all: set[GuardedProtocol] = set()
        # In the order of their arrival, as dicts remember it.
        self._strangers: dict[GuardedProtocol, None] = {}
        self._by_address: defaultdict[str, dict[GuardedProtocol, None]] = defaultdict(dict)

    def admit(self, connection: GuardedProtocol) -> bool:
        """Count a new one. False when there is no room for it."""
        beside = self._by_address[connection.address]
        fits = len(beside) < self.bounds.per_address or _close_idle(beside)
        fits = fits and (len(self._all) < self.bounds.total or _close_idle(self._strangers))
        if fits:
            self._all.add(connection)
            self._strangers[connection] = beside[connection] = None
        elif not beside:
            del self._by_address[connection.address]
        return fits

    def known(self, connection: GuardedProtocol) -> None:
        """It has shown a valid token."""
        if self._strangers.pop(connection, self) is None:
            beside = self._by_address[connection.address]
            beside.pop(connection, None)
            if not beside:
                del self._by_address[connection.address]

    def left(self, connection: GuardedProtocol) -> None:
        """It is closed, or about to be."""
        self.known(connection)
        self._all.discard(connection)

    def shed(self) -> None:
        """Close some that ask for nothing, because the process is out of descriptors."""
        closed = sum(_close_idle(self._strangers) for _ in range(SHED_AT_ONCE))
        log.warning("http_out_of_descriptors", closed=closed, connections=len(self._all))


def _close_idle(among: Iterable[GuardedProtocol]) -> bool:
    """Close the oldest that waits for a request of its client's. False when all are being answered."""
    for connection in among:
        if not connection.answering:
            connection.close()
            return True
    return False


class GuardedProtocol(H11Protocol):
    """A connection of uvicorn with the rules above. uvicorn itself has a time-out only between two requests."""

    _guard: ConnectionGuard

    @classmethod
    def under(cls, guard: ConnectionGuard) -> type[GuardedProtocol]:
        """The class of the connections that `guard` counts: uvicorn makes them itself."""
        return type(cls.__name__, (cls,), {"_guard": guard})

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, CONNECTION: self}, _loop)
        self._phase = ""
        self._late: asyncio.TimerHandle | None = None
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.address = self.client[0] if self.client else ""
        if self._guard.admit(self):
            self._watch()
        else:
            full = Overloaded("the number of connections", self._guard.bounds.total, RETRY_AFTER_S)
            self._refuse(full, HTTPStatus.SERVICE_UNAVAILABLE)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.left(self)
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def answering(self) -> bool:
        """Whether a request is being read or answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def close(self) -> None:
        """Close it without a word. Its place is free at once."""
        self._guard.left(self)
        self._stop_waiting()
        self.transport.close()

    def known(self) -> None:
        """Its client has shown a valid token."""
        self._guard.known(self)

    def _watch(self) -> None:
        """A wait has its time from its beginning, however slowly data drips in."""
        if self.transport.is_closing():
            return
        if self.answering:
            phase = "body" if self.cycle.more_body else "answer"
        else:
            phase = "headers" if self.timeout_keep_alive_task is None else "idle"
        if phase == self._phase:
            return
        self._phase = phase
        self._stop_waiting()
        if phase == "headers":
            self._late = self.loop.call_later(self._guard.bounds.header_s, self.close)
        elif phase == "body":
            self._late = self.loop.call_later(self._guard.bounds.body_s, self._body_late)

    def _body_late(self) -> None:
        error = DeadlineExceeded(f"the body did not arrive within {self._guard.bounds.body_s:g} s")
        if self.cycle.response_started:
            self.close()
        else:
            self._refuse(error, HTTPStatus(status.http_status(error)))

    def _refuse(self, error: MnemeshError, code: HTTPStatus) -> None:
        """Answer in the place of the application, and tell the application that its client is gone."""
        body = json.dumps(status.error_body(error)).encode() + b"\n"
        headers = {
            "content-type": "application/json", "content-length": str(len(body)), "connection": "close",
            **status.http_headers(error),
        }  # fmt: skip
        lines = [f"HTTP/1.1 {code.value} {code.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.close()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class RestingListener(socket.socket):
    """A listening socket that asyncio does not spin on. Out of descriptors, asyncio stops to listen for a second.
    Before that, it tries as often as the backlog is long, and each try logs a traceback and plans a retry."""

    guard: ConnectionGuard
    _resting = False

    @classmethod
    def of(cls, listener: socket.socket, guard: ConnectionGuard) -> RestingListener:
        """The same socket, which `listener` gives away."""
        resting = cls(listener.family, listener.type, listener.proto, fileno=listener.detach())
        resting.guard = guard
        return resting

    def accept(self) -> tuple[socket.socket, Any]:
        """As of any socket, but after a failure the next call says that nobody waits."""
        if self._resting:
            self._resting = False
            raise BlockingIOError
        try:
            return super().accept()
        except OSError as error:
            if error.errno in OUT_OF_DESCRIPTORS:
                self._resting = True
                self.guard.shed()
            raise


def token_shown(scope: Scope) -> None:
    """The client of this request has shown a valid token: its connection is no stranger's any more."""
    connection = scope.get("state", {}).get(CONNECTION)
    if isinstance(connection, GuardedProtocol):
        connection.known()
