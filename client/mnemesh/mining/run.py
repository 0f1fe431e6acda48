"""Session files into memories: read what is new, extract, store, and only then note how far.

Every memory goes through `remember_batch`, so the write guard judges each. A key by session, class and text keeps a
finding from being stored twice, also when a node acknowledged and the note of it was lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from mnemesh.errors import FailedPrecondition, InvalidArgument, MnemeshError, PermissionDenied, why
from mnemesh.hooks.notes import MINING, NOTES_MAX, Notes
from mnemesh.mining import rules
from mnemesh.mining.session import Extraction, Session
from mnemesh.mining.state import MinedFile, MiningState
from mnemesh.mining.transcript import Place, events_of
from mnemesh.transport.project import project_of
from mnemesh.transport.space import project_files

if TYPE_CHECKING:
    from mnemesh.api.batch import Outcome
    from mnemesh.api.calls.writes import Item

CHUNK_BYTES: Final = 8 * 1024 * 1024  # read between two storings
LINE_BYTES_MAX: Final = 64 * 1024 * 1024
FIRST_LINES: Final = 100  # in which a session names its directory
TAG: Final = "mined"
SUSPICIOUS_TAG: Final = "injection-suspected"
KIND_OF: Final[Mapping[str, str]] = {
    rules.DECISION: "decision", rules.FIX: "error", rules.CONVENTION: "procedure", rules.PREFERENCE: "preference",
    rules.ENVIRONMENT: "reference", rules.COMMAND: "procedure", rules.HOT_FILE: "fact",
}  # fmt: skip
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")


class Writer(Protocol):
    """The part of a client that the miner needs."""

    def remember_batch(self, items: Iterable[Item | str], *, wait: str = "") -> tuple[Outcome, ...]:
        """Store memories."""


@dataclass(slots=True)
class Mined:
    """The result of a run. `stored` memories are new, `known` were there before, `refused` did not get in. `failed`
    names files with the reason, `opted_out` counts files of projects that want no hooks."""

    files: int = 0
    found: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    known: int = 0
    refused: int = 0
    suspicious: int = 0
    opted_out: int = 0
    given_up: int = 0
    failed: dict[str, str] = field(default_factory=dict)


class Miner:
    """One run. Without a writer nothing is stored and nothing is noted. `project`: only sessions in this folder count,
    and other files stay as they are."""

    def __init__(self, state: MiningState, data_dir: Path, writer: Writer | None, project: Path | None = None) -> None:
        self._state = state
        self._data_dir = data_dir
        self._writer = writer
        self._project = project
        self.mined = Mined()
        self.shown: list[Extraction] = []
        self._done: set[str] = set()

    @property
    def is_narrowed(self) -> bool:
        """Whether only one project counts."""
        return self._project is not None

    def mine(self, paths: Iterable[Path]) -> None:
        """Mine each file. A file that fails is noted and left. Raises an error of the node that is no file's fault."""
        for path in map(os.path.abspath, paths):
            if path in self._done:
                continue
            self._done.add(path)
            entry = self._state.files.get(path)
            if entry is not None and entry.given_up:
                self.mined.given_up += 1
                continue
            try:
                self._file(path)
            except FileNotFoundError:
                self._state.files.pop(path, None)
            except (OSError, InvalidArgument, FailedPrecondition, PermissionDenied) as error:
                self._fail(path, error.message if isinstance(error, MnemeshError) else why(error))

    def drain(self) -> None:
        """Mine what the hooks left notes of. A note that a hook wrote anew meanwhile stays."""
        queue = Notes(self._data_dir, MINING)
        waiting = dict(queue.oldest(NOTES_MAX))
        self.mine(Path(path) for note in waiting.values() if isinstance(path := note.get("transcript"), str) and path)
        if self._writer is not None:
            fresh = dict(queue.oldest(NOTES_MAX))
            for name, note in waiting.items():
                if fresh.get(name) == note:
                    queue.remove(name)

    def _file(self, path: str) -> None:
        with _opened(path) as stream:
            entry = self._state.entry(path, stream)
            if entry.offset == os.fstat(stream.fileno()).st_size and not entry.failures:
                return
            if self._project is not None and not Path(_directory_of(stream)).is_relative_to(self._project):
                return
            self.mined.files += 1
            stream.seek(entry.offset)
            session, offset = Session.of(entry.carried), entry.offset
            for lines in _chunks(stream):
                for line in lines:
                    session.take(events_of(line))
                    offset += len(line)
                self._store(path, entry, session, offset)

    def _store(self, path: str, entry: MinedFile, session: Session, offset: int) -> None:
        found = session.extractions()
        cwd = Path(session.cwd) if session.cwd.startswith("/") else None
        if cwd is not None and any(keys.get("hooks") is False for _, keys in project_files(cwd)):
            self.mined.opted_out += 1
            found = []
        self.shown += found
        self.mined.found.update(extraction.class_ for extraction in found)
        self.mined.suspicious += sum(extraction.suspicious for extraction in found)
        if self._writer is None:
            return
        space = project_of(cwd, self._data_dir).space if cwd is not None else ""
        name = session.id or Path(path).stem[:150]
        counts = self._send(self._writer, [item_of(one, name, session.cwd, space) for one in found])
        entry.offset, entry.carried, entry.failures, entry.error = offset, session.carried(), 0, ""
        entry.stored += counts["stored"]
        entry.at = int(time.time())
        self._state.save()
        if found:
            classes = Counter(one.class_ for one in found)
            self._state.note(
                {"at": entry.at, "path": path, "session": name, "space": space, **counts, "found": classes}
            )

    def _send(self, writer: Writer, items: Sequence[Item]) -> dict[str, int]:
        counts = {"stored": 0, "known": 0, "refused": 0}
        for outcome in writer.remember_batch(items, wait="durable") if items else ():
            if not isinstance(outcome, MnemeshError):
                counts["stored" if outcome.action != "NOOP" else "known"] += 1
            elif isinstance(outcome, InvalidArgument | FailedPrecondition):
                counts["refused"] += 1
            else:
                raise outcome
        self.mined.stored += counts["stored"]
        self.mined.known += counts["known"]
        self.mined.refused += counts["refused"]
        return counts

    def _fail(self, path: str, reason: str) -> None:
        self.mined.failed[path] = reason
        if self._writer is not None:
            entry = self._state.files.setdefault(path, MinedFile())
            entry.failures += 1
            entry.error = reason
            entry.at = int(time.time())
            self._state.save()


def item_of(extraction: Extraction, session: str, cwd: str, space: str) -> Item:
    """The memory of a finding."""
    text = _CONTROL.sub(" ", extraction.text).strip()
    key = hashlib.sha256("\0".join((session, extraction.class_, text)).encode()).hexdigest()
    tags = [TAG, extraction.class_.replace("_", "-")]
    if extraction.suspicious:
        tags.append(SUSPICIOUS_TAG)
    item: Item = {
        "content": text, "kind": KIND_OF[extraction.class_], "tags": tags, "idempotency_key": f"{TAG}-{key[:40]}",
        "source": {"session": session, "dir": cwd},
    }  # fmt: skip
    if space:
        item["space"] = space
    return item


def host_files(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The session files of Claude Code and Codex on this machine, the one changed last first."""
    folders = (
        Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(environ.get("CODEX_HOME") or home / ".codex") / "sessions",
    )
    found: list[tuple[float, Path]] = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                if name.endswith(".jsonl") and not path.is_symlink():
                    found.append((path.stat().st_mtime, path))
    for _, path in sorted(found, reverse=True):
        yield path


def _opened(path: str) -> BinaryIO:
    """Open a plain file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    stream = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise OSError(0, "is no plain file")
    return stream


def _directory_of(stream: BinaryIO) -> str:
    """The first working directory that the session names, "" for none in its first lines."""
    stream.seek(0)
    for _ in range(FIRST_LINES):
        for event in events_of(stream.readline(LINE_BYTES_MAX)):
            if isinstance(event, Place) and event.cwd:
                return event.cwd
    return ""


def _chunks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The whole lines from here on, some at a time. An unfinished last line waits, one without end is cut."""
    lines: list[bytes] = []
    size = 0
    while (line := stream.readline(LINE_BYTES_MAX)).endswith(b"\n") or len(line) == LINE_BYTES_MAX:
        lines.append(line)
        size += len(line)
        if size >= CHUNK_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def summary_of(entry: MinedFile) -> dict[str, Any]:
    """The part of an entry that is shown."""
    return {
        "offset": entry.offset, "stored": entry.stored, "failures": entry.failures, "error": entry.error,
        "given_up": entry.given_up, "at": entry.at,
    }  # fmt: skip
