"""The requests of a search: the search of the index, a page of the ledger, the weights. Pure.

A filter goes down to the cheapest place that judges as the ledger would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.index.shard import Search
from mnemesh_memory.policy.sessions.session_runs import APART
from mnemesh_memory.ranking.fusion import Fused
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.values import limits
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
    as_stated: bool = True,
    akin: float = OPTIONAL["akin"].weight,
) -> Search:
    """The search for candidates, still without the question's vector, which will be of that `generation`. `ids`: among
    these alone. `late`: candidates will be taken away after the search. `as_stated`: words may be looked for in the
    form of a statement. `akin`: the weight of akin words."""
    best = query.sort == "relevance" and not late
    few = min(max(CANDIDATES, CANDIDATES_A_RESULT * query.limit), SEARCH_LIMIT_MAX)
    limit = CANDIDATES_JUDGED_LATE if late else few if best else CANDIDATES_SORTED
    few_words = max(CANDIDATES_BY_WORDS, CANDIDATES_A_RESULT * query.limit)
    hybrid = query.mode == "hybrid"
    # Records are few, and a filter against them doubles the time of a large index. So they go after the search.
    filters = {**_filters(query), "hidden": tuple(rule for rule in query.hidden if rule != APART)}
    return Search(
        text=query.text, vector=None, **filters, ids=ids, generation=generation, include_superseded=True,
        include_archive=query.include_archive, limit=max(query.limit, limit),
        words_limit=few_words if best and hybrid else SEARCH_LIMIT_MAX, bm25=query.mode != "semantic",
        # A keyword question wants the words in the memory itself.
        windows=hybrid, as_stated=as_stated and hybrid, akin=akin if hybrid else 0.0,
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
