"""How Edge's write-ahead log is emptied of what was erased: by writing to it until its old files are gone.

Edge removes a file of the log once a later one is full and all in it is durable, and has no call for that. The log must
not be removed by hand: its numbers would begin again, and Edge passes over each write whose number is below that of the
point. A crash on the way leaves a usual log.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

# More than half of one file (32 MiB), so that every other entry begins a new one; Edge keeps one full file.
FILLER_BYTES: Final = 17 << 20
FILLERS_MAX: Final = 6
# On a full disk a write to a file in memory ends the process.
ROOM_BYTES: Final = 256 << 20


def emptied(folder: Path, fill: Callable[[int], None]) -> bool:
    """Call `fill`, which writes so many bytes and makes them durable, until no file of the log is there any more that
    holds anything now; usually three times. False when that could not be done: no room, or they do not go."""
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        return False
    with ExitStack() as stack:
        # Open, since the name of a file changes when it is full, and the number of one that is gone is given again.
        files = [stack.enter_context(file.open("rb")) for file in _written(folder)]
        for _ in range(FILLERS_MAX):
            fill(FILLER_BYTES)
            if not any(os.fstat(file.fileno()).st_nlink for file in files):
                return True
    return False


def _written(folder: Path) -> list[Path]:
    """The full files, and the one that is being written: those after it are empty."""
    still_open = sorted(folder.glob("open-*"), key=lambda file: int(file.name.removeprefix("open-")))
    return [*folder.glob("closed-*"), *still_open[:1]]
