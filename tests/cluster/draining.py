"""SIGTERM while calls are inside: what must hold for a node in either runtime."""

from __future__ import annotations

import asyncio
import fcntl
import signal
from pathlib import Path
from typing import Any

import httpx2
from node_process import NodeUnderTest
from scenario_doors import Door, GrpcDoor, HttpDoor, McpDoor

from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE

SPACE = "drain"
CALLS_A_DOOR = 4
ATTEMPTS = 10
LONG_TEXT_CHARS = 9_000
WAIT_S = 60.0


async def sigterm_answers_what_is_inside(node: NodeUnderTest) -> int:
    """Send SIGTERM while every networked door has calls inside; how many memories they have stored."""
    doors: list[Door] = [GrpcDoor(node), HttpDoor(node), McpDoor.over_http(node)]
    for door in doors:
        await door.call("stats", spaces=[SPACE])  # connects
    stored = 0
    for attempt in range(ATTEMPTS):
        calls = {
            door.name: [
                asyncio.create_task(door.call("remember", content=_long_text(door.name, attempt, number), space=SPACE))
                for number in range(CALLS_A_DOOR)
            ]
            for door in doors
        }
        every = [call for tasks in calls.values() for call in tasks]
        await asyncio.wait_for(_all_inside(node, every), WAIT_S)
        inside = {name for name, tasks in calls.items() if any(not call.done() for call in tasks)}
        if inside == set(calls):
            node.process.send_signal(signal.SIGTERM)
            break
        # The last to arrive met only others' answers: nothing is proved for those doors, so once more.
        stored += len(await asyncio.wait_for(asyncio.gather(*every), WAIT_S))
    else:
        raise AssertionError(f"in none of {ATTEMPTS} attempts had every door calls inside")
    answers = await asyncio.wait_for(asyncio.gather(*every), WAIT_S)
    assert [answer["action"] for answer in answers] == ["ADD"] * len(every)
    assert await asyncio.wait_for(node.process.wait(), WAIT_S) == 0, (await node.said).decode()
    assert not (node.data_dir / NODE_FILE).exists()
    assert _lock_is_free(node.data_dir)
    for door in doors:
        await door.close()
    return stored + len(every)


async def _all_inside(node: NodeUnderTest, calls: list[asyncio.Task[dict[str, Any]]]) -> None:
    """Wait until every call that has no answer yet has arrived at the node, by the node's own count."""
    async with httpx2.AsyncClient(base_url=f"http://{node.http}") as client:
        while True:
            waiting = sum(not call.done() for call in calls)
            text = (await client.get("/metrics", headers={"authorization": f"Bearer {node.token}"})).text
            counts = [line.split()[1] for line in text.splitlines() if line.startswith("mnemesh_requests_inside{")]
            if sum(map(float, counts)) >= waiting:
                return


async def holds(node: NodeUnderTest, memories: int) -> None:
    """Assert that they are all there."""
    async with GrpcDoor(node) as reader:
        assert (await reader.call("stats", spaces=[SPACE]))["memories"] == memories


def _long_text(door: str, attempt: int, number: int) -> str:
    """Several passages, so that one call keeps the model busy for a while."""
    sentence = f"Agent {attempt}.{number} behind {door} wrote a long report about the rivers of the region. "
    return (sentence * (LONG_TEXT_CHARS // len(sentence))).strip()


def _lock_is_free(data_dir: Path) -> bool:
    with open(data_dir / LOCK_FILE, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
