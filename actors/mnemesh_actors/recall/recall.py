"""Recall: the steps of a plan are searched in turn, and one answer is put together from theirs.

Reading changes no memory: accesses are noted outside the documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from math import ceil
from typing import TypeAlias

import structlog

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.plan import RecallPlan, Role, answer_of, plan_of, steps
from mnemesh_actors.recall.retrieval import Ends, Retrieval, optional_weights
from mnemesh_actors.recall.search_calls import SEARCHES_A_CALL_MAX, IndexCalls, weights_of
from mnemesh_actors.runtime.tasks import begin_beside
from mnemesh_actors.runtime.zones import zone_named
from mnemesh_memory.policy import emptiness
from mnemesh_memory.policy.sessions import session_runs
from mnemesh_memory.policy.trust import asked_of
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.fusion import scaled_weights
from mnemesh_memory.times.window import Window, stretch_sentence
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import DeadlineExceeded, MnemeshError
from mnemesh_memory.values.model import Caller, Query

# The share of a recall's time by whose end the index must have answered; then the words of the newest memories are
# counted here. No row of the past is read after the other share.
INDEX_SHARE = 0.8
ATTACHING_SHARE = 0.9
# Uses on their way to a slow ledger; beyond, a use is not noted, because it is only a hint.
NOTING_MAX = 256
Attach: TypeAlias = Callable[[Caller, Query, Recalled, float], Awaitable[Recalled]]
log = structlog.get_logger("mnemesh.recall")


class Recalling:
    """The operation recall. `attached` adds what belongs with each result; see LinkOperations.attached."""

    def __init__(self, parts: NodePorts, attached: Attach) -> None:
        self._parts = parts
        self._attached = attached
        self._index = IndexCalls(parts.config.recall_timeout_s)
        self._noting: set[asyncio.Task[None]] = set()

    async def recall(self, caller: Caller, query: Query, patience: float = 1.0) -> Recalled:
        """Up to `limit` memories, best first; it may take `patience` times as long as usual. Raises InvalidArgument,
        DeadlineExceeded, Unavailable (semantic mode without an embedder)."""
        own = self._parts.rules.asked(asked_of(request_checks.query(query, caller), caller, self._parts.node_id))
        scaled_weights(weights_of(own, self._parts.config.weights))
        optional_weights(self._parts, own)
        zone = zone_named("time_zone", own.time_zone) if own.time_zone else self._parts.config.zone
        limit_s = self._parts.config.recall_timeout_s * patience
        try:
            async with asyncio.timeout(limit_s):
                start = asyncio.get_running_loop().time()
                ends = Ends(start + limit_s * INDEX_SHARE, start + limit_s * ATTACHING_SHARE)
                stated = (*self._parts.config.rules, *self._parts.rules.of(own.spaces, caller.private_space))
                rules = (session_runs.APART, *stated)
                plan = plan_of(own, self._parts.clock(), zone, rules)
                answer = await self._answer(plan, ends)
                if not answer.results:
                    return replace(answer, notes=await self._reasons(plan, answer, ends))
                answer = await self._attached(caller, own, answer, ends.rows)
        except TimeoutError:
            raise DeadlineExceeded(f"recall took longer than {limit_s:g} s; ask again or narrow the spaces") from None
        if own.probe:
            return answer
        now, minutes = self._parts.clock(), self._parts.config.labile_minutes
        self._parts.labile.open(caller.principal, (hit.memory for hit in answer.results), now, minutes)
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

    async def _answer(self, plan: RecallPlan, ends: Ends) -> Recalled:
        answers: dict[Role, Recalled] = {}
        for step in steps(plan, answers):
            answers[step.role] = await Retrieval(self._parts, self._index, step.query, ends).answer()
        return answer_of(plan, answers)

    async def _reasons(self, plan: RecallPlan, answer: Recalled, ends: Ends) -> tuple[str, ...]:
        """Why the answer of a plan is empty."""
        if reasons := await empty_by_filters(self._parts, plan.own, answer, plan.zone):
            return reasons
        if not answer.degraded and (everything := plan.kept_back()) is not None:
            matching = await self._answer(everything, ends)
            if reasons := emptiness.left_out(plan.own, [hit.memory for hit in matching.results], plan.rules):
                return reasons
        return await empty_by_match(self._parts, plan.own, answer, plan.zone)

    def _note_use(self, ids: list[str]) -> None:
        """Accesses are noted beside the answer, which does not wait for it."""
        if len(self._noting) < NOTING_MAX:
            begin_beside(self._noting, self._touch(ids), "note-use")

    async def close(self) -> None:
        """Let the uses that are on their way be noted."""
        await asyncio.gather(*self._noting, return_exceptions=True)

    async def _touch(self, ids: list[str]) -> None:
        try:
            await self._parts.ledger.touch(ids, self._parts.clock())
        except MnemeshError as error:  # a hint of use less; the memories are read all the same
            log.warning("use_not_noted", reason=error.message)


# ---- the reason of an empty answer ----------------------------------------------------------------------------------
# Asks the ledger, and the index for what the node keeps back. Costs nothing while there is a result.


async def empty_by_filters(parts: NodePorts, query: Query, answer: Recalled, zone: tzinfo) -> tuple[str, ...]:
    """The filter that lets nothing through to `query`, its name first; () when each lets something through. `query` is
    the reader's own, without the rules of the node."""
    if answer.truncated_by_budget:
        return (f"token_budget: the best result has more than {query.token_budget} tokens, even in part",)
    if reasons := emptiness.contradictions(query):
        return reasons
    if query.mode == "keyword" and query.text.strip() and not await asyncio.to_thread(_has_terms, query.text):
        return (emptiness.without_words(query),)
    for reason, listing in emptiness.steps(*_in_stretch(query, answer, zone)):
        page = await parts.ledger.page(listing)
        if not page.total:
            return (reason,)
    return ()


async def empty_by_match(parts: NodePorts, query: Query, answer: Recalled, zone: tzinfo) -> tuple[str, ...]:
    """The reason when memories pass each filter and nothing is kept back."""
    if not answer.degraded and not query.min_score and not await _reads(parts, query):
        return (emptiness.unread(query),)
    return emptiness.leftovers(*_in_stretch(query, answer, zone))


async def _reads(parts: NodePorts, query: Query) -> bool:
    if query.mode == "keyword" or not query.text.strip():
        return True
    with parts.serving.current.held() as index_generation:
        return await index_generation.embedder.reads(query.text)


def _in_stretch(query: Query, answer: Recalled, zone: tzinfo) -> tuple[Query, str]:
    """The query with the stretch of time that alone was let through, and the words for the stretch; if any."""
    time = answer.time
    if query.time_words != "only" or time is None or (time.since is None and time.before is None):
        return query, ""
    return replace(query, window=Window(time.since, time.before, only=True)), stretch_sentence(time, zone)


def _has_terms(text: str) -> bool:
    from mnemesh_actors.index.bm25 import Bm25Encoder  # loads Edge, which a node on Ray keeps elsewhere

    return bool(Bm25Encoder().query(text).indices)
