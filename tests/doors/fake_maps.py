"""The operations of FakeMesh on whole spaces: the real rules over its memories, one topic for all."""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_memory.access import grants
from mnemesh_memory.maps.answers import Cluster, Clusters, Covered, Drilled, Gaps, MapPoint, OpenPoint, Room, Story
from mnemesh_memory.maps.story import story
from mnemesh_memory.text.text import title_of
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.model import Caller, Memory

TOPIC = "t2-0123456789ab"


class FakeMaps:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]

    async def story(
        self, caller: Caller, spaces: Sequence[str] = (), since: int | None = None, before: int | None = None,
        limit: int = 40,
    ) -> Story:  # fmt: skip
        return story(self._in_spaces(caller, spaces), limit)

    async def gaps(self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20) -> Gaps:
        seen = self._in_spaces(caller, spaces)
        points = [OpenPoint(type="question", text=title_of(one.content), count=1, ids=(one.id,)) for one in seen]
        return Gaps(gaps=tuple(points[:limit]), total=len(points), examined=len(self.memories))

    async def space_coverage(self, caller: Caller, text: str, spaces: Sequence[str] = ()) -> Covered:
        ids = tuple(memory.id for memory in self._in_spaces(caller, spaces))
        return Covered(coverage=0.5, abstain=not ids, missing_terms=("zebra",), ids=ids, degraded=("index: 1 behind",))

    async def recall_hierarchical(
        self, caller: Caller, text: str = "", spaces: Sequence[str] = (), level: int = 2, limit: int = 12
    ) -> Clusters:
        return Clusters(clusters=(self._topic(caller, spaces),), total=1, examined=len(self.memories))

    async def drill_down(self, caller: Caller, cluster: str, spaces: Sequence[str] = (), limit: int = 20) -> Drilled:
        if not cluster:
            raise InvalidArgument("cluster", "nothing", "a topic", missing=True)
        if cluster != TOPIC:
            raise NotFound("cluster", cluster, "there is one", field="cluster")
        topic = self._topic(caller, spaces)
        return Drilled(cluster=topic, children=(topic, topic), memories=topic.memories, examples=topic.examples)

    async def navigate(
        self, caller: Caller, text: str = "", key: str = "", spaces: Sequence[str] = (), limit: int = 10
    ) -> Room:
        points = [
            MapPoint(
                id=one.id, text=title_of(one.content), score=0.5, x=-0.5, y=1.0, start=not place,
                reasons=("used with first: 2 times",),
            )
            for place, one in enumerate(self._in_spaces(caller, spaces))
        ]  # fmt: skip
        return Room(points=tuple(points[:limit]), examined=len(points))

    def _topic(self, caller: Caller, spaces: Sequence[str]) -> Cluster:
        seen = self._in_spaces(caller, spaces)
        return Cluster(
            id=TOPIC, level=2, label="deploy, ci", size=len(seen), memories=tuple(one.id for one in seen),
            examples=tuple(title_of(one.content) for one in seen), score=0.25,
        )  # fmt: skip

    def _in_spaces(self, caller: Caller, spaces: Sequence[str]) -> list[Memory]:
        named = request_checks.within_of(spaces, caller)
        return [memory for memory in self.memories.values() if grants.any_matches(named, memory.space)]
