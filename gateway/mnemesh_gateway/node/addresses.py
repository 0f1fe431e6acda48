"""The addresses of a node: unusable ones are refused before anything is written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mnemesh_gateway.doors.mcp.tools.toolsets import select
from mnemesh_gateway.doors.open_doors import listen
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.values.errors import InvalidArgument
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
