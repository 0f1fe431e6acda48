"""The command `import-transcript`: session files of Claude Code into transcripts, from where an earlier run ended.

Only whole lines are read: an unfinished last line waits for its end. The node has acknowledged each noted turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from mnemesh.api.batch import in_batches
from mnemesh.cli.imports import sources
from mnemesh.cli.imports.ctrl_c import CtrlC
from mnemesh.cli.imports.import_report import Bar, places_told
from mnemesh.cli.imports.import_state import Offsets
from mnemesh.cli.imports.memories import life_of
from mnemesh.cli.options import Text
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.errors import FailedPrecondition, InvalidArgument
from mnemesh.exit_status import EXIT_REFUSED
from mnemesh.importing import claude_code
from mnemesh.importing.chats import read_chats
from mnemesh.transport.connection import local_data_dir
from mnemesh_proto.json_text import NotJson, read_json

if TYPE_CHECKING:
    from mnemesh.api.client import Client

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
CHATS_BYTES_MAX: Final = 512 * 1024 * 1024
CHATS_SOURCE: Final = "chat-export"
PATH_HELP: Final = "A session file of Claude Code, a directory of such, or conversations.json of Claude or ChatGPT."
SPACE_HELP: Final = "Space of the sessions; default: your private one."
STATE_HELP: Final = "Where to note how far files were read; default: data directory."
PENDING_BYTES_MAX: Final = 8 * 1024 * 1024  # read and not yet sent


@dataclass
class TranscriptReport:
    """The result of an import. `turns` were read. `stored` turns are new, `known` turns were there before. `masked`
    counts the turns with a credential by type, `clipped` the shortened turns. `skipped` counts records by kind.
    `malformed` and `refused` say where and why.
    """

    files: int = 0
    sessions: set[str] = field(default_factory=set)
    turns: int = 0
    stored: int = 0
    known: int = 0
    clipped: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    malformed: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)

    def body(self, *, dry_run: bool) -> dict[str, Any]:
        """What --json prints."""
        return {"dry_run": dry_run, **vars(self), "sessions": len(self.sessions)}

    def lines(self, *, dry_run: bool) -> Iterator[str]:
        """What people read."""
        for word, places in (("malformed", self.malformed), ("refused", self.refused)):
            yield from places_told(word, places)
        for word, counts in (
            ("masked", self.masked), ("passed over", self.skipped), ("left out", self.left_out),
        ):  # fmt: skip
            if counts:
                yield f"{word}  " + ", ".join(f"{count} {one_line(name)}" for name, count in counts.most_common())
        done = "would be sent" if dry_run else f"stored, {self.known} were there already"
        turns = count_of(self.turns if dry_run else self.stored, "turn")
        what = f"{count_of(len(self.sessions), 'session')}, {turns} {done}" if self.turns else "no turn that is new"
        yield (
            f"{count_of(self.files, 'file')}: {what}; {self.clipped} shortened, "
            f"{count_of(len(self.malformed), 'malformed line')}, {len(self.refused)} refused"
        )


def import_transcript(
    shell: Shell,
    path: Annotated[Path, typer.Argument(metavar="PATH", help=PATH_HELP)],
    space: Annotated[Text, typer.Option("--space", "-s", help=SPACE_HELP)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent; send nothing.")] = False,
    state: Annotated[Path | None, typer.Option("--state", metavar="FILE", help=STATE_HELP)] = None,
    again: Annotated[bool, typer.Option("--again", help="Read files from their beginning.")] = False,
) -> None:
    """Store sessions as they were said, apart from memories: Claude Code's in ~/.claude/projects, or a chat export.

    Another run goes on from there, also in a file that grew, and stores nothing twice. Exit status 4 when a file was
    refused.
    """
    listing = sources.find(path)
    files = [file for file in listing.files if file.format in ("jsonl", "json")]
    report = TranscriptReport(left_out=listing.skipped + Counter({"other type": len(listing.files) - len(files)}))
    for name, reason in listing.unreadable:
        report.refused.append({"file": name, "line": 0, "message": f"can't be read: {reason}"})
    size = sum(file.bytes for file in files)
    if dry_run:
        with Bar(size, shown=not shell.json) as bar:
            for file in files:
                _File(None, Offsets(None), report, bar, file, "").run()
    else:
        with shell.client() as client, CtrlC(client.close) as stop, Bar(size, shown=not shell.json) as bar:
            offsets = Offsets(None if again else state or _place(shell, client))
            for file in files:
                if stop.asked:
                    break
                _File(client, offsets, report, bar, file, space or "").run()
        if stop.asked:
            raise KeyboardInterrupt
    shell.answer(report.body(dry_run=dry_run), lambda: report.lines(dry_run=dry_run))
    if report.refused:
        raise typer.Exit(EXIT_REFUSED)


def _place(shell: Shell, client: Client) -> Path | None:
    """Where offsets are kept that count for this life of the node's data; None for a caller that may not know it."""
    life = life_of(client)
    return local_data_dir(shell.data) / "imports" / f"{life}.transcripts" if life else None


@dataclass(slots=True)
class _File:
    """One file. Without a client nothing is sent. Raises what the node refuses to everybody and every file."""

    client: Client | None
    offsets: Offsets
    report: TranscriptReport
    bar: Bar
    file: sources.SourceFile
    space: str
    # By session and id: a session that is resumed repeats records.
    pending: dict[str, dict[str, claude_code.Said]] = field(default_factory=dict)
    pending_bytes: int = 0
    titles: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Read and send it; a file that the node refuses is named and left."""
        self.report.files += 1
        try:
            with sources.open_no_link(self.file.path) as stream:
                if self.file.format == "json":
                    self._read_chats(stream)
                else:
                    self._read(stream)
        except OSError as error:
            self._refuse(f"can't be read: {error.strerror}")
        except (InvalidArgument, FailedPrecondition) as error:
            if not error.refused:
                raise
            self._refuse(error.message)

    def _read(self, stream: BinaryIO) -> None:
        offset = self.offsets.of(self.file.path, stream)
        number = _lines_before(stream, offset)
        self.bar.advance(offset)
        known = offset > 0
        while (line := stream.readline(LINE_BYTES_MAX)).endswith(b"\n") or len(line) == LINE_BYTES_MAX:
            number += 1
            known |= self._take(number, line)
            offset += len(line)
            self.bar.advance(len(line))
            if self.pending_bytes > PENDING_BYTES_MAX:
                self._flush(stream, offset)
        if line:
            self.report.skipped["unfinished last line"] += 1
        if number and not known:
            self._refuse("holds no record of a Claude Code session")
        self._flush(stream, offset)

    def _read_chats(self, stream: BinaryIO) -> None:
        """Read a whole export: its conversations are one JSON value, so there is no place to go on from."""
        text = stream.read(CHATS_BYTES_MAX + 1)
        if len(text) > CHATS_BYTES_MAX:
            self._refuse(f"is larger than {CHATS_BYTES_MAX // 2**20} MiB")
            return
        try:
            value = read_json(text.removeprefix(b"\xef\xbb\xbf"))
        except (NotJson, UnicodeDecodeError) as error:
            self._refuse(f"is no JSON: {error}")
            return
        known = False
        for number, item in read_chats(value):
            known |= self._sort(number, (item,))
            if self.pending_bytes > PENDING_BYTES_MAX:
                self._flush(stream, 0)
        if not known:
            self._refuse("holds no conversation of Claude or ChatGPT")
        self._flush(stream, 0)
        self.bar.advance(len(text))

    def _take(self, number: int, line: bytes) -> bool:
        """Whether the line is of a session."""
        return self._sort(number, claude_code.read_line(line, self.file.path.stem) if line.strip() else ())

    def _sort(self, number: int, items: Iterable[claude_code.Read]) -> bool:
        known = False
        for item in items:
            match item:
                case claude_code.Said():
                    known = True
                    self.report.turns += 1
                    self.report.clipped += item.clipped
                    self.report.sessions.add(item.session)
                    self.pending.setdefault(item.session, {}).setdefault(item.turn["id"], item)
                    self.pending_bytes += _bytes(item)
                case claude_code.Titled():
                    known = True
                    self.titles[item.session] = item.title
                case claude_code.Skipped():
                    known |= item.known
                    self.report.skipped[item.kind] += 1
                case claude_code.Malformed():
                    place = {"file": self.file.name, "line": number, "message": item.reason}
                    self.report.malformed.append(place)
        return known

    def _flush(self, stream: BinaryIO, offset: int) -> None:
        """Send what was read, then note how far that is."""
        if self.client is not None:
            for session, items in self.pending.items():
                for batch in in_batches(items.values(), _bytes):
                    self._send(self.client, session, batch)
            self.offsets.note(self.file.path, stream, offset)
        self.pending.clear()
        self.pending_bytes = 0

    def _send(self, client: Client, session: str, batch: list[claude_code.Said]) -> None:
        added = client.add_transcript(
            session,
            [said.turn for said in batch],
            space=self.space,
            part_of=batch[0].part_of,
            source=claude_code.SOURCE if self.file.format == "jsonl" else CHATS_SOURCE,
            dir=batch[-1].dir,
            title=self.titles.get(session, ""),
        )
        self.report.stored += added.stored
        self.report.known += added.known
        self.report.masked.update(type_ for turn in added.masked for type_ in turn.types)

    def _refuse(self, why: str) -> None:
        self.report.refused.append({"file": self.file.name, "line": 0, "message": why})


def _lines_before(stream: BinaryIO, offset: int) -> int:
    """How many lines end at or before `offset`, where the stream then stands."""
    count = 0
    while left := offset - stream.tell():
        count += stream.read(min(left, 1024 * 1024)).count(b"\n")
    return count


def _bytes(item: claude_code.Said) -> int:
    return len(item.turn["text"].encode())


COMMANDS: Final = (("import-transcript", import_transcript),)
