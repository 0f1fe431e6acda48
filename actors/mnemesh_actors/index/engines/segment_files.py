"""The segments in the directory of a Qdrant Edge index, and how they come and go while nobody has it open.

Edge keeps each segment in a folder of its own below `segments`, and takes in whatever lies there when it is opened. An
open segment takes new points, a sealed one has a graph and only loses points. A journal stands while sealed ones take
the place of others. A crash on the way leaves the former segments with all of their points.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np

from mnemesh_actors.storage.data_directory import replace_file, sync_folder

FOLDER: Final = "segments"
JOURNAL: Final = "replacing.json"
REPLACED: Final = "replaced"  # the segments that go, until those in their place are there for good
CONFIG: Final = "edge_config.json"
VERSION_BYTES: Final = 8  # of each point in a segment's list of versions
COPY_BYTES: Final = 1 << 20
BLOCK_BYTES: Final = 512  # of what `stat` counts, on each file system


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment by its files: the `points` ever given to it, and for a sealed one the number that is `gone`."""

    name: str
    sealed: bool
    points: int
    gone: int = 0

    @property
    def present(self) -> int:
        """The points that are there, and of an open segment also those that have left it."""
        return self.points - self.gone


def segments_of(index: Path) -> list[Segment]:
    """The segments of an index that was flushed, in the order of their names."""
    return [_segment(folder) for folder in sorted((index / FOLDER).iterdir()) if folder.is_dir()]


def _segment(folder: Path) -> Segment:
    sealed = (folder / "id_tracker.mappings").exists()
    versions = folder / ("id_tracker.versions" if sealed else "mutable_id_tracker.versions")
    points = versions.stat().st_size // VERSION_BYTES if versions.exists() else 0
    gone = 0
    if sealed:
        flags = np.fromfile(folder / "id_tracker.deleted", np.uint8)
        gone = int(np.unpackbits(flags, bitorder="little")[:points].sum())
    return Segment(folder.name, sealed, points, gone)


def bytes_of(index: Path, names: Sequence[str]) -> int:
    """The bytes on the disk of these segments, without the holes in their files."""
    return sum(file.lstat().st_blocks for name in names for file in (index / FOLDER / name).rglob("*")) * BLOCK_BYTES


def copy_segments(index: Path, names: Sequence[str], target: Path) -> None:
    """Make the empty folder `target` an index of these segments alone. Raises OSError on a full disk, say."""
    shutil.copy(index / CONFIG, target / CONFIG)
    for name in names:
        shutil.copytree(index / FOLDER / name, target / FOLDER / name, copy_function=_copy_file, dirs_exist_ok=True)


def add_segments(index: Path, source: Path) -> None:
    """Move the segments of the closed index `source` into the closed `index`."""
    for folder in (source / FOLDER).iterdir():
        folder.rename(index / FOLDER / str(uuid4()))
    sync_folder(index / FOLDER)


def replace_segments(index: Path, names: Sequence[str], source: Path, sealed: Sequence[str]) -> None:
    """Put these `sealed` segments of the closed index `source` in the place of those of `names`, until `commit` or
    `roll_back`."""
    shutil.rmtree(index / REPLACED, ignore_errors=True)  # what could not be removed before must never come back
    (index / REPLACED).mkdir()
    replace_file(index / JOURNAL, json.dumps({"sealed": list(sealed)}))
    for name in names:
        (index / FOLDER / name).rename(index / REPLACED / name)
    for segment in sealed:
        (source / FOLDER / segment).rename(index / FOLDER / segment)
    sync_folder(index / REPLACED)
    sync_folder(index / FOLDER)
    sync_folder(index)


def commit(index: Path) -> None:
    """Keep the sealed segments for good: they are durable, with all changes since."""
    (index / JOURNAL).unlink()
    sync_folder(index)
    shutil.rmtree(index / REPLACED, ignore_errors=True)


def roll_back(index: Path) -> bool:
    """Bring back the segments that were there before a crash; whether any was being replaced."""
    try:
        journal = json.loads((index / JOURNAL).read_text("utf-8"))
    except (FileNotFoundError, ValueError):  # nothing was moved: no journal, or one that was not written to its end
        (index / JOURNAL).unlink(missing_ok=True)
        shutil.rmtree(index / REPLACED, ignore_errors=True)
        return False
    if (index / REPLACED).exists():
        for segment in journal["sealed"]:
            shutil.rmtree(index / FOLDER / segment, ignore_errors=True)
        for folder in (index / REPLACED).iterdir():
            folder.rename(index / FOLDER / folder.name)
        sync_folder(index / FOLDER)
        (index / REPLACED).rmdir()
    (index / JOURNAL).unlink()
    sync_folder(index)
    return True


def _copy_file(source: str, target: str) -> None:
    """Copy a file; its holes stay holes, because Edge reserves far more than it uses."""
    with open(source, "rb", buffering=0) as old, open(target, "wb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole is left
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.lseek(new.fileno(), at, os.SEEK_SET)
            while at < end:
                os.lseek(old.fileno(), at, os.SEEK_SET)
                block = old.read(min(COPY_BYTES, end - at))
                if not block:
                    break
                new.write(block)
                at += len(block)
        new.truncate(size)
