"""Programs of this project as processes of their own, each forked from a process that has imported the program.

Imports take most of the time of a short command and of a node's start, and the tests start hundreds of both.
Everything else is as from a shell: a process has arguments, environment, streams, signals and exit status of its own.
A bare interpreter runs the programs in test_cli.py, test_cli_node.py, test_readme.py and test_stdio_node.py.

Run as a program, this module is the process that forks. The end of its stdin ends the process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

READY_S = 120.0
ENDED_S = 60.0
REQUEST_BYTES = 65_536


@dataclass(frozen=True)
class Ended:
    """How a process that ended by itself did so."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Program:
    """`module` has `main(words) -> exit status`; `parts` are imported before anything is forked, packages whole."""

    module: str
    parts: tuple[str, ...]

    async def start(self, *words: str, env: dict[str, str] | None = None) -> Forked:
        """Run it in /, with nothing on its stdin and both outputs in pipes; `env` is added to ours."""
        outputs, theirs = [], []
        for _ in range(2):
            ours, their = os.pipe()
            outputs.append(await _reading(ours))
            theirs.append(their)
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(str(_forking(self)))
        request = json.dumps({"words": words, "env": {**os.environ, **(env or {})}}).encode() + b"\n"
        sent = socket.send_fds(asking, [request[:REQUEST_BYTES]], theirs)
        asking.sendall(request[sent:])
        for their in theirs:
            os.close(their)
        reader, writer = await asyncio.open_unix_connection(sock=asking)
        return Forked(outputs[0], outputs[1], int(await reader.readline()), reader, writer)

    async def run(self, *words: str | Path, limit_s: float = ENDED_S, env: dict[str, str] | None = None) -> Ended:
        """As `start`, to its end. A process that lasts longer is killed, and fails the test."""
        return await outcome_of(await self.start(*map(str, words), env=env), limit_s, f"{self.module} {words}")


MNEMESH = Program("mnemesh.entry", ("mnemesh",))
# `parts` are loaded in the start of a node and right after the start.
NODE = Program(
    "mnemesh_gateway.__main__",
    (
        "mnemesh_gateway",
        "mnemesh_actors.node.assembly",
        "mnemesh_actors.models.embedding_engine",
        "mnemesh_actors.index.engines.edge",
    ),
)


class Forked:
    """A running program, as far as the tests know asyncio.subprocess.Process."""

    def __init__(
        self,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
        pid: int,
        keeper: asyncio.StreamReader,
        closing: asyncio.StreamWriter,
    ) -> None:
        self.stdout, self.stderr, self.pid = stdout, stderr, pid
        self.returncode: int | None = None
        self._ended = asyncio.get_running_loop().create_task(self._until_ended(keeper, closing))

    async def _until_ended(self, keeper: asyncio.StreamReader, closing: asyncio.StreamWriter) -> None:
        self.returncode = int(await keeper.readline())
        closing.close()

    async def wait(self) -> int:
        """The exit status, negative for a signal."""
        await asyncio.shield(self._ended)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """All that is left of both streams; `returncode` is known then."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


async def outcome_of(process: asyncio.subprocess.Process | Forked, limit_s: float, name: str) -> Ended:
    """How a process ends by itself. A process that lasts longer is killed, and fails the test."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        process.kill()
        raise AssertionError(f"{name} still ran after {limit_s:g} s") from None
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def _reading(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


@cache
def _forking(program: Program) -> Path:
    """Start the process that forks, once in a run of the tests; the path of its socket."""
    directory = Path(tempfile.mkdtemp(prefix="forked-"))
    path = directory / "socket"
    # -P: what is forked finds its modules where a shell's would, and not here.
    process = subprocess.Popen(
        (sys.executable, "-P", __file__, str(path), program.module, *program.parts),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
    )  # fmt: skip

    def end() -> None:
        process.communicate()  # closes its stdin, and so ends it
        shutil.rmtree(directory, ignore_errors=True)

    atexit.register(end)
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_S)
    assert ready, f"{program.module} was not imported within {READY_S:g} s"
    assert process.stdout.readline() == b"ready\n"
    return path


def _serve(path: str, program: str, *parts: str) -> int:
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # as a node has it; no channel is open when this process forks
    os.environ["GRPC_VERBOSITY"] = "ERROR"
    for part in (program, *parts):
        _import_whole(part)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            asked, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in asked:
                return 0
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                return _keep(connection, program)
            connection.close()


def _import_whole(name: str) -> None:
    module = importlib.import_module(name)
    for inner in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        if not inner.name.endswith(".__main__"):
            importlib.import_module(inner.name)


def _keep(connection: socket.socket, program: str) -> int:
    """Run the program, and say how it ends. In the program's own process this is its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line, streams, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 2)
    while not line.endswith(b"\n"):
        line += connection.recv(REQUEST_BYTES)
    pid = os.fork()
    if pid == 0:
        connection.close()
        return _become(program, json.loads(line), streams)
    for stream in streams:
        os.close(stream)
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        connection.sendall(b"%d\n" % pid)
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _become(program: str, request: dict[str, Any], streams: list[int]) -> int:
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), *streams)):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    module = sys.modules[program]
    sys.argv = [str(module.__file__), *request["words"]]
    return int(module.main(request["words"]))


if __name__ == "__main__":
    sys.exit(_serve(*sys.argv[1:]))
