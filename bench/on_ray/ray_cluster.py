"""A Ray cluster of several machines on this one, by Ray's own command line: a head and workers at 127.0.0.x.

Everything is ended by the ids of processes that were started here, never by `ray stop`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import psutil

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.05
OBJECT_STORE_BYTES = 128 * 2**20
# Last words of Ray's command line before it waits.
UP = "--block"


class RayCluster:
    """Runs between entering and leaving. `address` is HOST:PORT; nodes and drivers that this process starts find the
    cluster's token through the environment."""

    def __init__(self, workers: int) -> None:
        self.address = ""
        self._workers = workers
        self._last = ExitStack()

    def __enter__(self) -> RayCluster:
        with ExitStack() as undo:
            # Ray's sockets lie below it, and the path of a socket may have 107 bytes.
            folder = Path(tempfile.mkdtemp(prefix="ray-bench-", dir="/tmp"))
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            token = folder / "token"
            token.write_text(secrets.token_hex(32))
            token.chmod(0o600)
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
            head = (
                *("--head", "--port=0", "--num-cpus=2", "--include-dashboard=false", "--temp-dir", str(folder / "tmp")),
                f"--ray-client-server-port={_free_port()}",
            )
            said = self._start(folder / "head.log", head, undo)
            found = re.search(r"ray start --address='([^']+)'", said)
            if found is None:
                raise RuntimeError(f"Ray did not say where it is:\n{said}")
            self.address = found[1]
            for number in range(self._workers):
                joining = (f"--address={self.address}", "--num-cpus=1", f"--node-ip-address=127.0.0.{2 + number}")
                self._start(folder / f"worker-{number}.log", joining, undo)
            self._last = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._last.close()

    def _start(self, log: Path, options: tuple[str, ...], undo: ExitStack) -> str:
        """Start one machine and give the output of Ray's command line."""
        command = (
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"),
            *("--dashboard-agent-listen-port=0", f"--object-store-memory={OBJECT_STORE_BYTES}"),
            *options,
        )
        with log.open("w") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/")
        undo.callback(_end, process)
        deadline = time.monotonic() + START_TIMEOUT_S
        while UP not in (said := log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Ray did not start:\n{said}")
            time.sleep(POLL_S)
        return said


def _free_port() -> int:
    """For the one option of Ray's that does not take 0."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, and every child process left behind."""
    started: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_S)
    process.kill()
    for one in started:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait(STOP_TIMEOUT_S)
