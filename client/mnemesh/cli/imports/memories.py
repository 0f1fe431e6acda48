"""The command `import`: files into memories, in batches, resumable. Refused items are listed and the rest goes on.

One batch is under way at a time, and the next one is read meanwhile. The node therefore stores the items in the order
of the files, and a later version of a fact replaces an earlier one. An item counts as done when the node has stored it
on disk. At the end one wait lets the index catch up.

A dry run judges every item as the real run does, and stores nothing. While a node answers, its own `check` judges the
first CHECKED_MAX items. The others, and all without a node, are judged here by what the client can know: types, times,
sizes, an empty text. The report says which it was.
"""

from __future__ import annotations

import math
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from mnemesh.api.batch import CONTENT_BYTES_MAX, Outcome, in_batches
from mnemesh.api.calls.writes import Item, remember_request
from mnemesh.cli.imports import sources
from mnemesh.cli.imports.ctrl_c import CtrlC
from mnemesh.cli.imports.import_report import Bar, ImportReport
from mnemesh.cli.imports.import_state import ImportState
from mnemesh.cli.imports.links import LinkMover
from mnemesh.cli.options import Text, Texts
from mnemesh.cli.shell import Shell
from mnemesh.errors import InvalidArgument, MnemeshError, NotReachable, Overloaded, PermissionDenied
from mnemesh.exit_status import EXIT_REFUSED
from mnemesh.importing.items import Defaults, ImportItem, Problem, finish, without_future
from mnemesh.transport.connection import default_project, local_data_dir

if TYPE_CHECKING:
    from mnemesh.api.client import Client


# Each check embeds the text: about 10 ms an item.
CHECKED_MAX: Final = 1000
BUSY_TRIES_MAX: Final = 20
BUSY_PAUSE_MIN_S: Final = 0.2
BUSY_PAUSE_MAX_S: Final = 5.0


@dataclass(slots=True)
class DryRun:
    """Judges items one after the other into `report`. `client` None: no node answers."""

    client: Client | None
    done: ImportState
    report: ImportReport
    texts: set[tuple[object, str]] = field(default_factory=set)

    def look(self, file: str, entry: ImportItem) -> None:
        """Put `entry` of `file` where the real run would."""
        if str(entry.fields["idempotency_key"]) in self.done:
            self.report.done_before += 1
            return
        try:
            judge(entry.fields)
            is_there = self._is_there(entry.fields)
        except MnemeshError as error:
            self.report.outcome(file, entry.line, error)
            return
        text = entry.fields.get("space"), normal_form(str(entry.fields["content"]))
        if is_there or text in self.texts:
            self.report.already_there += 1
        else:
            self.texts.add(text)
            self.report.would_store(file, entry)

    def _is_there(self, fields: Mapping[str, Any]) -> bool:
        """Whether the node has the text already. Raises what it refuses."""
        if self.client is None or self.report.checked == CHECKED_MAX:
            self.report.judged_here += 1
            return False
        described = {name: value for name, value in fields.items() if name != "content"}
        for _ in range(BUSY_TRIES_MAX):
            try:
                action = self.client.check(fields["content"], **described).action
            except Overloaded as error:
                time.sleep(min(BUSY_PAUSE_MAX_S, max(BUSY_PAUSE_MIN_S, error.retry_after_s)))
            except NotReachable:
                self.client = None
                return self._is_there(fields)
            except MnemeshError:
                self.report.checked += 1
                raise
            else:
                self.report.checked += 1
                return action == "NOOP"
        raise Overloaded("the node is too busy to check this item")


def judge(fields: Mapping[str, Any]) -> None:
    """The facts of an item that need no node. Raises InvalidArgument."""
    request = remember_request(fields)
    size = len(request.content.encode())
    if not request.content.strip():
        raise InvalidArgument("content", request.content, f"1 to {CONTENT_BYTES_MAX} bytes of text, not only blanks")
    if size > CONTENT_BYTES_MAX:
        raise InvalidArgument("content", f"{size} bytes", f"at most {CONTENT_BYTES_MAX} bytes of UTF-8")
    if request.HasField("importance") and not (math.isfinite(request.importance) and 0 <= request.importance <= 1):
        raise InvalidArgument("importance", request.importance, "a number from 0 to 1")


def normal_form(text: str) -> str:
    """Equal for two texts that are one to the node, as by mnemesh_memory.text.text.normalise, which no client has."""
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    starts = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    alike = (len(set(chars)) == 1 for chars in zip(*starts, strict=False))
    shared = sum(1 for _ in takewhile(bool, alike))
    folded: list[str] = []
    for line in lines:
        words = line.split()
        indentation = line[shared : len(line) - len(line.lstrip())] if words else ""
        if words or (folded and folded[-1]):
            folded.append(indentation + " ".join(words))
    return "\n".join(folded).rstrip("\n")


INDEX_WAIT_S: Final = 600.0
INDEX_POLL_S: Final = 0.2
SPACE_HELP: Final = "Space of all items; default: their own, else the project's."
FORMAT_HELP: Final = "Read as markdown, text, jsonl, json or zikkaron; default: by the name's ending."
STATE_HELP: Final = "Where to note what is done; default: data directory."


@dataclass(frozen=True, slots=True)
class Work:
    """An item on its way, and where it came from."""

    file: sources.SourceFile
    entry: ImportItem

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return str(self.entry.fields["idempotency_key"])

    @property
    def bytes(self) -> int:
        """Bytes of its text."""
        return len(str(self.entry.fields.get("content", "")).encode("utf-8", "replace"))


Batch = list[Work]


def import_files(
    shell: Shell,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, and directories with all below them, in this order.")
    ],
    space: Annotated[Text, typer.Option("--space", "-s", help=SPACE_HELP)] = None,
    kind: Annotated[Text, typer.Option("--kind", "-k", help="Kind of the items that name none.")] = None,
    tag: Annotated[Texts, typer.Option("--tag", help="A tag for all items. Repeatable.")] = None,
    format: Annotated[Text, typer.Option("--format", help=FORMAT_HELP)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be stored; store nothing.")] = False,
    state: Annotated[Path | None, typer.Option("--state", metavar="FILE", help=STATE_HELP)] = None,
    again: Annotated[bool, typer.Option("--again", help="Send also what an earlier import has stored.")] = False,
) -> None:
    """Store the contents of files: Markdown by heading, text by paragraphs, exports of this and other memories.

    Running it again goes on where it stopped and stores nothing twice. Exit status 4 when anything was refused.
    """
    listing = sources.find_all([Path(path) for path in paths], format or "")
    home = "" if space else default_project(local_data_dir(shell.data)).space
    defaults = Defaults(space=space or "", home=home, kind=kind or "", tags=tuple(tag or ()), trust="imported")
    report = ImportReport(listing, dry_run=dry_run)
    for name, reason in listing.unreadable:
        report.problem(name, Problem(line=0, message=f"can't be read: {reason}"))
    items = _read(listing, defaults, report)
    with (replace(shell, start=False) if dry_run else shell).client() as client:
        life, answers = "", True
        try:
            life = life_of(client)
        except NotReachable:
            if not dry_run:
                raise
            answers = False
        place = state or (local_data_dir(shell.data) / "imports" / f"{life}.keys" if life else None)
        done = ImportState(None if again else place)
        with Bar(sum(file.bytes for file in listing.files), shown=not shell.json) as bar:
            if dry_run:
                dry = DryRun(client if answers else None, done, report)
                for work in items:
                    dry.look(work.file.name, work.entry)
                    bar.advance(work.bytes)
            else:
                _Importer(client, done, report, bar).run(items)
    shell.answer(report.summary(), report.lines)
    if report.refused:
        raise typer.Exit(EXIT_REFUSED)


def _read(listing: sources.FoundFiles, defaults: Defaults, report: ImportReport) -> Iterator[Work]:
    """The items of all files, in order; problems go to the report."""
    now = datetime.now(UTC)
    for file in listing.files:
        for part in chain.from_iterable(without_future(part, now) for part in sources.parsed(file)):
            if isinstance(part, Problem):
                report.problem(file.name, part)
            else:
                yield Work(file, finish(part, file.name, defaults))


def life_of(client: Client) -> str:
    """Names the present life of the node's data, "" for a caller that may not know. Items stored in another life count
    for nothing. So without a name no state is kept: all is sent again, and nothing is stored twice."""
    try:
        status = client.status()
    except PermissionDenied:
        return ""
    return (status.ledger.incarnation if status.ledger else "") or status.node_id or "node"


@dataclass(slots=True)
class _Importer:
    """Sends items in batches, one after the other, because two at once would be stored in any order. The next batch is
    read meanwhile. An acknowledged item is noted at once, also when it is asked to stop."""

    client: Client
    done: ImportState
    report: ImportReport
    bar: Bar
    links: LinkMover = field(default_factory=LinkMover)
    under_way: tuple[Batch, Future[list[Outcome]]] | None = None

    def run(self, items: Iterable[Work]) -> None:
        """Store all items. Raises the error of a batch that failed as a whole. After a request to stop, notes the work
        under way and raises KeyboardInterrupt.
        """
        with CtrlC(self.client.close) as stop, ThreadPoolExecutor(1, "import") as sender:
            try:
                for batch in in_batches(self._fresh(items), lambda work: work.bytes):
                    self._finish()
                    if stop.asked:
                        break
                    self.under_way = (batch, sender.submit(_store, self.client, batch))
                self._finish()
                if not stop.asked:
                    self.links.move(self.client, self.done, self.report)
            except MnemeshError:
                with suppress(MnemeshError):  # the first failure is the one that is reported
                    self._finish()
                if not stop.asked:
                    text = f"stopped after {self.report.stored} stored items; the same command goes on from here"
                    print(f"mnemesh: {text}", file=sys.stderr, flush=True)
                    raise
            self.bar.say("indexing")
            self.report.indexed = not self.report.stored or _indexed(self.client, stop)
        if stop.asked:
            raise KeyboardInterrupt

    def _fresh(self, items: Iterable[Work]) -> Iterator[Work]:
        for work in items:
            if work.key in self.done:
                self.report.done_before += 1
                if id_ := self.done.id_of(work.key):
                    self.links.stored(work.file.name, work.entry, id_)
                self.bar.advance(work.bytes)
            else:
                yield work

    def _finish(self) -> None:
        if self.under_way is None:
            return
        (batch, future), self.under_way = self.under_way, None
        outcomes = future.result()
        stored: dict[str, str] = {}
        for work, outcome in zip(batch, outcomes, strict=True):
            self.report.outcome(work.file.name, work.entry.line, outcome)
            if not isinstance(outcome, MnemeshError):
                stored[work.key] = outcome.memory.id if work.entry.origin else ""
                self.links.stored(work.file.name, work.entry, outcome.memory.id)
        self.done.add(stored)
        self.bar.advance(sum(work.bytes for work in batch))


def _store(client: Client, batch: Batch) -> list[Outcome]:
    """Send a batch. A batch refused by a busy node is sent again after the requested pause."""
    outcomes: dict[int, Outcome] = {}
    waiting = list(range(len(batch)))
    for _ in range(BUSY_TRIES_MAX):
        try:
            items = [cast(Item, batch[i].entry.fields) for i in waiting]
            answers = client.remember_batch(items, wait="durable", judge_at_rest=True)
        except Overloaded as error:
            answers = (error,) * len(waiting)
        outcomes.update(zip(waiting, answers, strict=True))
        busy = [(i, answer) for i, answer in zip(waiting, answers, strict=True) if isinstance(answer, Overloaded)]
        if not busy:
            break
        waiting = [i for i, _ in busy]
        time.sleep(min(BUSY_PAUSE_MAX_S, max(BUSY_PAUSE_MIN_S, *(answer.retry_after_s for _, answer in busy))))
    return [outcomes[i] for i in range(len(batch))]


def _indexed(client: Client, stop: CtrlC) -> bool:
    """Wait, bounded, until the index has caught up; False when it has not, when the caller may not know, or when asked
    to stop."""
    deadline = time.monotonic() + INDEX_WAIT_S
    with suppress(PermissionDenied):
        while not stop.asked and any(index.lag for index in client.status().index):
            if time.monotonic() > deadline:
                return False
            time.sleep(INDEX_POLL_S)
        return not stop.asked
    return False


COMMANDS: Final = (("import", import_files),)
