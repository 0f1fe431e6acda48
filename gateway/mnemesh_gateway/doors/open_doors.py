"""The doors of a node, opened together and closed in the reverse order. A further door opens here.

MCP is a part of the HTTP server. Nothing here reads the settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

import uvicorn

from mnemesh_gateway.doors.grpc.grpc_door import GrpcDoor
from mnemesh_gateway.doors.http.http_door import build_app
from mnemesh_gateway.doors.http_connections import (
    ConnectionGuard,
    ConnectionLimits,
    GuardedProtocol,
    RestingListener,
)
from mnemesh_gateway.doors.mcp.mcp_door import McpDoor
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError
from mnemesh_proto.loopback import is_loopback

Doors = tuple[GrpcDoor, McpDoor]


@contextlib.asynccontextmanager
async def open_doors(
    gate: MeshGate,
    authenticator: Authenticator,
    bounds: ConnectionLimits,
    *,
    grpc: str,
    http: str,
    toolsets: Sequence[str],
    metrics_open: bool,
    drain_s: float,
) -> AsyncIterator[Doors]:
    """Doors that answer at the addresses `grpc` and `http`. The gate learns the ports that were taken."""
    guard, metrics = ConnectionGuard(bounds), Metrics()
    listener = RestingListener.of(listen("http", http), guard)
    grpc_door = GrpcDoor(gate, authenticator, metrics, connections_max=bounds.total, begin_within_s=bounds.header_s)
    host = http.rpartition(":")[0]
    try:
        gate.grpc = f"{grpc.rpartition(':')[0]}:{await _bind_grpc(grpc_door, grpc)}"
        gate.http = f"{host}:{listener.getsockname()[1]}"
        mcp = McpDoor(gate, authenticator, metrics, toolsets, is_loopback(host))
        app = build_app(gate, authenticator, metrics, mcp, metrics_open=metrics_open)
        server = _HttpServer(
            uvicorn.Config(
                app,
                http=GuardedProtocol.under(guard),
                log_config=None,
                access_log=False,
                lifespan="on",
                server_header=False,
                timeout_graceful_shutdown=max(1, int(drain_s)),
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    except BaseException:  # boundary: closed, then raised again
        listener.close()
        await grpc_door.stop(0)
        raise
    try:
        # uvicorn tells of its start by a flag only.
        while not server.started and not serving.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        if serving.done():
            raise FailedPrecondition("http: the server did not start; see the log", field="http")
        yield grpc_door, mcp
    finally:
        mcp.drain()
        await grpc_door.stop(drain_s)
        server.should_exit = True
        await serving


class _HttpServer(uvicorn.Server):
    """uvicorn without its own signal handling: the node decides when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(field: str, address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, int(port)), family=family, backlog=512)
        # Accepted connections inherit the option. asyncio would set it itself, but not for sockets made this way. An
        # answer in two segments would then wait 40 ms for the peer's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise _taken(field, address, error) from error


async def _bind_grpc(door: GrpcDoor, address: str) -> int:
    # Asked of the system first: gRPC tells of a port that is taken on stderr, and does not say why in its error.
    listen("grpc", address).close()
    try:
        return await door.start(address)
    except (RuntimeError, OSError) as error:
        raise _taken("grpc", address, error) from error


def _said(error: Exception) -> str:
    """The words of the system alone. Python adds the address to some."""
    if not isinstance(error, OSError):
        return str(error)
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _taken(field: str, address: str, error: Exception) -> MnemeshError:
    in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    said = _said(error)
    why = "another program holds the port: stop it, or give" if in_use else "give an address of this machine, as"
    return FailedPrecondition(
        f"{field}: cannot listen on {address} ({said}); {why} another --{field} HOST:PORT (port 0 takes a free one)",
        field=field,
        value=address,
    )
