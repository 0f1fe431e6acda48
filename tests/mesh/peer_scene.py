"""What the tests of peers do with real nodes, and how they wait: a condition and a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from node_process import NodeUnderTest

from mnemesh import AsyncClient

PATIENCE_S = 60.0
POLL_S = 0.05
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


async def texts(node: NodeUnderTest, space: str) -> list[str]:
    async with client(node) as one:
        return sorted(memory.content for memory in (await one.list(space=space, limit=200)).memories)


async def introduce(
    caller: NodeUnderTest, called: NodeUnderTest, name: str, *spaces: str, role: str = "admin", direction: str = "both"
) -> None:
    """`agent add` on the one, `peer add` on the other."""
    async with client(called) as there, client(caller) as here:
        issued = await there.add_agent(name, role=role, spaces=[one for one in spaces if not one.startswith("@")])
        added = await here.add_peer(
            f"grpc://{called.grpc}", token=issued.token, spaces=spaces, name=name, direction=direction
        )
    assert added.peer.state == "connected", added


async def converged(space: str, *nodes: NodeUnderTest) -> None:
    async def same() -> bool:
        held = [await texts(node, space) for node in nodes]
        return all(one == held[0] for one in held) and bool(held[0])

    await until(same, f"{space} is the same on {len(nodes)} nodes")
