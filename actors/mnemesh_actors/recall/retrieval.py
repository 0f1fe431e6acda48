"""One search of a recall: candidates, their order, the choice among them, and the answer in its form.

The index gives ids and scores. The rows of the ledger say whether a memory may be shown, and its text. Without an index
the words of the newest memories are counted here. A question without words has the newest memories.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall import newer_results, results, search_calls
from mnemesh_actors.recall.asked_pairs import NOTHING, AskedPairs, PairQuestions
from mnemesh_actors.recall.choice import BEST_FOR_COVERAGE, Choice
from mnemesh_actors.recall.search_calls import IndexCalls, behind, question_vector
from mnemesh_actors.recall.signal_fetches import FETCHES
from mnemesh_actors.rows.row_source import rows_of, scored
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.dynamics.heat import HALF_LIFE_DAYS, heat_of
from mnemesh_memory.policy.rules.stored_rules import weighed
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.ranking.explanation import Explainer
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.relevance import COMPANY_AMONG, Surroundings, answered, in_doubt, surroundings
from mnemesh_memory.ranking.second_look.optional_signal import LOOKED_AT, Look, Sight, lifted, lowered
from mnemesh_memory.ranking.signals import OPTIONAL
from mnemesh_memory.text.traits import happened_at, question_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.values.memory_links import CONTRADICTS, MAY_REPLACE, OPEN_TYPES
from mnemesh_memory.values.model import Memory, Query
from mnemesh_memory.values.rules import Rule

# Without words memories are read in order of time, up to so many pages.
PAGES_MAX = 25
# The share of a recall's time that the model may take before words alone are matched.
EMBEDDING_SHARE = 0.5
# The share that the reader of answers may take, and the reader of asked pairs. A later reading counts for nothing.
READING_SHARE = 0.2
WORDS_MEMORIES_MAX = 1000
RULES: Final = "rules"  # the signal
Reasons: TypeAlias = tuple[str, ...]


class Ends(NamedTuple):
    """The latest times, on the clock of the event loop, for an answer of the index and for a row of the past."""

    search: float
    rows: float


class Retrieval:
    """The search for one query."""

    def __init__(self, parts: NodePorts, index: IndexCalls, query: Query, ends: Ends) -> None:
        self._parts = parts
        self._index = index
        self._query = query
        self._by = ends.search
        self._rows = rows_of(parts, query.spaces, query.as_of, ends.rows)
        self._choice = Choice(parts, query, self._rows)
        self._question = question_of(query.text, query.window)
        self._weights = search_calls.weights_of(query, parts.config.weights)

    async def answer(self) -> Recalled:
        """The answer. Raises Unavailable and DeadlineExceeded in semantic mode."""
        if self._query.text.strip():
            with self._parts.serving.current.held() as index_generation:
                matches = await self._by_index(index_generation)
        else:
            matches = await self._newest()
        shown = [item.memory for item in matches.found[: self._query.limit]]
        forms = {memory.id: memory for memory in await self._rows.forms(shown, self._query.text)}
        now = self._parts.clock()
        answer = results.shaped(self._query, matches, self._parts.config.abstain_below, forms, now)
        return await self._with_heat(answer, now) if self._query.explain else answer

    async def _with_heat(self, answer: Recalled, now: int) -> Recalled:
        """The answer with the heat of each result."""
        memories = [hit.memory for hit in answer.results]
        used = await self._parts.ledger.activity([memory.id for memory in memories]) if memories else {}
        whole = await self._rows.view([memory.id for memory in memories if memory.shown or not memory.content])
        heats = (heat_of(whole.get(memory.id, memory), used, now, self._parts.config.half_lives) for memory in memories)
        hits = (replace(hit, heat=heat) for hit, heat in zip(answer.results, heats, strict=True))
        return replace(answer, results=tuple(hits))

    async def _newest(self) -> results.Matches:
        """Without words there is nothing to match: the newest memories that pass the filters, with relevance 0. In a
        stretch of time the latest by their own date come first."""
        query, rows = self._query, self._rows
        in_order = rows.listed(search_calls.listing_of(query)).window == query.window  # by the date in the stretch
        wanted = query.limit if query.sort == "relevance" and in_order else search_calls.CANDIDATES_SORTED
        kept, _, judged = ([], False, 0) if query.min_score > 0 else await self._passing(wanted)
        if not in_order:
            kept.sort(key=lambda item: (happened_at(item.memory), item.memory.id), reverse=True)
        unjudged = (f"filters: judged for the newest {judged} memories only",) if judged else ()
        return results.Matches(results.ordered(query, kept, self._parts.clock()), 0.0, 0.0, (*unjudged, *rows.left_out))

    async def _passing(self, wanted: int) -> tuple[list[results.FoundMemory], bool, int]:
        """The newest memories that pass the filters, `wanted` or more if there are; whether there may be more;
        and the number judged, if that limit ended the reading, else 0."""
        kept: list[results.FoundMemory] = []
        rows, listing, ids = self._rows, search_calls.listing_of(self._query), await self._matching()
        for number in range(PAGES_MAX):
            if ids is not None:
                part = ids[0][number * limits.LIST_LIMIT_MAX : (number + 1) * limits.LIST_LIMIT_MAX]
                read = await rows.view(part)
                memories, more = [read[id_] for id_ in part if id_ in read], len(part) == limits.LIST_LIMIT_MAX
            else:
                page = await rows.page(listing)
                memories, more = list(page.memories), bool(page.cursor)
                listing = replace(listing, cursor=page.cursor)
            listed = [results.FoundMemory(memory, Fused(memory.id, 0.0)) for memory in memories]
            kept += await self._choice.passing(self._query, listed)
            if not more or len(kept) >= wanted or rows.unread:
                return kept, more, 0
        return kept, more, PAGES_MAX * limits.LIST_LIMIT_MAX

    async def _by_words(self, why: str) -> results.Matches:
        """Without an index the words of the newest memories are counted here, as the index would count them. Raises
        Unavailable in semantic mode, which cannot do without."""
        query = self._query
        if query.mode == "semantic":
            raise Unavailable(f"{why}; ask in another mode to match by words", part="index")
        passing, more, _ = await self._passing(WORDS_MEMORIES_MAX)
        memories = {item.memory.id: item.memory for item in passing[:WORDS_MEMORIES_MAX]}
        counted, scores = await asyncio.to_thread(scored, query.text, list(memories.values()))
        candidates, self._weights = Candidates.of(scores), {"dense": 0.0, "bm25": 1.0}
        fused = _by_rules(fuse(candidates, self._weights, self._question), memories, query.weighing)
        best = results.with_ratings(results.FoundMemory(memories[item.id], item) for item in fused)
        among = f" among the newest {counted} memories" if more or counted < len(passing) else ""
        degraded = (f"index: {why}; matched by words only{among}",)
        return await self._matches(best, best[:BEST_FOR_COVERAGE], fused, candidates, degraded)

    async def _by_index(self, index_generation: IndexGeneration) -> results.Matches:
        query, rows, follower = self._query, self._rows, index_generation.follower
        ids = await self._matching()
        among = search_calls.among_of(ids)
        late = ids is not None and among is None
        weights, generation = optional_weights(self._parts, query), index_generation.embedder.generation
        search = rows.searched(search_calls.search_of(query, generation, among, late, weights))
        limit_s = self._parts.config.recall_timeout_s * EMBEDDING_SHARE
        vector, degraded = await question_vector(index_generation, query, None if among == () else search, limit_s)
        search = replace(search, vector=vector)
        gaps, lacking, limit = follower.gaps, behind(follower), search.limit
        for first in (True, False):
            reply = Candidates.of(()) if among == () else await self._index.candidates(follower, search, self._by)
            if isinstance(reply, str):
                return await self._by_words(reply)
            candidates, beyond = reply, Reasons()
            if search.bm25:
                candidates, beyond = await rows.worded(query.text, search_calls.listing_of(query), reply, self._by)
            fused, failed = await self._ranked(index_generation, vector, candidates)
            kept, best, old = await self._choice.pick(query, fused)
            # Replaced versions may have crowded out active ones: a second round asks for the active ones alone. There
            # is none for a search in all states, forgotten ones among them.
            crowded = first and old and not search.include_forgotten and len(candidates) >= limit
            if not crowded or len(kept) >= query.limit >= old:
                break
            search = search_calls.without_replaced(search, fused, None if query.valid_at is None else ids)
        degraded = (*degraded, *beyond, *failed, *(behind(follower, gaps) or lacking))
        if limit == search_calls.CANDIDATES_JUDGED_LATE <= len(candidates) and len(kept) < query.limit:
            degraded = (*degraded, f"filters: judged for the best {len(candidates)} matches only")
        return await self._matches(kept, best, fused, candidates, degraded, index_generation)

    async def _newest_of_likes(
        self, index_generation: IndexGeneration, kept: list[results.FoundMemory]
    ) -> list[results.FoundMemory]:
        """The same with the newer one of near-duplicates first, when the order is that of relevance."""
        asked = results.doubtful(kept) if self._query.sort == "relevance" else []
        if not asked:
            return kept
        try:
            vectors = await index_generation.follower.read(
                lambda shard: shard.vectors(asked, index_generation.embedder.generation)
            )
        except MnemeshError:  # the index went away after its answer: the order is as good without
            return kept
        return results.newer_of_ties_first(kept, vectors)

    async def _ranked(
        self, index_generation: IndexGeneration, vector: Vector | None, candidates: Candidates
    ) -> tuple[Sequence[Fused], Reasons]:
        """The candidates, best first, and which signal could not be had."""
        fused = fuse(candidates, self._weights, self._question)
        return await second_look(self._parts, index_generation, self._query, vector, fused, self._rows.view)

    async def _matches(
        self,
        kept: list[results.FoundMemory],
        best: list[results.FoundMemory],
        fused: Sequence[Fused],
        candidates: Candidates,
        degraded: Reasons,
        index_generation: IndexGeneration | None = None,
    ) -> results.Matches:
        """The kept memories in the asked order. When none lies in a preferred stretch of time, its best memory takes
        the last place."""
        query = self._query
        covered = coverage(query.about or query.text, [(item.fused, item.matched) for item in best])
        explainer = Explainer(candidates, self._weights, self._question) if query.explain else None
        ordered = results.ordered(query, kept, self._parts.clock())
        ordered = await self._newest_of_likes(index_generation, ordered) if index_generation else ordered
        asked = await self._asked_pairs(index_generation, ordered, fused)
        degraded = (*degraded, *asked.unread)
        ordered = await self._newer_first(ordered, fused, asked)
        if within := results.stretch_missed(query, ordered):
            inside, _, _ = await self._choice.pick(within, results.lying_in(within, fused, candidates))
            ordered = [*ordered[: query.limit - 1], inside[0]] if inside else ordered
        # In the order of relevance no score depends on results beyond the limit.
        whole = query.min_score and query.sort != "relevance"
        to_judge = ordered if whole else ordered[: query.limit]
        leading = [item.id for item in fused[:COMPANY_AMONG]]
        around = surroundings(candidates, leading, [item.fused.id for item in (*to_judge, *best)])
        if query.verify and index_generation and in_doubt(results.evidence_of(query, best, around)):
            around, unread = await self._with_readings(index_generation, best, around)
            degraded = (*degraded, *unread)
        shown = results.judged(query, to_judge, around)
        passing = [item for item in shown if item.fused.score >= query.min_score]
        here = answered(results.evidence_of(query, best, around))
        return results.Matches(passing, covered, here, (*degraded, *self._rows.left_out), explainer)

    async def _with_readings(
        self, index_generation: IndexGeneration, best: Sequence[results.FoundMemory], around: Surroundings
    ) -> tuple[Surroundings, Reasons]:
        """The surroundings with how a model reads the best results beside the question, and why it could not."""
        embedder, asked = index_generation.embedder, self._query.text
        if embedder.answers != PAIRS_READY:
            return around, (f"answer reader: {embedder.answers}",)
        passages = [results.passage_read(item, asked) for item in best]
        try:
            async with asyncio.timeout(self._parts.config.recall_timeout_s * READING_SHARE):
                read = await embedder.read_answers(asked, passages)
        except TimeoutError:
            return around, ("answer reader: it has not answered in time",)
        except MnemeshError as error:
            return around, (f"answer reader: {error.message}",)
        return around._replace(read={item.fused.id: one for item, one in zip(best, read, strict=True)}), ()

    async def _asked_pairs(
        self, index_generation: IndexGeneration | None, ordered: Sequence[results.FoundMemory], fused: Sequence[Fused]
    ) -> AskedPairs:
        """The newer memories that the question puts first."""
        if (store := self._parts.pairs) is None or index_generation is None:
            return NOTHING
        asked = PairQuestions(
            store, index_generation.embedder, self._query, self._rows, self._choice, self._parts.clock()
        )
        return await asked.decided(ordered, fused, self._parts.config.recall_timeout_s * READING_SHARE)

    async def _newer_first(
        self, ordered: list[results.FoundMemory], fused: Sequence[Fused], asked: AskedPairs = NOTHING
    ) -> list[results.FoundMemory]:
        """The results with newer memories before those that they contest. For a question about the past the memory that
        held then comes before its successors, and what came later contests nothing."""
        query = self._query
        if query.sort != "relevance" or query.by_match_alone:
            return ordered
        more = await self._contesting(ordered, fused) if query.asked_at is None else []
        seen = {item.memory.id for item in more}
        more = [*more, *(item for item in asked.further if item.memory.id not in seen)]
        tied = [item.memory for item in (*ordered, *more) if item.memory.tied]
        if len(tied) < 2 and not asked.first:
            return ordered
        moment = query.asked_at if query.valid_at is None else query.valid_at
        surely, likely = (_until(moment, precedence.contested(tied, type_)) for type_ in OPEN_TYPES)
        found = [*ordered, *more]
        likely = {id_: [one for one in newer if (id_, one.id) not in asked.read] for id_, newer in likely.items()}
        contested = surely or likely or asked.first
        first = newer_results.answering(query, found, surely, likely, asked.first) if contested else {}
        found = newer_results.told(newer_results.led(found, first), asked.first, first)
        if query.asked_at is not None and not query.include_superseded:
            for id_, held in precedence.held_before(tied).items():
                first[id_] = [*held, *first.get(id_, ())]
        return newer_results.newest_first(found[: len(ordered)], found[len(ordered) :], first) if first else ordered

    async def _contesting(
        self, ordered: Sequence[results.FoundMemory], fused: Sequence[Fused]
    ) -> list[results.FoundMemory]:
        """The newer memories that contest the first results and are no results themselves: a new value may match the
        question in no word. One that merely may replace a result is a candidate at least."""
        best = [item.memory for item in ordered[: newer_results.CONTESTED_AMONG] if item.memory.tied]
        if not best:
            return []
        candidates, others = {item.id for item in fused}, dict[str, Memory]()
        seen, latest = {item.memory.id for item in ordered}, best
        for _ in range(newer_results.STEPS_MAX):
            ties = await self._rows.ties(latest)
            sure = {id_ for _, type_, _, id_ in ties if type_ == CONTRADICTS}
            wanted = (sure | {id_ for _, type_, _, id_ in ties if type_ == MAY_REPLACE and id_ in candidates}) - seen
            read = await self._rows.view(sorted(wanted)) if wanted else {}
            seen |= wanted
            others |= read
            latest = [memory for memory in read.values() if memory.tied]
            if not latest:
                break
        if not others:
            return []
        contests = precedence.unsettled([*best, *others.values()])
        return await self._choice.passing(self._query, newer_results.further(ordered, contests, fused))

    async def _matching(self) -> tuple[list[str], list[str]] | None:
        """The memories that pass, when only the ledger can judge; None when the index can, or each row is judged."""
        if not search_calls.for_the_ledger(self._query):
            return None
        usual = self._parts.config.half_lives == HALF_LIFE_DAYS  # others are known to the choice alone
        return await self._rows.matching(self._query if usual else replace(self._query, min_heat=0.0))


def _until(moment: int | None, contests: newer_results.Contests) -> newer_results.Contests:
    """The contests by memories of a moment (ms) and before; all without a moment."""
    if moment is None:
        return contests
    return {id_: [one for one in later if happened_at(one) <= moment] for id_, later in contests.items()}


# ---- the second look at the best -------------------------------------------------------------------------------------
# Reads their texts, fetches what signals need, and decides nothing. Nothing without a weight is fetched, so a recall
# without weights costs one look at the question's text.


async def second_look(
    parts: NodePorts,
    index_generation: IndexGeneration,
    query: Query,
    vector: Vector | None,
    fused: Sequence[Fused],
    read: Callable[[Sequence[str]], Awaitable[Mapping[str, Memory]]],
) -> tuple[Sequence[Fused], tuple[str, ...]]:
    """The candidates, best first, and which signal could not be had, with the reason. `read` gives memories as they
    are shown."""
    weights = optional_weights(parts, query)
    used = [row for name, row in OPTIONAL.items() if weights[name] and not row.search and row.concerns(query.text)]
    rules = query.weighing
    if not fused or not (used or rules):
        return fused, ()
    first = fused[:LOOKED_AT]
    looks = [Look(item.id, item.score) for item in first]
    sight = Sight(query, weights, await read([item.id for item in first]), looks, vector)
    failed: list[str] = []

    async def seen(name: str) -> Sight:
        if not OPTIONAL[name].fetches:
            return sight
        try:
            return await FETCHES[name](parts, index_generation, sight._replace(looks=looks))
        except MnemeshError as error:
            failed.append(f"{OPTIONAL[name].part or name}: {error.message}")
            return sight

    values = {row.name: row.gain(await seen(row.name)) for row in used if row.gain}
    by_rules = {id_: weighed(memory, rules) for id_, memory in sight.memories.items()} if rules else {}
    values[RULES] = _part(by_rules, 0)
    looks = lifted(looks, values, {**weights, RULES: 1.0})
    looks = lowered(looks, _part(by_rules, 1), RULES)
    for row in used:
        looks = row.change(looks, await seen(row.name)) if row.change else looks
    by_id = {item.id: item for item in first}
    again = [by_id[look.id]._replace(score=look.score, more=look.parts) for look in looks]
    return sorted([*again, *fused[LOOKED_AT:]], key=lambda item: (-item.score, item.id)), tuple(failed)


def _by_rules(fused: Sequence[Fused], memories: Mapping[str, Memory], rules: Sequence[Rule]) -> Sequence[Fused]:
    """The candidates with what rules add and take, best first."""
    if not rules:
        return fused
    shares = {item.id: weighed(memories[item.id], rules) for item in fused}
    looks = lifted([Look(item.id, item.score) for item in fused], {RULES: _part(shares, 0)}, {RULES: 1.0})
    by_id = {item.id: item for item in fused}
    return [
        by_id[id_]._replace(score=score, more=parts) for id_, score, parts in lowered(looks, _part(shares, 1), RULES)
    ]


def _part(shares: Mapping[str, tuple[float, float]], which: int) -> dict[str, float]:
    return {id_: both[which] for id_, both in shares.items()}


def optional_weights(parts: NodePorts, query: Query) -> dict[str, float]:
    """How much each optional signal counts in this recall. Raises InvalidArgument for one that is not to be had."""
    given = {**parts.config.weights, **query.weights}
    weights = {name: given.get(name, row.weight) for name, row in OPTIONAL.items()}
    for name, row in OPTIONAL.items():
        if row.part and weights[name] and getattr(parts, row.part) is None:
            raise InvalidArgument(f"weights.{name}", weights[name], f"0 on this node: it has no {row.part}_model")
    return weights
