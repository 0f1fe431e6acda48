"""A real node in a process of its own, as `mnemesh up` starts it, on free ports and a fresh data directory."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

import psutil

from mnemesh import Client
from mnemesh_proto.rendezvous import NodeAddress, read_node, read_token

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.005
LOG_TAIL_CHARS = 2000


@contextmanager
def fresh_node(settings: str = "") -> Iterator[Client]:
    """A client of a new, empty node with these settings (TOML), which is stopped and removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        file = Path(folder) / "settings.toml"
        file.write_text(settings, "utf-8")
        with (
            NodeProcess(Path(folder) / "data", ("--config", str(file))) as node,
            Client(node.address.grpc, node.token) as client,
        ):
            yield client


class NodeProcess:
    """Starts on entering, stops with SIGTERM on leaving. `http_open_s` and `ready_s` count from the start of the
    process. The node's output goes to `node.log` in its data directory."""

    def __init__(self, data_dir: Path, arguments: Sequence[str] = ()) -> None:
        self.data_dir = data_dir
        self.http_open_s = 0.0
        self.ready_s = 0.0
        self._command = (
            sys.executable, "-m", "mnemesh_gateway", "up", "--data", str(data_dir),
            "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", *arguments,
        )  # fmt: skip

    def __enter__(self) -> NodeProcess:
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        began = time.perf_counter()
        with (self.data_dir / "node.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with ExitStack() as when_it_fails:
            when_it_fails.callback(self.stop)
            self._await(lambda: self._published() is not None, began)
            self.http_open_s = time.perf_counter() - began
            self._await(self._is_ready, began)
            self.ready_s = time.perf_counter() - began
            when_it_fails.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def address(self) -> NodeAddress:
        """Where it listens. Raises RuntimeError when it does not."""
        found = self._published()
        if found is None:
            raise RuntimeError(self._last_words("the node does not listen"))
        return found

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def token(self) -> str:
        """The owner token."""
        return read_token(self.data_dir) or ""

    def rss_mib(self) -> float:
        """Resident memory of the node and its children, in MiB."""
        root = psutil.Process(self._process.pid)
        return sum(process.memory_info().rss for process in (root, *root.children(recursive=True))) / 2**20

    def stop(self) -> float:
        """End it as a service manager would; the seconds that draining took."""
        began = time.perf_counter()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_TIMEOUT_S)
        return time.perf_counter() - began

    def kill(self) -> None:
        """SIGKILL: no drain, no flush. Entering again starts a node on the same directory."""
        self._process.kill()
        self._process.wait(STOP_TIMEOUT_S)

    def _published(self) -> NodeAddress | None:
        found = read_node(self.data_dir)
        return found if found and found.pid == self._process.pid else None

    def _is_ready(self) -> bool:
        host, _, port = self.address.http.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=5)
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _await(self, condition: Callable[[], bool], began: float) -> None:
        while not condition():
            if self._process.poll() is not None:
                raise RuntimeError(self._last_words(f"the node stopped (exit status {self._process.returncode})"))
            if time.perf_counter() - began > START_TIMEOUT_S:
                raise RuntimeError(self._last_words("the node was not ready in time"))
            time.sleep(POLL_S)

    def _last_words(self, what: str) -> str:
        log = (self.data_dir / "node.log").read_text("utf-8", "replace")
        return f"{what}; {self.data_dir / 'node.log'} ends with:\n{log[-LOG_TAIL_CHARS:]}"
