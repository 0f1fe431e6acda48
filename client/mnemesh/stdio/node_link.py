"""Where the node of the MCP proxy is, and the connections to it: found, started, awaited, reused.

Decides nothing about messages. A node is looked for once however many calls miss it at the same time, and
each search is bounded. The address and the token are read again at every search, because a restarted node may
have others.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

from mnemesh.transport.address import LOOPBACK_HOSTS, split_address
from mnemesh.transport.liveness import Liveness, hung, says_it_lives
from mnemesh.transport.local_node import NodeNotStarted, accepts, ensure_node, find_node
from mnemesh.transport.project import NO_PROJECT, Project, project_here
from mnemesh_proto.rendezvous import AUTHORIZATION, read_node, read_token

CONNECT_TIMEOUT_S = 2.0
CONNECTS_MAX = 3
# The node sends a comment line every 15 s on a stream that has nothing to say, so a longer silence is a dead
# node.
SILENCE_TIMEOUT_S = 60.0
# Below the 5 s after which the node's HTTP server closes an idle connection.
IDLE_CONNECTION_S = 4.0
IDLE_CONNECTIONS_MAX = 8
START_TIMEOUT_S = 30.0
RETURN_TIMEOUT_S = 10.0
# A node that went away may be under restart by its owner: wait a moment before starting one.
RESTART_GRACE_S = 1.0
POLL_S = 0.05


class NodeUnreachable(Exception):
    """No node answers and none could be started within the bounds; the message says what was tried."""


@dataclass(frozen=True, slots=True)
class NodeTarget:
    """The given address: the node of `data_dir`, or the one at `endpoint` ("host:port" of its HTTP
    door. Of the gRPC door too, when that node's data directory is `data_dir`).

    `token` is "" when the owner token of `data_dir` is to be used. Without `start`, a node is only waited
    for.
    """

    data_dir: Path
    endpoint: str = ""
    token: str = ""
    toolsets: str = ""
    project: Project = NO_PROJECT
    agent: str = ""
    start: bool = True

    @property
    def path(self) -> str:
        """Path of the MCP endpoint, with the toolsets asked for."""
        return "/mcp" + ("?" + urlencode({"toolsets": self.toolsets}, safe=",") if self.toolsets else "")


class NodeLink:
    """Connections to one node. Safe for any number of threads. `say` writes one line of diagnostics."""

    def __init__(self, target: NodeTarget, say: Callable[[str], None]) -> None:
        self.target = target
        self._say = say
        self._search = threading.Lock()
        self._liveness = Liveness(self._look, self._give_up)
        self._hung: dict[HTTPConnection, str] = {}  # why a connection was given up
        self._searches = 0
        self._failure = ""
        self._address = ""
        self._token = target.token
        self._project = target.project
        self._was_there = False
        self._pool = threading.Lock()
        self._idle: list[tuple[float, HTTPConnection]] = []

    def headers(self) -> dict[str, str]:
        """Headers of every request: who asks, and the space used when a call names none."""
        fields = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self._token:
            fields[AUTHORIZATION] = f"Bearer {self._token}"
        return fields | dict(self._project.headers(self.target.agent))

    def connection(self) -> HTTPConnection:
        """An open connection: an idle one still open at the node, or a new one. Raises NodeUnreachable."""
        while (idle := self._take_idle()) is not None:
            opened_until, connection = idle
            if time.monotonic() < opened_until and not _has_ended(connection):
                return connection
            connection.close()
        failed = ""
        for _ in range(CONNECTS_MAX):
            address = self._locate(failed)
            connection = HTTPConnection(*split_address(address), timeout=CONNECT_TIMEOUT_S)
            try:
                connection.connect()
            except OSError:
                connection.close()
                failed = address
                continue
            connection.sock.settimeout(SILENCE_TIMEOUT_S)
            return connection
        raise NodeUnreachable(f"the node at {failed} accepts no connection")

    def keep(self, connection: HTTPConnection) -> None:
        """Give back a connection whose response has been read to its end."""
        with self._pool:
            if connection.sock is not None and len(self._idle) < IDLE_CONNECTIONS_MAX:
                self._idle.append((time.monotonic() + IDLE_CONNECTION_S, connection))
                return
        connection.close()

    @contextmanager
    def watched(self, connection: HTTPConnection) -> Iterator[None]:
        """The body waits for the node on `connection`. Raises NodeUnreachable as soon as the node gives no sign
        of life any more."""
        try:
            with self._liveness.over(connection):
                yield
        finally:
            if why := self._hung.pop(connection, ""):
                raise NodeUnreachable(why)

    def _look(self, connection: HTTPConnection) -> str:
        node = read_node(self.target.data_dir)
        process = node if node and split_address(node.http) == (connection.host, connection.port) else None
        address = f"{connection.host}:{connection.port}"
        return hung(address, process, lambda: says_it_lives(address, split_address))

    def _give_up(self, connection: HTTPConnection, why: str) -> None:
        self._hung[connection] = why
        with suppress(OSError, AttributeError):  # ended meanwhile
            connection.sock.shutdown(socket.SHUT_RDWR)

    def token_was_refused(self, headers: Mapping[str, str]) -> bool:
        """Read the owner token again after a 401 to `headers`. True for a new token."""
        self._token = self._read_token()
        return self.headers().get(AUTHORIZATION) != headers.get(AUTHORIZATION)

    def whose_token(self) -> str:
        """Where the token came from, for an error message."""
        if self.target.token:
            return "the token given"
        return f"the owner token in {self.target.data_dir}" if self._token else "no token"

    def address(self) -> str:
        """The node's address as last found; "" before the first search."""
        return self._address

    def _take_idle(self) -> tuple[float, HTTPConnection] | None:
        with self._pool:
            return self._idle.pop() if self._idle else None

    def _locate(self, failed: str) -> str:
        """An address other than what `failed` meant when the caller tried it. One thread searches, others
        wait."""
        seen = self._searches
        with self._search:
            if self._address and self._address != failed:
                return self._address
            if self._searches != seen:
                if self._failure:
                    raise NodeUnreachable(self._failure)
                if self._address:
                    return self._address
            self._searches += 1
            try:
                self._address = self._find()
            except (NodeNotStarted, NodeUnreachable) as error:
                self._address, self._failure = "", str(error)
                raise NodeUnreachable(self._failure) from error
            self._failure = ""
            self._was_there = True
            self._token = self._read_token()
            if not self._project.settled:  # the data directory has come to be meanwhile
                self._project = project_here(self.target.data_dir)
            return self._address

    def _find(self) -> str:
        target = self.target
        if target.endpoint:
            return self._await(self._named, RETURN_TIMEOUT_S, f"no node answers at {target.endpoint}")

        def published() -> str | None:
            node = find_node(target.data_dir)
            return node.http if node else None

        if not target.start:
            missing = f"no node runs on {target.data_dir}; start it with: mnemesh up --data {target.data_dir}"
            return self._await(published, RETURN_TIMEOUT_S if self._was_there else 0.0, missing)
        if self._was_there:
            try:
                return self._await(published, RESTART_GRACE_S, "the node is gone")
            except NodeUnreachable:
                self._say(f"the node on {target.data_dir} went away; starting it")
        return ensure_node(target.data_dir, START_TIMEOUT_S).http

    def _named(self) -> str | None:
        """The given address, or the HTTP address of the local node for its gRPC address."""
        node = read_node(self.target.data_dir)
        given = self.target.endpoint
        address = node.http if node and split_address(node.grpc) == split_address(given) else given
        return address if accepts(address) else None

    def _await(self, probe: Callable[[], str | None], timeout_s: float, message: str) -> str:
        deadline = time.monotonic() + timeout_s
        while (address := probe()) is None:
            if time.monotonic() >= deadline:
                raise NodeUnreachable(message + (f" (waited {timeout_s:g} s)" if timeout_s else ""))
            time.sleep(POLL_S)
        return address

    def _read_token(self) -> str:
        """The token given, else the owner token, which is never sent to another machine unasked."""
        target = self.target
        if target.token or (target.endpoint and split_address(target.endpoint)[0] not in LOOPBACK_HOSTS):
            return target.token
        return read_token(target.data_dir) or ""


def _has_ended(connection: HTTPConnection) -> bool:
    """Whether the node closed an idle connection, or sent bytes that nobody asked for."""
    return bool(select.select([connection.sock], [], [], 0)[0])
