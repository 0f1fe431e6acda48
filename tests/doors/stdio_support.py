"""An MCP host for tests of the stdio proxy: the proxy as a real child process, driven line by line."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT_S = 60.0
META_2026 = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Host:
    """One proxy. Every line that it writes must be JSON-RPC; anything else fails the test at the next
    wait."""

    def __init__(self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        self.started = time.monotonic()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}
        self.process = subprocess.Popen(
            (sys.executable, "-m", "mnemesh.stdio.program", *arguments),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=cwd, env=inherited | (env or {}),
        )  # fmt: skip
        self.answers: dict[str, dict[str, Any]] = {}
        self.notes: list[dict[str, Any]] = []
        self.diagnostics = ""
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._next = 0
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_diagnostics)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(WAIT_S)
            finally:
                self.process.kill()
        for reader in self._readers:
            reader.join(WAIT_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_diagnostics(self) -> None:
        for line in self.process.stderr:
            self.diagnostics += line.decode()

    def write(self, line: bytes) -> None:
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, body: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0"} | body).encode())

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, *, modern: bool = False, **params: Any) -> int:
        """Send a request; its id."""
        self._next += 1
        meta = {"_meta": META_2026} if modern else {}
        self.send({"id": self._next, "method": method, "params": params | meta})
        return self._next

    def answer(self, identity: object, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """The answer to the request with that id."""
        self.read_until(lambda: json.dumps(identity) in self.answers, timeout_s)
        return self.answers.pop(json.dumps(identity))

    def read_until(self, condition: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            assert line is not None, f"the proxy ended: {self.diagnostics}"
            body = json.loads(line)
            assert body["jsonrpc"] == "2.0"
            if "method" in body:
                self.notes.append(body)
            else:
                key = json.dumps(body["id"])
                assert key not in self.answers, f"a second answer to {key}"
                self.answers[key] = body

    def result(self, method: str, *, modern: bool = False, **params: Any) -> dict[str, Any]:
        """Ask and wait for the result."""
        answer = self.answer(self.ask(method, modern=modern, **params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, *, modern: bool = False, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", modern=modern, name=tool, arguments=arguments)

    def initialize(self, name: str = "host", version: str = "2025-06-18") -> dict[str, Any]:
        """The handshake of protocol versions before 2026-07-28; seconds from process start stand in
        `latency_s`."""
        info = {"name": name, "version": "1"}
        result = self.result("initialize", protocolVersion=version, capabilities={}, clientInfo=info)
        self.latency_s = time.monotonic() - self.started
        self.notify("notifications/initialized")
        return result

    def end(self, timeout_s: float = WAIT_S) -> int:
        """Close the input; the exit status."""
        self.process.stdin.close()
        return self.process.wait(timeout_s)


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll: the condition is about another thread or process."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
