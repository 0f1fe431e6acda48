"""Stories and topics as pure functions: nothing decided is left out, and the same vectors give the same tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from plain_memories import plain_memory

from mnemesh_memory.maps import clusters
from mnemesh_memory.maps.clusters import atlas, cluster_id, medoid, topics
from mnemesh_memory.maps.open_points import is_open
from mnemesh_memory.maps.story import DAY_MS, chapters, story
from mnemesh_memory.values.model import Link, Memory

KINDS = st.sampled_from(("decision", "error", "fact", "episode"))


def a_memory(number: int, kind: str = "fact", at: int = 0, **fields: Any) -> Memory:
    return plain_memory(
        f"00000000-0000-8000-8000-{number:012d}",
        **{"content": f"Event {number}. More.", "at": at, "kind": kind, **fields},
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def planted(rng: np.random.Generator, topics: int, size: int, spread: float) -> tuple[np.ndarray, list[int]]:
    centres = unit(rng.normal(size=(topics, 64)))
    labels = [topic for topic in range(topics) for _ in range(size)]
    noise = unit(rng.normal(size=(topics * size, 64)))
    return unit(centres[labels] + spread * noise), labels


def information(one: list[int], other: list[int]) -> float:
    """Normalised mutual information of two labellings."""
    total = len(one)

    def entropy(labels: list[int]) -> float:
        shares = np.unique(labels, return_counts=True)[1] / total
        return float(-(shares * np.log(shares)).sum())

    joint = entropy([first * total + second for first, second in zip(one, other, strict=True)])
    halves = entropy(one) + entropy(other)
    return 2 * (halves - joint) / halves if halves else 1.0


@given(st.lists(st.tuples(KINDS, st.integers(0, 40)), max_size=40), st.integers(1, 10))
def test_a_story_has_every_decision_in_order_of_time_and_keeps_its_limit(
    events: list[tuple[str, int]], limit: int
) -> None:
    memories = [a_memory(number, kind, day * DAY_MS) for number, (kind, day) in enumerate(events)]
    told = story(memories, limit)
    cited = {id_ for sentence in told.sentences for id_ in sentence.ids}
    assert {memory.id for memory in memories if memory.kind == "decision"} <= cited
    assert sum(sentence.type != "decision" for sentence in told.sentences) <= limit
    assert [sentence.at for sentence in told.sentences] == sorted(sentence.at for sentence in told.sentences)
    assert len(told.sentences) + told.left_out == told.examined == len(memories)


def test_a_story_says_what_a_memory_was_replaced_and_resolved_by() -> None:
    fix, successor = a_memory(8).id, a_memory(9).id
    (first, second) = story(
        [
            a_memory(1, "error", 1, links=(Link(type="resolved-by", id=fix),)),
            a_memory(2, "decision", 2, superseded_by=successor, state="superseded"),
        ],
        5,
    ).sentences
    assert (first.text, first.ids[1:]) == (f"Failed: Event 1. (resolved by {fix[:13]})", (fix,))
    assert (second.text, second.ids[1:]) == (f"Decided: Event 2. (replaced later by {successor[:13]})", (successor,))


def test_a_story_says_once_that_a_thing_was_decided() -> None:
    texts = ("Decided: fire the kiln at dawn.", "decided to fire it at noon.", "Fire it at dusk.")
    memories = [a_memory(number, "decision", number, content=text) for number, text in enumerate(texts)]
    assert [sentence.text for sentence in story(memories, 5).sentences] == [
        "Decided: fire the kiln at dawn.", "decided to fire it at noon.", "Decided: Fire it at dusk.",
    ]  # fmt: skip


def test_the_record_of_a_session_is_no_sentence_and_a_run_that_somebody_tells_is_one() -> None:
    record = a_memory(1, "run", 1, content="OK.\n\nPrompts:\n- fire the kiln", tags=("session-run",))
    told = story([record, a_memory(2, "run", 2, content="Fired the kiln for nine hours.")], 5)
    assert ([one.text for one in told.sentences], told.examined) == (["Fired the kiln for nine hours."], 1)


def test_a_tag_makes_a_question_and_a_checkpoint_is_none() -> None:
    answered = (Link(type="resolved-by", id=a_memory(9).id),)
    assert is_open(a_memory(1, content="Who fires the kiln?"))
    assert is_open(a_memory(2, content="The owner of the kiln is unknown.", tags=("question",)))
    assert not is_open(a_memory(3, content="# Kiln\n\n## Open questions\n- who?", tags=("checkpoint",)))
    assert not is_open(a_memory(4, content="Unknown.", tags=("question",), links=answered))


def test_a_pause_of_a_day_begins_a_chapter() -> None:
    assert chapters([0, 5, DAY_MS + 6, DAY_MS + 7, 3 * DAY_MS]) == [0, 2, 4]
    assert chapters([]) == []


def numbered(groups: Sequence[Sequence[int]], size: int) -> list[int]:
    """The number of the group that each row is in."""
    found = [0] * size
    for number, rows in enumerate(groups):
        for row in rows:
            found[int(row)] = number
    return found


def test_planted_topics_are_found_again() -> None:
    vectors, labels = planted(np.random.default_rng(7), topics=8, size=25, spread=0.6)
    assert information(labels, numbered(topics(vectors)[3], len(labels))) >= 0.9


def test_the_topics_of_a_space_too_large_for_one_linkage_are_those_that_were_planted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "GRAINS_MAX", 40)
    vectors, labels = planted(np.random.default_rng(7), topics=8, size=25, spread=0.6)
    assert information(labels, numbered(topics(vectors)[2], len(labels))) >= 0.9


@settings(deadline=None)
@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 30), st.just(4)), elements=st.floats(-1, 1, width=32)),
    st.integers(1, 3),
)
def test_each_memory_is_in_one_topic_of_a_level_whatever_the_vectors_are(raw: np.ndarray, level: int) -> None:
    vectors = unit(raw + np.float32(1e-3))
    found = topics(vectors)
    assert sorted(int(row) for rows in found[level] for row in rows) == list(range(len(vectors)))
    coarser = [set(rows.tolist()) for rows in found[max(1, level - 1)]]
    assert all(any(set(rows.tolist()) <= whole for whole in coarser) for rows in found[level])


def test_topics_keep_their_ids_in_any_order_of_memories() -> None:
    vectors, labels = planted(np.random.default_rng(3), topics=4, size=10, spread=0.5)
    ids = [f"m{number:03d}" for number in range(len(labels))]
    texts = [f"topic {label} text {number}" for number, label in enumerate(labels)]
    order = np.random.default_rng(5).permutation(len(ids))
    first = atlas(ids, texts, vectors)
    second = atlas([ids[row] for row in order], [texts[row] for row in order], vectors[order])
    assert [first.cluster(node, 2) for node in first.topics[2]] == [
        second.cluster(node, 2) for node in second.topics[2]
    ]


def test_a_topic_keeps_its_id_when_another_memory_joins_it() -> None:
    vectors, _ = planted(np.random.default_rng(11), topics=1, size=20, spread=0.2)
    ids = [f"m{number:03d}" for number in range(20)]
    middle = medoid(vectors, np.arange(20), ids)
    joined = np.vstack([vectors, vectors[middle : middle + 1]])
    assert cluster_id(1, ids[medoid(joined, np.arange(21), [*ids, "m999"])]) == cluster_id(1, ids[middle])


def test_ten_thousand_identical_memories_are_one_topic() -> None:
    vectors = unit(np.ones((10_000, 8), np.float32))
    assert [len(rows) for rows in topics(vectors)[1]] == [10_000]


def test_an_empty_space_has_no_topics_and_no_story() -> None:
    assert atlas([], [], np.zeros((0, 1), np.float32)).topics[1] == []
    assert story([], 5).sentences == ()
