"""Files that memories name: recorded at a write, compared when a memory is shown.

Everything is bounded and asks the disk in a thread. A disk that does not answer in time marks nothing. The hash of a
file below a root, as git gives it to the content. A file is read again only when its stat changed.

The guard of paths: a symbolic link that leads out of the root, a device and a pipe are never opened. The folders of a
space's project on this machine, as the owner's own clients name them with their calls.

One project may have several: work trees, clones. The latest come first. `roots.json` in the data directory keeps them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
import subprocess
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, TypeAlias, TypeVar

import structlog

from mnemesh_memory.access import grants
from mnemesh_memory.policy import file_references
from mnemesh_memory.policy.file_references import CHANGED, GONE, REFERENCES_MAX, RENAMED, SAME, UNCHECKED, Reference
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch

# References compared for one answer. Those of later results stand unmarked.
COMPARED_MAX: Final = 200
DISK_S: Final = 1.0
GIT_S: Final = 5.0
INDEX_BYTES_MAX: Final = 64 * 1024 * 1024
Answer = TypeVar("Answer")


# The place of a memory among others, its space, and a file that it names.
Named: TypeAlias = tuple[int, str, Reference]


class FileState(NamedTuple):
    """A reference as it stands: one of file_references.STATES, and the path that git has for the same content."""

    path: str
    state: str
    renamed_to: str = ""


class ProjectFiles:
    """The projects of a node. `home` is its data directory."""

    def __init__(self, home: Path | None = None) -> None:
        self.roots = ProjectRoots(home)
        self._states = FileStates()
        self.named = asyncio.Event()  # A memory names a file, or a project another folder: for the watcher.

    async def learn(self, caller: Caller) -> None:
        """Take note of the folder that a call comes from."""
        if self.roots.teaches(caller):
            await asyncio.to_thread(self.roots.learn, caller.default_space, caller.root)
            self.named.set()

    def wrote(self, memories: Iterable[Memory]) -> None:
        """Memories were stored. The watcher hears of it when they name files."""
        if any(file_references.recorded(memory.attrs) for memory in memories):
            self.named.set()

    # ---- writing ----------------------------------------------------------------------------------------------

    async def referenced(self, caller: Caller, draft: Draft) -> Draft:
        """A checked draft with the references that it makes. Those that an owner brings, of an export, stay."""
        brought = file_references.recorded(draft.attrs) if caller.role == grants.OWNER else ()
        if brought:
            return draft
        references = await self._named(draft.space, f"{draft.title}\n{draft.content}", draft.paths)
        attrs = file_references.recording(draft.attrs, references)
        return draft if attrs == draft.attrs else replace(draft, attrs=attrs)

    async def renewed(self, patch: Patch, memory: Memory) -> Patch:
        """A checked patch with the references of the text as it will be, when a text, path or attribute changes."""
        if patch.content is None and patch.title is None and patch.paths is None and patch.attrs is None:
            return patch
        text = f"{memory.title if patch.title is None else patch.title}\n"
        text += memory.content if patch.content is None else patch.content
        stated = memory.attrs if patch.attrs is None else patch.attrs
        if patch.content is None and patch.paths is None and patch.title is None:
            references: Sequence[Reference] = file_references.recorded(memory.attrs)  # the statement stays as old
        else:
            references = await self._named(memory.space, text, memory.paths if patch.paths is None else patch.paths)
        attrs = file_references.recording(stated, references)
        return patch if attrs == stated else replace(patch, attrs=attrs)

    async def _named(self, space: str, text: str, paths: Sequence[str]) -> list[Reference]:
        roots = self.roots.of(space)
        named = file_references.candidates(text, paths) if roots else ()
        return await self._in_time(lambda: self._look(roots, named), []) if named else []

    def _look(self, roots: Sequence[str], named: Sequence[str]) -> list[Reference]:
        hashes: dict[str, str] = {}
        for path in named:
            for root in roots:
                place = _relative(root, path)
                digest = self._states.hash_of(root, place) if place else None
                if digest:
                    hashes.setdefault(place, digest)
                    break
            if len(hashes) == REFERENCES_MAX:
                break
        return [Reference(path, digest) for path, digest in hashes.items()]

    # ---- reading ----------------------------------------------------------------------------------------------

    async def marked(self, memories: Sequence[Memory], most: int = COMPARED_MAX, git_s: float = DISK_S) -> list[Memory]:
        """The memories, each with what it says of files that are no longer as they were. At most `most` references are
        compared. Git has `git_s` for the new names of files that are gone."""
        asked: list[Named] = []
        for place, memory in enumerate(memories):
            if memory.attrs and self.roots.of(memory.space):
                asked += [(place, memory.space, reference) for reference in file_references.recorded(memory.attrs)]
        if not asked:
            return list(memories)
        unknown: list[tuple[Named, FileState]] = []
        states = await self._in_time(lambda: self._compared(asked[:most]), unknown)
        if any(state.state == GONE for _, state in states):
            states = await self._in_time(lambda: self._renamed(states), states, git_s)
        stale: dict[int, list[str]] = {}
        for (place, _, _), state in states:
            stale.setdefault(place, []).append(file_references.stale_reason(*state))
        return [
            replace(memory, stale=tuple(stale[place])) if place in stale else memory
            for place, memory in enumerate(memories)
        ]

    def _compared(self, asked: Sequence[Named]) -> list[tuple[Named, FileState]]:
        states = ((named, FileState(named[2].path, self.state(named[1], named[2]))) for named in asked)
        return [(named, state) for named, state in states if state.state in (CHANGED, GONE)]

    def _renamed(self, states: Sequence[tuple[Named, FileState]]) -> list[tuple[Named, FileState]]:
        listed: dict[str, dict[str, str]] = {}
        return [
            (named, self._trace(named[1], named[2], listed) if state.state == GONE else state)
            for named, state in states
        ]

    def state(self, space: str, reference: Reference) -> str:
        """How a reference stands. Of several folders of a project the one that agrees counts."""
        states = {self._judged(root, reference) for root in self.roots.of(space) if os.path.isdir(root)}
        return next((state for state in (SAME, CHANGED, GONE) if state in states), UNCHECKED)

    def _judged(self, root: str, reference: Reference) -> str:
        digest = self._states.hash_of(root, reference.path)
        if digest is None:
            return UNCHECKED
        return GONE if digest == ABSENT else SAME if digest == reference.hash else CHANGED

    async def states(self, memories: Sequence[Memory]) -> list[tuple[FileState, ...]]:
        """The state of every reference of each memory, with the new names that git has for files that are gone."""

        def judged() -> list[tuple[FileState, ...]]:
            listed: dict[str, dict[str, str]] = {}
            return [
                tuple(self._trace(memory.space, ref, listed) for ref in file_references.recorded(memory.attrs))
                for memory in memories
            ]

        unread = [
            tuple(FileState(reference.path, UNCHECKED) for reference in file_references.recorded(memory.attrs))
            for memory in memories
        ]
        return await self._in_time(judged, unread, GIT_S * 2)

    def _trace(self, space: str, reference: Reference, listed: dict[str, dict[str, str]]) -> FileState:
        state = self.state(space, reference)
        if state == GONE:
            for root in self.roots.of(space):
                if root not in listed:
                    listed[root] = _by_hash(root)
                renamed = listed[root].get(reference.hash, "")
                if renamed and self._states.hash_of(root, renamed) == reference.hash:
                    return FileState(reference.path, RENAMED, renamed)
        return FileState(reference.path, state)

    async def _in_time(self, work: Callable[[], Answer], otherwise: Answer, limit_s: float = DISK_S) -> Answer:
        try:
            return await asyncio.wait_for(asyncio.to_thread(work), limit_s)
        except TimeoutError:
            return otherwise


def _relative(root: str, path: str) -> str:
    """A path below a root; "" for one that is not there."""
    if os.path.isabs(path):
        if not path.startswith(root + os.sep):
            return ""
        path = path[len(root) + 1 :]
    return file_references.below(path)


def _by_hash(root: str) -> dict[str, str]:
    """The tracked files of a work tree by the hash of their content, as git has it. Git runs no program of its own
    here: a file monitor is switched off."""
    command = ["git", "-C", root, "-c", "core.fsmonitor=false", "ls-files", "-s", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_S, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return {}
    paths: dict[str, str] = {}
    for entry in done.stdout[:INDEX_BYTES_MAX].decode("utf-8", "replace").split("\0"):
        details, _, path = entry.partition("\t")
        fields = details.split(" ")
        if len(fields) == 3 and path:
            paths.setdefault(fields[1], path)
    return paths


FILE_BYTES_MAX: Final = 4 * 1024 * 1024
CACHED_MAX: Final = 20_000
ABSENT: Final = ""
_Stat = tuple[int, int, int, int]


class FileStates:
    """The files that were looked at, by their real paths."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[_Stat, str]] = OrderedDict()
        self._lock = Lock()

    def hash_of(self, root: str, path: str) -> str | None:
        """The hash of the file, ABSENT when there is none, None when it can't be judged: outside of the root, no plain
        file, too large, not to be read."""
        base = os.path.realpath(root)
        real = os.path.realpath(os.path.join(base, path))
        if os.path.commonpath((base, real)) != base or real == base:
            return None
        try:
            status = os.stat(real, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
            return None
        mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        with self._lock:
            known = self._known.get(real)
            if known is not None and known[0] == mark:
                self._known.move_to_end(real)
                return known[1]
        return self._read(real, mark)

    def _read(self, real: str, mark: _Stat) -> str | None:
        try:
            with open(os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
        except OSError:
            return None
        if len(content) > FILE_BYTES_MAX:
            return None
        digest = blob_hash(content)
        with self._lock:
            self._known[real] = (mark, digest)
            while len(self._known) > CACHED_MAX:
                self._known.popitem(last=False)
        return digest


def blob_hash(content: bytes) -> str:
    """The name of this content as a git blob. It names content and proves nothing, so SHA-1 does."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


FILE: Final = "roots.json"
ROOTS_MAX: Final = 8  # Of one space.
SPACES_MAX: Final = 1_000
ROOT_CHARS_MAX: Final = 1_024
# A folder without one of these is no project.
MARKS: Final = (".git", ".mnemesh.toml")
log = structlog.get_logger("mnemesh.files")


class ProjectRoots:
    """The book of one node. Without a directory nothing outlives the process."""

    def __init__(self, home: Path | None = None) -> None:
        self._file = home / FILE if home else None
        self._roots = self._read()

    def of(self, space: str) -> tuple[str, ...]:
        """The folders of a space, the latest first."""
        return self._roots.get(space, ())

    def items(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every space with its folders."""
        return list(self._roots.items())

    def teaches(self, caller: Caller) -> bool:
        """Whether a call names a folder that is not known as the latest. Only the node's owner names folders."""
        return bool(
            caller.root
            and caller.default_space
            and caller.role == grants.OWNER
            and self.of(caller.default_space)[:1] != (caller.root,)
        )

    def learn(self, space: str, root: str) -> None:
        """Note a folder of a space, if there is such a project."""
        if not os.path.isabs(root) or len(root) > ROOT_CHARS_MAX or os.path.normpath(root) != root:
            return
        if not any(os.path.exists(os.path.join(root, mark)) for mark in MARKS):
            return
        known = self._roots.pop(space, ())
        self._roots[space] = (root, *(folder for folder in known if folder != root))[:ROOTS_MAX]
        while len(self._roots) > SPACES_MAX:
            del self._roots[next(iter(self._roots))]
        self._write()

    def _read(self) -> dict[str, tuple[str, ...]]:
        if self._file is None:
            return {}
        try:
            value = json.loads(self._file.read_text("utf-8"))
            return {str(space): tuple(map(str, roots)) for space, roots in value.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError) as error:  # the clients name them again
            log.warning("roots_not_read", file=str(self._file), reason=str(error))
            return {}

    def _write(self) -> None:
        if self._file is None:
            return
        temporary = self._file.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(self._roots, indent=1), "utf-8")
            os.replace(temporary, self._file)
        except OSError as error:
            log.warning("roots_not_kept", file=str(self._file), reason=str(error))
