"""Recall: embed the query, one batched search, fuse, read the ledger's view, filter, cut to the budget.

The index gives ids and scores; whether a memory may be shown, and its text, come from the ledger, the last authority.
Reading changes no memory: accesses are noted outside the documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from math import ceil
from typing import NamedTuple

import structlog

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.index.shard import Search
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.past.worded_then import as_worded
from mnemesh_actors.recall.empty_answer import empty_by_filters, empty_by_match, kept_back
from mnemesh_actors.recall.picking import BEST_FOR_COVERAGE, Picking
from mnemesh_actors.recall.plan import plan_of, steps
from mnemesh_actors.recall.query_plan import (
    CANDIDATES_JUDGED_LATE,
    CANDIDATES_SORTED,
    for_the_ledger,
    listing_of,
    search_of,
)
from mnemesh_actors.recall.refinement import optional_weights, second_look
from mnemesh_actors.recall.results import SNIPPET_CHARS, Found, given, lying_in, ordered, stretch_missed
from mnemesh_actors.recall.searching import LATE, SEARCHES_A_CALL_MAX, Searching, look_ahead
from mnemesh_actors.recall.time_answer import answer_of
from mnemesh_actors.recall.words import scored
from mnemesh_actors.remember.link_operations import Linking
from mnemesh_actors.runtime.zones import zone_named
from mnemesh_memory.policy.emptiness import left_out
from mnemesh_memory.policy.recall_rules import narrowed
from mnemesh_memory.ranking.answers import Hit, Recalled
from mnemesh_memory.ranking.candidates import Candidates, fuse
from mnemesh_memory.ranking.explanation import Explainer
from mnemesh_memory.ranking.fusion import SIGNALS, Candidate, Fused, coverage, scaled_weights
from mnemesh_memory.text.text import marks, snippet
from mnemesh_memory.text.traits import happened_at, question_of
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError, Unavailable, count_of
from mnemesh_memory.values.model import Caller, Query

# Superseded memories on the way to their successors, when many match and a search of their own is needed.
CANDIDATES_SUPERSEDED = 30
# Ids that pass a filter of the ledger are handed to the index, up to so many memories.
IDS_MAX = 5000
# Without words memories are read in order of time, up to so many pages.
PAGES_MAX = 25
# The share of a recall's time that the model may take before words alone are matched.
EMBEDDING_SHARE = 0.5
# The share by whose end the index must have answered; then the words of the newest memories are counted here. No row of
# the past is read after the other share.
INDEX_SHARE = 0.8
ATTACHING_SHARE = 0.9
WORDS_MEMORIES_MAX = 1000
TOKENS_UNBOUNDED = 2**31
LAG_TOLERATED_ENTRIES = 256
# Uses on their way to a slow ledger; beyond, a use is not noted, because it is only a hint.
NOTING_MAX = 256
log = structlog.get_logger("mnemesh.recall")


class Ends(NamedTuple):
    """The latest times, on the clock of the event loop, for an answer of the index and for a row of the past."""

    search: float
    rows: float


class Recalling:
    """The operation recall. `linking` adds what belongs with each result."""

    def __init__(self, parts: NodePorts, linking: Linking) -> None:
        self._parts = parts
        self._linking = linking
        self._searching = Searching(parts.config.recall_timeout_s)
        self._noting: set[asyncio.Task[None]] = set()

    async def recall(self, caller: Caller, query: Query, patience: float = 1.0) -> Recalled:
        """Up to `limit` memories, best first; it may take `patience` times as long as usual. Raises InvalidArgument,
        DeadlineExceeded, Unavailable (semantic mode without an embedder)."""
        clean = narrowed(request_checks.query(query, caller), self._parts.config.rules)
        scaled_weights(self._weights(clean))
        optional_weights(self._parts, clean)
        limit_s = self._parts.config.recall_timeout_s * patience
        try:
            async with asyncio.timeout(limit_s):
                zone = zone_named("time_zone", query.time_zone) if query.time_zone else self._parts.config.zone
                start = asyncio.get_running_loop().time()
                ends = Ends(start + limit_s * INDEX_SHARE, start + limit_s * ATTACHING_SHARE)
                answer = await self._planned(clean, zone, ends)
                if not answer.results:
                    own = request_checks.query(query, caller)
                    return replace(answer, notes=await self._reasons(own, answer, zone, ends))
                answer = await self._linking.attached(caller, clean, answer, ends.rows)
        except TimeoutError:
            raise DeadlineExceeded(f"recall took longer than {limit_s:g} s; ask again or narrow the spaces") from None
        self._note_use([hit.memory.id for hit in answer.results])
        return answer

    async def recall_batch(self, caller: Caller, queries: Sequence[Query]) -> list[Recalled]:
        """The answers of `recall` in the order of the queries, 1 to RECALL_BATCH_MAX. All or none: raises the error of
        the first query that recall refuses, with its place, such as queries[3].limit."""
        request_checks.queries(queries, caller)
        answers: list[Recalled] = []
        # Side by side, so that the model embeds the questions together and the index is asked for all at once. A batch
        # has the time of one recall, and as much again for every further call of the index.
        patience = ceil(len(queries) / SEARCHES_A_CALL_MAX)
        asked = (self.recall(caller, query, patience) for query in queries)
        for place, outcome in enumerate(await asyncio.gather(*asked, return_exceptions=True)):
            if isinstance(outcome, MnemeshError):
                raise outcome.at(f"queries[{place}]") from None
            if isinstance(outcome, BaseException):
                raise outcome
            answers.append(outcome)
        return answers

    async def _planned(self, query: Query, zone: tzinfo, ends: Ends) -> Recalled:
        plan = plan_of(query, self._parts.clock(), zone, self._parts.config.rules)
        answers: dict[str, Recalled] = {}
        for step in steps(plan, answers):
            answers[step.role] = await self._found(step.query, ends)
        return answer_of(plan, answers)

    async def _reasons(self, query: Query, answer: Recalled, zone: tzinfo, ends: Ends) -> tuple[str, ...]:
        """Why `answer` to `query` is empty."""
        if reasons := await empty_by_filters(self._parts, query, answer, zone):
            return reasons
        rules = self._parts.config.rules
        if not answer.degraded and (everything := kept_back(query, rules)) is not None:
            matching = await self._planned(everything, zone, ends)
            if reasons := left_out(query, [hit.memory for hit in matching.results], rules):
                return reasons
        return await empty_by_match(self._parts, query, answer, zone)

    async def _found(self, query: Query, ends: Ends) -> Recalled:
        rows = Picking(self._parts, query, ends.rows)
        if not query.text.strip():
            return await self._newest(query, rows)
        with self._parts.serving.current.held() as space:
            return await self._search(space, query, rows, ends.search)

    async def _newest(self, query: Query, rows: Picking) -> Recalled:
        """Without words there is nothing to match: the newest memories that pass the filters, with relevance 0. In a
        stretch of time the latest by their own date come first."""
        # Of the past the ledger's listing knows no stretch and no order of it.
        then = query.as_of is not None and query.window is not None
        wanted = query.limit if query.sort == "relevance" and not then else CANDIDATES_SORTED
        kept, _, judged = ([], False, 0) if query.min_score > 0 else await self._passing(query, rows, wanted)
        if then:
            kept.sort(key=lambda item: (happened_at(item.memory), item.memory.id), reverse=True)
        unjudged = (f"filters: judged for the newest {judged} memories only",) if judged else ()
        degraded = (*unjudged, *rows.left_out)
        return await self._answer(query, ordered(query, kept, self._parts.clock()), 0.0, degraded, None)

    async def _passing(self, query: Query, rows: Picking, wanted: int) -> tuple[list[Found], bool, int]:
        """The newest memories that pass the filters, `wanted` or more if there are; whether there may be more;
        and the number judged, if that limit ended the reading, else 0."""
        kept: list[Found] = []
        ids = await self._matching(query)
        cursor, number = "", -1
        while True:
            number += 1
            if ids is not None:
                part = ids[0][number * limits.LIST_LIMIT_MAX : (number + 1) * limits.LIST_LIMIT_MAX]
                read = await rows.view(part)
                memories, more = [read[id_] for id_ in part if id_ in read], len(part) == limits.LIST_LIMIT_MAX
            else:
                page = await self._parts.ledger.page(replace(listing_of(query), cursor=cursor))
                memories, cursor, more = list(page.memories), page.cursor, bool(page.cursor)
                rows.note_lost(page.lost)
                if query.as_of is not None:
                    then = await rows.view([memory.id for memory in memories])
                    memories = [then[memory.id] for memory in memories if memory.id in then]
            found = [Found(memory, Fused(memory.id, 0.0)) for memory in memories]
            kept += await rows.keep(query, found)
            if not more or len(kept) >= wanted or rows.late:
                return kept, more, 0
            if number + 1 == PAGES_MAX:
                return kept, more, PAGES_MAX * limits.LIST_LIMIT_MAX

    async def _by_words(self, query: Query, rows: Picking, why: str) -> Recalled:
        """Without an index the words of the newest memories are counted here, as the index would count them. Raises
        Unavailable in semantic mode, which cannot do without."""
        if query.mode == "semantic":
            raise Unavailable(f"{why}; ask in another mode to match by words", part="index")
        found, more, _ = await self._passing(query, rows, WORDS_MEMORIES_MAX)
        memories = {item.memory.id: item.memory for item in found[:WORDS_MEMORIES_MAX]}
        counted, candidates = await asyncio.to_thread(scored, query.text, list(memories.values()))
        asked = question_of(query.text, query.window)
        weights = {"dense": 0.0, "bm25": 1.0}
        fused = fuse(candidates, weights, asked)
        matches = [Found(memories[item.id], item).rated() for item in fused]
        kept = [item for item in matches if item.fused.score >= query.min_score]
        covered = _covered(query, matches[:BEST_FOR_COVERAGE])
        among = f" among the newest {counted} memories" if more or counted < len(found) else ""
        degraded = (f"index: {why}; matched by words only{among}", *rows.left_out)
        explainer = Explainer(candidates, weights, asked) if query.explain else None
        shown = await self._shown(query, rows, kept, fused, candidates)
        return await self._answer(query, shown, covered, degraded, explainer)

    async def _search(self, space: VectorSpace, query: Query, rows: Picking, by: float) -> Recalled:
        """`by`: when the index must have answered, in the event loop's time."""
        ids = await self._matching(query)
        among = None if ids is None or len(ids[0]) + len(ids[1]) > IDS_MAX else (*ids[0], *ids[1])
        late = query.as_of is not None or (ids is not None and among is None)
        stated = optional_weights(self._parts, query)["statement"] > 0
        search = search_of(query, space.embedder.generation, among, late=late, as_stated=stated)
        vector, degraded = await self._embedded(space, query, None if among == () else search)
        search = replace(search, vector=vector)
        gaps, behind = space.follower.gaps, _behind(space.follower)
        candidates = Candidates.of(()) if among == () else await self._candidates(space.follower, search, by)
        if isinstance(candidates, str):
            return await self._by_words(query, rows, candidates)
        if query.as_of is not None and search.bm25:
            candidates, beyond = await as_worded(self._parts, query, candidates, by)
            degraded = (*degraded, *beyond)
        fused, failed = await self._fused(space, query, rows, vector, candidates)
        kept, best, old = await rows.pick(query, fused)
        if old and len(candidates) >= search.limit and (len(kept) < query.limit or old > query.limit):
            # Replaced versions may have crowded out active ones: a second question asks for the active ones alone.
            apart = _apart(search, fused, None if query.valid_at is None else ids)
            candidates = await self._candidates(space.follower, apart, by)
            if isinstance(candidates, str):
                return await self._by_words(query, rows, candidates)
            fused, failed = await self._fused(space, query, rows, vector, candidates)
            kept, best, _ = await rows.pick(query, fused)
        degraded = (*degraded, *failed, *(_behind(space.follower, gaps) or behind))
        if search.limit == CANDIDATES_JUDGED_LATE <= len(candidates) and len(kept) < query.limit:
            degraded = (*degraded, f"filters: judged for the best {len(candidates)} matches only")
        covered = _covered(query, best)
        asked = question_of(query.text, query.window)
        why = Explainer(candidates, self._weights(query), asked) if query.explain else None
        shown = await self._shown(query, rows, kept, fused, candidates)
        return await self._answer(query, shown, covered, (*degraded, *rows.left_out), why)

    async def _fused(
        self, space: VectorSpace, query: Query, rows: Picking, vector: Vector | None, candidates: Candidates
    ) -> tuple[Sequence[Fused], tuple[str, ...]]:
        """The candidates, best first, and which signal could not be had."""
        first = fuse(candidates, self._weights(query), question_of(query.text, query.window))
        return await second_look(self._parts, space, query, vector, first, rows.view)

    async def _matching(self, query: Query) -> tuple[list[str], list[str]] | None:
        """The memories that pass, when only the ledger can judge; None when the index can. None also for the past,
        which is judged memory by memory."""
        if query.as_of is not None or not for_the_ledger(query):
            return None
        return await self._parts.ledger.matching(query, self._parts.clock())

    async def _embedded(
        self, space: VectorSpace, query: Query, search: Search | None
    ) -> tuple[Vector | None, tuple[str, ...]]:
        """The question's vector, or why there is none; meanwhile all else is made ready for `search`. Raises in
        semantic mode, which cannot do without."""
        if query.mode == "keyword":
            return None, ()
        limit_s = self._parts.config.recall_timeout_s * EMBEDDING_SHARE
        ahead = None
        if search is not None and search.bm25 and not space.embedder.knows(query.text):
            ahead = asyncio.create_task(look_ahead(space.follower, search, query), name="look-ahead")
        try:
            async with asyncio.timeout(limit_s):
                if not await space.embedder.reads(query.text):
                    return None, ()  # to the model all that it does not know is alike
                return await space.embedder.embed_one(query.text), ()
        except Unavailable as error:
            if query.mode == "semantic":
                raise
            return None, (f"embedder: {error.message}; matched by words only",)
        except TimeoutError:
            if query.mode == "semantic":
                raise DeadlineExceeded(f"the question was not embedded within {limit_s:g} s; ask again") from None
            return None, (f"embedder: busy for longer than {limit_s:g} s; matched by words only",)
        finally:
            if ahead is not None:
                ahead.cancel()

    async def _shown(
        self,
        query: Query,
        rows: Picking,
        kept: list[Found],
        fused: Sequence[Fused],
        candidates: Iterable[Candidate],
    ) -> list[Found]:
        """The kept memories in the asked order. When none lies in a preferred stretch of time, its best memory takes
        the last place."""
        found = ordered(query, kept, self._parts.clock())
        within = stretch_missed(query, found)
        inside = within and (await rows.pick(within, lying_in(within, fused, candidates)))[0]
        return [*found[: query.limit - 1], inside[0]] if inside else found

    async def _candidates(self, follower: IndexFollower, search: Search, by: float) -> Candidates | str:
        """The candidates of the index, or the reason why there are none."""
        try:
            async with asyncio.timeout_at(by):
                return await self._searching.ask(follower, search)
        except TimeoutError:  # busy with others, or late: who called it finds out
            return LATE
        except InvalidArgument:
            raise
        except MnemeshError as error:
            return error.message

    def _weights(self, query: Query) -> Mapping[str, float]:
        if query.mode == "semantic":
            return {"dense": 1.0, "bm25": 0.0}
        if query.mode == "keyword":
            return {"dense": 0.0, "bm25": 1.0}
        given = {**self._parts.config.weights, **query.weights}
        return {name: given[name] for name in SIGNALS if name in given}

    async def _answer(
        self, query: Query, found: Sequence[Found], covered: float, degraded: tuple[str, ...], why: Explainer | None
    ) -> Recalled:
        hits: list[Hit] = []
        tokens = left_out = 0
        shown = found[: query.limit]
        budget = TOKENS_UNBOUNDED if query.token_budget is None else query.token_budget
        for position, item in enumerate(shown):
            passage = snippet(item.memory.content, query.text, SNIPPET_CHARS)
            memory, cost = given(item.memory, query, passage, whole=not query.snippets_only)
            if not hits and cost > budget:
                # The best is never left out for weaker ones that fit, but given in part.
                memory, cost = given(item.memory, query, passage, whole=False)
            if tokens + cost > budget:
                left_out = len(shown) - position
                break
            tokens += cost
            hits.append(
                Hit(
                    memory=memory,
                    score=item.fused.score,
                    signals=why.shares(item.fused) if why else (),
                    snippet=passage,
                    marks=marks(passage, query.text),
                    redirected_from=item.redirected_from,
                )
            )
        return Recalled(
            results=tuple(hits),
            coverage=covered,
            # Results beyond the reader's own limits are here all the same, and count as cover.
            abstain=not (found or covered) or (bool(query.text.strip()) and covered < self._parts.config.abstain_below),
            tokens_used=tokens,
            truncated_by_budget=left_out,
            degraded=degraded,
            spaces=query.spaces,
        )

    def _note_use(self, ids: list[str]) -> None:
        """Accesses are noted beside the answer, which does not wait for it; an event loop keeps no task by itself."""
        if len(self._noting) < NOTING_MAX:
            task = asyncio.create_task(self._touch(ids), name="note-use")
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def close(self) -> None:
        """Let the uses that are on their way be noted."""
        await asyncio.gather(*self._noting, return_exceptions=True)

    async def _touch(self, ids: list[str]) -> None:
        try:
            await self._parts.ledger.touch(ids, self._parts.clock())
        except MnemeshError as error:  # a hint of use less; the memories are read all the same
            log.warning("use_not_noted", reason=error.message)


def _apart(search: Search, fused: Sequence[Fused], held: tuple[list[str], list[str]] | None) -> Search:
    """A search that replaced versions do not crowd: few of them, as a way to their successors. `held` are the ids that
    held at the asked time, superseded or not, and the ids that lead to them; None for now."""
    apart = replace(search, include_superseded=False, superseded_limit=CANDIDATES_SUPERSEDED)
    if held is None:
        return apart
    if len(held[0]) > IDS_MAX:
        return replace(apart, superseded_limit=search.limit)
    leading = set(held[1])
    olds = [one.id for one in fused if one.id in leading][:CANDIDATES_SUPERSEDED]
    return replace(search, ids=(*held[0], *olds), limit=min(search.limit + len(olds), SEARCH_LIMIT_MAX))


def _behind(follower: IndexFollower, gaps: int | None = None) -> tuple[str, ...]:
    """Why the index may lack something, but for the usual lag right behind writes. `gaps` is the follower's count
    from before the search."""
    lacking = f"{count_of(follower.lag, 'entry')} not searchable yet"
    if follower.fault:
        return (f"index: {follower.fault}; {lacking}",)
    if follower.catching_up or follower.lag > LAG_TOLERATED_ENTRIES:
        return (f"index: {lacking}",)
    if gaps is not None and gaps != follower.gaps:
        return ("index: opened anew during the search, and not complete then",)
    return ()


def _covered(query: Query, best: Sequence[Found]) -> float:
    """How well they answer what is asked beside the time."""
    return coverage(query.about or query.text, [(item.fused, item.matched) for item in best])
