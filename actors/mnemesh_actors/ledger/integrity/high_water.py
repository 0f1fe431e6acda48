"""The furthest known number of a ledger, which outlives a log that lost its end.

SQLite drops what follows a damaged frame of the write-ahead log, and says nothing. Therefore the number of the last
commit stands beside the ledger, and each index knows its last entry. A ledger that ends earlier has lost entries, or is
an older copy: it begins a new incarnation, and a person is told.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from mnemesh_actors.ledger.integrity.alarms import acknowledging
from mnemesh_actors.storage.index_state import read_meta

_MARK = re.compile(rb"([0-9a-f]{32}):([0-9]{18})\n")
INDEXES = "index/*/meta.json"


class HighWater:
    """The file with incarnation and number of the last commit. It is written after each commit and never synced: an
    older mark only shows less."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._written: tuple[str, int] | None = None

    def read(self) -> tuple[str, int]:
        """Incarnation and number that were written last. ("", 0) of a file that is new or damaged."""
        return mark_of(os.pread(self._file, 64, 0))

    def write(self, incarnation: str, seq: int) -> None:
        """The log of `incarnation` is durable up to `seq`."""
        if self._written != (incarnation, seq):
            # The entries are on disk already, so a disk that fails here must not fail their commit.
            with suppress(OSError):
                os.pwrite(self._file, f"{incarnation}:{seq:018d}\n".encode(), 0)
            self._written = (incarnation, seq)

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)


def mark_of(content: bytes) -> tuple[str, int]:
    """The content of a mark's file. ("", 0) for anything else."""
    found = _MARK.fullmatch(content)
    return (found[1].decode(), int(found[2])) if found else ("", 0)


def furthest(ledger: Path, incarnation: str, mark: tuple[str, int]) -> int:
    """The highest number that the life `incarnation` of the ledger at this path is known to have reached."""
    numbers = [mark[1]] if mark[0] == incarnation else []
    for file in ledger.parent.parent.glob(INDEXES):
        meta, _ = read_meta(file)
        if meta is not None and meta.incarnation == incarnation:
            numbers.append(meta.seq)
    return max(numbers, default=0)


def loss(ledger: Path, last: int, reached: int) -> str:
    """The alarm for a ledger that ends at `last` and had reached `reached`."""
    return (
        f"{reached - last} entries of the ledger are lost: {ledger} had {reached} and ends at {last}. Its write-ahead "
        "log was damaged or removed, or an older copy was put in its place. The node began a new incarnation and made "
        "the index new; peers send back what they hold of this node's entries. Compare with `mnemesh sync now`, or "
        f"restore a backup; `{acknowledging(ledger)}` ends this notice"
    )
