"""The room on a disk: a reserve below which nothing more is written, and a file that gives a start on a full disk room.

Edge maps its files, and a write to a mapped page for which the disk has no block ends the process. So the node stops
writing while blocks are left. Reads go on. Asking the system costs about a microsecond, so every commit asks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import structlog

from mnemesh_memory.values.errors import DiskFull, Unavailable

MIB: Final = 1 << 20
# The writes of a start: shared memory and log of SQLite, node.json, the marks of the index.
START_ROOM_BYTES: Final = 4 * MIB
START_ROOM_FILE: Final = "start-room"
log = structlog.get_logger("mnemesh.disk")


class DiskRoom:
    """The disk that holds `path`, of which `reserve_bytes` stay free. 0 asks for nothing."""

    def __init__(self, path: Path, reserve_bytes: int) -> None:
        self.path = path
        self.reserve_bytes = reserve_bytes

    def free_bytes(self) -> int:
        """The bytes that the system lets an ordinary user write there. Raises Unavailable when the place is gone."""
        try:
            volume = os.statvfs(self.path)
        except OSError as error:
            raise Unavailable(
                f"{self.path} can't be found any more ({error.strerror}); put it back, or stop the node", part="disk"
            ) from error
        return volume.f_bavail * volume.f_frsize

    def shortage(self, more_bytes: int = 0) -> DiskFull | None:
        """Why `more_bytes` can't be written there now, or None when they can."""
        if not self.reserve_bytes:
            return None
        free = self.free_bytes()
        return DiskFull(free, self.reserve_bytes) if free - more_bytes < self.reserve_bytes else None

    def require(self, more_bytes: int = 0) -> None:
        """Raises DiskFull while `more_bytes` can't be written there."""
        shortage = self.shortage(more_bytes)
        if shortage is not None:
            raise shortage


def keep_start_room(room: DiskRoom) -> None:
    """Make the file that keeps room for a start, while there is room for it and for the reserve."""
    file = room.path / START_ROOM_FILE
    try:
        if room.reserve_bytes and not room.shortage(START_ROOM_BYTES) and not file.exists():
            with open(file, "wb") as made:
                os.posix_fallocate(made.fileno(), 0, START_ROOM_BYTES)
    except OSError as error:  # a node that runs goes on without
        log.warning("start_room_not_kept", reason=error.strerror)
        file.unlink(missing_ok=True)


def take_start_room(room: DiskRoom) -> DiskFull | None:
    """On a full disk delete that file, so that a start finds room. Returns why the disk is full, or None."""
    shortage = room.shortage()
    if shortage is not None:
        (room.path / START_ROOM_FILE).unlink(missing_ok=True)
    return shortage


def allocate(folder: Path, room: DiskRoom, plenty_bytes: int) -> None:
    """Give each sparse file below `folder` its blocks, so that a write to a mapped page finds one. Nothing is done
    while the disk has `plenty_bytes` beyond the reserve: blocks for holes that stay empty are wasted. The reserve stays
    free."""
    if not room.reserve_bytes or not room.shortage(plenty_bytes):
        return
    for file in folder.rglob("*"):
        status = file.lstat()
        holes = status.st_size - status.st_blocks * 512
        if holes <= 0 or not file.is_file() or room.shortage(holes):
            continue
        descriptor = os.open(file, os.O_RDWR)
        try:
            os.posix_fallocate(descriptor, 0, status.st_size)
        finally:
            os.close(descriptor)
