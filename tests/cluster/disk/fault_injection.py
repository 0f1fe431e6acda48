"""Processes that die or fail at the n-th system call of a kind, by strace, which counts exactly.

https://strace.io, `--inject`: a SIGKILL comes at the entry of the call, so the call is not carried out. An error is
returned in place of the call.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

LIFE = Path(__file__).with_name("ledger_life.py")
LIFE_S = 60.0
POLL_S = 0.002
ATTACHED = b"attached"


@dataclass(frozen=True)
class Lived:
    """The end of a life: exit status, negative for a signal, printed lines, and whether strace hit the call."""

    status: int
    said: list[str]
    hit: bool

    def count(self, word: str) -> int:
        """How many lines begin with `word`."""
        return sum(line.startswith(f"{word} ") for line in self.said)


class Lives:
    """A process of ledger_life.py, which imports the ledger once. Every life is a fork, one at a time."""

    def __enter__(self) -> Lives:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen((sys.executable, str(LIFE)), stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=LIFE_S)

    def live(self, directory: Path, *inject: str) -> Lived:
        """A life in `directory`; `inject` are options of strace."""
        pid = self._tell(f"live {directory}")
        command = ("strace", "-o", str(directory / "trace"), *inject, "-p", str(pid))
        with _ended_in_time(pid), (directory / "tracer").open("wb") as told:
            tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=told, stderr=told)
            try:
                while ATTACHED not in (directory / "tracer").read_bytes():
                    assert tracer.poll() is None, (directory / "tracer").read_text("utf-8")
                    time.sleep(POLL_S)  # strace tells nobody of its attachment; LIFE_S bounds the wait
                os.kill(pid, signal.SIGUSR1)
                status = self._line()
                tracer.wait(LIFE_S)
            finally:
                if tracer.poll() is None:
                    tracer.kill()
                    tracer.wait(LIFE_S)
        said = (directory / "said").read_text("utf-8").splitlines()
        return Lived(status, said, "(INJECTED)" in (directory / "trace").read_text("utf-8", "replace"))

    def check(self, directory: Path) -> dict[str, Any]:
        """The judgement of another life; see ledger_life.check."""
        with _ended_in_time(self._tell(f"check {directory}")):
            status = self._line()
        assert status == 0, (directory / "said").read_text("utf-8")
        found: dict[str, Any] = json.loads((directory / "found").read_text("utf-8"))
        return found

    def _tell(self, command: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def _ended_in_time(pid: int) -> Iterator[None]:
    """The life `pid` is killed when it lasts too long, or when the test fails meanwhile."""
    overdue = Timer(LIFE_S, os.kill, (pid, signal.SIGKILL))
    overdue.start()
    ended = False
    try:
        yield
        ended = True
    finally:
        if not ended:
            os.kill(pid, signal.SIGKILL)
        overdue.cancel()


def need_strace() -> None:
    """Skip, with the reason, where processes can not be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed; on Debian: apt-get install strace")
    probe = ("strace", "-qq", "-o", "/dev/null", "-e", "inject=getppid:error=EIO:when=1", "true")
    done = subprocess.run(probe, capture_output=True, text=True, timeout=LIFE_S, check=False)
    if done.returncode:
        pytest.skip(f"strace can not inject faults here: {done.stderr.strip()[-200:]}")
