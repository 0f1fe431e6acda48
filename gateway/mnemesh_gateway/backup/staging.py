"""A data directory that appears whole or not at all.

The new directory grows in a folder inside the empty one, and its manifest is moved last. So nobody takes a half-made
directory for a node's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mnemesh_actors.storage.data_directory import MANIFEST, sync_folder
from mnemesh_memory.values.errors import FailedPrecondition, Unavailable

STAGING: Final = ".loading"
# Names that a fresh volume may hold.
IGNORED: Final = frozenset({"lost+found"})


@contextmanager
def staged(data_dir: Path, what: str, undone: str) -> Iterator[Path]:
    """A folder whose content is moved into `data_dir` at the end. The directory is empty or does not exist. A failure
    leaves the directory as before. `what` is done, and `undone` after a failure, say the errors. Raises
    FailedPrecondition, Unavailable."""
    try:
        existed = data_dir.exists()
        taken = existed and (not data_dir.is_dir() or {entry.name for entry in data_dir.iterdir()} - IGNORED)
    except OSError as error:
        raise Unavailable(f"{data_dir}: {error}; {undone}", part="backup") from error
    if taken:
        raise FailedPrecondition(
            f"data_dir: {data_dir} is not empty; {what} into an empty directory only: name another one",
            field="data_dir",
            value=str(data_dir),
            limit="an empty directory",
        )
    staging = data_dir / STAGING
    try:
        data_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
        staging.mkdir(mode=0o700)
        try:
            yield staging
            _move(staging, data_dir)
        except BaseException:  # boundary: undone, then raised again
            shutil.rmtree(staging if existed else data_dir, ignore_errors=True)
            raise
    except OSError as error:
        raise Unavailable(f"{data_dir}: {error}; {undone}", part="backup") from error


def _move(staging: Path, data_dir: Path) -> None:
    for name in sorted(os.listdir(staging), key=lambda name: (name == MANIFEST, name != "ledger", name)):
        os.replace(staging / name, data_dir / name)
    staging.rmdir()
    sync_folder(data_dir)
