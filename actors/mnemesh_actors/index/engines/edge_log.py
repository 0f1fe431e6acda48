"""Edge's write-ahead log is emptied of erased data by writing until its old files are gone.

Edge removes a file of the log once a later file is full and everything in the old one is durable. No call asks for
that. Never remove the log by hand: its numbers would begin again, and Edge ignores a write with a number below the
point's. A crash on the way leaves a usual log.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

# More than half of one file (32 MiB), so that every other entry begins a new file. Edge keeps one full file.
FILLER_BYTES: Final = 17 << 20
FILLERS_MAX: Final = 6
# On a full disk a write to a file in memory ends the process.
ROOM_BYTES: Final = 256 << 20


def emptied(folder: Path, fill: Callable[[int], None]) -> bool:
    """Call `fill`, which writes so many bytes and makes them durable, until every present file of the log is gone;
    usually three times. False when that could not be done: no room, or they do not go."""
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        return False
    with ExitStack() as stack:
        # Open, because a full file changes its name and the number of a removed file is used again.
        files = [stack.enter_context(file.open("rb")) for file in _written(folder)]
        for _ in range(FILLERS_MAX):
            fill(FILLER_BYTES)
            if not any(os.fstat(file.fileno()).st_nlink for file in files):
                return True
    return False


def _written(folder: Path) -> list[Path]:
    """The full files and the current one: all later files are empty."""
    still_open = sorted(folder.glob("open-*"), key=lambda file: int(file.name.removeprefix("open-")))
    return [*folder.glob("closed-*"), *still_open[:1]]
