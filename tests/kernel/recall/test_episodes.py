"""The neighbours of a memory in its session help to find it, and leave with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from uuid import UUID

import numpy as np
import pytest
from follower_scene import Scene
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import memory_id

from mnemesh_actors.consumers import index_items
from mnemesh_actors.index.engine_port import IndexBackend, Record
from mnemesh_actors.index.episodes import ROWS_MIN, Episodes
from mnemesh_actors.index.shard import IndexItem, IndexText, RetrievalShard, Search, ShardConfig
from mnemesh_memory.ranking.candidates import NOT_ASKED, Candidate, Candidates
from mnemesh_memory.text.traits import Traits
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Source

SPACE = "team/x"
TALK = "talk-1"
TRAITS = Traits(1_000, 7, 1, (42,))
ASKS = TRAITS._replace(asks=True)


def listed(episodes: Episodes, dense: dict[str, float], **lists: dict[str, float]) -> Candidates:
    return episodes.candidates(episodes.listed(dense, {}, lists.get("window", {})))


def direction(n: int) -> np.ndarray:
    vector = np.random.default_rng(n).normal(size=8).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def item(n: int, words: str, *before: str, **changes: object) -> IndexItem:
    texts = (IndexText(direction(n), words),)
    whole = IndexItem(
        id=memory_id(n), space=SPACE, kind="fact", session=TALK, place=n, before=before, traits=TRAITS, created_at=n,
        updated_at=n, texts=texts,
    )  # fmt: skip
    return replace(whole, **changes)


def config(path: Path) -> ShardConfig:
    return ShardConfig(str(path / "shard"), "model-1", 8, "life-1")


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[RetrievalShard]:
    one = RetrievalShard(config(tmp_path))
    one.open()
    yield one
    one.close()


def found(shard: RetrievalShard, words: str, near: int | None = None, **changes: object) -> dict[int, Candidate]:
    vector = None if near is None else direction(near)
    search = replace(Search(words, vector, (SPACE,), generation="model-1"), **changes)
    return {UUID(one.id).int & 0xFFFF: one for one in shard.search(search)}


def test_an_answer_is_found_by_the_words_of_what_was_said_before_it(shard: RetrievalShard) -> None:
    shard.apply([item(1, "where is the harbour key?"), item(2, "in the drawer", "where is the harbour key?")], [], 1)
    by_words = found(shard, "harbour key")
    assert by_words[2].bm25 is None
    assert by_words[2].context.window > 0
    assert by_words[2].context.best_window == by_words[1].context.window


def test_who_stands_beside_a_good_match_and_in_its_episode_is_told_so(shard: RetrievalShard) -> None:
    shard.apply([item(n, f"number {n}") for n in (1, 2, 3)] + [item(9, "number 9", session="talk-2")], [], 1)
    near = found(shard, "", near=1)
    assert near[1].dense == pytest.approx(1, abs=1e-4)
    assert near[2].context.near == pytest.approx(((near[1].dense or 0) + (near[3].dense or 0)) / 2, abs=1e-4)
    assert near[3].context.best_dense == near[1].dense
    assert [near[n].context.opens for n in (1, 2, 3)] == [1, 0, 0]


def test_a_memory_after_a_question_is_told_how_near_the_question_is(shard: RetrievalShard) -> None:
    shard.apply([item(1, "where is it?", traits=ASKS), item(2, "in the drawer"), item(3, "thanks")], [], 1)
    near = found(shard, "drawer", near=1, limit=1)
    # The list by meaning holds memory 1 alone. Words have found memory 2.
    assert near[2].dense == pytest.approx(float(direction(1) @ direction(2)), abs=1e-4)
    assert near[2].context.asked == near[1].dense
    assert near[1].context.asked == NOT_ASKED
    assert found(shard, "thanks", near=1, limit=1)[3].context.asked == NOT_ASKED
    by_words = found(shard, "drawer")
    assert (by_words[2].dense, by_words[2].context.asked) == (None, NOT_ASKED)


def test_a_question_counts_for_the_memory_after_it_though_it_is_no_candidate(shard: RetrievalShard) -> None:
    shard.apply([item(1, "where?", traits=ASKS), item(2, "in the drawer"), item(3, "lamp")], [], 1)
    (near,) = (one for one in found(shard, "drawer", near=3, limit=1).items() if one[0] == 2)
    assert near[1].context.asked == pytest.approx(float(direction(3) @ direction(1)), abs=1e-4)
    shard.apply([item(1, "where?", traits=ASKS, state="forgotten")], [], 2)
    assert found(shard, "drawer", near=3, limit=1)[2].context.asked == NOT_ASKED


def test_who_has_no_session_or_is_alone_in_one_has_no_context(shard: RetrievalShard) -> None:
    shard.apply([item(1, "alone", session=""), item(2, "alone in a session")], [], 1)
    assert [one.context for one in found(shard, "alone", near=1).values()] == [None, None]


def test_sessions_of_one_name_in_two_spaces_are_two_episodes(shard: RetrievalShard) -> None:
    shard.apply([item(1, "here"), item(2, "there", space="team/y")], [], 1)
    assert shard.followed([memory_id(1)], []) == []


def test_an_index_that_is_opened_again_knows_traits_and_places(shard: RetrievalShard, tmp_path: Path) -> None:
    shard.apply([item(n, f"number {n}", *(["what was before"] if n > 1 else [])) for n in (1, 2, 3)], [], 1)
    before = found(shard, "before number", near=2)
    shard.close()
    shard.open()
    assert shard.status().rebuilt == ""
    assert found(shard, "before number", near=2) == before
    assert before[2].traits == TRAITS
    assert shard.followed([memory_id(1)], []) == [memory_id(2), memory_id(3)]


def test_a_forgotten_memory_leaves_its_episode(shard: RetrievalShard) -> None:
    shard.apply([item(n, f"number {n}") for n in (1, 2, 3)], [], 1)
    shard.apply([item(2, "number 2", state="forgotten")], [], 2)
    assert shard.followed([memory_id(1)], []) == [memory_id(3)]
    shard.apply([], [memory_id(1), memory_id(3)], 3)
    assert shard.followed([memory_id(1), memory_id(3)], []) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", ""]), st.booleans()), max_size=30))
def test_any_order_of_coming_and_going_leaves_what_came_last(steps: list[tuple[int, str, bool]]) -> None:
    walked, last = Episodes(), Episodes()
    there: dict[int, IndexItem] = {}
    for n, session, comes in steps:
        if comes:
            told = Traits(n - 5, n + 16, n % 4, (n,) if n % 3 else (), asks=n % 2 == 1)
            there[n] = item(n, "x", session=session, traits=told if n else None)
            walked.note(there[n])
        else:
            there.pop(n, None)
            walked.drop(memory_id(n))
    for one in there.values():
        last.note(one)
    ids = [memory_id(n) for n in range(10)]
    assert bool(walked) == bool(last)
    assert [walked.after([id_]) for id_ in ids] == [last.after([id_]) for id_ in ids]
    scores = {id_: 1 / (2 + n) for n, id_ in enumerate(ids)}
    found = listed(walked, scores, window=scores)
    assert found == listed(last, scores, window=scores)
    told = {memory_id(n): one.traits for n, one in there.items()}
    assert {one.id: one.traits for one in found} == dict.fromkeys(ids) | told


def test_many_memories_keep_their_neighbours() -> None:
    episodes, many = Episodes(), range(3 * ROWS_MIN)
    for n in many:
        episodes.note(item(n, "x", session=f"talk {n // 4}"))
    for n, one in enumerate(listed(episodes, {memory_id(n): n / 1_000 for n in many})):
        beside = [m for m in (n - 1, n + 1) if m // 4 == n // 4]
        assert one.context.near == pytest.approx(sum(beside) / 2_000)
        assert one.context.best_dense == pytest.approx((n // 4 * 4 + 3) / 1_000)


@pytest.mark.parametrize(
    "told", ["0 26 0 0", "0 -1 0 0", "0 7 4 0", "9223372036854775808 7 0 0", "0 7 0", "soon 7 0 0", ""]
)
def test_traits_that_no_memory_has_are_damage(told: str) -> None:
    class Damaged:
        def scroll(self, *_: object) -> tuple[list[Record], None]:
            return [Record(memory_id(1), {"created_at": 1, "traits": told}, {})], None

    with pytest.raises(DataLoss, match=f"the point {memory_id(1)}"):
        Episodes().read(cast("IndexBackend", Damaged()))


# ---- through the follower -------------------------------------------------------------------------------------------


def said(seq: int) -> dict[str, Source]:
    return {"source": Source(TALK, "", seq)}


def windows(scene: Scene) -> dict[str, tuple[str, ...]]:
    return {one.texts[0].lexical: one.before for one in scene.shard.items.values()}


async def test_each_memory_of_a_session_comes_with_the_two_before_it(scene: Scene) -> None:
    for number, text in enumerate(("one", "two", "three", "four")):
        await scene.remember(text, **said(number))
    assert windows(scene) == {"one": (), "two": ("one",), "three": ("one", "two"), "four": ("two", "three")}


async def test_who_comes_in_between_later_is_in_the_windows_of_those_after(scene: Scene) -> None:
    await scene.remember("one", **said(1))
    await scene.remember("four", **said(4))
    await scene.remember("five", **said(5))
    await scene.remember("two", **said(2))
    assert windows(scene) == {"one": (), "two": ("one",), "four": ("one", "two"), "five": ("two", "four")}


async def test_what_is_changed_or_forgotten_is_so_in_the_windows_after_it(scene: Scene) -> None:
    first = await scene.remember("one", **said(1))
    await scene.remember("two", **said(2))
    written = await scene.write(scene.home.pen.revise(first, content="other"))
    scene.follower.publish(written.seq)
    await scene.until_indexed(written.seq)
    assert windows(scene) == {"other": (), "two": ("other",)}
    written = await scene.write(scene.home.pen.forget(written.memory))
    scene.follower.publish(written.seq)
    await scene.until_indexed(written.seq)
    assert windows(scene)["two"] == ()


@pytest.mark.parametrize("seed", range(30))
async def test_however_writes_and_pages_interleave_the_windows_are_at_last_those_of_the_ledger(
    scene: Scene, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.follower._page_entries = 1 + seed % 3
    monkeypatch.setattr(index_items, "OTHERS_A_STEP", 1)
    chance = random.Random(seed)
    pen, there, seq = scene.home.pen, {}, 0
    for number in range(60):
        verb = chance.choice(("new", "new", "new", "change", "forget", "erase", "erase"))
        id_ = chance.choice(list(there)[-4:]) if there else ""  # what the index may not know yet
        if verb == "new" or not there:
            source = Source(chance.choice((TALK, "talk-2")), "", chance.randrange(6))
            done = await scene.write(pen.create(f"text {number}", source=source))
            there[done.memory.id] = done.memory
        elif verb == "change":
            done = await scene.write(pen.revise(there[id_], content=f"text {number}"))
            there[id_] = done.memory
        elif verb == "forget":
            done = await scene.write(pen.forget(there.pop(id_)))
        else:
            there.pop(id_)
            done = await scene.ledger.erase(pen.erase(id_, as_admin=True))
        seq = done.seq
        if chance.random() < 0.5:  # the index is told of some of it only, and of the rest after what comes next
            some = chance.randint(scene.follower.applied, seq)
            scene.follower.publish(some)
            await scene.until_indexed(some)
    scene.follower.publish(seq)
    await scene.until_indexed(seq)
    active = {memory.content for memory in there.values()}
    shown = {text: before for text, before in windows(scene).items() if text in active}
    for memory in there.values():
        rows = await scene.ledger.feed_again([memory.id], "", seq)
        assert shown[memory.content] == rows.before[memory.id], seed


async def test_what_is_erased_is_in_no_window(scene: Scene) -> None:
    memories = [await scene.remember(text, **said(n)) for n, text in enumerate(("one", "two", "three", "four"))]
    gone = await scene.ledger.erase(scene.home.pen.erase(memories[1].id, as_admin=True))
    scene.follower.publish(gone.seq)
    await scene.until_indexed(gone.seq)
    assert windows(scene) == {"one": (), "three": ("one",), "four": ("one", "three")}
