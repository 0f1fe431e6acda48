"""The command `vault`: a folder of Markdown that follows the node, and whose edits become revisions.

The folder holds one file for each memory, as `export --format markdown` writes it. A watch with a cursor tells of
changes, so a later run goes on where this one ended. A file that can't be taken moves to `.quarantine` with the reason
beside it. Nothing outside the folder is written, no link is followed, and a deleted file comes back.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mnemesh.cli.imports.memories import life_of
from mnemesh.cli.options import Spaces
from mnemesh.cli.shell import Shell, one_line
from mnemesh.errors import InvalidArgument, MnemeshError, NotFound, why
from mnemesh.importing.export import markdown_path, markdown_text
from mnemesh.importing.vault_notes import BadNote, changes, mirrored, new_note
from mnemesh.transport.connection import default_project, local_data_dir

if TYPE_CHECKING:
    from mnemesh.api.client import Client
    from mnemesh.api.values.memories import Memory
    from mnemesh.api.values.watch import Change
    from mnemesh.api.watch import Watch

    Told = queue.Queue[Change | MnemeshError | None]

STATE: Final = ".mnemesh-vault.json"
QUARANTINE: Final = ".quarantine"
FORM: Final = 1
POLL_S: Final = 1.0
WAITING_MAX: Final = 10_000  # changes that were told and not yet written
FILES_MAX: Final = 100_000
FILE_BYTES_MAX: Final = 1024 * 1024


def vault(
    shell: Shell,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; made when there is none.")],
    space: Spaces = None,
    once: Annotated[bool, typer.Option("--once", help="Bring both sides together once, then end.")] = False,
) -> None:
    """Mirror the memories of the project's space, or of --space, as Markdown files, and take edits of these files
    back, until Ctrl-C."""
    with shell.client() as client:
        spaces = tuple(space or (default_project(local_data_dir(shell.data)).space or client.whoami().private_space,))
        mirror = Vault(client, folder, spaces)
        mirror.begin()
        with mirror.watch() as watch:
            mirror.fill(watch.cursor)
            shell.answer(mirror.counts, lambda: [mirror.summary()])
            if not once:
                mirror.follow(watch)


@dataclass
class Vault:
    """One folder. `files` maps a path below the folder to the id of its memory and the hash of the written text."""

    client: Client
    folder: Path
    spaces: tuple[str, ...]
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    looked_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    cursor: str = ""
    life: str = ""
    counts: dict[str, int] = field(
        default_factory=lambda: {"written": 0, "removed": 0, "updated": 0, "added": 0, "quarantined": 0}
    )

    def begin(self) -> None:
        """Read the state. Raises InvalidArgument for a folder of something else."""
        self.folder = self.folder.absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = (self.folder / STATE).read_text("utf-8") if (self.folder / STATE).exists() else ""
            empty = not any(self.folder.iterdir())
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgument("DIR", str(self.folder), f"a folder that can be written ({why(error)})") from error
        if not text and not empty:
            raise InvalidArgument("DIR", str(self.folder), "an empty folder, or one that this command has filled")
        self.life = life_of(self.client)
        if text:
            try:
                state = json.loads(text)
                known = {str(path): (str(id_), str(digest)) for path, (id_, digest) in state["files"].items()}
                known_life = bool(self.life) and state["life"] == self.life
                held = list(map(str, state["spaces"]))
                same = state["form"] == FORM and known_life and held == list(self.spaces)
                cursor = str(state["cursor"])
            except (ValueError, KeyError, TypeError) as error:
                allowed = f"a state that this command wrote; delete {STATE} and the files to begin anew"
                raise InvalidArgument("DIR", str(self.folder), allowed) from error
            if known and not set(held) <= set(self.spaces):
                allowed = f"{', '.join(held)}, which {self.folder} mirrors; another folder for another space"
                raise InvalidArgument("space", ", ".join(self.spaces), allowed)
            self.files = known
            self.cursor = cursor if same else ""

    def watch(self) -> Watch:
        """The changes from the cursor on; without one from now on."""
        return self.client.watch(space=list(self.spaces), cursor=self.cursor)

    def fill(self, cursor: str) -> None:
        """Take edits, then make every file what its memory is. The changes after `cursor` are still to come."""
        self.take_edits()
        present: set[str] = set()
        for memory in self.client.export(space=list(self.spaces)):
            present.add(memory.id)
            self.write(memory)
        for path, (id_, _) in list(self.files.items()):
            if id_ not in present:
                self.remove(path)
        self.cursor = self.cursor or cursor
        self.save()

    def follow(self, watch: Watch) -> None:
        """Carry changes over both ways until the watch is closed. Raises its error."""
        queued: Told = queue.Queue(WAITING_MAX)
        threading.Thread(target=_listen, args=(watch, queued), name="vault-watch", daemon=True).start()
        while True:
            changed: dict[str, str] = {}
            for change in _waiting(queued):
                if change is None:
                    return
                if isinstance(change, MnemeshError):
                    raise change
                changed[change.id] = change.cursor
                self.cursor = change.cursor
            before = dict(self.counts)
            self.take_edits()
            for id_ in changed:
                self.renew(id_)
            if changed or self.counts != before:
                self.save()

    def renew(self, id_: str) -> None:
        """Make the file of one memory what the memory is now."""
        try:
            memory = self.client.get(id_, include_forgotten=True)
        except NotFound:
            memory = None
        if memory is not None and memory.state == "active":
            self.write(memory)
        else:
            for path in [path for path, (other, _) in self.files.items() if other == id_]:
                self.remove(path)

    def take_edits(self) -> None:
        """Take every file that somebody changed or added since it was written."""
        for path, rel in self._notes():
            try:
                stat = path.lstat()
                marks = stat.st_mtime_ns, stat.st_size
                if self.looked_at.get(rel) == marks:
                    continue
                data = path.read_bytes() if stat.st_size <= FILE_BYTES_MAX else b""
                self.looked_at[rel] = marks
                if rel in self.files and _digest(data) == self.files[rel][1]:
                    continue
                if not data:
                    raise BadNote(f"is empty or larger than {FILE_BYTES_MAX} bytes")
                self._take(rel, data.decode("utf-8"))
            except FileNotFoundError:
                continue  # an editor replaces its file in two steps
            except (BadNote, UnicodeDecodeError) as error:
                self.quarantine(path, rel, str(error))
            except MnemeshError as error:
                if not error.refused:
                    raise
                self.quarantine(path, rel, error.message)

    def _take(self, rel: str, text: str) -> None:
        note = mirrored(text, rel)
        if note is None:
            remembered = self.client.remember(**new_note(text, rel))
            self.counts["added"] += 1
            self.files.pop(rel, None)
            if str(markdown_path(remembered.memory)) != rel:
                (self.folder / rel).unlink(missing_ok=True)
            self.write(remembered.memory)
            return
        memory = self.client.get(note.id)
        changed = changes(note, memory)
        if changed:
            memory = self.client.update(note.id, **changed, expected_heads=list(memory.heads)).memory
            self.counts["updated"] += 1
        self.files[rel] = (memory.id, _digest(text.encode()))
        self.write(memory)

    def quarantine(self, path: Path, rel: str, reason: str) -> None:
        """Move a file that can't be taken aside, with the reason beside it, and write its memory anew."""
        aside = self.folder / QUARANTINE / f"{_digest(rel.encode())[:8]} {path.name}"
        aside.parent.mkdir(exist_ok=True)
        os.replace(path, aside)
        aside.with_name(aside.name + ".reason.txt").write_text(f"{rel}: {reason}\n", "utf-8")
        self.counts["quarantined"] += 1
        print(f"mnemesh: {one_line(rel)} moved to {QUARANTINE}: {one_line(reason)}", file=sys.stderr)
        known = self.files.pop(rel, None)
        if known is not None:
            self.renew(known[0])

    def write(self, memory: Memory) -> None:
        """The file of a memory, at the place of its title; a file at the former place goes."""
        rel = str(markdown_path(memory))
        data = markdown_text(memory).encode()
        for path in [path for path, (id_, _) in self.files.items() if id_ == memory.id and path != rel]:
            self.remove(path)
        target = self.folder / rel
        digest = _digest(data)
        if self.files.get(rel) == (memory.id, digest) and target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
        stat = target.lstat()
        self.files[rel], self.looked_at[rel] = (memory.id, digest), (stat.st_mtime_ns, stat.st_size)
        self.counts["written"] += 1

    def remove(self, rel: str) -> None:
        """Take away the file of a memory that is gone."""
        (self.folder / rel).unlink(missing_ok=True)
        self.files.pop(rel, None)
        self.looked_at.pop(rel, None)
        self.counts["removed"] += 1

    def save(self) -> None:
        """Note what was written."""
        state: dict[str, Any] = {
            "form": FORM, "life": self.life, "spaces": list(self.spaces), "cursor": self.cursor, "files": self.files,
        }  # fmt: skip
        _replace(self.folder / STATE, json.dumps(state, ensure_ascii=False).encode())

    def summary(self) -> str:
        """The counts, for people."""
        said = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{one_line(str(self.folder))}: {len(self.files)} files; {said}"

    def _notes(self) -> Iterator[tuple[Path, str]]:
        """The Markdown files of the folder, without hidden ones and links. Raises InvalidArgument for too many."""
        count = 0
        for top, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(top, name)
                if name.startswith(".") or path.suffix.lower() != ".md" or path.is_symlink():
                    continue
                count += 1
                if count > FILES_MAX:
                    raise InvalidArgument("DIR", str(self.folder), f"a folder of at most {FILES_MAX} Markdown files")
                yield path, path.relative_to(self.folder).as_posix()


def _listen(watch: Watch, queued: Told) -> None:
    try:
        for change in watch:
            queued.put(change)
    except MnemeshError as error:
        queued.put(error)
    queued.put(None)


def _waiting(queued: Told) -> Iterator[Change | MnemeshError | None]:
    """The changes told within the next second, and all that wait then. None: there is no more."""
    try:
        yield queued.get(timeout=POLL_S)
        while True:
            yield queued.get_nowait()
    except queue.Empty:
        return


def _replace(path: Path, data: bytes) -> None:
    """A file that appears whole or not at all."""
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


COMMANDS: Final = (("vault", vault),)
