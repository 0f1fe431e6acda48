"""The node of this machine: found by the files in its data directory, or started in the background.

Exactly one node starts for any number of clients at once. A starter holds `start.lock`, and the node itself holds
`node.lock` until its end. A published address counts only when something accepts connections there, so a directory left
behind by a killed node is no obstacle. Standard library only: the MCP proxy has to answer at once.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from mnemesh.errors import InvalidArgument, NotReachable, why
from mnemesh.transport.address import split_address
from mnemesh.transport.liveness import is_running
from mnemesh_proto import rendezvous

START_LOCK_FILE = "start.lock"
SETTINGS_FILE = "settings.toml"
START_TIMEOUT_S = 30.0
# A node lets calls finish first: by default for 10 s, then it closes its stores.
STOP_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 1.0
POLL_S = 0.02
STARTS_MAX = 3
LOG_BYTES_MAX = 10 * 1024 * 1024
LOG_TAIL_BYTES = 4096
LOG_TAIL_LINES = 20
# One module of each distribution without which `python -m mnemesh_gateway` can't run. The package itself is
# always installed, its libraries come with the extra.
NODE_MODULES = ("automerge", "fastembed", "mcp", "qdrant_edge", "starlette", "uvicorn")


class NodeNotStarted(Exception):
    """No node runs on the data directory and none could be started; the message says why and what to do."""


class NodeNotStopped(Exception):
    """A node runs on the data directory and could not be stopped; the message says why."""


def check_directory(data_dir: Path) -> None:
    """Raises InvalidArgument when `data_dir` is something else than a directory, NotReachable when nobody can look at
    it; it need not exist."""
    try:
        is_other = not stat.S_ISDIR(data_dir.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotReachable(f"the data directory {data_dir} can't be looked at: {why}") from error
    if is_other:
        raise InvalidArgument("data_dir", str(data_dir), "a directory, not a file")


def accepts(address: str) -> bool:
    """Whether something accepts TCP connections at "host:port"."""
    try:
        socket.create_connection(split_address(address), CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError):
        return False
    return True


def find_node(data_dir: Path) -> rendezvous.NodeAddress | None:
    """The running node of `data_dir`, or None when there is none that accepts connections."""
    node = rendezvous.read_node(data_dir)
    return node if node is not None and accepts(node.http) else None


def missing_node_modules() -> tuple[str, ...]:
    """The modules of the extra `node` that are not installed; empty when a node can run here."""
    return tuple(name for name in NODE_MODULES if importlib.util.find_spec(name) is None)


def ensure_node(
    data_dir: Path, timeout_s: float = START_TIMEOUT_S, command: Sequence[str] | None = None
) -> rendezvous.NodeAddress:
    """The running node of `data_dir`; when there is none, one is started, detached from this process.

    `command` replaces `python -m mnemesh_gateway up`; `--data DIR` and, where a default port is taken,
    `--grpc`/`--http` with port 0 are appended. Output goes to `node.log` in the directory. A node that is
    still starting after `timeout_s` is left to go on. Raises NodeNotStarted.
    """
    data_dir = data_dir.expanduser().absolute()
    deadline = time.monotonic() + timeout_s
    if node := find_node(data_dir):
        return node
    if command is None and (missing := missing_node_modules()):
        raise NodeNotStarted(
            f"no node runs on {data_dir}, and this installation can't start one: {', '.join(missing)} "
            "not installed. Install it with: pip install 'mnemesh[node]'"
        )
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (data_dir / START_LOCK_FILE).open("ab") as lock:
            node = _awaited(data_dir, deadline, lambda: not _lock(lock, fcntl.LOCK_EX))
            own = (sys.executable, "-P", "-m", "mnemesh_gateway", "up")
            return node or _started(data_dir, deadline, tuple(command or own))
    except OSError as error:
        raise NodeNotStarted(f"can't start a node on {data_dir}: {why(error)}") from error


def stop_node(data_dir: Path, timeout_s: float = STOP_TIMEOUT_S) -> int | None:
    """Ask the node of `data_dir` to end, and wait until its process is gone, where the system can tell. Its pid, or
    None when none runs. The pid counts only while node.lock is held, so that no other program that has the number now
    is hit. Raises NodeNotStopped."""
    deadline = time.monotonic() + timeout_s
    if not _node_lock_is_held(data_dir):
        return None
    pid = _pid_in_lock(data_dir)
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # the node has just ended, and its lock too
    except PermissionError as error:
        raise NodeNotStopped(f"the node on {data_dir} (pid {pid}) belongs to another user") from error
    while (holds := _node_lock_is_held(data_dir)) or is_running(pid):
        if holds and rendezvous.is_stopped(pid):
            raise NodeNotStopped(
                f"the node on {data_dir} can't end: its process {pid} is stopped; `kill -CONT {pid}` lets it go on "
                f"and end, `kill -9 {pid}` ends it at once. Acknowledged writes are on disk"
            )
        if time.monotonic() > deadline:
            if holds:
                raise NodeNotStopped(f"the node on {data_dir} (pid {pid}) still runs after {timeout_s:g} s")
            still = f"but its process {pid} still runs after {timeout_s:g} s"
            raise NodeNotStopped(f"the node has left {data_dir}, {still}")
        time.sleep(POLL_S)
    return pid


def _pid_in_lock(data_dir: Path) -> int:
    """The pid that the holder of node.lock wrote into it. Node.json has it only when the node has opened."""
    text = (data_dir / rendezvous.LOCK_FILE).read_text("utf-8").strip()
    node = rendezvous.read_node(data_dir)
    if text.isascii() and text.isdigit() and int(text) > 1 and (node is None or node.pid == int(text)):
        return int(text)
    lock = data_dir / rendezvous.LOCK_FILE
    raise NodeNotStopped(f"{lock} and {rendezvous.NODE_FILE} beside it name no common process to stop")


def _started(data_dir: Path, deadline: float, command: tuple[str, ...]) -> rendezvous.NodeAddress:
    """The node that is there or comes up, while this process alone holds start.lock. Starts again only when another
    program took what this start needed."""
    for _ in range(STARTS_MAX):
        # A node that holds node.lock may be starting, or draining after SIGTERM.
        if node := _awaited(data_dir, deadline, lambda: _node_lock_is_held(data_dir)):
            return node
        ports = _port_arguments(data_dir)
        log_start, child = _spawned(data_dir, (*command, "--data", str(data_dir), *ports))
        if node := _awaited(data_dir, deadline, partial(_child_runs, child), child):
            return node
        if not (_node_lock_is_held(data_dir) or _port_arguments(data_dir) != ports):
            break
    raise NodeNotStarted(
        f"the node on {data_dir} stopped while starting (exit status {child.returncode}). "
        + last_words(data_dir, log_start)
    )


def _child_runs(child: subprocess.Popen[bytes]) -> bool:
    return child.poll() is None


def _spawned(data_dir: Path, command: tuple[str, ...]) -> tuple[int, subprocess.Popen[bytes]]:
    """Where the log of the new process begins, and the process."""
    log_path = data_dir / rendezvous.LOG_FILE
    if log_path.exists() and log_path.stat().st_size > LOG_BYTES_MAX:
        os.replace(log_path, log_path.with_suffix(".log.1"))
    with log_path.open("ab") as log:
        # Its own session, so that a Ctrl-C or hang-up meant for this client doesn't reach the node.
        return log.tell(), subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=data_dir, start_new_session=True
        )


def _awaited(
    data_dir: Path, deadline: float, goes_on: Callable[[], bool], child: subprocess.Popen[bytes] | None = None
) -> rendezvous.NodeAddress | None:
    """The node as soon as one accepts connections, None when the wait need not go on without one. Raises NodeNotStarted
    after `deadline` (monotonic, s)."""
    while True:
        waits = goes_on()
        node = find_node(data_dir)
        is_late = time.monotonic() > deadline
        if child is not None and (node or is_late):
            # Someone has to reap the node when it ends before this process does, else its pid stays taken.
            threading.Thread(target=child.wait, name="reap-node", daemon=True).start()
        if node or not waits:
            return node
        if is_late:
            log = data_dir / rendezvous.LOG_FILE
            raise NodeNotStarted(f"the node on {data_dir} is not ready to answer yet; see {log}")
        time.sleep(POLL_S)


def last_words(data_dir: Path, start: int = 0) -> str:
    """How the log of a node in the background ends, of what was written from byte `start` on."""
    with (data_dir / rendezvous.LOG_FILE).open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(start, end - LOG_TAIL_BYTES))
        lines = log.read(LOG_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    ending = "\n".join(lines[-LOG_TAIL_LINES:]) or "(nothing)"
    return f"Its log, {data_dir / rendezvous.LOG_FILE}, ends with:\n{ending}"


def _node_lock_is_held(data_dir: Path) -> bool:
    try:
        with (data_dir / rendezvous.LOCK_FILE).open("rb") as lock:
            return not _lock(lock, fcntl.LOCK_SH)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock(file: BinaryIO, mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _port_arguments(data_dir: Path) -> tuple[str, ...]:
    """Port 0 for each default address that another program holds, unless the user named an address."""
    taken: tuple[str, ...] = ()
    for name, address in (("grpc", rendezvous.DEFAULT_GRPC), ("http", rendezvous.DEFAULT_HTTP)):
        host, port = split_address(address)
        if not _is_free(host, port) and not _is_configured(data_dir, name):
            taken += (f"--{name}", f"{host}:0")
    return taken


def _is_configured(data_dir: Path, name: str) -> bool:
    """Whether the environment or the settings file has an address. The node refuses an unreadable file."""
    if os.environ.get(f"MNEMESH_{name.upper()}"):
        return True
    import tomllib  # few data directories have settings of their own

    try:
        return name in tomllib.loads((data_dir / SETTINGS_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return False


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        # As a server sets it: connections of a server that has just stopped don't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
