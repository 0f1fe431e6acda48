"""The addresses of a node: the refusal of unusable ones before anything is written, and how they are taken."""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path

from mnemesh_gateway.doors.grpc.grpc_door import GrpcDoor
from mnemesh_gateway.doors.mcp.toolsets import select
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, MnemeshError
from mnemesh_proto.loopback import is_loopback


def refuse_unusable(settings: Settings, *, new: bool) -> None:
    """Refuse settings before anything is written. A `new` directory says nothing more, so the checks of the node's
    parts run here too."""
    for name in ("grpc", "http"):
        _refuse_exposed(name, getattr(settings, name), settings.expose)
    if settings.http == settings.grpc and not settings.http.endswith(":0"):
        raise InvalidArgument("http", settings.http, "another address than that of grpc")
    select(settings.mcp_toolsets.split(","))
    if not new:
        return
    if settings.model_dir:
        from mnemesh_actors.models.model_directory import configured

        configured(Path(settings.model_dir).expanduser())
    with contextlib.ExitStack() as both:
        for name in ("grpc", "http"):
            both.enter_context(listen(name, getattr(settings, name)))


def _refuse_exposed(field: str, address: str, expose: bool) -> None:
    if not expose and not is_loopback(address.rpartition(":")[0]):
        raise InvalidArgument(
            field, address, "a loopback address; --expose allows another, without TLS: tokens and texts travel in clear"
        )


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


async def bind_grpc(door: GrpcDoor, address: str) -> int:
    # Asked of the system first: gRPC tells of a port that is taken on stderr, and does not say why in its error.
    listen("grpc", address).close()
    try:
        return await door.start(address)
    except (RuntimeError, OSError) as error:
        raise _taken("grpc", address, error) from error


def _taken(field: str, address: str, error: Exception) -> MnemeshError:
    in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    why = "another program holds the port: stop it, or give" if in_use else "give an address of this machine, as"
    return FailedPrecondition(
        f"{field}: cannot listen on {address} ({error}); {why} another --{field} HOST:PORT (port 0 takes a free one)",
        field=field,
        value=address,
    )
