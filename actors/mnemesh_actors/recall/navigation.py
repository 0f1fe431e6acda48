"""Navigating: which memories agents use together, and the room around one of them.

A step of an agent is noted beside its answer, and no answer waits for that. Steps of the last moments before a kill are
lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

import structlog

from mnemesh_actors.knowledge.access_store import AccessStore
from mnemesh_actors.memory_lookup import find_many
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.notices import Notice, Notices
from mnemesh_actors.recall.space_maps import Recall
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.tasks import begin_beside
from mnemesh_memory.access import grants
from mnemesh_memory.maps import answers
from mnemesh_memory.maps.answers import MapPoint, Room
from mnemesh_memory.maps.rooms import CoAccess, Trails, Used, forward_weight, layout, nearness, reasons
from mnemesh_memory.policy.sessions.session_runs import is_record
from mnemesh_memory.ranking.answers import Recalled, left_out
from mnemesh_memory.text.text import title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Caller, Memory, Query

PENDING_MAX: Final = 512  # Pairs in memory.
# The first results of a recall count as used, but for those with a lower score, or with a lower share of the best. A
# room begins at no result with a lower share either.
RESULTS_USED: Final = 3
USED_SCORE_MIN: Final = 0.15
USED_SHARE_MIN: Final = 0.5
# What is read or cited is of use. What is shown for a question may be, and the same few memories are shown for many.
WEIGHT_OF_SHOWN: Final = 0.05
# A pair predicts when it was used so many times, and weighs as much as so many reads today.
PREDICTING_USES: Final = 2
PREDICTING_WEIGHT: Final = 1.5
STARTS: Final = 5  # Results of a question.
SPARE: Final = 2  # Times the limit. Some memories are forgotten by now.
log = structlog.get_logger("mnemesh.navigation")


class Navigating:
    """`store` is the actor with the counts."""

    def __init__(self, parts: NodePorts, recall: Recall, store: Handle[AccessStore], notices: Notices) -> None:
        self._parts = parts
        self._recall = recall
        self._store = store
        self._notices = notices
        self._trails = Trails()
        self._reads = Trails()  # Without what was merely shown.
        self._pending: Counter[tuple[Used, Used]] = Counter()
        self._shown: Counter[tuple[Used, Used]] = Counter()
        self._keeping: set[asyncio.Task[None]] = set()

    def note(self, caller: Caller, memories: Sequence[Memory], *, shown: bool = False) -> None:
        """An agent used memories in one step. They were merely `shown` as answers, or else read or cited."""
        used = [(memory.id, memory.space) for memory in memories]
        now = self._parts.clock()
        pairs = self._trails.step(caller.agent, used, now)
        read = Counter() if shown else self._reads.step(caller.agent, used, now)
        self._pending.update(read)
        self._shown.update(pairs - read)
        if len(self._pending) + len(self._shown) >= PENDING_MAX and not self._keeping:
            begin_beside(self._keeping, self._keep(), "keep-access")

    def recalled(self, caller: Caller, query: Query, answer: Recalled) -> None:
        """A question was answered. Its best results count as used, but for weak ones. Nobody has asked for what a hook
        recalls, and the newest memories answer no question."""
        if query.current_session or not query.text.strip() or answer.abstain:
            return
        least = max(USED_SCORE_MIN, USED_SHARE_MIN * max((hit.score for hit in answer.results), default=0.0))
        self.note(caller, [hit.memory for hit in answer.results[:RESULTS_USED] if hit.score >= least], shown=True)

    async def navigate(
        self, caller: Caller, text: str = "", key: str = "", spaces: Sequence[str] = (), limit: int = answers.POINTS
    ) -> Room:
        """The memories that are used together with the memory of `key`, or with those that answer `text`; without both,
        the most used ones. An empty room where no memory answers `text`. Records of sessions are left out. Raises
        InvalidArgument, NotFound, PermissionDenied."""
        field_checks.whole("limit", limit, 1, answers.POINTS_MAX)
        if text.strip() and key:
            raise InvalidArgument("query", text, "query or id, not both")
        within = request_checks.within_of(spaces, caller)
        start, degraded = await self._start(caller, text, key, spaces)
        await self._keep()
        pairs = await self._store.pairs(within)
        self._tell(await self._store.made())
        whole = not (text.strip() or key)
        if not (start or whole):
            return Room(points=(), examined=len(pairs.ends), degraded=degraded)
        near = await asyncio.to_thread(nearness, pairs, pairs.strongest(limit) if whole else start)
        wanted = [*start, *(id_ for id_ in near if id_ not in start)][: len(start) + SPARE * limit]
        known = await self._parts.ledger.read(wanted)
        if absent := [id_ for id_ in wanted if id_ not in known]:
            degraded = (*degraded, *left_out(await self._parts.ledger.lost(absent, grants.readable(caller))))
        standing = {
            id_
            for id_, memory in known.items()
            if memory.state == "active" and grants.may_read(caller, memory.space) and not is_record(memory)
        }
        shown = [id_ for id_ in wanted if id_ in start or id_ in standing][: len(start) + limit]
        points = await asyncio.to_thread(_points, pairs, shown, start, near, known)
        return Room(points=points, examined=len(pairs.ends), degraded=degraded)

    async def predicted(self, caller: Caller, start: Sequence[str], spaces: Sequence[str], limit: int) -> list[Memory]:
        """What was used together with the memories of `start` more than once, and is likely needed next, the nearest
        first. Without a start, what the caller used last is one. Raises Unavailable."""
        begun = list(start) or self._trails.last(caller.agent)
        if not begun:
            return []
        await self._keep()
        least = PREDICTING_WEIGHT * forward_weight(self._parts.clock())
        pairs = (await self._store.pairs(spaces, begun)).repeated(PREDICTING_USES, least)
        near = await asyncio.to_thread(nearness, pairs, dict.fromkeys(begun, 1.0)) if pairs.ids else {}
        wanted = [id_ for id_ in near if id_ not in begun][: SPARE * limit]
        known = await self._parts.ledger.read(wanted)
        return [known[id_] for id_ in wanted if id_ in known and known[id_].state == "active"][:limit]

    async def close(self) -> None:
        """Keep the steps noted so far."""
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await self._keep()

    async def _start(
        self, caller: Caller, text: str, key: str, spaces: Sequence[str]
    ) -> tuple[dict[str, float], tuple[str, ...]]:
        if key:
            (named,) = await find_many(self._parts, caller, [key], spaces=spaces)
            if isinstance(named, MnemeshError):
                raise named
            return {named.id: 1.0}, ()
        if not text.strip():
            return {}, ()
        answer = await self._recall(caller, Query(text=text, spaces=tuple(spaces), limit=STARTS))
        if answer.abstain:
            return {}, answer.degraded
        least = USED_SHARE_MIN * max((hit.score for hit in answer.results), default=0.0)
        return {hit.memory.id: hit.score for hit in answer.results if hit.score >= least}, answer.degraded

    async def _keep(self) -> None:
        pending, self._pending = self._pending, Counter()
        shown, self._shown = self._shown, Counter()
        if not pending and not shown:
            return
        try:
            for pairs, weight in ((pending, 1.0), (shown, WEIGHT_OF_SHOWN)):
                if pairs:
                    await self._store.add(pairs, self._parts.clock(), weight)
        except MnemeshError as error:  # counts are hints; whoever asks for the map meets the error itself
            log.warning("access_not_kept", pairs=len(pending) + len(shown), reason=error.message)
        self._tell(await self._store.made())

    def _tell(self, made: str) -> None:
        if made:
            self._notices(Notice("access", f"the map of memories used together begins anew: {made}; no log holds it"))


def _points(
    pairs: CoAccess, shown: Sequence[str], start: dict[str, float], near: dict[str, float], known: dict[str, Memory]
) -> tuple[MapPoint, ...]:
    why, places = reasons(pairs, shown, list(start)), layout(pairs, shown)
    return tuple(
        MapPoint(
            id=id_,
            text=_shown(known[id_]) if id_ in known else "",
            score=near.get(id_, 0.0),
            x=places[id_][0],
            y=places[id_][1],
            start=id_ in start,
            reasons=why[id_],
        )
        for id_ in shown
    )


def _shown(memory: Memory) -> str:
    return memory.title or title_of(memory.content)
