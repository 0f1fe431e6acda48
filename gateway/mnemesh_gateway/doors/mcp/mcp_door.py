"""The MCP door: routes /mcp, /sse and /messages for the HTTP server, each behind the token.

Authentication comes before the protocol library sees a request. The library loads in a thread after HTTP has opened.
Requests wait for it, bounded. Standing streams end when the node drains. So a stop does not wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import structlog
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from mnemesh_actors.runtime.tasks import first_done
from mnemesh_gateway.contract import status
from mnemesh_gateway.doors.http_connections import token_shown
from mnemesh_gateway.doors.mcp.tools.toolsets import select
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.errors import MnemeshError, Unavailable

if TYPE_CHECKING:
    from mnemesh_gateway.doors.mcp.mcp_server import McpServer
    from mnemesh_gateway.doors.metrics import Metrics
    from mnemesh_gateway.operations.gate import MeshGate

log = structlog.get_logger("mnemesh.mcp")

LOAD_TIMEOUT_S: Final = 30.0
Application = Callable[["McpServer", Scope, Receive, Send], Awaitable[None]]


class McpDoor:
    """Routes for a Starlette application, and the `lifespan` that has to surround its serving. A URL without
    `?toolsets=` shows `toolsets_default`. `loopback` says that HTTP listens on loopback only. DNS rebinding is then
    refused. Raises InvalidArgument for an unknown toolset."""

    def __init__(
        self,
        gate: MeshGate,
        authenticator: Authenticator,
        metrics: Metrics,
        toolsets_default: Sequence[str] = ("core",),
        loopback: bool = True,
    ) -> None:
        self._authenticator = authenticator
        self._build = (gate, authenticator, metrics, select(toolsets_default), loopback)
        self._server: asyncio.Future[McpServer] | None = None
        self._drained = asyncio.Event()
        self._wanted = asyncio.Event()
        self.routes: Sequence[BaseRoute] = (
            Route("/mcp", _Guarded(self, lambda server, *asgi: server.streamable_http(*asgi))),
            Route("/sse", _Guarded(self, lambda server, *asgi: server.sse(*asgi)), methods=["GET"]),
            Mount("/messages", _Guarded(self, lambda server, *asgi: server.sse_messages(*asgi))),
        )

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncIterator[None]:
        """Keep the library's sessions alive until the end. The library loads at the first request, or at `load`. It
        costs as much as the rest of the node, and a start without an MCP host should not wait for that."""
        self._server = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        task = asyncio.create_task(self._serve(self._server, stop), name="mcp-sessions")
        try:
            yield
        finally:
            self.drain()
            stop.set()
            await task

    def drain(self) -> None:
        """End the standing streams. Requests in flight go on. Call it before the HTTP server stops."""
        self._drained.set()
        server = self._server
        if server is not None and server.done() and not server.cancelled() and server.exception() is None:
            server.result().drain()

    async def _serve(self, ready: asyncio.Future[McpServer], stop: asyncio.Event) -> None:
        """The library's task group has to be entered and left by one task: this one."""
        await first_done(self._wanted.wait(), stop.wait())
        if stop.is_set():
            ready.cancel()
            return
        try:
            module = await asyncio.to_thread(import_module, "mnemesh_gateway.doors.mcp.mcp_server")
            server: McpServer = module.McpServer(*self._build)
        except Exception as error:  # boundary: every waiting request gets the error itself
            log.exception("mcp_not_loaded")
            ready.set_exception(error)
            return
        async with server.running():
            ready.set_result(server)
            await stop.wait()

    def load(self) -> None:
        """Begin to load the library now."""
        self._wanted.set()

    async def loaded_if_asked(self, within_s: float) -> None:
        """Return at once when no MCP request comes `within_s`, else once the library has loaded for that."""
        try:
            await asyncio.wait_for(self._wanted.wait(), within_s)
        except TimeoutError:
            return
        await self.server()

    async def server(self) -> McpServer:
        """The server once it is loaded. Raises Unavailable, and what went wrong when the library could not be
        loaded."""
        if self._server is None:
            raise Unavailable("MCP has not been started on this node", part="mcp")
        self.load()
        try:
            return await asyncio.wait_for(asyncio.shield(self._server), LOAD_TIMEOUT_S)
        except TimeoutError:
            raise Unavailable(f"MCP is still loading after {LOAD_TIMEOUT_S:g} s", part="mcp") from None

    async def handle(self, application: Application, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate, then hand over. A refusal before the first byte is JSON."""
        try:
            caller = self._authenticator.authenticate(_headers(scope), counted=False)
            token_shown(scope)
            server = await self.server()
            inner = {**scope, "user": server.user(caller)}
            if scope["method"] == "GET":
                stream = _StandingStream(self._drained, receive, send)
                await application(server, inner, stream.receive, stream.send)
                await stream.finish()
            else:
                await application(server, inner, receive, send)
        except MnemeshError as error:
            refusal = JSONResponse(
                status.error_body(error), status.http_status(error), headers=status.http_headers(error)
            )
            await refusal(scope, receive, send)


class _StandingStream:
    """A response without an end of its own. To the library, draining looks like a client that goes away. The client
    sees the stream end in good order."""

    def __init__(self, drained: asyncio.Event, receive: Receive, send: Send) -> None:
        self._drained = drained
        self._receive = receive
        self._send = send
        self._unfinished = False

    async def receive(self) -> MutableMapping[str, Any]:
        message, _ = await first_done(self._receive(), self._drained.wait())
        return message.result() if message else {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._unfinished = message["type"] == "http.response.start" or bool(message.get("more_body"))
        await self._send(message)

    async def finish(self) -> None:
        """Complete a response that draining cut short."""
        if self._unfinished and self._drained.is_set():
            await self.send({"type": "http.response.body", "body": b""})


class _Guarded:
    """One route as an ASGI application: a class, because Starlette calls plain functions with a Request."""

    def __init__(self, door: McpDoor, application: Application) -> None:
        self._door = door
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._door.handle(self._application, scope, receive, send)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
