"""Whether a node that takes long still lives. A call may take long: an import, a model that loads. A node that hangs
accepts connections and says nothing. A silent call therefore asks for a sign of life, with a short deadline of its own.

A process that uses the processor all the while is busy, not hung. Standard library only: the MCP proxy has to answer
at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from mnemesh_proto.rendezvous import NodeAddress, is_stopped, process_fields

# The silence before a sign of life is asked for, the time limit of the answer, and the pauses between checks and
# between questions. The sum is less than five seconds.
SILENCE_S: Final = 1.0
SIGN_OF_LIFE_S: Final = 2.5
LOOK_S: Final = 0.5
AGAIN_S: Final = 1.5
# A thread that looks after calls ends when there was none for so long.
IDLE_S: Final = 5.0
# A share of the time limit for a sign of life: a process with so much processor time is busy.
BUSY_S: Final = 0.5
HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
Line = TypeVar("Line")


def hung(address: str, node: NodeAddress | None, answers: Callable[[], bool]) -> str:
    """Why the node at `address` is given up, or "" while it lives. `node` is its process where that is on this machine;
    `answers` asks for a sign of life and takes SIGN_OF_LIFE_S at most."""
    before = _processor_s(node)
    if not (node and is_stopped(node.pid)) and answers():
        return ""
    after = _processor_s(node)
    if before is not None and after is not None and after - before >= BUSY_S:
        return ""
    return f"the node at {address} accepts connections but does not answer: {advice(node)}"


def advice(node: NodeAddress | None) -> str:
    """The advice for a node that hangs."""
    if node is None:
        return "restart it where it runs. Acknowledged writes are on its disk"
    after = "Acknowledged writes are on disk; a write under way may be, too"
    if is_stopped(node.pid):
        return f"its process {node.pid} is stopped; `kill -CONT {node.pid}` lets it go on. {after}"
    return f"its process {node.pid} hangs; end it with `kill -9 {node.pid}`, then `mnemesh up`. {after}"


def is_running(pid: int) -> bool:
    """Whether that process has not ended yet, reaped or not; False where the system can't tell."""
    return process_fields(pid)[:1] not in ([], ["Z"])


def says_it_lives(address: str, split: Callable[[str], tuple[str, int]]) -> bool:
    """Whether the HTTP door at `address` gives a sign of life."""
    from http.client import HTTPConnection, HTTPException  # only a node that keeps silent is worth their start

    connection = HTTPConnection(*split(address), timeout=SIGN_OF_LIFE_S)
    try:
        connection.request("GET", "/health/live")
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True


class Liveness(Generic[Line]):
    """Looks after the calls that wait. `look(line)` asks for a sign of life on the line of one. When it says why there
    is none, `give_up(line, why)` ends the calls on it. Safe for any number of threads."""

    def __init__(self, look: Callable[[Line], str], give_up: Callable[[Line, str], None]) -> None:
        self._look = look
        self._give_up = give_up
        self._lock = threading.Lock()
        self._calls: dict[object, tuple[float, Line]] = {}
        self._looking = False

    @contextmanager
    def over(self, line: Line) -> Iterator[None]:
        """The body waits for the node on `line`."""
        call = object()
        with self._lock:
            self._calls[call] = time.monotonic(), line
            if not self._looking:
                self._looking = True
                threading.Thread(target=self._run, name="mnemesh-liveness", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                del self._calls[call]

    def _run(self) -> None:
        used = time.monotonic()
        looks: dict[Line, float] = {}
        while True:
            time.sleep(LOOK_S)
            now = time.monotonic()
            with self._lock:
                used = now if self._calls else used
                if now - used > IDLE_S:
                    self._looking = False
                    return
                silent = {line for since, line in self._calls.values() if now - since >= SILENCE_S}
            looks = {line: looks.get(line, 0.0) for line in silent}
            for line, next_look in looks.items():
                if now < next_look:
                    continue
                if why := self._look(line):
                    self._give_up(line, why)
                looks[line] = now + AGAIN_S


def _processor_s(node: NodeAddress | None) -> float | None:
    """The processor time of the process, in s; None where the system can't tell."""
    fields = process_fields(node.pid) if node else []
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else None
