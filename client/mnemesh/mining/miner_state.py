"""The miner's knowledge from run to run, in the folder `mining` of the data directory, for this user alone.

The file `on` is there while mining is on. `state.json` holds the offset and the failures of each session file,
`history.jsonl` a line for each reading with findings. The one running miner holds `lock`.

An offset counts for a path, an inode and a first line. A shorter or another file is read from its beginning.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, Final

from mnemesh.errors import FailedPrecondition
from mnemesh.hooks.kept.notes import MINING_ON
from mnemesh.hooks.kept.session_file import made_private
from mnemesh.mining.session import MinedSession

FOLDER: Final = "mining"
FAILURES_MAX: Final = 3
FILES_MAX: Final = 5_000
HISTORY_LINES_MAX: Final = 2_000
FIRST_BYTES: Final = 4096


@dataclass(slots=True)
class MinedFile:
    """A session file. All before `offset` is mined, and `carried` is what its session begins with there. `failures`
    counts failed readings in a row, and `error` is the last of them. A language model that failed has still to hear
    the lines from `unheard` on, -1 for none."""

    inode: int = 0
    first: str = ""
    offset: int = 0
    carried: dict[str, Any] = field(default_factory=dict)
    unheard: int = -1
    failures: int = 0
    error: str = ""
    stored: int = 0
    at: int = 0

    @property
    def given_up(self) -> bool:
        """Whether it waits for `mine retry`."""
        return self.failures >= FAILURES_MAX


class MiningState:
    """The state in `data_dir`. A damaged file of it counts as none: everything is then mined again, and the keys of
    the memories keep each from being stored twice."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER
        self.files: dict[str, MinedFile] = {}
        # By space and text of a preference: how often each session showed it.
        self.signals: dict[str, dict[str, dict[str, int]]] = {}
        with suppress(FileNotFoundError, ValueError, TypeError, AttributeError, RecursionError):
            value = json.loads((self.folder / "state.json").read_bytes())
            known = {member.name for member in fields(MinedFile)}
            self.signals = {space: dict(texts) for space, texts in value.get("signals", {}).items()}
            for path, entry in value.get("files", {}).items():
                self.files[path] = MinedFile(**{name: kept for name, kept in entry.items() if name in known})
            if not value.get("masked"):
                for file in self.files.values():
                    file.carried = MinedSession.masked_again(file.carried)

    def save(self) -> None:
        """Write it, all or nothing. Files that are gone are forgotten first when there are too many."""
        if len(self.files) > FILES_MAX:
            self.files = {path: entry for path, entry in self.files.items() if os.path.exists(path)}
        files = {path: asdict(entry) for path, entry in self.files.items()}
        self._write("state.json", json.dumps({"files": files, "signals": self.signals, "masked": True}))

    def entry(self, path: str, stream: BinaryIO) -> MinedFile:
        """The entry of an open file. A shorter file, or another one at this path, begins anew."""
        stream.seek(0)
        first = hashlib.sha256(stream.readline(FIRST_BYTES)).hexdigest()
        status = os.fstat(stream.fileno())
        entry = self.files.setdefault(path, MinedFile())
        if (entry.inode, entry.first) != (status.st_ino, first) or entry.offset > status.st_size:
            entry.inode, entry.first, entry.offset, entry.carried = status.st_ino, first, 0, {}
            entry.unheard = -1
        return entry

    def note(self, line: Mapping[str, Any]) -> None:
        """Add a line to the history."""
        lines = self.history()[-HISTORY_LINES_MAX:]
        self._write("history.jsonl", "".join(json.dumps(entry) + "\n" for entry in (*lines, line)))

    def history(self) -> list[dict[str, Any]]:
        """The readings that found something, oldest first."""
        try:
            text = (self.folder / "history.jsonl").read_text("utf-8", "replace")
        except FileNotFoundError:
            return []
        kept = []
        for line in text.splitlines():
            with suppress(ValueError, RecursionError):
                kept.append(json.loads(line))
        return [entry for entry in kept if isinstance(entry, dict)]

    @property
    def on(self) -> bool:
        """Whether mining is on."""
        return (self.folder.parent / MINING_ON).exists()

    def switch(self, on: bool) -> None:
        """Switch mining on or off."""
        if on:
            self._write("on", "")
        else:
            (self.folder / "on").unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        made_private(self.folder)
        temporary = self.folder / f".{name}.{os.getpid()}.tmp"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, self.folder / name)


@contextmanager
def only_miner(data_dir: Path) -> Iterator[MiningState]:
    """The state, for the only miner. Raises FailedPrecondition while another miner runs."""
    folder = data_dir / FOLDER
    made_private(folder)
    with open(os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FailedPrecondition("another miner is at work on this data directory; try again later") from None
        yield MiningState(data_dir)
