"""`python -m bench.maps.subsystems`: what heat, the map and the topics would bring to the order of recall.

Recall does not use these three, so each is added here to the scores of real answers, with several weights. The corpus
is the ten team histories. One half of the questions of a history is asked, and the answers are read, so that there is
heat and a map. Then the other half is measured. The halves take turns, each with a node of its own.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.consolidation.sleep import OWNER, history, started
from bench.texts.corpora import TEAM
from rich.console import Console
from rich.table import Table

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.maps.answers import CLUSTERS_MAX, MEMBERS_MAX, POINTS_MAX
from mnemesh_memory.ranking.answers import Hit
from mnemesh_memory.values.model import Query

WEIGHTS: Final = (0.02, 0.05, 0.1, 0.2)
RESULTS: Final = 20
TIE: Final = 1e-4  # Equal scores have an order of their own in recall, which less than this must not undo.
Shares = Mapping[str, float]
# (scores of the results, answers, share of each result by subsystem)
Answer = tuple[Shares, set[str], Mapping[str, Shares]]


async def measured(histories: Mapping[str, Any], first: int) -> list[Answer]:
    """The answers of the measured half of the questions. `first` is the place of its first question, 0 or 1."""
    found: list[Answer] = []
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            for name, data in histories.items():
                asked = await history(mesh, name, data)
                for space, text, answers in asked[1 - first :: 2]:
                    await mesh.recall(OWNER, Query(text=text, spaces=(space,)))
                    await mesh.get(OWNER, sorted(answers))
                topic_of = await _topics(mesh, asked[0][0])
                for space, text, answers in asked[first::2]:
                    query = Query(text=text, spaces=(space,), limit=RESULTS, explain=True)
                    hits = (await mesh.recall(OWNER, query)).results
                    if hits:
                        scores = {hit.memory.id: hit.score - place * TIE for place, hit in enumerate(hits)}
                        found.append((scores, answers, await _shares(mesh, space, hits, topic_of)))
        finally:
            await mesh.close()
    return found


async def _topics(mesh: Mesh, space: str) -> dict[str, str]:
    """By memory its topic of the usual level."""
    topics = await mesh.recall_hierarchical(OWNER, spaces=(space,), limit=CLUSTERS_MAX)
    return {
        id_: topic.id
        for topic in topics.clusters
        for id_ in (await mesh.drill_down(OWNER, topic.id, (space,), MEMBERS_MAX)).memories
    }


async def _shares(mesh: Mesh, space: str, hits: Sequence[Hit], topic_of: Mapping[str, str]) -> dict[str, Shares]:
    """By subsystem the share of each result, in [0, 1]. Map: how near it is to the best one. Topics: the score of the
    best other result of its topic."""
    ids = [hit.memory.id for hit in hits]
    room = await mesh.navigate(OWNER, key=ids[0], spaces=(space,), limit=POINTS_MAX)
    near = {point.id: point.score for point in room.points if not point.start}
    most = max(near.values(), default=0.0) or 1.0
    beside = {hit.memory.id: max((other.score for other in _same(hit, hits, topic_of)), default=0.0) for hit in hits}
    heat = {hit.memory.id: hit.heat.value if hit.heat else 0.0 for hit in hits}
    return {"heat": heat, "map": {id_: near.get(id_, 0.0) / most for id_ in ids}, "topics": beside}


def _same(hit: Hit, hits: Sequence[Hit], topic_of: Mapping[str, str]) -> list[Hit]:
    """The other results of its topic."""
    topic = topic_of.get(hit.memory.id)
    return [other for other in hits if other is not hit and topic_of.get(other.memory.id) == topic]


def ranks(answers: Sequence[Answer], subsystem: str, weight: float) -> list[int]:
    """The place of the first right answer of each question, 0 for none."""
    places = []
    for scores, right, shares in answers:
        share = shares.get(subsystem, {})
        order = sorted(scores, key=lambda id_: -(scores[id_] + weight * share.get(id_, 0.0)))
        places.append(next((place for place, id_ in enumerate(order, 1) if id_ in right), 0))
    return places


def main() -> int:
    """A row for recall as it is, and for each subsystem and weight."""
    histories = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(TEAM.glob("*.json"))}
    answers = [answer for first in (0, 1) for answer in asyncio.run(measured(histories, first))]
    now = ranks(answers, "", 0.0)
    title = f"{len(answers)} questions of the team histories"
    table = Table("", "weight", "hit@1", "hit@5", "MRR", "better", "worse", title=title)
    rows = [("as it is", 0.0), *((name, weight) for name in ("heat", "map", "topics") for weight in WEIGHTS)]
    for name, weight in rows:
        places = ranks(answers, name, weight)
        figures = (
            statistics.mean(place == 1 for place in places),
            statistics.mean(0 < place <= 5 for place in places),
            statistics.mean(1 / place if place else 0.0 for place in places),
        )
        better = sum(0 < place < (before or RESULTS + 1) for place, before in zip(places, now, strict=True))
        worse = sum(0 < before < (place or RESULTS + 1) for place, before in zip(places, now, strict=True))
        table.add_row(name, f"{weight:g}", *(f"{figure:.3f}" for figure in figures), str(better), str(worse))
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
