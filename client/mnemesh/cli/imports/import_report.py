"""The result of an import: counted and listed while it runs, shown as a bar, summed up at the end. Stores nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from mnemesh.api.batch import Outcome
from mnemesh.cli.imports.sources import FoundFiles
from mnemesh.cli.people.memories import clip
from mnemesh.cli.shell import count_of, one_line
from mnemesh.errors import MnemeshError
from mnemesh.importing.items import ImportItem, Problem

if TYPE_CHECKING:
    from rich.progress import Progress

SHOWN_MAX: Final = 50
SNIPPET_CHARS: Final = 80


@dataclass(slots=True)
class ImportReport:
    """The counts of one import. `stored` items are new, `spaces` are theirs, `already_there` were in the node,
    `done_before` an earlier run of the import had stored. `refused` and `notices` say where and why. `listed` is what a
    dry run would store, `checked` of whose items the node judged and `judged_here` this program."""

    found: FoundFiles
    dry_run: bool = False
    spaces: set[str] = field(default_factory=set)
    stored: int = 0
    already_there: int = 0
    done_before: int = 0
    indexed: bool = False
    checked: int = 0
    judged_here: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    notices: list[dict[str, Any]] = field(default_factory=list)
    listed: list[dict[str, Any]] = field(default_factory=list)

    def problem(self, file: str, problem: Problem) -> None:
        """Something in a file was not taken."""
        place = {"file": file, "line": problem.line, "message": problem.message}
        (self.refused if problem.refused else self.notices).append(place)

    def outcome(self, file: str, line: int, outcome: Outcome) -> None:
        """The node answered."""
        if isinstance(outcome, MnemeshError):
            self.refused.append({"file": file, "line": line, "message": outcome.message, "code": outcome.code})
        elif outcome.replayed or outcome.action == "NOOP":
            self.already_there += 1
            if outcome.restorable:
                said = f"was forgotten; bring it back with: mnemesh restore {outcome.memory.id}"
                self.notices.append({"file": file, "line": line, "message": said})
        else:
            self.stored += 1
            self.spaces.add(outcome.memory.space)

    def would_store(self, file: str, entry: ImportItem) -> None:
        """An item of a dry run."""
        content = str(entry.fields.get("content", ""))
        shown = {name: entry.fields[name] for name in ("title", "kind", "space", "tags") if name in entry.fields}
        size = len(content.encode("utf-8", "replace"))
        snippet = " ".join(content[: 4 * SNIPPET_CHARS].split())[:SNIPPET_CHARS]
        self.listed.append({"file": file, "line": entry.line, "bytes": size, "snippet": snippet, **shown})

    def summary(self) -> dict[str, Any]:
        """What --json prints."""
        body: dict[str, Any] = {
            "dry_run": self.dry_run,
            "files": len(self.found.files),
            "skipped": dict(self.found.skipped),
            "refused": self.refused,
            "notices": self.notices,
        }
        if self.dry_run:
            body |= {"items": self.listed, "checked_by_node": self.checked, "judged_here": self.judged_here}
        else:
            body |= {"stored": self.stored, "indexed": self.indexed, "spaces": sorted(self.spaces)}
        return {**body, "already_there": self.already_there, "done_before": self.done_before}

    def lines(self) -> Iterator[str]:
        """What people read."""
        for item in self.listed:
            title = clip(one_line(str(item.get("title") or item["snippet"])))
            yield f"{one_line(item['file'])}:{item['line']}  {item['bytes']} bytes  {title}"
        yield from places_told("notice", self.notices)
        # The node's refusals come after those of the file's own form.
        yield from places_told("refused", sorted(self.refused, key=lambda place: (place["file"], place["line"])))
        skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(self.found.skipped.items()))
        files = count_of(len(self.found.files), "file") + (f" (skipped: {skipped})" if skipped else "")
        where = ", ".join(map(one_line, sorted(self.spaces)))
        stored = f"{self.stored} stored" + (f" in {where}" if where else "")
        done = f"would store {count_of(len(self.listed), 'item')}" if self.dry_run else stored
        yield (
            f"{files}: {done}, {self.already_there} were there already, "
            f"{self.done_before} done by an earlier run, {len(self.refused)} refused"
        )
        if self.dry_run and self.judged_here:
            who = f"the node judged the first {self.checked} only" if self.checked else "no node answers"
            yield f"{who}; of {count_of(self.judged_here, 'item')} just types, times and sizes were looked at"
        if self.stored:
            yield "the node compares them with what it knows at rest; `mnemesh status` shows how far contradictions are"
        if self.stored and not self.indexed:
            yield "the index is still catching up; everything stored is safe and will be found soon"


def places_told(word: str, places: list[dict[str, Any]]) -> Iterator[str]:
    """The first places in files, with what is to be said of each."""
    for place in places[:SHOWN_MAX]:
        where = f"{one_line(place['file'])}:{place['line']}" if place["line"] else one_line(place["file"])
        yield f"{word}  {where}  {one_line(place['message'])}"
    if len(places) > SHOWN_MAX:
        yield f"{word}  and {len(places) - SHOWN_MAX} more; --json lists all"


class Bar:
    """A progress bar on standard error, over bytes of text unless told otherwise, when that is a terminal; otherwise
    nothing."""

    def __init__(self, total: int, *, shown: bool, what: str = "importing") -> None:
        self._progress: Progress | None = None
        self._left = total
        if shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), "{task.percentage:>3.0f}%", TimeRemainingColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(what, total=total)

    def advance(self, count: int) -> None:
        """`count` more bytes are done; never beyond the total, as items are estimated by their texts."""
        step = min(count, self._left)
        self._left -= step
        if self._progress is not None:
            self._progress.advance(self._task, step)

    def say(self, text: str) -> None:
        """The current step, with the bar full."""
        if self._progress is not None:
            self._progress.update(self._task, description=text, advance=self._left)
        self._left = 0

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
