"""Asks the ledger, and once more the index, why a recall is empty. Costs nothing while there is a result."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.asked_times import Find, asked_in_time, zone_of
from mnemesh_memory.policy.emptiness import contradictions, left_out, leftovers, steps, unread, without_words
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.times.window import Window, stretch_told
from mnemesh_memory.values.model import Query


async def why_empty(parts: NodePorts, query: Query, answer: Recalled, find: Find) -> tuple[str, ...]:
    """The filters that left nothing of `query`, each reason with the name of the filter first; () when there are
    results. `query` is the reader's own, without the rules of the node."""
    if answer.results:
        return ()
    if answer.truncated_by_budget:
        return (f"token_budget: the best result has more than {query.token_budget} tokens, even in part",)
    if found := contradictions(query):
        return found
    if query.mode == "keyword" and query.text.strip() and not await asyncio.to_thread(_has_terms, query.text):
        return (without_words(query),)
    asked, stretch = _in_stretch(parts, query, answer)
    for reason, listing in steps(asked, stretch):
        page = await parts.ledger.page(listing)
        if not page.total:
            return (reason,)
    if not answer.degraded and (found := await _kept_back(parts, query, find)):
        return found
    if not answer.degraded and not query.min_score and not await _reads(parts, query):
        return (unread(query),)
    return leftovers(asked, stretch)


async def _reads(parts: NodePorts, query: Query) -> bool:
    if query.mode == "keyword" or not query.text.strip():
        return True
    with parts.serving.current.held() as space:
        return await space.embedder.reads(query.text)


async def _kept_back(parts: NodePorts, query: Query, find: Find) -> tuple[str, ...]:
    """Whether the rules of the node or the archive keep back what matches."""
    if query.include_archive and all(rule.weight is not None for rule in parts.config.rules):
        return ()
    everything = replace(query, include_archive=True, token_budget=None)
    answer = await asked_in_time(parts, everything, find)
    return left_out(query, [hit.memory for hit in answer.results], parts.config.rules)


def _in_stretch(parts: NodePorts, query: Query, answer: Recalled) -> tuple[Query, str]:
    """The query with the stretch of time outside of which nothing was let through, and how it is told; if any."""
    time = answer.time
    if query.time_words != "only" or time is None or (time.since is None and time.before is None):
        return query, ""
    zone = zone_of(parts, query)
    return replace(query, window=Window(time.since, time.before, only=True)), stretch_told(time, zone)


def _has_terms(text: str) -> bool:
    from mnemesh_actors.index.bm25 import Bm25Encoder  # loads Edge, which a node on Ray keeps elsewhere

    return bool(Bm25Encoder().query(text).indices)
