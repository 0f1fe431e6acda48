"""Whether an open ledger still writes the files of its directory.

A renamed or deleted file takes writes as before, and loses these when it is closed. `check` costs one `stat` for each
file.
"""

from __future__ import annotations

import os
from pathlib import Path

from mnemesh_actors.storage.data_directory import lost


class FileIdentity:
    """Device and inode of the ledger and of its write-ahead log, at the time of opening."""

    def __init__(self, path: Path) -> None:
        wal = path.with_name(path.name + "-wal")
        self._known = tuple((str(file), _identity(str(file))) for file in (path, wal))

    def check(self) -> None:
        """Raise DataLoss, and stop writes, while a file is gone or another stands in its place."""
        for path, known in self._known:
            if _identity(path) != known:
                raise lost(
                    Path(path),
                    "was renamed, deleted or replaced while the node runs; nothing was stored, and writes stop. Put "
                    "that file back, or stop the node, restore the directory from a backup and start it again",
                )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
