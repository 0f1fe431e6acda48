"""The newest of likes: cues, topics, and a labelled set whose labels are older than the rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, Search, ShardConfig
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.recall.results import TIE, FoundMemory, doubtful, newer_of_ties_first
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.second_look.latest import SCORE_OF_TOPIC, asks_for_latest, newest_first
from mnemesh_memory.ranking.second_look.optional_signal import Look, Sight, in_order
from mnemesh_memory.text.traits import question_of, traits_of
from mnemesh_memory.values.model import Memory, Query

STORIES: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "recency.json").read_text("utf-8")
)["stories"]
SPACE = "team/x"


def memory(id_: str, content: str = "the rate limit", at: int = 0) -> Memory:
    return plain_memory(id_, content, at, space=SPACE, valid_from=at)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("what caused the last outage?", True), ("the latest release", True), ("our current plan", True),
        ("where does Mia work now?", True), ("what is Ana's last address?", True), ("my most recent visit", True),
        ("what did we decide last week?", False), ("how long does the battery last?", False),
        ("what do you know?", False), ("the last 3 days", False), ("in the last two weeks", False),
        ("what broke in the last month", False), ("electric currents", False), ("from now on", False),
        ("every now and then", False), ("the last Monday", False), ("at last it works", False),
    ],
)  # fmt: skip
def test_words_for_the_latest_are_read_and_words_of_time_are_not(question: str, asks: bool) -> None:
    assert asks_for_latest(question) is asks


scores = st.lists(st.floats(0, 1), min_size=1, max_size=8)
times = st.lists(st.integers(0, 9), min_size=8, max_size=8)


@given(scores, times, st.lists(st.booleans(), min_size=8, max_size=8), st.floats(0, 1))
def test_scores_are_given_out_anew_and_none_is_made_up(
    found: list[float], ages: list[int], about: list[bool], weight: float
) -> None:
    looks = [Look(str(number), score) for number, score in enumerate(found)]
    texts = ["the rate limit" if it else "a cat" for it in about]
    memories = {look.id: memory(look.id, texts[n], ages[n]) for n, look in enumerate(looks)}
    sight = Sight(Query(text="the latest rate limit"), {"latest": 1.0}, memories)
    moved = newest_first(looks, sight, 1.0)
    assert sorted(look.score for look in moved) == sorted(found)
    assert newest_first(looks, sight, 0.0) == in_order(looks)
    partly = {look.id: look.score for look in newest_first(looks, sight, weight)}
    assert all(0 <= score <= 1 for score in partly.values())
    for look in moved:  # a part that explains the change
        before = found[int(look.id)]
        assert look.score == pytest.approx(before + look.parts.get("latest", 0.0))
    if not any(about):
        return
    best = in_order(looks)[0]
    if about[int(best.id)]:
        equals = [look for look in moved if about[int(look.id)] and found[int(look.id)] >= SCORE_OF_TOPIC * best.score]
        ordered = [ages[int(look.id)] for look in equals if look.score]
        assert ordered == sorted(ordered, reverse=True) or len({look.score for look in equals}) < len(equals)


class Told(NamedTuple):
    shard: RetrievalShard
    worker: EmbeddingWorker
    memories: dict[str, Memory]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """All stories in one space."""
    worker = EmbeddingWorker(ModelConfig(download=False))
    info = worker.load()
    folder = tmp_path_factory.mktemp("latest")
    shard = RetrievalShard(ShardConfig(str(folder / "shard"), info.generation, info.dimensions, "life-1"))
    shard.open()
    memories: dict[str, Memory] = {}
    for story, one in enumerate(STORIES):
        for number, said in enumerate(one["memories"]):
            id_ = str(UUID(int=story * 100 + number, version=4))
            at = int(datetime.fromisoformat(said["at"]).replace(tzinfo=UTC).timestamp() * 1000)
            memories[id_] = memory(id_, said["content"], at)
    vectors = worker.embed([one.content for one in memories.values()])
    items = [
        IndexItem(
            id=id_, space=SPACE, kind="fact", created_at=one.created_at, updated_at=one.created_at,
            traits=traits_of(one), texts=(IndexText(vector, one.content),),
        )
        for (id_, one), vector in zip(memories.items(), vectors, strict=True)
    ]  # fmt: skip
    shard.apply(items, [], 1)
    yield Told(shard, worker, memories)
    shard.close()
    worker.close()


def order(told: Told, text: str) -> list[str]:
    (vector,) = told.worker.embed([text])
    search = Search(text=text, vector=vector, spaces=(SPACE,), limit=50, generation=told.shard.generation)
    looks = [Look(item.id, item.score) for item in fuse(told.shard.search(search), {}, question_of(text))]
    if asks_for_latest(text):
        looks = newest_first(looks, Sight(Query(text=text), {}, told.memories), 1.0)
    return [told.memories[look.id].content for look in in_order(looks)]


ASKED = [
    pytest.param(one["memories"][asked["first"]]["content"], asked["text"], id=asked["text"])
    for one in STORIES
    for asked in one["questions"]
]


def test_of_the_labelled_questions_the_newest_of_the_topic_answers_nearly_all(told: Told) -> None:
    wrong = [question.id for question in ASKED if order(told, str(question.values[1]))[0] != question.values[0]]
    assert len(wrong) <= 4, wrong


def result(id_: str, score: float, at: int, content: str = "the limit is 100 requests", useful: int = 0) -> FoundMemory:
    return FoundMemory(replace(memory(id_, content, at), useful=useful), Fused(id_, score))


EAST, NORTH = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)


@pytest.mark.parametrize(
    ("older", "newer", "vectors", "first"),
    [
        (result("a", 0.60, 1), result("b", 0.59, 2), (EAST, EAST), "b"),
        (result("a", 0.60, 1), result("b", 0.50, 2), (EAST, EAST), "a"),  # no tie
        (result("a", 0.60, 1), result("b", 0.59, 2), (EAST, NORTH), "a"),  # no near-duplicate
        (result("a", 0.60, 2), result("b", 0.59, 1), (EAST, EAST), "a"),  # the newer is first already
        (result("a", 0.60, 1, useful=3), result("b", 0.59, 2), (EAST, EAST), "a"),  # rated better
        (result("a", 0.6, 1), result("b", 0.6, 2), (EAST, EAST), "a"),  # equal scores have an order of their own
    ],
)
def test_without_words_for_the_latest_time_only_breaks_ties_of_near_duplicates(
    older: FoundMemory, newer: FoundMemory, vectors: tuple[Any, Any], first: str
) -> None:
    ranked = newer_of_ties_first([older, newer], dict(zip(("a", "b"), vectors, strict=True)))
    assert ranked[0].memory.id == first
    assert newer_of_ties_first([older, newer], {}) == [older, newer]


def test_vectors_are_asked_for_only_where_they_may_change_the_order() -> None:
    other = "a cat slept on the roof"
    assert doubtful([result("a", 0.6, 1), result("b", 0.59, 2)]) == ["a", "b"]
    assert doubtful([result("a", 0.6, 1), result("b", 0.59, 2, other)]) == []
    assert doubtful([result("a", 0.6, 2), result("b", 0.59, 1)]) == []
    assert doubtful([result("a", 0.6, 1), result("b", 0.4, 2)]) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9)), max_size=8))
def test_no_result_is_lost_and_none_passes_one_that_matches_clearly_better(found: list[tuple[float, int]]) -> None:
    results = [result(str(number), score, at) for number, (score, at) in enumerate(sorted(found, reverse=True))]
    ranked = newer_of_ties_first(results, {item.memory.id: EAST for item in results})
    assert sorted(item.memory.id for item in ranked) == sorted(item.memory.id for item in results)
    for place, item in enumerate(ranked):
        assert all(below.fused.score <= item.fused.score + TIE for below in ranked[place + 1 :])
