"""Scenes of the tests of peers on real nodes, and bounded waits: a condition and a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from node_process import Nodes, NodeUnderTest

from mnemesh import AsyncClient, Memory
from mnemesh.api.values.peers import PeerStatus

PATIENCE_S = 60.0
POLL_S = 0.05
PAGE = 200
WAIT_S = 15.0  # less than a client waits for an answer


def client(node: NodeUnderTest, token: str = "", **more: str) -> AsyncClient:
    return AsyncClient(node.grpc, token or node.token, **more)


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():  # noqa: ASYNC110  another process tells only when asked
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE_S:g} s: {what}") from None


async def everything(node: NodeUnderTest, space: str) -> list[Memory]:
    """Every memory of the space."""
    found: list[Memory] = []
    cursor = ""
    async with client(node) as one:
        while True:
            page = await one.list(space=space, limit=PAGE, cursor=cursor)
            found += page.memories
            if not (cursor := page.cursor):
                return found


async def texts(node: NodeUnderTest, space: str) -> list[str]:
    return sorted(memory.content for memory in await everything(node, space))


async def peer_in(state: str, one: AsyncClient) -> PeerStatus:
    """The one peer of the node of `one`, once the peer is in `state`."""

    async def reached() -> bool:
        return [peer.state for peer in (await one.sync_status()).peers] == [state]

    await until(reached, f"the peer is {state}")
    (peer,) = (await one.sync_status()).peers
    return peer


async def introduce(
    caller: NodeUnderTest, called: NodeUnderTest, name: str, *spaces: str, role: str = "admin", address: str = ""
) -> None:
    """`agent add` on the one, `peer add` on the other, at `address` or at the address of the called node."""
    async with client(called) as there, client(caller) as here:
        issued = await there.add_agent(name, role=role, spaces=[one for one in spaces if not one.startswith("@")])
        url = f"grpc://{address or called.grpc}"
        added = await here.add_peer(url, token=issued.token, spaces=spaces, name=name)
    assert added.peer.state == "connected", added


async def hub_and_laptop(nodes: Nodes, path: Path, *spaces: str) -> tuple[NodeUnderTest, NodeUnderTest]:
    """Two nodes; where there are `spaces`, the laptop exchanges these with the hub."""
    hub, laptop = await asyncio.gather(nodes.start(path / "hub"), nodes.start(path / "laptop"))
    if spaces:
        await introduce(laptop, hub, "laptop", *spaces)
    return hub, laptop


async def converged(space: str, *nodes: NodeUnderTest) -> None:
    async def same() -> bool:
        held = [await texts(node, space) for node in nodes]
        return all(one == held[0] for one in held) and bool(held[0])

    await until(same, f"{space} is the same on {len(nodes)} nodes")
