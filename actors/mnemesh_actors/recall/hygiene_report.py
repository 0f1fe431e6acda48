"""Reports for a person who tidies up: near-duplicates, and what is idle, orphaned, contradicted or superseded.

Read-only, and asking is no use of what is shown. The newest HYGIENE_MEMORIES_MAX memories of the spaces are looked at,
one report at a time, and the answer says how many were not.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mnemesh_actors.embedding.embedder import mean_vector
from mnemesh_actors.files.project_files import GIT_S, FileState
from mnemesh_actors.memory_lookup import find_one, hidden, newest_pages
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access import grants
from mnemesh_memory.policy import file_references, hygiene
from mnemesh_memory.policy.hygiene import Duplicates, Finding, Pair, Report, Tidy, tidy
from mnemesh_memory.policy.precedence import undecided
from mnemesh_memory.ranking.answers import left_out
from mnemesh_memory.text.text import duplicate_key, title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.validation.filters import states_rule
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import WRITABLE_LINK_TYPES
from mnemesh_memory.values.memory_links import CONTRADICTS, MAY_REPLACE
from mnemesh_memory.values.model import Caller, ListQuery, Memory, Page

PAGE: Final = 200
REFERENCES_A_PAGE: Final = 3_200  # To files: every one of every memory.


@dataclass(frozen=True, slots=True)
class _Compared:
    """The active memories of a search for duplicates, newest first: `keys` are (space, key of the text)."""

    ids: list[str]
    keys: list[tuple[str, str]]
    vectors: list[np.ndarray | None]
    total: int
    degraded: tuple[str, ...]


class Hygiene:
    """The two reports of one node."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts
        self._turn = asyncio.Lock()  # one comparison at a time: it takes a core

    async def duplicates(
        self,
        caller: Caller,
        spaces: Sequence[str] = (),
        threshold: float = hygiene.THRESHOLD,
        limit: int = hygiene.LIMIT,
    ) -> Duplicates:
        """Pairs of active memories of one space from a cosine of `threshold` on, of `spaces` or of all that the caller
        may read. Raises InvalidArgument, PermissionDenied."""
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        if not limits.DUPLICATE_MIN <= threshold <= 1.0:
            raise InvalidArgument("threshold", threshold, f"a number from {limits.DUPLICATE_MIN} to 1")
        named = request_checks.within_of(spaces, caller)
        async with self._turn:
            return await self._duplicates(named, threshold, limit)

    async def hygiene(
        self,
        caller: Caller,
        spaces: Sequence[str] = (),
        stale_days: int = hygiene.STALE_DAYS,
        limit: int = hygiene.LIMIT,
    ) -> Report:
        """Findings of each type, of `spaces` or of all that the caller may read. Raises InvalidArgument,
        PermissionDenied."""
        field_checks.whole("stale_days", stale_days, 1, limits.STALE_DAYS_MAX)
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        named = request_checks.within_of(spaces, caller)
        async with self._turn:
            return await self._report(caller, named, stale_days, limit)

    async def _duplicates(self, named: Sequence[str], threshold: float, limit: int) -> Duplicates:
        compared = await self._compared(named)
        near, total = await asyncio.to_thread(_similar, compared, threshold, limit)
        ids = [compared.ids[row] for one, other, _ in near for row in (one, other)]
        shown = await self._tidied(await self._read(ids))
        similar = [
            (shown[compared.ids[one]], shown[compared.ids[other]], cosine)
            for one, other, cosine in near
            if compared.ids[one] in shown and compared.ids[other] in shown  # as they are now
        ]
        pairs = await asyncio.to_thread(_judged, similar)
        return Duplicates(
            pairs=pairs, total=total, examined=len(compared.ids), unexamined=compared.total - len(compared.ids),
            degraded=compared.degraded,
        )  # fmt: skip

    async def _compared(self, named: Sequence[str]) -> _Compared:
        ids: list[str] = []
        keys: list[tuple[str, str]] = []
        vectors: list[np.ndarray | None] = []
        degraded: tuple[str, ...] = ()
        total = 0
        with self._parts.serving.current.held() as index_generation:
            async for page in self._pages(named, "active"):
                total, degraded = page.total, left_out(page.lost)
                stored = await index_generation.embedder.stored_of(self._parts.ledger, page.memories)
                ids += [memory.id for memory in page.memories]
                keys += [(memory.space, duplicate_key(memory.content)) for memory in page.memories]
                vectors += [mean_vector(stored[memory.id]) for memory in page.memories]
        if absent := sum(vector is None for vector in vectors):
            degraded = (*degraded, f"index: {absent} texts are not embedded yet and were compared word for word")
        return _Compared(ids, keys, vectors, total, degraded)

    async def _report(self, caller: Caller, named: Sequence[str], stale_days: int, limit: int) -> Report:
        by_type: dict[str, list[Finding]] = {type_: [] for type_ in hygiene.TYPES}
        superseded: list[Tidy] = []
        examined = total = 0
        degraded: tuple[str, ...] = ()
        contradicting: set[frozenset[str]] = set()
        async for page in self._pages(named, "all"):
            examined, total, degraded = examined + len(page.memories), page.total, left_out(page.lost)
            items = (await self._tidied(page.memories, states=("active", "superseded"))).values()
            active = [item for item in items if item.memory.state == "active"]
            superseded += [item for item in items if item.memory.state == "superseded"]
            by_type[hygiene.IDLE] += hygiene.idle(active, stale_days)
            marked = await self._parts.files.marked([item.memory for item in active], REFERENCES_A_PAGE, GIT_S)
            by_type[hygiene.STALE] += [
                hygiene.stale(replace(item, memory=memory))
                for item, memory in zip(active, marked, strict=True)
                if memory.stale
            ]
            await self._look_at_links(caller, active, by_type, contradicting)
        by_type[hygiene.IDLE].sort(key=lambda finding: (finding.subject.heat.value, finding.subject.memory.id))
        by_type[hygiene.SUPERSEDED] = await self._chains(caller, superseded)
        pairs = await self._duplicates(named, hygiene.THRESHOLD, limit)
        by_type[hygiene.DUPLICATE] = [hygiene.duplicate(pair) for pair in pairs.pairs]
        counts = Counter({type_: len(findings) for type_, findings in by_type.items()})
        counts[hygiene.DUPLICATE] = pairs.total
        return Report(
            findings=tuple(finding for type_ in hygiene.TYPES for finding in by_type[type_][:limit]),
            counts=counts,
            examined=examined,
            unexamined=total - examined,
            degraded=tuple(dict.fromkeys((*degraded, *pairs.degraded))),
        )

    async def _look_at_links(
        self, caller: Caller, active: Sequence[Tidy], by_type: dict[str, list[Finding]], seen: set[frozenset[str]]
    ) -> None:
        """Add the findings about the links of `active`; `seen` has the contradictions that are told already."""
        targets = {link.id for item in active for link in item.memory.links if link.type in WRITABLE_LINK_TYPES}
        ends = {memory.id: memory for memory in await self._read(list(targets))}
        unseen = await hidden(self._parts, caller, targets)
        lost = set(await self._parts.ledger.lost([id_ for id_ in targets if id_ not in ends], grants.readable(caller)))
        current = await self._tidied(ends.values())
        for item in active:
            for link in item.memory.links:
                if link.type not in WRITABLE_LINK_TYPES or link.id in unseen or link.id in lost:
                    continue
                end = ends.get(link.id)
                if end is None or end.state == "forgotten":
                    if link.type == MAY_REPLACE:
                        continue  # the question has settled itself
                    state = "missing" if end is None else end.state
                    by_type[hygiene.ORPHANED].append(hygiene.orphaned(item, link.type, link.id, state))
                elif link.type == CONTRADICTS and link.id in current and {item.memory.id, link.id} not in seen:
                    seen.add(frozenset((item.memory.id, link.id)))
                    if undecided(item.memory, current[link.id].memory):
                        by_type[hygiene.CONTRADICTION].append(hygiene.contradiction(item, current[link.id]))

    async def _chains(self, caller: Caller, superseded: Sequence[Tidy]) -> list[Finding]:
        ends: dict[str, Memory] = {}
        for start in range(0, len(superseded), PAGE):
            ids = [item.memory.id for item in superseded[start : start + PAGE]]
            ends |= await self._parts.ledger.successors(ids)
        following = {item.memory.superseded_by for item in superseded} - {""}
        unseen = await hidden(self._parts, caller, following)
        veiled = [
            item.memory.id
            for item in superseded
            if item.memory.superseded_by in unseen
            or (item.memory.id in ends and not grants.may_read(caller, ends[item.memory.id].space))
        ]
        current = await self._tidied({end.id: end for end in ends.values()}.values())
        return hygiene.chains(superseded, ends, veiled, current)

    def _pages(self, named: Sequence[str], state: str) -> AsyncIterator[Page]:
        query = ListQuery(within=tuple(named), spaces=(), state=state, limit=PAGE)
        return newest_pages(self._parts, query, limits.HYGIENE_MEMORIES_MAX)

    async def _read(self, ids: Sequence[str]) -> list[Memory]:
        """The memories of `ids` that are there."""
        memories: list[Memory] = []
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), PAGE):
            memories += (await self._parts.ledger.read(wanted[start : start + PAGE])).values()
        return memories

    async def _tidied(self, memories: Iterable[Memory], states: Sequence[str] = ("active",)) -> dict[str, Tidy]:
        """The memories in one of `states` with their heat, by id."""
        kept = [memory for memory in memories if memory.state in states and not states_rule(memory)]
        now, half_lives = self._parts.clock(), self._parts.config.half_lives
        used: dict[str, tuple[int, int]] = {}
        for start in range(0, len(kept), PAGE):
            ids = [memory.id for memory in kept[start : start + PAGE]]
            used |= await self._parts.ledger.activity(ids)
        return {memory.id: tidy(memory, used, now, half_lives) for memory in kept}


def _similar(compared: _Compared, threshold: float, limit: int) -> tuple[list[tuple[int, int, float]], int]:
    """The most similar pairs of rows, and the count of all. Equal words are similar whatever their titles are."""
    rows = [row for row, vector in enumerate(compared.vectors) if vector is not None]
    near: list[tuple[int, int, float]] = []
    total = 0
    dense = [vector for vector in compared.vectors if vector is not None]
    if dense:
        spaces = {name: number for number, name in enumerate(sorted({space for space, _ in compared.keys}))}
        groups = np.array([spaces[compared.keys[row][0]] for row in rows], np.int64)
        best, total = hygiene.near_pairs(np.stack(dense), groups, threshold, limit)
        near = [(rows[one], rows[other], cosine) for one, other, cosine in best]
    first: dict[tuple[str, str], int] = {}
    equal = {(first[key], row) for row, key in enumerate(compared.keys) if first.setdefault(key, row) != row}
    for one, other in equal:
        some, others = compared.vectors[one], compared.vectors[other]
        total += some is None or others is None or float(some @ others) < threshold - hygiene.COSINE_SLACK
    merged = {(one, other): cosine for one, other, cosine in near} | dict.fromkeys(equal, 1.0)
    pairs = sorted(((one, other, cosine) for (one, other), cosine in merged.items()), key=lambda p: (-p[2], p[0], p[1]))
    return pairs[:limit], total


def _judged(similar: Sequence[tuple[Tidy, Tidy, float]]) -> tuple[Pair, ...]:
    return tuple(hygiene.judged(one, other, cosine) for one, other, cosine in similar)


# ---- validate: the files that memories name, compared with what they were --------------------------------------------

LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """A memory and the files that it names."""

    id: str
    title: str
    space: str
    references: tuple[FileState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A page of memories that name files. `roots` are the folders of their projects here, for the owner alone."""

    memories: tuple[Validated, ...]
    examined: int
    cursor: str
    roots: tuple[str, ...]


class Validating:
    """The operation of one node."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts

    async def validate(
        self, caller: Caller, key: str = "", spaces: Sequence[str] = (), limit: int = LIMIT, cursor: str = ""
    ) -> Validation:
        """The files that one memory names, or those of a page of spaces. Raises NotFound, InvalidArgument,
        PermissionDenied."""
        field_checks.whole("limit", limit, 1, limits.LIST_LIMIT_MAX)
        await self._parts.files.learn(caller)
        if key and (spaces or cursor):
            raise InvalidArgument("id", key, "an id or spaces, not both")
        if key:
            return await self._of(caller, (await find_one(self._parts, caller, key),), "")
        asked = request_checks.list_query(ListQuery(spaces=tuple(spaces), limit=limit, cursor=cursor), caller)
        page = await self._parts.ledger.page(asked)
        return await self._of(caller, page.memories, page.cursor)

    async def _of(self, caller: Caller, memories: Sequence[Memory], cursor: str) -> Validation:
        naming = [memory for memory in memories if file_references.recorded(memory.attrs)]
        states = await self._parts.files.states(naming)
        places = dict.fromkeys(root for memory in naming for root in self._parts.files.roots.of(memory.space))
        return Validation(
            memories=tuple(
                Validated(
                    id=memory.id, title=memory.title or title_of(memory.content), space=memory.space, references=files
                )
                for memory, files in zip(naming, states, strict=True)
            ),
            examined=len(memories),
            cursor=cursor,
            roots=tuple(places) if caller.role == grants.OWNER else (),
        )
