"""Following memories over MCP with the library's own client: both generations of the protocol, over HTTP."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from fake_mesh import FakeFacts, FakeGate, FakeMesh
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_support import TOKEN, WAIT_S, Node, connect, stored, touch

from mnemesh_gateway.doors.mcp.subscriptions import Subscriptions
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, Overloaded, Unauthenticated


@pytest.fixture
def node() -> Iterator[Node]:
    with Node(FakeGate(FakeMesh()), authenticator=Authenticator(TOKEN)) as started:
        yield started


async def soon(awaitable: Any) -> Any:
    return await asyncio.wait_for(awaitable, WAIT_S)


class Session:
    """A client of the older generation that keeps every notice."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue()

    async def take(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.told.put(str(message.params.uri))

    @asynccontextmanager
    async def open(self, node: Node, transport: str) -> AsyncIterator[Client]:
        async with connect(node, transport, message_handler=self.take) as client:
            yield client


async def subscribe(client: Client, uri: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await soon(client.subscribe_resource(uri))


async def unsubscribe(client: Client, uri: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await soon(client.unsubscribe_resource(uri))


@pytest.mark.parametrize("transport", ["http-session", "sse"])
async def test_a_session_is_told_of_what_it_subscribed_to_and_of_nothing_else(node: Node, transport: str) -> None:
    one, two = stored(node, "one"), stored(node, "two")
    session = Session()
    async with session.open(node, transport) as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe is True
        await subscribe(client, f"memory://{two.id}")
        touch(node, one)
        touch(node, two)
        assert await soon(session.told.get()) == f"memory://{two.id}"
        await unsubscribe(client, f"memory://{two.id}")
        await subscribe(client, f"memory://{one.id}")
        touch(node, two)
        touch(node, one)
        assert await soon(session.told.get()) == f"memory://{one.id}"
        assert session.told.empty()


async def test_a_listener_is_acknowledged_and_told_of_what_it_asked_for(node: Node) -> None:
    one, two = stored(node, "one"), stored(node, "two")
    asked = [f"memory://{one.id}", "memory://018f6f0e-0000-7000-8000-ffffffffffff"]
    async with (
        connect(node, "http-2026") as client,
        client.listen(resource_subscriptions=asked, tools_list_changed=True) as listening,
    ):
        assert listening.honored.resource_subscriptions == asked[:1]  # what is not there for it is not promised
        assert listening.honored.tools_list_changed is None
        touch(node, two)
        touch(node, one)
        assert await soon(anext(aiter(listening))) == ResourceUpdated(uri=asked[0])


async def test_a_memory_may_be_followed_by_its_title_and_is_told_by_that_address(node: Node) -> None:
    one = stored(node, "one")
    session = Session()
    async with session.open(node, "http-session") as client:
        await subscribe(client, "memory://one")
        touch(node, one)
        assert await soon(session.told.get()) == "memory://one"


@pytest.mark.parametrize("uri", ["memory://018f6f0e-0000-7000-8000-ffffffffffff", "file:///etc/passwd"])
async def test_what_is_no_memory_can_not_be_followed(node: Node, uri: str) -> None:
    async with Session().open(node, "http-session") as client:
        with pytest.raises(MCPError) as caught:
            await subscribe(client, uri)
    assert caught.value.error.code == types.INVALID_PARAMS


async def test_a_node_that_stops_ends_a_listener_in_good_order() -> None:
    node = Node().start()
    one = stored(node)
    async with (
        connect(node, "http-2026") as client,
        client.listen(resource_subscriptions=[f"memory://{one.id}"]) as listening,
    ):
        heard = asyncio.ensure_future(_all(listening))
        await asyncio.to_thread(node.stop)
        assert await soon(heard) == []


async def _all(listening: Any) -> list[Any]:
    return [event async for event in listening]


# ---- the bookkeeping itself -----------------------------------------------------------------------------------------


class Home:
    """Subscriptions over a fake mesh in this loop, and a follower with what it was told."""

    def __init__(self) -> None:
        self.mesh = FakeMesh()
        self.gate = FakeGate(self.mesh, FakeFacts())
        self.subscriptions = Subscriptions(self.gate)  # type: ignore[arg-type]
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.refusal: Exception | None = None

    def check(self) -> None:
        if self.refusal is not None:
            raise self.refusal


async def test_nothing_runs_while_nobody_follows() -> None:
    home = Home()
    before = asyncio.all_tasks()
    first, second = home.subscriptions.follower(home.check), home.subscriptions.follower(home.check)
    await first.follow("memory://a", "a")
    await second.follow("memory://a", "a")
    assert [task.get_name() for task in asyncio.all_tasks() - before] == ["mcp-subscriptions"]
    first.end()
    (reader,) = asyncio.all_tasks() - before
    second.end()
    await soon(asyncio.wait((reader,)))
    assert asyncio.all_tasks() == before


async def test_a_host_that_does_not_read_is_told_once_however_often_a_memory_changed() -> None:
    home = Home()
    follower = home.subscriptions.follower(home.check)
    await follower.follow("memory://a", "a")
    await follower.follow("memory://b", "b")
    for _ in range(1000):
        follower.touched(["a"])
    follower.touched(["b"])
    telling = asyncio.ensure_future(follower.deliver(home.told.put))
    assert [await soon(home.told.get()) for _ in range(2)] == ["memory://a", "memory://b"]
    follower.end()
    await soon(telling)
    assert home.told.empty()


async def test_one_address_too_many_and_one_host_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SUBSCRIPTIONS_MAX", 1)
    monkeypatch.setattr(limits, "WATCHERS_MAX", 1)
    home = Home()
    follower = home.subscriptions.follower(home.check)
    await follower.follow("memory://a", "a")
    await follower.follow("memory://a", "a")
    with pytest.raises(InvalidArgument):
        await follower.follow("memory://b", "b")
    with pytest.raises(Overloaded):
        home.subscriptions.follower(home.check)
    follower.end()


async def test_a_token_that_was_taken_away_is_told_nothing_more() -> None:
    home = Home()
    follower = home.subscriptions.follower(home.check)
    await follower.follow("memory://a", "a")
    home.refusal = Unauthenticated("revoked")
    follower.touched(["a"])
    with pytest.raises(Unauthenticated):
        await soon(follower.deliver(home.told.put))
    assert home.told.empty()
    follower.end()
