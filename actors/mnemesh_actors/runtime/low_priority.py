"""A child process for heavy work, which gives way to whatever somebody waits for."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import Final

NICENESS: Final = 10
PR_SET_PDEATHSIG: Final = 1


def command(module: str, *words: str) -> list[str]:
    """The words that run a module as a child. No code of the working directory is run."""
    return [sys.executable, "-P", "-m", module, *words]


def step_down() -> None:
    """Lower the priority of this process, and leave an interrupt of the terminal to the parent. Where Linux offers it,
    the process also ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, AttributeError):  # not Linux: a child that outlives its node ends by itself
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.nice(NICENESS)
