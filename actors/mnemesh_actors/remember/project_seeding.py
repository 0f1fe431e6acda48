"""The operation seed_project: a project's folder is read, and each topic gets one memory, or its next version.

The node's disk is read, so the operation is the owner's alone. Texts go through the write guard like any other text. A
memory that somebody has edited, forgotten or replaced stays as it is. A memory that a run itself forgot comes back with
its files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from mnemesh_actors.files import project_reading
from mnemesh_actors.files.project_files import ROOT_CHARS_MAX
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.seeding import seeds
from mnemesh_memory.seeding.seeds import ADD, GONE, REFUSED, SAME, TAG, UPDATE, Seed, SeedOutcome
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError
from mnemesh_memory.values.kinds import STATES
from mnemesh_memory.values.model import Caller, ListQuery, Memory

READING_S: Final = 20.0
SEEDS_MAX: Final = 200  # Memories of earlier runs that are looked at, of each state.


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """The outcome for each topic, the folder and space, and how many files were read."""

    seeds: tuple[SeedOutcome, ...]
    dir: str
    space: str
    files_read: int
    dry_run: bool


class ProjectSeeding:
    """`writing` stores the memories."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing

    async def seed_project(self, caller: Caller, folder: str = "", *, space: str = "", dry_run: bool = False) -> Seeded:
        """Seed the project in `folder`, by default the one that the call comes from. Raises InvalidArgument for no
        project, PermissionDenied, DeadlineExceeded."""
        place = _place(folder or caller.root)
        where, part = self._belongs(caller, place, space)
        try:
            async with asyncio.timeout(READING_S):
                project = await asyncio.to_thread(project_reading.snapshot, place)
        except TimeoutError:
            raise DeadlineExceeded(f"{place} could not be read within {READING_S:g} s; ask again") from None
        wanted = list(seeds.seeds(project, part))
        before = seeds.known(await self._earlier(caller, where), part)
        if not dry_run and not part:
            await asyncio.to_thread(self._parts.files.roots.learn, where, place)
        done = [
            await self._outcome(caller, action, seed, memory, where, place, dry_run)
            for action, seed, memory in seeds.planned(wanted, before, project.unread)
        ]
        return Seeded(seeds=tuple(done), dir=place, space=where, files_read=len(project.texts), dry_run=dry_run)

    def _belongs(self, caller: Caller, place: str, space: str) -> tuple[str, str]:
        """The space of a folder, and its path below the root of the project."""
        here = [os.path.realpath(caller.root)] if caller.root else []
        if not space and _part(place, here) is None:
            known = (name for name, roots in self._parts.files.roots.items() if place in map(os.path.realpath, roots))
            space = next(known, "")
            if not space:
                raise InvalidArgument(
                    "space", "nothing", f"the space of {place}: `mnemesh space` says it", missing=True
                )
        where = request_checks.write_space(space, caller)
        return where, _part(place, (*here, *map(os.path.realpath, self._parts.files.roots.of(where)))) or ""

    async def _earlier(self, caller: Caller, space: str) -> list[Memory]:
        memories: list[Memory] = []
        for state in STATES:
            asked = ListQuery(spaces=(space,), tags_any=(TAG,), state=state, limit=SEEDS_MAX)
            memories += (await self._parts.ledger.page(request_checks.list_query(asked, caller))).memories
        return memories

    async def _outcome(
        self,
        caller: Caller,
        action: str,
        seed: Seed | None,
        memory: Memory | None,
        space: str,
        folder: str,
        dry_run: bool,
    ) -> SeedOutcome:
        known = memory.id if memory else ""
        if seed is None:
            assert memory is not None  # There is no topic without one of both.
            outcome = SeedOutcome(
                topic=memory.attrs[seeds.TOPIC_ATTR],
                action=action,
                id=known,
                title=memory.title,
                content=memory.content,
            )
        else:
            outcome = SeedOutcome(
                topic=seed.topic, action=action, id=known, title=seed.title, content=seed.content, files=seed.files,
                suspicious=seed.suspicious,
            )  # fmt: skip
        if dry_run:
            return outcome
        try:
            if action == ADD and seed is not None:
                done = await self._writing.remember(caller, seed.draft(space, folder))
                stored = SAME if done.action == "NOOP" else ADD
                return replace(outcome, action=stored, id=done.memory.id, reason=done.reason)
            if action == UPDATE and seed is not None and memory is not None:
                if memory.state == "forgotten":
                    await self._writing.restore(caller, known)
                await self._writing.update(caller, known, seed.patch(memory))
            elif action == GONE and memory is not None:
                await self._writing.update(caller, known, seeds.gone(memory))
                await self._writing.forget(caller, known)
        except MnemeshError as error:
            return replace(outcome, action=REFUSED, reason=error.message)
        return outcome


def _part(place: str, roots: Iterable[str]) -> str | None:
    """The path of a folder below the first root that holds it, "" for the root itself, None for another place."""
    holding = next((root for root in roots if os.path.commonpath((root, place)) == root), None)
    return None if holding is None else "" if place == holding else os.path.relpath(place, holding)


def _place(folder: str) -> str:
    """The real path of a folder that holds a project. Raises InvalidArgument."""
    if not folder:
        raise InvalidArgument("dir", "nothing", "the folder of a project, as an absolute path", missing=True)
    if not os.path.isabs(folder) or "\0" in folder or len(folder) > ROOT_CHARS_MAX:
        raise InvalidArgument("dir", folder[:200], f"an absolute path of at most {ROOT_CHARS_MAX} characters")
    place = os.path.realpath(folder)
    if not project_reading.is_project(place):
        raise InvalidArgument("dir", folder, "a folder with a repository, a manifest or a Makefile")
    return place
