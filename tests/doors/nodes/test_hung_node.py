"""A node that hangs is told within seconds, with a fix. A slow node is waited for. No error speaks of Python."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from listening import listening
from node_process import Nodes, NodeUnderTest
from stdio_support import Host

from mnemesh import AsyncClient, Client
from mnemesh.transport.liveness import BUSY_S, HEALTH_CHECK, hung
from mnemesh_gateway import doctor
from mnemesh_proto.rendezvous import LOCK_FILE, TOKEN_FILE, NodeAddress, write_node
from mnemesh_proto.v1 import admin_pb2

TOLD_S = 5.0
# The start of a command on a machine with other work.
START_S = 10.0
CALL_S = 60.0
OF_PYTHON = re.compile(r"Traceback|File \"|\w+Error\b|Errno|codec|Exception|\.py\b")
BARE = (sys.executable, "-m", "mnemesh")


@pytest_asyncio.fixture
async def node(nodes: Nodes, tmp_path: Path) -> NodeUnderTest:
    return await nodes.start(tmp_path / "data")


@contextmanager
def stopped(node: NodeUnderTest) -> Iterator[None]:
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.process.pid, signal.SIGCONT)


@pytest.mark.parametrize("words", [("status",), ("recall", "boiler"), ("remember", "The boiler"), ("export",),
                                   ("watch",), ("down",)], ids=lambda words: words[0])  # fmt: skip
async def test_the_command_line_tells_a_stopped_node_within_five_seconds(
    node: NodeUnderTest, words: tuple[str, ...]
) -> None:
    with stopped(node):
        began = time.monotonic()
        done = await asyncio.to_thread(
            subprocess.run, (*BARE, *words, "--data", str(node.data_dir)), capture_output=True, text=True, cwd="/",
            timeout=CALL_S, check=False,
        )  # fmt: skip
        took = time.monotonic() - began
    assert done.returncode in (3, 4), done.stderr
    assert f"process {node.process.pid} is stopped" in done.stderr
    assert f"kill -CONT {node.process.pid}" in done.stderr
    assert not OF_PYTHON.search(done.stderr)
    assert took < TOLD_S + START_S


async def test_the_clients_and_mcp_tell_a_stopped_node_within_five_seconds(node: NodeUnderTest) -> None:
    with Host("--data", str(node.data_dir), "--no-start") as host:
        await asyncio.to_thread(host.initialize)
        with Client(data_dir=node.data_dir) as client, stopped(node):
            async with AsyncClient(data_dir=node.data_dir) as other:
                for ask in (lambda: asyncio.to_thread(client.status), other.status):
                    began = time.monotonic()
                    with pytest.raises(Exception, match="kill -CONT") as told:
                        await ask()
                    assert told.value.code == "UNAVAILABLE"
                    assert time.monotonic() - began < TOLD_S
            began = time.monotonic()
            answer = await asyncio.to_thread(host.answer, host.ask("tools/list"))
            assert "kill -CONT" in answer["error"]["message"]
            assert time.monotonic() - began < TOLD_S


class _Slow(grpc.GenericRpcHandler):
    """A node that answers a status only after `looks` signs of life were asked for."""

    def __init__(self, looks: int) -> None:
        self.asked = threading.Semaphore(0)
        self.looks = looks

    def service(self, details: Any) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(self._live if details.method == HEALTH_CHECK else self._status)

    def _live(self, request: bytes, context: Any) -> bytes:
        self.asked.release()
        return b""

    def _status(self, request: bytes, context: Any) -> bytes:
        for _ in range(self.looks):
            assert self.asked.acquire(timeout=CALL_S)
        return admin_pb2.StatusResponse(state="ready").SerializeToString()


async def test_a_node_that_takes_long_and_gives_signs_of_life_is_waited_for(tmp_path: Path) -> None:
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((_Slow(looks=2),))
    endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        with Client(endpoint, "token", data_dir=tmp_path) as client:
            assert (await asyncio.to_thread(client.status)).state == "ready"
        async with AsyncClient(endpoint, "token", data_dir=tmp_path) as other:
            assert (await other.status()).state == "ready"
    finally:
        server.stop(None)


def test_a_process_that_works_all_the_while_is_busy_and_one_that_does_nothing_hangs() -> None:
    here = NodeAddress(os.getpid(), "127.0.0.1:1", "127.0.0.1:2", "")

    def works() -> bool:
        until = time.process_time() + 2 * BUSY_S
        while time.process_time() < until:
            pass
        return False

    assert hung(here.grpc, here, works) == ""
    assert f"kill -9 {here.pid}" in hung(here.grpc, here, lambda: False)
    assert "restart it where it runs" in hung(here.grpc, None, lambda: False)


@pytest.mark.parametrize(
    ("words", "environ", "told"),
    [
        (("remember", "--file", "/"), {}, "Is a directory"),
        (("remember", "--file", "bytes"), {}, "byte 1 is not UTF-8"),
        (("status", "--endpoint", b"h\xff:1"), {}, "HOST:PORT"),
        (("recall", b"\xff"), {}, "well-formed text"),
        (("recall", "Größe"), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "no node runs"),
        (("export", "--output", "/nowhere/file"), {}, "a place that can be written"),
        (("remember", "-"), {}, "no node runs"),
        (("up", "--data", "/proc/nowhere"), {}, "data_dir"),
    ],
)
def test_an_error_of_the_command_line_never_speaks_of_python(
    tmp_path: Path, words: tuple[str | bytes, ...], environ: dict[str, str], told: str
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    around = {name: value for name, value in os.environ.items() if not name.startswith(("MNEMESH_", "LC_", "LANG"))}
    done = subprocess.run((*BARE, *words), cwd=tmp_path, env=around | {"HOME": str(tmp_path)} | environ, check=False,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=CALL_S)  # fmt: skip
    said = done.stderr.decode()
    assert done.returncode in (2, 3, 4), said
    assert told in said
    assert not OF_PYTHON.search(said)


def test_a_fault_of_the_command_line_itself_is_told_without_python_and_kept_for_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemesh import entry

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(entry, "_dispatch", lambda words: {}["fault"])
    assert entry.main(["status"]) == 1
    said = capsys.readouterr().err
    assert not OF_PYTHON.search(said)
    (kept,) = tmp_path.glob("mnemesh-fault-*.txt")
    assert str(kept) in said
    assert "KeyError" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("answered", [(), ("/health/live",)], ids=["nothing is answered", "only its life is answered"])
def test_the_doctor_waits_once_for_a_node_that_hangs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answered: tuple[str, ...]
) -> None:
    going = threading.Event()

    def answer(path: str) -> bytes:
        if path not in answered:
            going.wait(CALL_S)
        return b""

    with listening(answer) as address:
        write_node(tmp_path, NodeAddress(os.getpid(), address, address, "0.1.0"))
        (tmp_path / TOKEN_FILE).write_text("mnm_" + "a" * 43)
        (tmp_path / LOCK_FILE).write_text(str(os.getpid()))
        with (tmp_path / LOCK_FILE).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            began = time.monotonic()
            assert doctor.main(["--json", "--data", str(tmp_path)]) == 1
            took = time.monotonic() - began
        going.set()
    told = [one["problem"] for one in json.loads(capsys.readouterr().out)["findings"] if one["check"] == "running node"]
    (problem,) = told
    assert ("does not tell its status" if answered else "does not answer") in problem
    assert took < TOLD_S
