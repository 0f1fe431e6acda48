"""Files that memories name: recorded at a write, compared when a memory is shown.

Everything is bounded and asks the disk in a thread. A disk that does not answer in time marks nothing.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

from mnemesh_actors.files.file_states import GONE as ABSENT
from mnemesh_actors.files.file_states import FileStates
from mnemesh_actors.files.project_roots import ProjectRoots
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
        found = await self._found(draft.space, f"{draft.title}\n{draft.content}", draft.paths)
        attrs = file_references.recording(draft.attrs, found)
        return draft if attrs == draft.attrs else replace(draft, attrs=attrs)

    async def renewed(self, patch: Patch, memory: Memory) -> Patch:
        """A checked patch with the references of the text as it will be, when a text, path or attribute changes."""
        if patch.content is None and patch.title is None and patch.paths is None and patch.attrs is None:
            return patch
        text = f"{memory.title if patch.title is None else patch.title}\n"
        text += memory.content if patch.content is None else patch.content
        stated = memory.attrs if patch.attrs is None else patch.attrs
        if patch.content is None and patch.paths is None and patch.title is None:
            found: Sequence[Reference] = file_references.recorded(memory.attrs)  # the statement is as old as before
        else:
            found = await self._found(memory.space, text, memory.paths if patch.paths is None else patch.paths)
        attrs = file_references.recording(stated, found)
        return patch if attrs == stated else replace(patch, attrs=attrs)

    async def _found(self, space: str, text: str, paths: Sequence[str]) -> list[Reference]:
        roots = self.roots.of(space)
        named = file_references.candidates(text, paths) if roots else ()
        return await self._in_time(lambda: self._look(roots, named), []) if named else []

    def _look(self, roots: Sequence[str], named: Sequence[str]) -> list[Reference]:
        found: dict[str, str] = {}
        for path in named:
            for root in roots:
                place = _relative(root, path)
                digest = self._states.hash_of(root, place) if place else None
                if digest:
                    found.setdefault(place, digest)
                    break
            if len(found) == REFERENCES_MAX:
                break
        return [Reference(path, digest) for path, digest in found.items()]

    # ---- reading ----------------------------------------------------------------------------------------------

    async def marked(self, memories: Sequence[Memory], most: int = COMPARED_MAX, git_s: float = DISK_S) -> list[Memory]:
        """The memories, each with what it says of files that are no longer as they were. At most `most` references are
        compared. Git has `git_s` for the new names of files that are gone."""
        asked: list[Named] = []
        for place, memory in enumerate(memories):
            if memory.attrs and self.roots.of(memory.space):
                asked += [(place, memory.space, one) for one in file_references.recorded(memory.attrs)]
        if not asked:
            return list(memories)
        unknown: list[tuple[Named, FileState]] = []
        found = await self._in_time(lambda: self._compared(asked[:most]), unknown)
        if any(state.state == GONE for _, state in found):
            found = await self._in_time(lambda: self._renamed(found), found, git_s)
        stale: dict[int, list[str]] = {}
        for (place, _, _), state in found:
            stale.setdefault(place, []).append(file_references.told(*state))
        return [
            replace(memory, stale=tuple(stale[place])) if place in stale else memory
            for place, memory in enumerate(memories)
        ]

    def _compared(self, asked: Sequence[Named]) -> list[tuple[Named, FileState]]:
        states = ((named, FileState(named[2].path, self.state(named[1], named[2]))) for named in asked)
        return [(named, state) for named, state in states if state.state in (CHANGED, GONE)]

    def _renamed(self, found: Sequence[tuple[Named, FileState]]) -> list[tuple[Named, FileState]]:
        listed: dict[str, dict[str, str]] = {}
        return [
            (named, self._told(named[1], named[2], listed) if state.state == GONE else state) for named, state in found
        ]

    def state(self, space: str, one: Reference) -> str:
        """How a reference stands. Of several folders of a project the one that agrees counts."""
        found = {self._judged(root, one) for root in self.roots.of(space) if os.path.isdir(root)}
        return next((state for state in (SAME, CHANGED, GONE) if state in found), UNCHECKED)

    def _judged(self, root: str, one: Reference) -> str:
        digest = self._states.hash_of(root, one.path)
        if digest is None:
            return UNCHECKED
        return GONE if digest == ABSENT else SAME if digest == one.hash else CHANGED

    async def states(self, memories: Sequence[Memory]) -> list[tuple[FileState, ...]]:
        """The state of every reference of each memory, with the new names that git has for files that are gone."""

        def judged() -> list[tuple[FileState, ...]]:
            listed: dict[str, dict[str, str]] = {}
            return [
                tuple(self._told(memory.space, one, listed) for one in file_references.recorded(memory.attrs))
                for memory in memories
            ]

        unread = [
            tuple(FileState(one.path, UNCHECKED) for one in file_references.recorded(memory.attrs))
            for memory in memories
        ]
        return await self._in_time(judged, unread, GIT_S * 2)

    def _told(self, space: str, one: Reference, listed: dict[str, dict[str, str]]) -> FileState:
        state = self.state(space, one)
        if state == GONE:
            for root in self.roots.of(space):
                if root not in listed:
                    listed[root] = _by_hash(root)
                renamed = listed[root].get(one.hash, "")
                if renamed and self._states.hash_of(root, renamed) == one.hash:
                    return FileState(one.path, RENAMED, renamed)
        return FileState(one.path, state)

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
    found: dict[str, str] = {}
    for entry in done.stdout[:INDEX_BYTES_MAX].decode("utf-8", "replace").split("\0"):
        told, _, path = entry.partition("\t")
        fields = told.split(" ")
        if len(fields) == 3 and path:
            found.setdefault(fields[1], path)
    return found
