"""A Ray cluster of several machines on one: each worker has an address 127.0.0.x, processes and a folder of its own.

Everything is ended by the ids of processes that were started here.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
from namespaces import Network
from node_process import alive, descendants
from ray_head import OBJECT_STORE_BYTES, START_TIMEOUT_S, RayHead

# A dead or hung machine is found within two seconds, instead of Ray's half a minute.
HEALTH = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 400,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}
GONE_S = 20.0


class Worker:
    """One machine of the cluster, at `address`."""

    def __init__(self, head: RayHead, address: str, within: tuple[str, ...] = ()) -> None:
        self.address = address
        self._within = within
        self._head = head
        self._process: asyncio.subprocess.Process | None = None
        self._output: asyncio.Task[bytes] | None = None
        self._started: dict[int, psutil.Process] = {}

    async def start(self) -> None:
        """Return once Ray says that it runs."""
        self._process = await asyncio.create_subprocess_exec(
            *self._within,
            *(sys.executable, "-m", "ray.scripts.scripts", "start", f"--address={self._head.address}", "--block"),
            *("--num-cpus=1", f"--node-ip-address={self.address}", "--disable-usage-stats"),
            *("--dashboard-agent-listen-port=0", f"--object-store-memory={OBJECT_STORE_BYTES}"),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **self._head.env, "RAY_AUTH_MODE": "token"}, cwd="/",
        )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT_S):
            said = b""
            while line := await self._process.stdout.readline():
                said += line
                if b"--block" in line:
                    break
            else:
                raise AssertionError(f"Ray did not start at {self.address}: {said.decode()}")
        self._output = asyncio.create_task(self._process.stdout.read())

    def processes(self) -> list[psutil.Process]:
        """The processes of the machine, also the ones left behind."""
        assert self._process is not None
        with suppress(psutil.NoSuchProcess):
            self._started |= {process.pid: process for process in descendants(self._process.pid)}
        return alive(list(self._started.values()))

    @property
    def raylet(self) -> psutil.Process:
        return next(process for process in self.processes() if process.name() == "raylet")

    def kill(self) -> None:
        """The machine loses power."""
        assert self._process is not None
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process.returncode is None:
            self._process.kill()

    def kill_raylet(self) -> None:
        self.processes()
        self.raylet.kill()

    def hang(self) -> None:
        """The raylet stops answering, and its children go on."""
        self.processes()
        self.raylet.send_signal(signal.SIGSTOP)

    async def end(self) -> None:
        if self._process is None:
            return
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        self.kill()
        if self._process.returncode is None:
            await asyncio.wait_for(self._process.wait(), GONE_S)
        if self._output is not None:
            await asyncio.gather(self._output, return_exceptions=True)


class RayMachines:
    """A head for the gateway, and workers. In a `network` each worker has a machine of its own there, and Ray finds a
    lost machine as late as by default."""

    def __init__(self, workers: int, network: Network | None = None) -> None:
        if network is None:
            self.head = RayHead("--system-config", json.dumps(HEALTH))
        else:
            self.head = RayHead(f"--node-ip-address={network.addresses[0]}", within=network.within(0))
        self.directory = Path(tempfile.mkdtemp(prefix="ray-machines-", dir="/tmp"))
        self.workers = [
            Worker(self.head, network.addresses[1 + number], network.within(1 + number))
            if network
            else Worker(self.head, f"127.0.0.{2 + number}")
            for number in range(workers)
        ]
        self._replicas = ("--ray-replica-dir", str(self.directory / "{ip}"))

    @property
    def joining(self) -> tuple[str, ...]:
        """The options of a node that joins the cluster."""
        return ("--runtime", "ray", "--ray-address", self.head.address, *self._replicas)

    async def start(self) -> None:
        await self.head.start()
        for worker in self.workers:
            await worker.start()

    async def end(self) -> None:
        for worker in self.workers:
            await worker.end()
        await self.head.end()
        shutil.rmtree(self.directory, ignore_errors=True)
