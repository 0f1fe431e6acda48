"""The map of memories used together: counts, nearness, places to draw, and the file that keeps the counts."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall_scene import READER, Here

from mnemesh_actors.knowledge.access_store import AccessStore
from mnemesh_memory.graph.pagerank import DAMPING
from mnemesh_memory.maps.rooms import HALF_LIFE_DAYS, TRAIL_MS, CoAccess, Trails, Used, layout, nearness
from mnemesh_memory.policy.sessions.session_context import ContextQuery
from mnemesh_memory.policy.sessions.session_runs import TAG
from mnemesh_memory.values.model import Caller, Draft, Query

NOW = 1_795_000_000_000
HALF_LIFE_MS = HALF_LIFE_DAYS * 86_400_000


def used(*names: str) -> list[Used]:
    return [(name, "lab") for name in names]


def graph(pairs: dict[tuple[str, str], float]) -> CoAccess:
    ids = sorted({name for pair in pairs for name in pair})
    place = {name: number for number, name in enumerate(ids)}
    return CoAccess(
        ids=tuple(ids),
        ends=np.array([place[one] for one, _ in pairs], np.int64),
        others=np.array([place[other] for _, other in pairs], np.int64),
        weights=np.array(list(pairs.values()), np.float64),
        counts=np.ones(len(pairs), np.int64),
    )


def store_of(path: Path, steps: list[list[Used]], now: int = NOW, **limits: int) -> AccessStore:
    store, trails = AccessStore(str(path / "derived" / "access.sqlite"), **limits), Trails()
    for number, step in enumerate(steps):
        store.add(trails.step("ana", step, now + number), now + number)
    return store


def test_a_step_is_tied_to_itself_and_to_the_steps_shortly_before() -> None:
    trails = Trails()
    assert set(trails.step("ana", used("a", "b"), NOW)) == {(("a", "lab"), ("b", "lab"))}
    assert len(trails.step("ana", used("c"), NOW + 1)) == 2
    assert not trails.step("bob", used("d"), NOW + 2), "steps of another agent are another trail"
    assert not trails.step("ana", used("e"), NOW + TRAIL_MS + 2), "the steps before are too long ago"


@given(st.dictionaries(st.tuples(*[st.sampled_from("abcdefg")] * 2).filter(lambda pair: pair[0] < pair[1]),
                       st.floats(0.1, 9), min_size=1, max_size=12))  # fmt: skip
def test_nearness_is_the_successor_representation(pairs: dict[tuple[str, str], float]) -> None:
    rooms = graph(pairs)
    counts = np.zeros((len(rooms.ids), len(rooms.ids)))
    for one, other, weight in zip(rooms.ends, rooms.others, rooms.weights, strict=True):
        counts[one, other] += weight
        counts[other, one] += weight
    whole = (1 - DAMPING) * np.linalg.inv(np.eye(len(counts)) - DAMPING * counts / counts.sum(axis=0))
    found = nearness(rooms, {rooms.ids[0]: 1.0})
    for place, id_ in enumerate(rooms.ids):
        assert found.get(id_, 0.0) == pytest.approx(whole[place, 0], abs=0.04), "the series is cut off"


def test_memories_of_a_room_are_drawn_together() -> None:
    rooms = graph(
        {pair: 5.0 for room in ("abcd", "wxyz") for pair in itertools.combinations(room, 2)} | {("d", "w"): 1.0}
    )
    places = layout(rooms, list("abcdwxyz"))
    assert max(abs(axis) for place in places.values() for axis in place) == 1.0
    middle = [np.mean([places[id_] for id_ in room], axis=0) for room in ("abcd", "wxyz")]
    for room, own in zip(("abcd", "wxyz"), middle, strict=True):
        assert max(np.linalg.norm(np.subtract(places[id_], own)) for id_ in room) < np.linalg.norm(
            middle[0] - middle[1]
        )
    assert layout(rooms, ["a"]) == {"a": (0.0, 0.0)}


def test_an_old_use_weighs_less_than_a_new_one(tmp_path: Path) -> None:
    store = store_of(tmp_path, [used("a", "b")])
    store.add(Trails().step("bob", used("a", "c"), NOW + HALF_LIFE_MS), NOW + HALF_LIFE_MS)
    pairs = store.pairs(["*"])
    weight = dict(zip(zip(pairs.ends.tolist(), pairs.others.tolist(), strict=True), pairs.weights, strict=True))
    assert weight[0, 2] / weight[0, 1] == pytest.approx(2.0)
    store.close()


def test_the_file_is_bounded_and_keeps_the_pairs_used_most(tmp_path: Path) -> None:
    often, steps = used("a", "b"), [used(f"m{number}", f"n{number}") for number in range(80)]
    random.Random(1).shuffle(steps)
    store = AccessStore(str(tmp_path / "access.sqlite"), pairs_max=50)
    for step in [often, often, *steps]:
        store.add(Trails().step("ana", step, NOW), NOW)
    pairs = store.pairs(["*"])
    assert 45 <= len(pairs.ends) <= 50
    assert len(pairs.ids) == 2 * len(pairs.ends), "memories without a pair went with it"
    assert {"a", "b"} <= set(pairs.ids)
    store.close()


@pytest.mark.parametrize("damage", ["deleted", "deleted while stopped", "garbage"])
def test_a_lost_file_begins_anew_and_says_so(tmp_path: Path, damage: str) -> None:
    store = store_of(tmp_path, [used("a", "b")])
    file = tmp_path / "derived" / "access.sqlite"
    if damage == "garbage":
        store.close()
        file.write_bytes(b"no database at all" * 500)
        store = AccessStore(str(file))
    elif damage == "deleted":
        assert not store.made(), "the first file of a node is no news"
        file.unlink()
    else:
        store.close()
        file.unlink()
        store = AccessStore(str(file))
    assert store.pairs(["*"]).ids == ()
    assert store.made()
    store.add(Trails().step("ana", used("c", "d"), NOW), NOW)
    assert store.pairs(["*"]).ids == ("c", "d")
    store.close()


async def test_a_room_shows_nothing_that_the_reader_may_not_read(here: Here) -> None:
    open_one, other = [await here.remember(f"The mast has lantern number {number}") for number in (1, 2)]
    hidden = (await here.mesh.remember(READER, Draft(content="The mast hides a lantern", space="vault/masts"))).memory
    for _ in range(2):
        await here.mesh.get(READER, [open_one.id, hidden.id])
        await here.mesh.get(READER, [hidden.id, other.id])
    stranger = Caller("stranger/cli", "stranger", role="agent", spaces=(here.space,))
    whole = await here.mesh.navigate(READER, "", open_one.id)
    assert hidden.id in [point.id for point in whole.points]
    seen = await here.mesh.navigate(stranger, "", open_one.id)
    assert [point.id for point in seen.points] == [open_one.id, other.id], "the way through the vault does not count"
    assert hidden.id not in str(seen)
    await here.mesh.forget(READER, other.id)
    assert [point.id for point in (await here.mesh.navigate(stranger, "", open_one.id)).points] == [open_one.id]


async def test_a_question_that_no_memory_answers_has_no_room(here: Here) -> None:
    stove, kiln = [await here.remember(f"The {thing} is lit at dawn") for thing in ("stove", "kiln")]
    await here.mesh.get(READER, [stove.id, kiln.id])
    asked, nobody_knows = "when is the stove lit?", "zyqqor menthalux oblivek"
    assert [(await here.recall(text)).abstain for text in (asked, nobody_knows)] == [False, True]
    room = await here.mesh.navigate(READER, asked, spaces=(here.space,))
    assert stove.id in [point.id for point in room.points if point.start]
    assert (await here.mesh.navigate(READER, nobody_knows, spaces=(here.space,))).points == ()


async def test_what_many_questions_only_showed_is_not_likely_needed_next(here: Here) -> None:
    things = ("anchor", "barrel", "compass", "davit", "ensign", "fender", "galley", "hawser", "jib", "keel")
    memories = [await here.remember(f"The {thing} of the cutter is kept in locker {thing[0]}") for thing in things]
    agent = replace(READER, agent="owner/curious")
    for _ in range(3):
        for thing in things:
            answer = await here.mesh.recall(agent, Query(text=f"where is the {thing} kept?", spaces=(here.space,)))
            assert not answer.abstain
    first, second, third, *_ = memories

    async def predicted() -> list[str]:
        newcomer = replace(agent, agent="owner/newcomer")
        await here.mesh.get(newcomer, [first.id])
        found = await here.mesh.context(newcomer, ContextQuery(spaces=(here.space,)))
        return [memory.id for group in found.groups if group.name == "predicted" for memory in group.memories]

    assert await predicted() == []
    await here.mesh.get(agent, [first.id, second.id])
    assert await predicted() == [], "once is chance"
    await here.mesh.get(replace(agent, agent="owner/other"), [first.id, second.id])
    await here.mesh.get(agent, [third.id, first.id])
    assert await predicted() == [second.id]


async def test_the_record_of_a_session_is_no_point_of_a_room_unless_its_own_room_is_asked_for(here: Here) -> None:
    used = [await here.remember(f"The pump of the well has valve number {number}") for number in (1, 2)]
    record = await here.remember("Prompts:\n- Mend the pump of the well", kind="run", tags=(TAG,))
    for _ in range(2):
        await here.mesh.get(READER, [used[0].id, record.id])
        await here.mesh.get(READER, [record.id, used[1].id])
    near = [point.id for point in (await here.mesh.navigate(READER, "", used[0].id)).points]
    assert used[1].id in near
    assert record.id not in near
    assert record.id in [point.id for point in (await here.mesh.navigate(READER, "", record.id)).points]


async def test_only_results_that_answer_a_question_of_somebody_count_as_used(here: Here) -> None:
    question = "What do the copper lantern and the copper bell cost?"
    lamp, bell = [
        await here.remember(f"The copper {thing} costs nine crowns", title=f"Price of the {thing}")
        for thing in ("lantern", "bell")
    ]

    async def times() -> tuple[str, ...]:
        room = await here.mesh.navigate(READER, "", lamp.id)
        assert {point.text for point in room.points} <= {"Price of the lantern", "Price of the bell"}
        return next((point.reasons for point in room.points if point.id == bell.id), ())

    asked, agent = Query(text=question, spaces=(here.space,)), replace(READER, agent="owner/asking")
    for unused in (
        replace(asked, current_session="s1"),
        replace(asked, text=""),
        replace(asked, text="zyqqor menthalux oblivek"),
    ):
        await here.mesh.recall(agent, unused)
    assert await times() == ()
    await here.mesh.rate(agent, answer=f"{lamp.id} and {bell.id} say so.")
    assert await times() == (f"used with {lamp.id}: 1 time",)
    await here.mesh.recall(agent, asked)
    assert await times() == (f"used with {lamp.id}: 2 times",)
