"""Starting and ending a real node process in a test, with every wait bounded."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

from mnemesh_proto.rendezvous import read_node, read_token

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class NodeUnderTest:
    """Where a started node listens, its token and its process."""

    grpc: str
    http: str
    token: str
    data_dir: Path
    process: asyncio.subprocess.Process = field(compare=False)


async def start_node(data_dir: Path, *flags: str, env: dict[str, str] | None = None) -> NodeUnderTest:
    """Start `mnemesh_gateway up` on free ports and return once it has printed its ready block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mnemesh_gateway", "up", "--data", str(data_dir), "--grpc", "127.0.0.1:0",
        "--http", "127.0.0.1:0", *flags,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})}, cwd="/",
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        raise AssertionError(
            f"the node was not ready within {START_TIMEOUT_S} s: {await process.stderr.read()!r}"
        ) from None
    if b"is ready" not in line:
        raise AssertionError(f"the node did not start: {line!r} {(await process.stderr.read()).decode()}")
    # A pipe that nobody reads would stop the node when it is full.
    asyncio.get_running_loop().create_task(_drain(process.stdout))
    asyncio.get_running_loop().create_task(_drain(process.stderr))
    address, token = read_node(data_dir), read_token(data_dir)
    assert address is not None
    assert token is not None
    return NodeUnderTest(address.grpc, address.http, token, data_dir, process)


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass


async def stop_node(node: NodeUnderTest) -> int:
    """SIGTERM, wait for the drain, return the exit code."""
    if node.process.returncode is None:
        node.process.send_signal(signal.SIGTERM)
    return await asyncio.wait_for(node.process.wait(), STOP_TIMEOUT_S)


async def kill_node(node: NodeUnderTest) -> None:
    """SIGKILL: no drain, no flush."""
    node.process.kill()
    await asyncio.wait_for(node.process.wait(), STOP_TIMEOUT_S)
