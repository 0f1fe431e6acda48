"""The files beside an index: its identity, its last durable ledger entry, and its holder.

`meta.json` is replaced whole, after the index itself was made durable, so its `seq` never promises too much. A lock
file keeps a second process from clearing or writing an index that is in use.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mnemesh_actors.storage.data_directory import replace_file
from mnemesh_memory.values.errors import Unavailable

FORMAT = 12


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """`generation` names the embedding model, `incarnation` the ledger's life, `seq` its last durable entry.

    `points` is the count at a clean close, and None while the index is in use. `damage` is what went wrong with it.
    `key` is that of the hashes in it.
    """

    generation: str
    dimensions: int
    incarnation: str
    seq: int = 0
    points: int | None = None
    damage: str = ""
    format: int = FORMAT
    key: str = field(default="", repr=False)

    def difference(self, wanted: IndexMeta) -> str:
        """Why an index with this meta must not be used as the wanted one. "" when it may."""
        for name in ("format", "generation", "dimensions", "incarnation"):
            have, want = getattr(self, name), getattr(wanted, name)
            if have != want:
                return f"the index was made for {name} {have}, not {want}"
        return self.damage or ("" if self.key else "the key of the index was lost")


def read_meta(file: Path) -> tuple[IndexMeta | None, str]:
    """The meta, or None and why it cannot be used."""
    try:
        stored = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None, "absent"
    except (OSError, ValueError) as error:
        return None, f"{file.name} was damaged: {error}"
    return meta_of(stored, file.name)


def meta_of(stored: object, name: str) -> tuple[IndexMeta | None, str]:
    """The meta stored as JSON under that name, or None and why it cannot be used."""
    if not isinstance(stored, dict):
        return None, f"{name} was damaged: it holds no object"
    try:
        meta = IndexMeta(**stored)
    except TypeError as error:
        return None, f"{name} was damaged: {error}"
    counts = (meta.seq, meta.dimensions, meta.format, 0 if meta.points is None else meta.points)
    if not isinstance(meta.key, str):
        return None, f"{name} was damaged: its key is no text"
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in counts):
        return None, f"{name} was damaged: {counts}"
    return meta, ""


def write_meta(file: Path, meta: IndexMeta) -> None:
    """Replace the file. After a power cut either the old or the new one stands. Raises Unavailable when the disk does
    not take it. The old one stands then."""
    try:
        replace_file(file, json.dumps(asdict(meta)))
    except OSError as error:
        raise Unavailable(f"the index could not write {file}: {error}", part="index") from error


class DirectoryLock:
    """An advisory lock on a file, held until `release` or the end of the process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Raises Unavailable when another process, or another object in this one, holds it."""
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise Unavailable(f"the index in {self._file.parent} is in use by another process or shard") from error
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
