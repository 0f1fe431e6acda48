"""Requests and calls of a search: the model gives the vector of the question, and the index gives candidates.

A filter goes down to the cheapest place that judges as the ledger would.

Searches that arrive while the index works go together in the next call, as one batched query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import MODEL_BEGINS_S, Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.index.shard import Search
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_memory.policy.sessions.session_runs import APART
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.text.text import marks
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError, Unavailable, count_of
from mnemesh_memory.values.model import ListQuery, MemoryFilter, Query

# For the 10 results of a usual question, and more for more. Late in a list stand neighbours and sessions of good
# matches: 100 by meaning and 60 by words lose .03 of the coverage of RealMem's long turns.
CANDIDATES = 120
CANDIDATES_BY_WORDS = 120
CANDIDATES_A_RESULT = 3
# Another order than relevance applies to so many of the best matches.
CANDIDATES_SORTED = 400
# Filters that are judged after the search take candidates away, so as many as the index gives are asked for.
CANDIDATES_JUDGED_LATE = SEARCH_LIMIT_MAX
# Superseded memories on the way to their successors, when many match and a search of their own is needed.
CANDIDATES_SUPERSEDED = 30
# Ids that pass a filter of the ledger are handed to the index, up to so many memories.
IDS_MAX = 5000
_LATE: Final = ("valid_at", "trust", "trusted", "knowledge")  # The index can't judge these.
_FILTERS: Final = [field.name for field in fields(MemoryFilter) if field.name not in _LATE]


def for_the_ledger(query: Query) -> bool:
    """Whether it has a filter that the index can't judge."""
    late = any(not rule.indexed for rule in query.hidden)
    return bool(
        query.paths or query.source_dir or query.min_heat > 0 or query.valid_at is not None or query.trusted or late
    )


def among_of(matching: tuple[list[str], list[str]] | None) -> tuple[str, ...] | None:
    """The ids that the index is asked for alone, of those that pass or lead to such; None for no bound."""
    if matching is None or len(matching[0]) + len(matching[1]) > IDS_MAX:
        return None
    return (*matching[0], *matching[1])


def listing_of(query: Query) -> ListQuery:
    """The first page of what may pass."""
    state = "all" if query.include_superseded else "active"
    return ListQuery(
        **_filters(query), trusted=query.trusted, knowledge=query.knowledge, state=state, limit=limits.LIST_LIMIT_MAX
    )


def _filters(query: Query) -> dict[str, Any]:
    """The filters that index and view can judge."""
    return {name: getattr(query, name) for name in _FILTERS}


def search_of(
    query: Query,
    generation: str,
    ids: tuple[str, ...] | None,
    late: bool,
    weights: Mapping[str, float] = MappingProxyType({}),
) -> Search:
    """The search for candidates, still without the question's vector, which will be of that `generation`. `ids`: among
    these alone. `late`: candidates will be taken away after the search. `weights`: those of optional signals that
    are not the usual ones."""
    best = query.sort == "relevance" and not late
    few = min(max(CANDIDATES, CANDIDATES_A_RESULT * query.limit), SEARCH_LIMIT_MAX)
    limit = CANDIDATES_JUDGED_LATE if late else few if best else CANDIDATES_SORTED
    few_words = max(CANDIDATES_BY_WORDS, CANDIDATES_A_RESULT * query.limit)
    hybrid = query.mode == "hybrid"
    # A keyword question wants its words, as they stand, in the memory itself.
    forms: dict[str, Any] = {}
    for name, row in OPTIONAL.items():
        forms |= row.search(weights.get(name, row.weight) if hybrid else 0.0) if row.search else {}
    # Records are few, and a filter against them doubles the time of a large index. So they go after the search.
    filters = {**_filters(query), "hidden": tuple(rule for rule in query.hidden if rule != APART)}
    return Search(
        text=query.text, vector=None, **filters, ids=ids, generation=generation, include_superseded=True,
        include_archive=query.include_archive, limit=max(query.limit, limit),
        words_limit=few_words if best and hybrid else SEARCH_LIMIT_MAX, bm25=query.mode != "semantic",
        windows=hybrid, **forms,
    )  # fmt: skip


def without_replaced(search: Search, fused: Sequence[Fused], held: tuple[list[str], list[str]] | None) -> Search:
    """A search that replaced versions do not crowd: few of them, as a way to their successors. `held` are the ids that
    held at the asked time, superseded or not, and the ids that lead to them; None for now."""
    apart = replace(search, include_superseded=False, superseded_limit=CANDIDATES_SUPERSEDED)
    if held is None:
        return apart
    if len(held[0]) > IDS_MAX:
        return replace(apart, superseded_limit=search.limit)
    leading = set(held[1])
    olds = [item.id for item in fused if item.id in leading][:CANDIDATES_SUPERSEDED]
    return replace(search, ids=(*held[0], *olds), limit=min(search.limit + len(olds), SEARCH_LIMIT_MAX))


def weights_of(query: Query, node: Mapping[str, float]) -> dict[str, float]:
    """The weights of meaning and words in a query; `node` has those of the node."""
    if query.mode == "semantic":
        return {"dense": 1.0, "bm25": 0.0}
    if query.mode == "keyword":
        return {"dense": 0.0, "bm25": 1.0}
    given = {**node, **query.weights}
    return {name: given[name] for name in DEFAULT_WEIGHTS if name in given}


# An index in this process holds the interpreter while it answers: so many questions are some 10 to 50 ms.
SEARCHES_A_CALL_MAX: Final = 8
LATE: Final = "it has not answered in time"
LAG_TOLERATED_ENTRIES: Final = 256


class IndexCalls:
    """The searches of a node. A call beyond `call_timeout_s` is given up for all its callers, and the index counts as
    away until it answers again."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._follower: IndexFollower | None = None
        self._batcher: Batcher[Search, Candidates] | None = None

    async def ask(self, follower: IndexFollower, search: Search) -> Candidates:
        """The candidates of the index behind `follower`. Raises what RetrievalShard.search and IndexFollower.read
        raise."""
        if follower.away:
            raise Unavailable(follower.away, part="index")
        if self._batcher is None or self._follower is not follower:

            async def call(searches: list[Search]) -> Sequence[Candidates | Exception]:
                try:
                    async with asyncio.timeout(self._call_timeout_s):
                        return await _searched(follower, searches)
                except TimeoutError:
                    late = Unavailable(LATE, part="index")
                    follower.went_away(late)
                    raise late from None

            self._follower = follower
            self._batcher = Batcher("index", call, SEARCHES_A_CALL_MAX, limits.INBOX_MESSAGES_MAX)
        return await self._batcher.submit(search)

    async def candidates(self, follower: IndexFollower, search: Search, by: float) -> Candidates | str:
        """The candidates, or the reason why there are none. Nothing is waited for beyond `by`, in the event loop's
        time. Raises InvalidArgument."""
        try:
            async with asyncio.timeout_at(by):
                return await self.ask(follower, search)
        except TimeoutError:  # busy with others, or late: who called it finds out
            return LATE
        except InvalidArgument:
            raise
        except MnemeshError as error:
            return error.message


def behind(follower: IndexFollower, gaps: int | None = None) -> tuple[str, ...]:
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


async def _searched(follower: IndexFollower, searches: Sequence[Search]) -> Sequence[Candidates | Exception]:
    if len(searches) > 1:
        try:
            candidates: list[Candidates] = await follower.read(lambda shard: shard.search_batch(searches))
            return candidates
        except InvalidArgument:
            pass  # one of them is at fault, and only its own caller hears so
    return [await _alone(follower, search) for search in searches]


async def _alone(follower: IndexFollower, search: Search) -> Candidates | Exception:
    try:
        candidates: Candidates = await follower.read(lambda shard: shard.search(search))
    except InvalidArgument as error:
        return error
    return candidates


async def question_vector(
    index_generation: IndexGeneration, query: Query, search: Search | None, limit_s: float
) -> tuple[Vector | None, tuple[str, ...]]:
    """The question's vector, or why there is none after `limit_s`; meanwhile all else is made ready for `search`.
    Raises in semantic mode, which cannot do without."""
    if query.mode == "keyword":
        return None, ()
    preparation = None
    if search is not None and search.bm25 and not index_generation.embedder.knows(query.text):
        preparation = asyncio.create_task(_prepare(index_generation.follower, search, query), name="look-ahead")
    try:
        async with asyncio.timeout(limit_s):
            if not await index_generation.embedder.reads(query.text):
                return None, ()  # to the model all that it does not know is alike
            return await index_generation.embedder.embed_one(query.text), ()
    except Unavailable as error:
        if query.mode == "semantic":
            raise
        return None, (f"embedder: {error.message}; matched by words only",)
    except TimeoutError:
        if query.mode == "semantic":
            raise DeadlineExceeded(f"the question was not embedded within {limit_s:g} s; ask again") from None
        return None, (f"embedder: busy for longer than {limit_s:g} s; matched by words only",)
    finally:
        if preparation is not None:
            preparation.cancel()


async def _prepare(follower: IndexFollower, search: Search, query: Query) -> None:
    """Count the words of `search` in the index, and read the question as fusion, coverage and snippets will. All of
    them cache their reading. An error here shows again in the search itself, which raises it."""
    await asyncio.sleep(MODEL_BEGINS_S)
    with suppress(MnemeshError):
        await follower.read(lambda shard: shard.prepare(search))
    question_of(query.text, query.window)
    coverage(query.about or query.text, ())
    marks("", query.text)
