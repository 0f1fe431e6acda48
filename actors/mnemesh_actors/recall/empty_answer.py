"""The reason of an empty answer: asks the ledger, and the index for what the node keeps back. Costs nothing while there
is a result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.policy.emptiness import contradictions, leftovers, steps, unread, without_words
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.times.window import Window, stretch_told
from mnemesh_memory.values.model import Query
from mnemesh_memory.values.rules import Rule


async def empty_by_filters(parts: NodePorts, query: Query, answer: Recalled, zone: tzinfo) -> tuple[str, ...]:
    """The filter that lets nothing through to `query`, its name first; () when each lets something through. `query` is
    the reader's own, without the rules of the node."""
    if answer.truncated_by_budget:
        return (f"token_budget: the best result has more than {query.token_budget} tokens, even in part",)
    if found := contradictions(query):
        return found
    if query.mode == "keyword" and query.text.strip() and not await asyncio.to_thread(_has_terms, query.text):
        return (without_words(query),)
    for reason, listing in steps(*_in_stretch(query, answer, zone)):
        page = await parts.ledger.page(listing)
        if not page.total:
            return (reason,)
    return ()


def kept_back(query: Query, rules: Sequence[Rule]) -> Query | None:
    """The question for the matches that the node's rules or the archive may keep back; None when neither does."""
    if query.include_archive and all(rule.weight is not None for rule in rules):
        return None
    return replace(query, include_archive=True, token_budget=None)


async def empty_by_match(parts: NodePorts, query: Query, answer: Recalled, zone: tzinfo) -> tuple[str, ...]:
    """The reason when memories pass each filter and nothing is kept back."""
    if not answer.degraded and not query.min_score and not await _reads(parts, query):
        return (unread(query),)
    return leftovers(*_in_stretch(query, answer, zone))


async def _reads(parts: NodePorts, query: Query) -> bool:
    if query.mode == "keyword" or not query.text.strip():
        return True
    with parts.serving.current.held() as space:
        return await space.embedder.reads(query.text)


def _in_stretch(query: Query, answer: Recalled, zone: tzinfo) -> tuple[Query, str]:
    """The query with the stretch of time that alone was let through, and the words for the stretch; if any."""
    time = answer.time
    if query.time_words != "only" or time is None or (time.since is None and time.before is None):
        return query, ""
    return replace(query, window=Window(time.since, time.before, only=True)), stretch_told(time, zone)


def _has_terms(text: str) -> bool:
    from mnemesh_actors.index.bm25 import Bm25Encoder  # loads Edge, which a node on Ray keeps elsewhere

    return bool(Bm25Encoder().query(text).indices)
