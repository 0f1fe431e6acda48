"""The place of an index in a directory: its marks, its lock, how it is opened and cleared.

Edge is imported when its backend is made, so a node with a server loads none.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from mnemesh_actors.index.engine_port import IndexBackend
from mnemesh_actors.storage.disk import DiskRoom, allocate
from mnemesh_actors.storage.index_state import DirectoryLock, IndexMeta, read_meta, write_meta

# Of an empty index Edge maps 250 MiB, and each file that is full is followed by one of up to 32 MiB.
PLENTY_BYTES = 2 << 30
ALLOCATED_AGAIN_S = 1.0


class Storage:
    """The place of one index: the directory `path` with `meta.json`, `lock`, and the points of Qdrant Edge in `points`.
    Used by one thread. Of `reserve_bytes` of its disk half stays free: the ledger's entries from before the disk was
    full fit there. A `remote` place may go away and come back by itself."""

    remote = False

    def __init__(self, path: Path, reserve_bytes: int = 0) -> None:
        self._path = path
        self._room = DiskRoom(path, reserve_bytes // 2)
        self._before_full = DiskRoom(path, 2 * reserve_bytes)  # down to this, mapped files get their blocks
        self._whole_reserve = DiskRoom(path, reserve_bytes)
        self._allocate_at = 0.0
        self._lock = DirectoryLock(path / "lock")

    def require_room(self) -> None:
        """Raises DiskFull while nothing more may be written."""
        self._room.require()
        if (now := time.monotonic()) >= self._allocate_at:
            allocate(self._path, self._before_full, PLENTY_BYTES)
            self._allocate_at = now + ALLOCATED_AGAIN_S

    def acquire(self) -> None:
        """Keep others out. Raises Unavailable when another process or object is in."""
        self._path.mkdir(parents=True, exist_ok=True)
        self._lock.acquire()

    def release(self) -> None:
        """Let others in, and let go of everything open."""
        self._lock.release()

    def read(self) -> tuple[IndexMeta | None, str]:
        """The marks, or None and why they cannot be used. Raises FailedPrecondition for an index that is not ours."""
        return read_meta(self._path / "meta.json")

    def write(self, meta: IndexMeta) -> None:
        """Replace the marks, durably."""
        write_meta(self._path / "meta.json", meta)

    def clear(self) -> None:
        """Remove the points."""
        for entry in self._path.glob("points*"):
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def remove(self) -> None:
        """Remove everything here, in whatever state. Called by the holder of the lock."""
        shutil.rmtree(self._path)

    def backend(self, meta: IndexMeta) -> IndexBackend:
        """The reader and writer of the points, not open yet. A collection that this creates is marked with `meta`."""
        from mnemesh_actors.index.engines.segments import SegmentedEdge

        return SegmentedEdge(self._path / "points", room=self._whole_reserve)
