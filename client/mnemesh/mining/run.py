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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from mnemesh.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
    PermissionDenied,
    why,
)
from mnemesh.hooks.injection import opt_out
from mnemesh.hooks.kept.notes import MINING, NOTES_MAX, Notes
from mnemesh.mining import model_findings
from mnemesh.mining.miner_state import MinedFile, MiningState
from mnemesh.mining.sentence_rules import rules
from mnemesh.mining.session import Extraction, MinedSession
from mnemesh.mining.transcript import LineContext, Words, events_of
from mnemesh.transport.project import project_of
from mnemesh.transport.space import project_files
from mnemesh_memory.values.injection import is_suspicious

if TYPE_CHECKING:
    from mnemesh.api.batch import Outcome
    from mnemesh.api.calls.writes import Item
    from mnemesh.api.values import Memory

CHUNK_BYTES: Final = 8 * 1024 * 1024  # read between two storings
LINE_BYTES_MAX: Final = 64 * 1024 * 1024
FIRST_LINES: Final = 100  # in which a session names its directory
TAG: Final = "mined"
MODEL_TAG: Final = "mined-by-model"
SUSPICIOUS_TAG: Final = "injection-suspected"
KIND_OF: Final[Mapping[str, str]] = {
    rules.DECISION: "decision", rules.FIX: "error", rules.CONVENTION: "procedure", rules.PREFERENCE: "preference",
    rules.ENVIRONMENT: "reference", rules.COMMAND: "procedure", rules.HOT_FILE: "fact",
    rules.REQUIREMENT: "requirement",
}  # fmt: skip
UNSURE_KIND: Final = "fact"  # No rule, whoever's words it may be.
TIER: Final = "preference.tier"
COUNT: Final = "preference.signals"
SIGNALS_MIN: Final = 2  # times, until behaviour counts as a preference
SIGNALS_MAX: Final = 500  # of a space
SESSIONS_MAX: Final = 50  # that are told apart for a text
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")


class Model(Protocol):
    """A language model."""

    def answer(self, messages: Sequence[dict[str, str]]) -> str:
        """Its answer. Raises MnemeshError."""


class MemoryWriter(Protocol):
    """The part of a client that the miner needs."""

    def remember_batch(self, items: Iterable[Item | str], *, wait: str = "") -> tuple[Outcome, ...]:
        """Store memories."""

    def update(self, id: str, *, attrs: Mapping[str, str]) -> object:
        """Change the attributes of a memory."""

    @property
    def record_run(self) -> Callable[..., object]:
        """Store the record of a session."""


@dataclass(slots=True)
class Mined:
    """The result of a run. `sessions` got a record. `stored` memories are new, `known` were there before, `refused` did
    not get in. `failed` names files with the reason, `opted_out` counts files of projects that want no hooks,
    `of_repositories` files that a repository holds and no host wrote.
    `by_model` findings are a language model's, and `model_fault` says why the model was of no use."""

    files: int = 0
    sessions: int = 0
    found: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    known: int = 0
    refused: int = 0
    suspicious: int = 0
    opted_out: int = 0
    of_repositories: int = 0
    given_up: int = 0
    by_model: int = 0
    model_fault: str = ""
    missing_folders: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Miner:
    """One run. Without a writer nothing is stored and nothing is noted. `project`: only sessions in this folder count,
    and other files stay as they are."""

    state: MiningState
    data_dir: Path
    writer: MemoryWriter | None
    project: Path | None = None
    model: Model | None = None

    def __post_init__(self) -> None:
        self._with_model = self.model is not None
        self.mined = Mined()
        self.shown: list[Extraction] = []
        self._done: set[str] = set()

    @property
    def is_narrowed(self) -> bool:
        """Whether only one project counts."""
        return self.project is not None

    def mine(self, paths: Iterable[Path]) -> None:
        """Mine each file. A file that fails is noted and left. Raises an error of the node that is no file's fault."""
        for path in map(os.path.abspath, paths):
            if path in self._done:
                continue
            self._done.add(path)
            entry = self.state.files.get(path)
            if entry is not None and entry.given_up:
                self.mined.given_up += 1
                continue
            try:
                self._file(path)
            except FileNotFoundError:
                self.state.files.pop(path, None)
            except (OSError, InvalidArgument, FailedPrecondition, PermissionDenied) as error:
                self._fail(path, error.message if isinstance(error, MnemeshError) else why(error))

    def drain(self) -> None:
        """Mine what the hooks left notes of. A note that a hook wrote anew meanwhile stays."""
        queue = Notes(self.data_dir, MINING)
        waiting = dict(queue.oldest(NOTES_MAX))
        self.mine(Path(path) for note in waiting.values() if isinstance(path := note.get("transcript"), str) and path)
        if self.writer is not None:
            fresh = dict(queue.oldest(NOTES_MAX))
            for name, note in waiting.items():
                if fresh.get(name) == note:
                    queue.remove(name)

    def _file(self, path: str) -> None:
        with _opened(path) as stream:
            entry = self.state.entry(path, stream)
            waits = self.model is not None and entry.unheard >= 0
            if entry.offset == os.fstat(stream.fileno()).st_size and not entry.failures and not waits:
                return
            if self.project is not None and not Path(_directory_of(stream)).is_relative_to(self.project):
                return
            self.mined.files += 1
            session, offset = MinedSession.of(entry.carried), entry.offset
            if waits:
                stream.seek(entry.unheard)
                session.heard = list(_words(stream, offset))
                self._store(path, entry, session, offset)
            stream.seek(offset)
            session.heard = [] if self._with_model else None
            for lines in _chunks(stream):
                for line in lines:
                    session.take(events_of(line))
                    offset += len(line)
                self._store(path, entry, session, offset)

    def _store(self, path: str, entry: MinedFile, session: MinedSession, offset: int) -> None:
        extractions, record, signals = session.extractions(), session.record(), session.signals
        cwd = Path(session.cwd) if session.cwd.startswith("/") else None
        opted_out = cwd is not None and opt_out(project_files(cwd)) is not None
        self.mined.opted_out += opted_out
        if opted_out or session.own:
            extractions, record, signals = [], {}, {}
            answered = True
        else:
            asked, answered = self._asked(session)
            extractions += asked
        self.shown += extractions
        self.mined.found.update(extraction.class_ for extraction in extractions)
        self.mined.suspicious += sum(extraction.suspicious for extraction in extractions)
        if self.writer is None:
            return
        space = project_of(cwd, self.data_dir).space if cwd is not None else ""
        name = session.id or Path(path).stem[:150]
        counts = self._send(self.writer, [item_of(extraction, name, session.cwd, space) for extraction in extractions])
        self._weigh(self.writer, name, signals, space)
        if record.get("prompts"):
            self._record(self.writer, name, record, space)
        if not answered:
            entry.unheard = entry.offset if entry.unheard < 0 else entry.unheard
        elif self.model is not None:
            entry.unheard = -1
        entry.offset, entry.carried, entry.failures, entry.error = offset, session.carried(), 0, ""
        entry.stored += counts["stored"]
        entry.at = int(time.time())
        self.state.save()
        if extractions:
            classes = Counter(extraction.class_ for extraction in extractions)
            self.state.note({"at": entry.at, "path": path, "session": name, "space": space, **counts, "found": classes})

    def _asked(self, session: MinedSession) -> tuple[list[Extraction], bool]:
        """The findings of the model in the words since it was asked last, and whether it has heard all of them. A model
        that can't be asked is asked no more in this run, and these words wait. The rules' findings are stored all the
        same."""
        heard, session.heard = session.heard, [] if self._with_model else None
        extractions: list[Extraction] = []
        for part in model_findings.parts(heard or ()):
            if self.model is None:
                return extractions, False
            try:
                findings = model_findings.findings(self.model.answer(model_findings.messages(part)), part)
            except MnemeshError as error:
                self.model, self.mined.model_fault = None, error.message
                return extractions, False
            except ValueError as error:
                self.mined.model_fault = f"an answer was not usable: {error}"
                continue
            self.mined.by_model += len(findings)
            extractions += [Extraction(class_, text, by_model=True) for class_, text in findings]
        return extractions, True

    def _send(self, writer: MemoryWriter, items: Sequence[Item]) -> dict[str, int]:
        counts = {"stored": 0, "known": 0, "refused": 0}
        for outcome in writer.remember_batch(items, wait="durable") if items else ():
            if not isinstance(outcome, MnemeshError):
                counts["stored" if outcome.action != "NOOP" else "known"] += 1
            elif isinstance(outcome, AlreadyExists):  # by an earlier version, which said less of it
                counts["known"] += 1
            elif isinstance(outcome, InvalidArgument | FailedPrecondition):
                counts["refused"] += 1
            else:
                raise outcome
        self.mined.stored += counts["stored"]
        self.mined.known += counts["known"]
        self.mined.refused += counts["refused"]
        return counts

    def _weigh(self, writer: MemoryWriter, session: str, signals: Mapping[str, int], space: str) -> None:
        """Store what behaviour shows often enough as a preference, with the number of times, in all sessions."""
        seen = self.state.signals.setdefault(space, {})
        for text, count in signals.items():
            before = seen.get(text, {})
            after = dict(list({**before, session: count}.items())[-SESSIONS_MAX:])
            total = sum(after.values())
            if after != before and total >= SIGNALS_MIN:
                item = _item(text, rules.PREFERENCE, str(total), space, basis=rules.SIGNALS, count=total)
                for outcome in writer.remember_batch([item], wait="durable"):
                    if not isinstance(outcome, MnemeshError):
                        self.mined.stored += outcome.action != "NOOP"
                        _raise(writer, outcome.memory, item.get("attrs", {}))
                    elif not isinstance(outcome, AlreadyExists | InvalidArgument | FailedPrecondition):
                        raise outcome
            seen.pop(text, None)
            seen[text] = after
        for text in list(seen)[:-SIGNALS_MAX]:
            del seen[text]

    def _record(self, writer: MemoryWriter, session: str, record: Mapping[str, Any], space: str) -> None:
        try:
            writer.record_run(session, space=space, mask=True, **record)
            self.mined.sessions += 1
        except (InvalidArgument, FailedPrecondition):
            self.mined.refused += 1

    def _fail(self, path: str, reason: str) -> None:
        self.mined.failed[path] = reason
        if self.writer is not None:
            entry = self.state.files.setdefault(path, MinedFile())
            entry.failures += 1
            entry.error = reason
            entry.at = int(time.time())
            self.state.save()


def item_of(extraction: Extraction, session: str, cwd: str, space: str) -> Item:
    """The memory of a finding."""
    item = _item(extraction.text, extraction.class_, session, space, basis=extraction.basis)
    if extraction.by_model:  # its words are nobody's: as little trusted as an import, and never a rule
        item["kind"] = UNSURE_KIND
        item["tags"] = [*item["tags"], MODEL_TAG]
        item["attrs"] = {"trust": "imported"}
    return {**item, "source": {"session": session, "dir": cwd}}


def _item(text: str, class_: str, key: str, space: str, *, basis: str = "", count: int = 0) -> Item:
    """A memory whose `key` and text keep it from being stored twice. A preference tells its basis."""
    text = _CONTROL.sub(" ", text).strip()
    key = hashlib.sha256("\0".join((key, space, class_, text)).encode()).hexdigest()
    suspicious = is_suspicious(text)
    item: Item = {
        "content": text, "kind": UNSURE_KIND if suspicious else KIND_OF[class_],
        "tags": [TAG, class_.replace("_", "-"), *([SUSPICIOUS_TAG] if suspicious else ())],
        "idempotency_key": f"{TAG}-{key[:40]}",
    }  # fmt: skip
    if basis and not suspicious:
        item["attrs"] = {TIER: basis} | ({COUNT: str(count)} if count else {})
    if space:
        item["space"] = space
    return item


def _raise(writer: MemoryWriter, memory: Memory, attrs: Mapping[str, str]) -> None:
    """Note newer signals on a preference that was known. One that somebody said or forgot stays as it is."""
    raised = memory.attrs.get(TIER) in (rules.SIGNALS, rules.INFERRED) and not attrs.items() <= memory.attrs.items()
    if raised and memory.state == "active":
        with suppress(NotFound):  # forgotten a moment ago
            writer.update(memory.id, attrs={**memory.attrs, **attrs})


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
            if isinstance(event, LineContext) and event.cwd:
                return event.cwd
    return ""


def _words(stream: BinaryIO, end: int) -> Iterator[Words]:
    """The words of the lines from here to `end`."""
    while stream.tell() < end and (line := stream.readline(LINE_BYTES_MAX)):
        yield from (event for event in events_of(line) if isinstance(event, Words))


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
