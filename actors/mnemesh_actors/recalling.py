"""Recall: embed the query, one batched search, fuse, read the ledger's view, filter, cut to the budget.

The index gives ids and scores; whether a memory may be shown, and its text, come from the ledger, the last authority.
Reading changes no memory: accesses are noted outside the documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from mnemesh_actors.embedder import Vector
from mnemesh_actors.parts import Parts
from mnemesh_actors.shard import Candidate, Search
from mnemesh_memory import limits, validate
from mnemesh_memory.errors import DeadlineExceeded, Unavailable
from mnemesh_memory.fusion import Fused, coverage, fuse
from mnemesh_memory.heat import heat
from mnemesh_memory.model import Caller, Hit, ListQuery, Memory, Query, Recalled
from mnemesh_memory.text import estimate_tokens, snippet

CANDIDATES = 100
# Filters that only the ledger can judge take candidates away after the search, so more are asked for.
CANDIDATES_FILTERED = 400
SNIPPET_CHARS = 240
REDIRECTS_MAX = 10
# Read beyond the limit in one step: some candidates are redirected or filtered away.
READ_MARGIN = 6
BEST_FOR_COVERAGE = 3
LAG_TOLERATED_ENTRIES = 256


@dataclass(frozen=True, slots=True)
class _Found:
    """A memory that may be shown, with the candidate that led to it."""

    memory: Memory
    fused: Fused
    redirected_from: str = ""


class Recalling:
    """The operation recall."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def recall(self, caller: Caller, query: Query) -> Recalled:
        """Up to `limit` memories, best first. Raises InvalidArgument, DeadlineExceeded, Unavailable (semantic mode
        without an embedder)."""
        clean = validate.query(query, caller)
        limit_s = self._parts.config.recall_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await (self._search(clean) if clean.text.strip() else self._newest(clean))
        except TimeoutError:
            raise DeadlineExceeded(f"recall took longer than {limit_s:g} s; ask again or narrow the spaces") from None

    async def _newest(self, query: Query) -> Recalled:
        """Without words there is nothing to match: the newest memories that pass the filters, with relevance 0."""
        page = await self._parts.ledger.page(
            ListQuery(
                spaces=query.spaces,
                kinds=query.kinds,
                tags_any=query.tags_any,
                tags_all=query.tags_all,
                tags_none=query.tags_none,
                since=query.since,
                before=query.before,
                agent=query.agent,
                session=query.session,
                limit=limits.LIST_LIMIT_MAX,
            )
        )
        found = [_Found(memory, Fused(memory.id, 0.0, {})) for memory in page.memories]
        return await self._answer(query, await self._keep(query, found), 0.0, ())

    async def _search(self, query: Query) -> Recalled:
        degraded = self._behind()
        vector: Vector | None = None
        if query.mode != "keyword":
            try:
                vector = await self._parts.embedder.embed_one(query.text)
            except Unavailable as error:
                if query.mode == "semantic":
                    raise
                degraded = (*degraded, f"embedder: {error.message}; matched by words only")
        candidates = await self._candidates(_search_of(query, vector))
        kept, best = await self._pick(query, fuse(candidates, self._weights(query)))
        covered = coverage(query.text, [(item.fused, item.memory.content) for item in best])
        return await self._answer(query, kept, covered, degraded)

    async def _pick(self, query: Query, fused: Sequence[Fused]) -> tuple[list[_Found], list[_Found]]:
        """Enough memories to show, in the order asked for, and the best matches before any filter.

        Rows are read a step at a time, because most of the candidates are never shown; another order needs all."""
        by_relevance = query.sort == "relevance"
        step = query.limit + READ_MARGIN if by_relevance else max(1, len(fused))
        matched = {item.id for item in fused}
        shown: set[str] = set()
        kept: list[_Found] = []
        best: list[_Found] = []
        for start in range(0, len(fused), step):
            part = fused[start : start + step]
            memories = await self._view(query, [item.id for item in part])
            pairs = [(item, memories[item.id]) for item in part if item.id in memories]
            found = await self._redirected(query, pairs, matched, shown)
            best = best or found[:BEST_FOR_COVERAGE]
            kept += await self._keep(query, found)
            if by_relevance and len(kept) >= query.limit:
                break
        return kept, best

    async def _candidates(self, search: Search) -> list[Candidate]:
        found: list[Candidate] = await self._parts.follower.read(lambda shard: shard.search(search))
        return found

    def _behind(self) -> tuple[str, ...]:
        follower = self._parts.follower
        if follower.fault:
            return (f"index: {follower.fault}; {follower.lag} entries are not searchable yet",)
        if follower.lag > LAG_TOLERATED_ENTRIES:
            return (f"index: {follower.lag} entries are not searchable yet",)
        return ()

    def _weights(self, query: Query) -> Mapping[str, float]:
        weights = {**self._parts.config.weights, **query.weights}
        if query.mode == "semantic":
            return {"dense": 1.0, "bm25": 0.0}
        if query.mode == "keyword":
            return {"dense": 0.0, "bm25": 1.0}
        return weights

    async def _view(self, query: Query, ids: Sequence[str]) -> dict[str, Memory]:
        if query.as_of is not None:
            then: dict[str, Memory] = await self._parts.ledger.read_as_of(ids, query.as_of)
            return then
        now: dict[str, Memory] = await self._parts.ledger.read(ids)
        return now

    async def _redirected(
        self, query: Query, pairs: Sequence[tuple[Fused, Memory]], matched: set[str], shown: set[str]
    ) -> list[_Found]:
        """A superseded memory gives way to its successor, unless the past was asked for. `matched` are the ids of all
        candidates, `shown` those that stand in the answer already."""
        if query.include_superseded or query.as_of is not None:
            return [_Found(memory, fused) for fused, memory in pairs]
        found: list[_Found] = []
        for fused, memory in pairs:
            origin = ""
            for _ in range(REDIRECTS_MAX):
                if memory.state != "superseded":
                    break
                origin = origin or memory.id
                successor = (await self._parts.ledger.read([memory.superseded_by])).get(memory.superseded_by)
                if successor is None:
                    break
                memory = successor
            # The successor keeps its own place when it matched by itself.
            own_place = origin and memory.id in matched
            if memory.state == "active" and memory.id not in shown and not own_place:
                shown.add(memory.id)
                found.append(_Found(memory, fused, origin))
        return found

    async def _keep(self, query: Query, found: Sequence[_Found]) -> list[_Found]:
        """What passes the filters that the index cannot judge, in the order asked for."""
        kept = [item for item in found if _allowed(query, item)]
        if query.min_heat > 0 and kept:
            now = self._parts.clock()
            used = await self._parts.ledger.activity([item.memory.id for item in kept])
            kept = [item for item in kept if _heat(item.memory, used, now) >= query.min_heat]
        if query.sort == "recency":
            kept.sort(key=lambda item: (-item.memory.updated_at, item.memory.id))
        elif query.sort == "importance":
            kept.sort(key=lambda item: (-(item.memory.importance or 0.0), -item.fused.score, item.memory.id))
        return kept

    async def _answer(
        self, query: Query, found: Sequence[_Found], covered: float, degraded: tuple[str, ...]
    ) -> Recalled:
        hits: list[Hit] = []
        tokens = left_out = 0
        for item in found[: query.limit]:
            passage = snippet(item.memory.content, query.text, SNIPPET_CHARS)
            cost = estimate_tokens(passage if query.snippets_only else item.memory.content)
            if query.token_budget is not None and tokens + cost > query.token_budget:
                left_out += 1
                continue
            tokens += cost
            memory = replace(item.memory, content="") if query.snippets_only else item.memory
            signals = item.fused.signals if query.explain else {}
            hits.append(
                Hit(
                    memory=memory,
                    score=item.fused.score,
                    signals=signals,
                    snippet=passage,
                    redirected_from=item.redirected_from,
                )
            )
        if hits:
            await self._parts.ledger.touch([hit.memory.id for hit in hits], self._parts.clock())
        return Recalled(
            results=tuple(hits),
            coverage=covered,
            abstain=covered < self._parts.config.abstain_below,
            tokens_used=tokens,
            truncated_by_budget=left_out,
            degraded=degraded,
            spaces=query.spaces,
        )


def _search_of(query: Query, vector: Vector | None) -> Search:
    filtered = bool(query.paths or query.source_dir or query.min_heat or query.as_of or query.sort != "relevance")
    before = query.before
    if query.as_of is not None:
        before = query.as_of + 1 if before is None else min(before, query.as_of + 1)
    past = query.as_of is not None
    return Search(
        text=query.text,
        vector=vector,
        spaces=query.spaces,
        kinds=() if past else query.kinds,
        tags_any=() if past else query.tags_any,
        tags_all=() if past else query.tags_all,
        tags_none=() if past else query.tags_none,
        since=query.since,
        before=before,
        agent=query.agent,
        session=query.session,
        include_superseded=True,
        include_archive=query.include_archive or past,
        include_forgotten=past,
        limit=max(query.limit, CANDIDATES_FILTERED if filtered else CANDIDATES),
        bm25=query.mode != "semantic",
        dense=vector is not None,
    )


def _allowed(query: Query, item: _Found) -> bool:
    memory = item.memory
    if item.fused.score < query.min_score:
        return False
    if memory.space not in query.spaces:
        return False
    if memory.state == "forgotten" or (memory.state == "superseded" and not query.include_superseded):
        return False
    if memory.tier == "archive" and not query.include_archive:
        return False
    if query.paths and not any(_path_matches(path, wanted) for path in memory.paths for wanted in query.paths):
        return False
    if query.source_dir and not _below(memory.source.dir, query.source_dir):
        return False
    # The index holds today's words; of the past, the revision of that time decides.
    return query.as_of is None or _words_match(query, memory)


def _words_match(query: Query, memory: Memory) -> bool:
    tags = set(memory.tags)
    return (
        (not query.kinds or memory.kind in query.kinds)
        and (not query.tags_any or bool(tags & set(query.tags_any)))
        and tags >= set(query.tags_all)
        and not tags & set(query.tags_none)
    )


def _path_matches(path: str, wanted: str) -> bool:
    """A memory's path or glob and an asked path or glob concern each other."""
    return path == wanted or fnmatchcase(wanted, path) or fnmatchcase(path, wanted) or _below(path, wanted)


def _below(path: str, folder: str) -> bool:
    stem = folder.rstrip("/")
    return path == stem or path.startswith(stem + "/")


def _heat(memory: Memory, used: Mapping[str, tuple[int, int]], now: int) -> float:
    accesses, last = used.get(memory.id, (0, memory.updated_at))
    return heat(memory.kind, memory.tier, memory.importance, max(last, memory.updated_at), accesses, now)
