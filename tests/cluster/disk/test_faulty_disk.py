"""A node whose disk fails under all of its files, index included: nothing acknowledged is lost and everything is found.

A seed draws the fault, at a random call: no space, an error, or a power cut that loses unsynced writes and tears a
page. After the fault the node is started once more on a sound disk.
"""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

import pytest
from fault_disk import Fault, built_shim, fault_of, preloaded
from node_process import Nodes, NodeUnderTest, kill_node, ready_node, stop_node
from node_reads import contents, finds, settled
from scenario_doors import GrpcDoor, Refused

SPACE = "faults"
WRITES = 12
WAIT_S = 120.0
QUICK_SEEDS = (1, 2, 3, 4)
PROOF_SEEDS = 60
# The codes of a write whose disk or node fails.
EXCUSED = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DATA_LOSS", "DEADLINE_EXCEEDED", "CANCELLED")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_shim(tmp_path_factory.mktemp("shim"))


def text_of(seed: int, number: int) -> str:
    return f"Run {seed} noted the value {random.Random(f'{seed} {number}').getrandbits(40):x} as number {number}."


async def written(node: NodeUnderTest, seed: int, words: tuple[str, ...]) -> list[str]:
    """The texts that were acknowledged."""
    acknowledged: list[str] = []
    async with GrpcDoor(node) as door:
        for number in range(WRITES):
            text = text_of(seed, number)
            try:
                await door.call("remember", content=text, space=SPACE, wait=words[number % len(words)], force=True)
            except Refused as refused:
                if refused.code not in EXCUSED:
                    raise
            else:
                acknowledged.append(text)
    return acknowledged


async def faulty_life(nodes: Nodes, data_dir: Path, shim: Path, fault: Fault, seed: int) -> list[str]:
    """Start, write, end: what was acknowledged. A start that the fault prevents has to say so in words."""
    process = await nodes.launch(data_dir, within=preloaded(shim, data_dir, fault))
    try:
        node = await ready_node(data_dir, process)
    except AssertionError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        status = await asyncio.wait_for(process.wait(), WAIT_S)
        assert status == (4 if fault.error else -signal.SIGKILL), f"{status}: {refusal}"
        assert "Traceback" not in refusal, refusal
        return []
    acknowledged = await written(node, seed, ("indexed", "durable"))
    if node.process.returncode is None:
        await kill_node(node)
    assert await asyncio.wait_for(node.process.wait(), WAIT_S) == -signal.SIGKILL
    assert b"Traceback" not in await node.said, (await node.said).decode()
    return acknowledged


async def run(nodes: Nodes, folder: Path, shim: Path, seed: int) -> tuple[Fault, int]:
    """One run; the fault, and how many writes it left acknowledged."""
    fault = fault_of(random.Random(seed))
    data_dir = folder / f"data-{seed}"
    before = await nodes.start(data_dir)
    acknowledged = await written(before, -seed, ("indexed",))
    assert len(acknowledged) == WRITES
    assert await stop_node(before) == 0
    acknowledged += await faulty_life(nodes, data_dir, shim, fault, seed)
    after = await nodes.start(data_dir)
    async with GrpcDoor(after) as door:
        status = await settled(door)
        assert status["index"][0]["seq"] <= status["ledger"]["seq"]
        kept = await contents(door, SPACE)
        assert set(acknowledged) <= set(kept), "an acknowledged write is lost"
        assert len(kept) == len(set(kept)), "a write is there twice"
        for text in kept:
            assert await finds(door, text, SPACE), "an active memory is not found"
    assert await stop_node(after) == 0
    assert b"Traceback" not in await after.said
    return fault, len(acknowledged) - WRITES


@pytest.mark.parametrize("seed", QUICK_SEEDS)
async def test_a_disk_that_fails_loses_nothing_acknowledged_and_the_next_start_finds_everything(
    nodes: Nodes, tmp_path: Path, shim: Path, seed: int
) -> None:
    fault, acknowledged = await run(nodes, tmp_path, shim, seed)
    print(f"seed {seed}: {fault}; {acknowledged} of {WRITES} acknowledged under it, all there")


@pytest.mark.proof
@pytest.mark.timeout(1800)
async def test_many_faults_of_the_disk_lose_nothing_acknowledged(nodes: Nodes, tmp_path: Path, shim: Path) -> None:
    first = random.SystemRandom().randint(1_000, 1_000_000)
    for seed in range(first, first + PROOF_SEEDS):
        print(f"seed {seed}", flush=True)
        fault, acknowledged = await run(nodes, tmp_path, shim, seed)
        print(f"seed {seed}: {fault}; {acknowledged} of {WRITES} acknowledged under it, all there", flush=True)
