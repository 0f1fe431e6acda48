"""The watcher of files: knows at any time which memories name a file that has changed.

Nothing depends on the watcher but the count in `status`, because each answer compares files when memories are shown. A
folder with such files is watched without its subfolders. So the size of a project's tree does not matter.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final, Self

import structlog

from mnemesh_actors.files.project_files import GIT_S, ProjectFiles
from mnemesh_actors.ports import LedgerRead
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Memory
from mnemesh_memory.values.model_status import FileWatchStatus

# Folders watched on a machine. Linux gives a user some 8,000 watches at least, and other programs want theirs.
FOLDERS_MAX: Final = 4_096
# Files of one batch that are looked up one by one. After more, such as a checkout, all memories are looked at.
PATHS_MAX: Final = 2_000
STALE_MAX: Final = 10_000
PAGE: Final = 200
REFERENCES_A_PAGE: Final = 3_200
# Between a write that names a file and the watch on its folder, at most, and between two looks at all folders.
PLAN_AFTER_S: Final = 5.0
PLAN_EVERY_S: Final = 600.0
CANCEL_AGAIN_S: Final = 2.0
STEP_MS: Final = 500
OFF, IDLE, WATCHING, LAZY = "off", "nothing to watch", "watching", "compared when shown"
Batches = AsyncGenerator[set[str], None]
log = structlog.get_logger("mnemesh.files")


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """The folders to watch. A change of one of the `ways`, the folders on a path to a file, asks for another plan."""

    folders: frozenset[str] = frozenset()
    ways: frozenset[str] = frozenset()
    roots: tuple[tuple[str, str], ...] = ()  # (space, folder of its project)
    notes: tuple[str, ...] = field(default=(), compare=False)


class FileWatch:
    """One task. `on` is the setting."""

    def __init__(self, ledger: Handle[LedgerRead], files: ProjectFiles, *, on: bool) -> None:
        self._ledger = ledger
        self._files = files
        self._on = on
        self._plan = WatchPlan()
        self._fault = ""
        self._stale: dict[str, int] = {}  # By id, the number of the last entry when the memory was judged.
        self._rewritten: set[str] = set()  # Stale ones that have changed since, to be judged again.
        self._task: asyncio.Task[None] | None = None

    def start(self) -> Self:
        """Begin to watch."""
        if self._on:
            self._task = asyncio.create_task(self._run(), name="file-watch")
        return self

    async def close(self) -> None:
        """No more watching."""
        if self._task is None:
            return
        # asyncio.wait_for loses a cancellation that comes together with its answer (Python 3.11).
        while not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=CANCEL_AGAIN_S)
        # The end of a node goes on, whatever the watcher died of.
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            log.error("file_watch_failed", reason=str(error))

    async def status(self) -> FileWatchStatus:
        """Watched folders and stale memories, without a look at any file. A stale memory that has changed itself counts
        again when the watcher has judged it."""
        if self._task is None:
            return FileWatchStatus(state=OFF)
        if judged := dict(self._stale):
            last = await self._ledger.last_entries(list(judged))
            for id_, seq in judged.items():
                if last.get(id_) != seq and self._stale.get(id_) == seq:
                    del self._stale[id_]
                    if id_ in last:
                        self._rewritten.add(id_)
                        self._files.named.set()
        state = LAZY if self._fault else WATCHING if self._plan.folders else IDLE
        notes = (*self._plan.notes, *((self._fault,) if self._fault else ()))
        return FileWatchStatus(
            state=state, folders=0 if self._fault else len(self._plan.folders), stale=len(self._stale), notes=notes
        )

    async def _run(self) -> None:
        while True:
            self._files.named.clear()
            try:
                self._plan = await self._planned()
                self._fault = ""
                await self._follow(self._plan)
            # The task group in watchfiles puts its errors into a group.
            except* MnemeshError as errors:  # the ledger goes on another day, or this is the end of the node
                self._fault = str(_first(errors))
            # A limit of the system, such as fs.inotify.max_user_watches, a file system that tells nothing, or a name
            # that is no UTF-8.
            except* (OSError, RuntimeError) as errors:
                self._fault = f"the system does not watch these folders: {_first(errors)}"
                log.warning("files_not_watched", folders=len(self._plan.folders), reason=self._fault)
            if self._fault:
                await self._named_or(PLAN_EVERY_S)

    async def _follow(self, plan: WatchPlan) -> None:
        """Judge the memories of changed files until another plan is due."""
        self._rewritten.clear()  # all are judged now
        if not plan.folders:
            return await self._named_or(PLAN_EVERY_S)
        due = asyncio.get_running_loop().time() + PLAN_EVERY_S
        async with aclosing(_batches(plan.folders)) as batches:
            first = asyncio.ensure_future(anext(batches))  # watching, before all is looked at: no change falls between
            await asyncio.sleep(0)
            try:
                await self._judge_all(plan)
                paths = await first
            finally:
                await cancelled(first)
            while True:
                if len(paths) > PATHS_MAX or not plan.ways.isdisjoint(paths):
                    return None
                await self._take(plan, paths)
                await self._judge_rewritten()
                if self._files.named.is_set():
                    self._files.named.clear()
                    if await self._planned() != plan:
                        return None
                if asyncio.get_running_loop().time() > due:
                    return None
                paths = await anext(batches)

    async def _named_or(self, limit_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._files.named.wait()

    async def _planned(self) -> WatchPlan:
        named: list[tuple[str, str, list[str]]] = []
        for space, roots in self._files.roots.items():
            folders = await self._ledger.file_folders(space, FOLDERS_MAX + 1)
            named += [(space, root, folders) for root in roots if folders]
        return await asyncio.to_thread(_plan_of, named) if named else WatchPlan()

    async def _judge_all(self, plan: WatchPlan) -> None:
        for space in dict.fromkeys(space for space, _ in plan.roots):
            last = ""
            while ids := await self._ledger.all_naming(space, last, PAGE):
                last = ids[-1]
                await self._judge(ids)

    async def _take(self, plan: WatchPlan, paths: Iterable[str]) -> None:
        for space, root in plan.roots:
            below = [path[len(root) + 1 :] for path in paths if path.startswith(root + os.sep)]
            if below:
                ids = await self._ledger.naming(space, [path.replace(os.sep, "/") for path in below])
                for start in range(0, len(ids), PAGE):
                    await self._judge(ids[start : start + PAGE])

    async def _judge_rewritten(self) -> None:
        ids = list(self._rewritten)
        self._rewritten.clear()
        for start in range(0, len(ids), PAGE):
            await self._judge(ids[start : start + PAGE])

    async def _judge(self, ids: list[str]) -> None:
        """Compare the files of these memories, and note the stale ones."""
        last = await self._ledger.last_entries(ids)  # before the memories: a change between the two is judged again
        memories = await self._ledger.read(ids)
        active: list[Memory] = [memory for memory in memories.values() if memory.state == "active"]
        marked = {memory.id for memory in await self._files.marked(active, REFERENCES_A_PAGE, GIT_S) if memory.stale}
        for id_ in ids:
            if id_ not in marked or id_ not in last:
                self._stale.pop(id_, None)
            elif id_ in self._stale or len(self._stale) < STALE_MAX:
                self._stale[id_] = last[id_]


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    """The first error of a group of groups."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error


async def _batches(folders: frozenset[str]) -> Batches:
    """The paths that change in these folders, a set every few seconds, empty without a change."""
    from watchfiles import awatch  # a node without projects loads none

    wait_ms = int(PLAN_AFTER_S * 1_000)
    changes = awatch(
        *sorted(folders), recursive=False, watch_filter=None, step=STEP_MS, rust_timeout=wait_ms, yield_on_timeout=True,
        ignore_permission_denied=True,
    )  # fmt: skip
    async for batch in changes:
        yield {path for _, path in batch}


def _plan_of(named: Iterable[tuple[str, str, list[str]]]) -> WatchPlan:
    """A folder that is not there is awaited in the next one above, up to the root."""
    watched: dict[str, None] = {}
    ways: set[str] = set()
    absent: dict[str, None] = {}
    roots = []
    left = 0
    for space, root, folders in named:
        if not os.path.isdir(root):
            absent[root] = None
            continue
        roots.append((space, root))
        for folder in folders:
            place = os.path.join(root, folder) if folder else root
            while len(place) > len(root):
                ways.add(place)
                if os.path.isdir(place):
                    break
                place = os.path.dirname(place)
            if place in watched or len(watched) < FOLDERS_MAX:
                watched[place] = None
            else:
                left += 1
    notes = [f"{root} is not there, so its files are not checked here" for root in absent]
    if left:
        notes.append(
            f"{left} folders are not watched, because {FOLDERS_MAX} are at most; memories that name files there are "
            "compared when shown"
        )
    return WatchPlan(frozenset(watched), frozenset(ways), tuple(roots), tuple(notes))
