"""Astrocytes on Ray: killed while they plan, they are started again, and nothing is done twice."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import psutil
import pytest
from node_process import Nodes
from node_reads import pid_of
from scenario_doors import GrpcDoor, Refused

pytestmark = [pytest.mark.ray]

SPACE = "team"
CORPUS = Path(__file__).resolve().parents[2] / "data" / "sleep" / "consistent.jsonl"
GROUPS = 20
KILLS = 3
WAIT_S = 120.0


async def consolidated(door: GrpcDoor) -> int:
    """A run to its end, however often it is cut off. How many steps its last call applied."""
    while True:
        try:
            return int((await door.call("consolidate", space=SPACE))["applied"])
        except Refused as refusal:
            if refusal.code != "UNAVAILABLE":
                raise


async def test_astrocytes_that_are_killed_while_they_plan_do_nothing_twice(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path, "--runtime", "ray", "--astrocyte-workers", "2")
    groups = [json.loads(line)["texts"] for line in CORPUS.read_text("utf-8").splitlines()][:GROUPS]
    async with GrpcDoor(node) as door:
        for texts in groups:
            for number, text in enumerate(texts):
                source = {"session": f"s{number}"}
                await door.call("remember", content=text, kind="episode", space=SPACE, source=source, force=True)
        running = asyncio.create_task(consolidated(door))
        killed: set[int] = set()
        async with asyncio.timeout(WAIT_S):
            while len(killed) < KILLS:
                for actor in ("astrocyte-0", "astrocyte-1"):
                    pid = await pid_of(door, actor)
                    if pid not in {0, *killed}:
                        killed.add(pid)
                        psutil.Process(pid).kill()
            await running
        assert await consolidated(door) == 0
        listed = await door.call("list", spaces=[SPACE], limit=200)
        facts = [memory for memory in listed["memories"] if memory["kind"] == "fact"]
        sources = Counter(link["id"] for fact in facts for link in fact["links"] if link["type"] == "derived-from")
        assert len(facts) >= GROUPS * 0.8
        assert max(sources.values()) == 1, "an episode is the source of two facts"
        runs = (await door.call("list_runs", spaces=[SPACE], limit=50))["runs"]
        assert {run["state"] for run in runs} == {"done"}
        assert sum(run["applied"] for run in runs) == len(facts)
