"""A Ray cluster of one machine, started by Ray's own command line and ended by its process, never by `ray stop`."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

import psutil
from node_process import alive, descendants

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
OBJECT_STORE_BYTES = 128 * 2**20


def _free_port() -> int:
    """For the one option of Ray's that does not take 0."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class RayHead:
    """`address` is HOST:PORT, `env` what a node needs to join: the path of the cluster's own token. `options` go to
    Ray's command line, `within` stands before it."""

    def __init__(self, *options: str, within: tuple[str, ...] = ()) -> None:
        self._options = options
        self._within = within
        # Ray's sockets lie below it, and the path of a socket may have 107 bytes.
        self._directory = Path(tempfile.mkdtemp(prefix="ray-head-", dir="/tmp"))
        token = self._directory / "token"
        token.write_text(secrets.token_hex(32))
        token.chmod(0o600)
        self.env = {"RAY_AUTH_TOKEN_PATH": str(token), "RAY_worker_niceness": "0"}
        self.address = ""
        self._process: asyncio.subprocess.Process | None = None
        self._output: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return once a node can join."""
        self._process = await asyncio.create_subprocess_exec(
            *self._within,
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--port=0", "--block", "--num-cpus=2"),
            *("--include-dashboard=false", "--disable-usage-stats", f"--ray-client-server-port={_free_port()}"),
            *("--dashboard-agent-listen-port=0", f"--object-store-memory={OBJECT_STORE_BYTES}"),
            *("--temp-dir", str(self._directory / "tmp")), *self._options,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **self.env, "RAY_AUTH_MODE": "token"}, cwd="/",
        )  # fmt: skip
        said = await asyncio.wait_for(self._until(b"--block"), START_TIMEOUT_S)
        found = re.search(r"ray start --address='([^']+)'", said)
        assert found, said
        self.address = found[1]
        self._output = asyncio.create_task(self._drain())

    async def _until(self, mark: bytes) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        lines: list[bytes] = []
        while line := await self._process.stdout.readline():
            lines.append(line)
            if mark in line:
                return b"".join(lines).decode()
        raise AssertionError(f"Ray did not start: {b''.join(lines).decode()}")

    async def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while await self._process.stdout.read(65536):
            pass

    def processes(self) -> list[psutil.Process]:
        """Everything that the cluster has started."""
        assert self._process is not None
        return descendants(self._process.pid)

    async def end(self) -> list[psutil.Process]:
        """End the cluster; what it left behind is returned, and killed."""
        left: list[psutil.Process] = []
        if self._process is not None and self._process.returncode is None:
            started = self.processes()
            self._process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_S)
            finally:
                left = alive(started)
                for process in left:
                    process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)
        return left
