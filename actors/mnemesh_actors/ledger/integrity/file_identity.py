"""Whether the files that an open ledger writes are still those of its directory.

A file that was renamed or deleted takes writes as before, and loses them when it is closed. `check` costs one `stat`
for each file.
"""

from __future__ import annotations

import os
from pathlib import Path

from mnemesh_memory.values.errors import DataLoss


class FileIdentity:
    """Device and inode of the ledger and its write-ahead log, as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        wal = path.with_name(path.name + "-wal")
        self._known = tuple((str(one), _identity(str(one))) for one in (path, wal))

    def check(self) -> None:
        """Raise DataLoss, and stop writes, while one of them is gone or another file stands in its place."""
        for path, known in self._known:
            if _identity(path) != known:
                raise DataLoss(
                    f"{path} was renamed, deleted or replaced while the node runs; nothing was stored, and writes stop."
                    " Put that file back, or stop the node, restore the directory from a backup and start it again",
                    field="data_dir",
                    value=path,
                )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
