"""The operations on whole spaces: story, topics, gaps and coverage. Read-only, and asking is no use of what is shown.

Each looks at the newest MAP_MEMORIES_MAX memories of the spaces, one at a time, and says how many it looked at. The
division into topics is kept until the ledger goes on.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from mnemesh_actors.embedding.embedder import mean_vector
from mnemesh_actors.memory_lookup import newest_pages
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.consolidation import gaps as consolidation_gaps
from mnemesh_memory.consolidation.domains import DOMAINS
from mnemesh_memory.maps import answers
from mnemesh_memory.maps.answers import Cluster, Clusters, Covered, Drilled, Gaps, OpenPoint, Story
from mnemesh_memory.maps.clusters import Atlas, atlas, typical
from mnemesh_memory.maps.open_points import open_points
from mnemesh_memory.maps.story import story
from mnemesh_memory.policy.sessions.session_runs import is_record
from mnemesh_memory.ranking.answers import Recalled, left_out
from mnemesh_memory.text.text import content_words, stem, title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import Caller, ListQuery, Memory, Query

PAGE: Final = 200
ATLASES_KEPT: Final = 4
RECALLED: Final = 50
COVERING: Final = 5
SCORE_SHOWN_MIN: Final = 0.005  # below, a score of two digits is 0.00
Recall = Callable[[Caller, Query], Awaitable[Recalled]]


class SpaceMaps:
    """`recall` answers the questions about topics and coverage."""

    def __init__(self, parts: NodePorts, recall: Recall) -> None:
        self._parts = parts
        self._recall = recall
        self._turn = asyncio.Lock()  # one look at a time: it takes a core
        self._atlases: OrderedDict[tuple[tuple[str, ...], tuple[str, int]], tuple[Atlas, tuple[str, ...]]] = (
            OrderedDict()
        )

    async def story(
        self,
        caller: Caller,
        spaces: Sequence[str] = (),
        since: int | None = None,
        before: int | None = None,
        limit: int = answers.SENTENCES,
    ) -> Story:
        """What happened from `since` to `before` (ms) in order of time: every decision, and at most `limit` other
        sentences. Raises InvalidArgument, PermissionDenied."""
        field_checks.whole("limit", limit, 1, answers.SENTENCES_MAX)
        query = ListQuery(
            within=request_checks.within_of(spaces, caller),
            spaces=(),
            state="all",
            since=since,
            before=before,
            limit=PAGE,
        )
        memories, degraded = await self._memories(query)
        answer = await asyncio.to_thread(story, memories, limit)
        return replace(answer, degraded=degraded)

    async def gaps(self, caller: Caller, spaces: Sequence[str] = (), limit: int = answers.GAPS) -> Gaps:
        """Names that several memories use and none explains, and questions without an answer."""
        field_checks.whole("limit", limit, 1, answers.GAPS_MAX)
        query = ListQuery(within=request_checks.within_of(spaces, caller), spaces=(), state="active", limit=PAGE)
        memories, degraded = await self._memories(query)
        points = await asyncio.to_thread(_gaps, memories)
        return Gaps(gaps=tuple(points[:limit]), total=len(points), examined=len(memories), degraded=degraded)

    async def coverage(self, caller: Caller, text: str, spaces: Sequence[str] = ()) -> Covered:
        """How well the memories answer a question, and which of its words the best results lack. Raises
        InvalidArgument without a question."""
        if not text.strip():
            raise InvalidArgument("query", "nothing", f"1 to {limits.QUERY_CHARS_MAX:,} characters", missing=True)
        answer = await self._recall(caller, Query(text=text, spaces=tuple(spaces), limit=COVERING))
        held = {
            stem(word) for hit in answer.results for word in content_words(f"{hit.memory.title} {hit.memory.content}")
        }
        missing = tuple(dict.fromkeys(word for word in content_words(text) if stem(word) not in held))
        return Covered(
            coverage=answer.coverage,
            abstain=answer.abstain,
            answered=answer.answered,
            missing_terms=missing[: limits.KEYWORDS_MAX],
            ids=tuple(hit.memory.id for hit in answer.results),
            degraded=answer.degraded,
        )

    async def recall_hierarchical(
        self,
        caller: Caller,
        text: str = "",
        spaces: Sequence[str] = (),
        level: int = answers.LEVEL,
        limit: int = answers.CLUSTERS,
    ) -> Clusters:
        """The topics of a level that answer a question, the best first, or all topics, the largest first. The score of
        a topic is that of its best memory."""
        if level not in answers.LEVELS:
            raise InvalidArgument("level", level, f"one of {', '.join(map(str, answers.LEVELS))}")
        field_checks.whole("limit", limit, 1, answers.CLUSTERS_MAX)
        whole, degraded = await self._atlas(request_checks.within_of(spaces, caller))
        topics = whole.topics[level]
        if not text.strip():
            shown = [whole.cluster(topic, level) for topic in topics[:limit]]
            return Clusters(clusters=tuple(shown), total=len(topics), examined=len(whole.ids), degraded=degraded)
        answer = await self._recall(caller, Query(text=text, spaces=tuple(spaces), limit=RECALLED))
        scores = {hit.memory.id: hit.score for hit in answer.results}
        ranked = []
        for topic in topics:
            best = max((scores.get(whole.ids[row], 0.0) for row in topic), default=0.0)
            if best > SCORE_SHOWN_MIN:
                ranked.append((best, topic))
        ranked.sort(key=lambda pair: (-pair[0], int(pair[1][0])))
        return Clusters(
            clusters=tuple(whole.cluster(topic, level, score) for score, topic in ranked[:limit]),
            total=len(ranked),
            examined=len(whole.ids),
            degraded=(*degraded, *answer.degraded),
        )

    async def drill_down(
        self, caller: Caller, cluster: str, spaces: Sequence[str] = (), limit: int = answers.MEMBERS
    ) -> Drilled:
        """The topics within a topic, and its memories. Raises NotFound for a topic that is not there any more."""
        if not cluster:
            raise InvalidArgument("cluster", "nothing", "a topic of recall_hierarchical", missing=True)
        field_checks.whole("limit", limit, 1, answers.MEMBERS_MAX)
        whole, degraded = await self._atlas(request_checks.within_of(spaces, caller))
        place = await asyncio.to_thread(whole.find, cluster)
        if place is None:
            hint = "topics change with their memories; recall_hierarchical lists the present ones"
            raise NotFound("cluster", cluster, hint, field="cluster")
        topic, level = place
        rows = typical(whole.vectors, topic)[:limit]
        finer = level + 1
        children: tuple[Cluster, ...] = ()
        if finer in answers.LEVELS:
            parts = whole.within(topic, finer)
            children = tuple(whole.cluster(part, finer) for part in parts[: answers.CLUSTERS_MAX])
        return Drilled(
            cluster=whole.cluster(topic, level),
            children=children if len(children) > 1 else (),
            memories=tuple(whole.ids[row] for row in rows),
            examples=tuple(title_of(whole.texts[row]) for row in rows),
            degraded=degraded,
        )

    async def _atlas(self, within: tuple[str, ...]) -> tuple[Atlas, tuple[str, ...]]:
        """The topics of some spaces, made when the ledger has gone on since."""
        async with self._turn:
            key = (within, await self._parts.ledger.position())
            if key in self._atlases:
                self._atlases.move_to_end(key)
                return self._atlases[key]
            ids: list[str] = []
            texts: list[str] = []
            vectors: list[np.ndarray] = []
            absent = 0
            lost: tuple[str, ...] = ()
            query = ListQuery(within=within, spaces=(), state="active", limit=PAGE)
            with self._parts.serving.current.held() as index_generation:
                async for page in newest_pages(self._parts, query, limits.MAP_MEMORIES_MAX):
                    lost = left_out(page.lost)
                    stored = await index_generation.embedder.stored_of(self._parts.ledger, page.memories)
                    for memory in page.memories:
                        if is_record(memory):
                            continue  # a record tells of work, and every one begins with the same words
                        vector = mean_vector(stored[memory.id])
                        if vector is None:
                            absent += 1
                            continue
                        ids.append(memory.id)
                        texts.append(memory.content)
                        vectors.append(vector)
            degraded = (*lost, f"index: {absent} texts are not embedded yet") if absent else lost
            stacked = np.stack(vectors) if vectors else np.zeros((0, 1), np.float32)
            self._atlases[key] = (await asyncio.to_thread(atlas, ids, texts, stacked), degraded)
            while len(self._atlases) > ATLASES_KEPT:
                self._atlases.popitem(last=False)
            return self._atlases[key]

    async def _memories(self, query: ListQuery) -> tuple[list[Memory], tuple[str, ...]]:
        async with self._turn:
            memories: list[Memory] = []
            degraded: tuple[str, ...] = ()
            async for page in newest_pages(self._parts, query, limits.MAP_MEMORIES_MAX):
                memories += page.memories
                degraded = left_out(page.lost)
            return memories, degraded


def _gaps(memories: Sequence[Memory]) -> list[OpenPoint]:
    used: dict[str, tuple[str, ...]] = {}
    explained: set[str] = set()
    for domain in DOMAINS:
        names, known = consolidation_gaps.uses(memories, domain)
        used |= names
        explained |= known
    return open_points(memories, consolidation_gaps.unexplained(used, explained))
