"""The requests of a recall: a search of the index, a page of the ledger, and the number of candidates. Pure.

A filter goes down to the cheapest place that judges as the ledger would. Index and view hold today's words and states,
so filters on the past are judged after the reading.
"""

from __future__ import annotations

from dataclasses import replace

from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.index.shard import Search
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import ListQuery, Query

# For the 10 results of a usual question, and more for more. On LoCoMo 60 by meaning lose .005 of hit@10, because the
# neighbours of a good match are then often in no list. By words no later candidate is ever shown.
CANDIDATES = 100
CANDIDATES_BY_WORDS = 60
CANDIDATES_A_RESULT = 3
# Another order than relevance applies to so many of the best matches.
CANDIDATES_SORTED = 400
# Filters that are judged after the search take candidates away, so as many as the index gives are asked for.
CANDIDATES_JUDGED_LATE = SEARCH_LIMIT_MAX


def _as_of_then(query: Query) -> Query:
    """The query without the filters on fields that may have had other values at `as_of`, and up to `as_of` only."""
    if query.as_of is None:
        return query
    before = query.as_of + 1 if query.before is None else min(query.before, query.as_of + 1)
    return replace(query, kinds=(), tags_any=(), tags_all=(), tags_none=(), before=before, window=None)


def for_the_ledger(query: Query) -> bool:
    """Whether it has a filter that the index can't judge."""
    return bool(query.paths or query.source_dir or query.min_heat > 0 or query.valid_at is not None)


def listing_of(query: Query) -> ListQuery:
    """The first page of what may pass."""
    past, query = query.as_of is not None, _as_of_then(query)
    return ListQuery(
        spaces=query.spaces,
        kinds=query.kinds,
        tags_any=query.tags_any,
        tags_all=query.tags_all,
        tags_none=query.tags_none,
        since=query.since,
        before=query.before,
        agent=query.agent,
        session=query.session,
        state="all" if past or query.include_superseded else "active",
        window=query.window,
        limit=limits.LIST_LIMIT_MAX,
    )


def search_of(query: Query, generation: str, ids: tuple[str, ...] | None, late: bool, as_stated: bool = True) -> Search:
    """The search for candidates, still without the question's vector, which will be of that `generation`. `ids`: among
    these alone. `late`: candidates will be taken away after the search. `as_stated`: words may be looked for in the
    form of a statement."""
    past, query = query.as_of is not None, _as_of_then(query)
    best = query.sort == "relevance" and not late
    few = min(max(CANDIDATES, CANDIDATES_A_RESULT * query.limit), SEARCH_LIMIT_MAX)
    limit = CANDIDATES_JUDGED_LATE if late else few if best else CANDIDATES_SORTED
    return Search(
        text=query.text,
        vector=None,
        spaces=query.spaces,
        kinds=query.kinds,
        tags_any=query.tags_any,
        tags_all=query.tags_all,
        tags_none=query.tags_none,
        since=query.since,
        before=query.before,
        agent=query.agent,
        session=query.session,
        include_superseded=True,
        include_archive=past or query.include_archive,
        include_forgotten=past,
        window=query.window,
        ids=ids,
        limit=max(query.limit, limit),
        words_limit=max(CANDIDATES_BY_WORDS, CANDIDATES_A_RESULT * query.limit)
        if best and query.mode == "hybrid"
        else SEARCH_LIMIT_MAX,
        bm25=query.mode != "semantic",
        # A keyword question wants the words in the memory itself, and the index knows no windows of the past.
        windows=query.mode == "hybrid" and not past,
        as_stated=as_stated and query.mode == "hybrid",
        generation=generation,
    )
