"""Ctrl-C as a request, for work that has to end in order.

While a CtrlC is open, the first Ctrl-C only sets `asked`. The work looks at this flag where stopping is safe. The
second Ctrl-C also calls `break_off`, so that nothing has to be waited for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final, Self

FIRST: Final = "mnemesh: ending with what is under way; Ctrl-C again ends at once. The same command goes on later\n"


class CtrlC:
    """`asked` is True once Ctrl-C was pressed. Only the main thread hears signals. Elsewhere this does nothing."""

    def __init__(self, break_off: Callable[[], None]) -> None:
        self.asked = False
        self._break_off = break_off
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *error: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        # This runs between any two steps of the main thread, which may hold a lock of the stream or of the client.
        if self.asked:
            threading.Thread(target=self._break_off, name="break-off", daemon=True).start()
        else:
            self.asked = True
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, FIRST.encode())
