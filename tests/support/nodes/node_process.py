"""Starting and ending a real node process in a test, with every wait bounded."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
import pytest_asyncio
from forked import NODE, Ended, Forked, outcome_of

from mnemesh_proto.rendezvous import read_node, read_token

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
KEPT_STDERR_BYTES = 65_536
Process = asyncio.subprocess.Process | Forked


@dataclass(frozen=True)
class NodeUnderTest:
    """Addresses, token and process of a started node; `said` is its stderr, once the node has ended."""

    grpc: str
    http: str
    token: str
    data_dir: Path
    process: Process = field(compare=False)
    said: asyncio.Task[bytes] = field(compare=False)


async def launch_node(
    data_dir: Path, *flags: str, env: dict[str, str] | None = None, within: tuple[str, ...] = ()
) -> Process:
    """Start `mnemesh_gateway up` on free ports, unless `flags` give others, and return at once. `within` stands before
    the command, and becomes it."""
    words = ("up", "--data", str(data_dir), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", *flags)
    # Ray looks at the program that joins the cluster, so on Ray the program is started plainly.
    if not within and "ray" not in flags:
        return await NODE.start(*words, env=env)
    return await asyncio.create_subprocess_exec(
        *within, sys.executable, "-m", "mnemesh_gateway", *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})}, cwd="/",
    )  # fmt: skip


async def start_node(data_dir: Path, *flags: str, env: dict[str, str] | None = None) -> NodeUnderTest:
    """Start `mnemesh_gateway up` on free ports and return once it has printed its ready block."""
    return await ready_node(data_dir, await launch_node(data_dir, *flags, env=env))


async def ready_node(data_dir: Path, process: Process) -> NodeUnderTest:
    """Wait for the ready block of a node that was launched on `data_dir`."""
    assert process.stdout is not None
    assert process.stderr is not None
    # A pipe that nobody reads would stop the node when it is full.
    said = asyncio.get_running_loop().create_task(_drain(process.stderr))
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        raise AssertionError(f"the node was not ready within {START_TIMEOUT_S} s: {(await said).decode()}") from None
    if b"is ready" not in line:
        raise AssertionError(f"the node did not start: {line!r} {(await said).decode()}")
    asyncio.get_running_loop().create_task(_drain(process.stdout))
    address, token = read_node(data_dir), read_token(data_dir)
    assert address is not None
    assert token is not None
    return NodeUnderTest(address.grpc, address.http, token, data_dir, process, said)


async def refused_start(data_dir: Path, *flags: str, env: dict[str, str] | None = None) -> Ended:
    """Start a node that is expected to end by itself, and return how it did."""
    return await outcome_of(await launch_node(data_dir, *flags, env=env), START_TIMEOUT_S, "the node")


@asynccontextmanager
async def ended(process: Process) -> AsyncIterator[None]:
    """The process is killed when it still runs after the block."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _drain(stream: asyncio.StreamReader) -> bytes:
    """Read to the end; the last bytes, for whoever asks why."""
    kept = b""
    while data := await stream.read(65536):
        kept = (kept + data)[-KEPT_STDERR_BYTES:]
    return kept


async def stop_node(node: NodeUnderTest) -> int:
    """SIGTERM, wait for the drain, return the exit code."""
    if node.process.returncode is None:
        node.process.send_signal(signal.SIGTERM)
    return await asyncio.wait_for(node.process.wait(), STOP_TIMEOUT_S)


@asynccontextmanager
async def running(data_dir: Path, *flags: str, env: dict[str, str] | None = None) -> AsyncIterator[NodeUnderTest]:
    """A node, stopped in good order at the end, also when the test fails."""
    node = await start_node(data_dir, *flags, env=env)
    try:
        yield node
    finally:
        assert await stop_node(node) == 0, (await node.said).decode()


async def kill_node(node: NodeUnderTest) -> None:
    """SIGKILL: no drain, no flush."""
    node.process.kill()
    await asyncio.wait_for(node.process.wait(), STOP_TIMEOUT_S)


class Nodes:
    """Starts nodes. `end` kills every process that is left, also after a test that failed."""

    def __init__(self) -> None:
        self._processes: list[Process] = []
        self._children: list[psutil.Process] = []

    async def launch(
        self, data_dir: Path, *flags: str, env: dict[str, str] | None = None, within: tuple[str, ...] = ()
    ) -> Process:
        """As launch_node."""
        process = await launch_node(data_dir, *flags, env=env, within=within)
        self._processes.append(process)
        return process

    async def start(
        self, data_dir: Path, *flags: str, env: dict[str, str] | None = None, within: tuple[str, ...] = ()
    ) -> NodeUnderTest:
        """As start_node."""
        node = await ready_node(data_dir, await self.launch(data_dir, *flags, env=env, within=within))
        self._children += descendants(node.process.pid)
        return node

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> None:
        """Kill what is left."""
        for process in self._processes:
            if process.returncode is None:
                self._children += descendants(process.pid)
                process.kill()
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
        for child in alive(self._children):
            child.kill()


@pytest_asyncio.fixture
async def nodes() -> AsyncIterator[Nodes]:
    async with Nodes() as started:
        yield started


def descendants(pid: int) -> list[psutil.Process]:
    """The processes that `pid` has started, and theirs. psutil tells a process from a later one of the same pid."""
    return psutil.Process(pid).children(recursive=True)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """The processes that still run. A zombie has ended and waits for its parent only."""
    return [process for process in processes if process.is_running() and _status(process) != psutil.STATUS_ZOMBIE]


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return psutil.STATUS_ZOMBIE
