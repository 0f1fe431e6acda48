"""A fake node for tests of the MCP door and the stdio proxy: the real door and a real HTTP server over a fake
mesh."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2
import pytest
import uvicorn
from fake_mesh import FakeFacts, FakeGate, FakeMesh
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from mnemesh_gateway.doors.mcp.mcp_door import McpDoor
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.model import Caller, Draft, Memory

TOKEN = "correct-horse-battery-staple"
WAIT_S = 60.0
TRANSPORTS = ("in-process", "http-2026", "http-session", "sse")


class Node:
    """A door served by uvicorn in a thread of its own. `start` and `stop` may alternate: the port stays."""

    def __init__(
        self,
        gate: FakeGate | None = None,
        toolsets: Sequence[str] = ("core",),
        loopback: bool = True,
        authenticator: Authenticator | None = None,
    ) -> None:
        self._authenticator = authenticator or Authenticator(TOKEN)
        self.gate = gate or FakeGate(FakeMesh())
        self.metrics = Metrics()
        self.port = 0
        self._toolsets = toolsets
        self._loopback = loopback
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._door: McpDoor | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def app(self) -> Starlette:
        """A fresh door, as a restarted node has one."""
        self._door = McpDoor(self.gate, self._authenticator, self.metrics, self._toolsets, self._loopback)
        return Starlette(routes=self._door.routes, lifespan=self._door.lifespan)

    def start(self) -> Self:
        """Listen; returns when connections are accepted."""
        # With the protocol named, asyncio sets TCP_NODELAY on what is accepted; without, each answer costs 40
        # ms.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self.port = listener.getsockname()[1]
        started = threading.Event()

        async def serve() -> None:
            config = uvicorn.Config(
                self.app(), log_level="error", ws="none", lifespan="on", timeout_graceful_shutdown=2
            )
            self._server = uvicorn.Server(config)
            self._loop = asyncio.get_running_loop()
            started.set()
            await self._server.serve(sockets=[listener])
            for connection in list(self._server.server_state.connections):  # what came in while it crashed
                connection.transport.abort()
            await asyncio.sleep(0)

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), name="fake-node")
        self._thread.start()
        assert started.wait(WAIT_S)
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._thread is not None and self._thread.is_alive():
            self.stop()

    def stop(self, drain: bool = True) -> None:
        """Stop listening, as on SIGTERM; with `drain`, standing streams are ended first."""
        assert self._server is not None
        assert self._loop is not None
        if drain and self._door is not None:
            self._loop.call_soon_threadsafe(self._door.drain)
        self._server.should_exit = True
        self._join()

    def _join(self) -> None:
        assert self._thread is not None
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def crash(self) -> None:
        """Stop without any goodbye: connections are reset, calls inside are dropped."""
        assert self._server is not None
        assert self._loop is not None
        server = self._server

        def reset() -> None:
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            server.force_exit = True
            server.should_exit = True

        self._loop.call_soon_threadsafe(reset)
        self._join()

    def call(self, function: Callable[[], Any]) -> None:
        """Run `function` on the node's event loop."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(function)


@pytest.fixture(scope="module")
def served() -> Iterator[Node]:
    with Node() as node:
        yield node


@pytest.fixture
def node(served: Node) -> Node:
    """The served node with nothing in it."""
    served.gate.mesh = FakeMesh()
    served.gate.facts = FakeFacts()
    return served


def stored(node: Node, content: str = "one") -> Memory:
    """A new memory in the fake mesh of the node."""
    draft = Draft(content=content, kind="fact", title=content, space="@owner")
    return node.gate.mesh.store(draft, Caller("owner/test", "owner"))


def touch(node: Node, *memories: Memory) -> None:
    """The node hears that these memories changed."""
    node.call(lambda: node.gate.mesh.touches.put_nowait([memory.id for memory in memories]))


def headers(**more: str) -> dict[str, str]:
    """The owner's headers; `more` in the form x_mnemesh_agent."""
    return {"authorization": f"Bearer {TOKEN}"} | {name.replace("_", "-"): value for name, value in more.items()}


@asynccontextmanager
async def connect(
    node: Node, transport: str, query: str = "", fields: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Client]:
    """The library's own client over one of TRANSPORTS."""
    fields = headers() if fields is None else fields
    if transport == "sse":
        async with Client(sse_client(f"{node.url}/sse{query}", headers=fields), mode="legacy", **options) as client:
            yield client
        return
    mode = "legacy" if transport == "http-session" else "2026-07-28"
    if transport == "in-process":
        app = node.app()
        async with app.router.lifespan_context(app):
            channel = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=channel, headers=fields, timeout=WAIT_S) as http:
                url = f"http://127.0.0.1:1/mcp{query}"
                async with Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client:
                    yield client
        return
    async with (
        httpx2.AsyncClient(headers=fields, timeout=WAIT_S) as http,
        Client(streamable_http_client(f"{node.url}/mcp{query}", http_client=http), mode=mode, **options) as client,
    ):
        yield client
