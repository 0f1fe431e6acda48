"""A question is read beside the pairs of its first results. The newer memory that answers in the place of a result
comes before that result. Pairs are read at rest, and kept as ids and scores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from follower_scene import until
from hypothesis import given
from hypothesis import strategies as st
from recall_scene import READER, Here, found, judged, paired, running

from mnemesh_actors.embedding.embedder import EmbeddingPool
from mnemesh_actors.generations import generation_factory
from mnemesh_actors.knowledge.pair_store import COUNTED_MAX, PairStore, ReadPair
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.worker import Vectors
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.recall import asked_pairs, retrieval
from mnemesh_actors.recall.asked_pairs import BEHIND_MAX
from mnemesh_memory.policy.judge.evidence import pair_score
from mnemesh_memory.policy.judge.reading import (
    CROWD_FROM,
    FIRST_FROM,
    KEPT_FROM,
    AskedReading,
    Reading,
    asked_odds,
    asked_text,
    first_from,
)
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.memory_links import BOTH_HOLD, SEE_ALSO
from mnemesh_memory.values.model import Caller, Link, Patch

OLD, NEW, LAST = "Meals are ordered on paper", "The app takes the orders of meals", "Meals are ordered by phone"
ASKED, OTHER = "how do I order meals", "which paper are meals ordered on"
APART, BETWEEN = (0.01, 0.001, 0.989, 1.0), (0.02, 0.3, 0.68, 1.0)
# Of a pair with a question how likely the newer text answers in the place of the older one, and that both were read
# whole.
STAYS, COMES_FIRST = (0.001, 1.0), (0.98, 1.0)


class Pairs(EmbeddingWorker):
    """The worker of a node, with chosen readings of pairs."""

    by_texts: ClassVar[dict[tuple[str, str], tuple[float, ...]]] = {}
    read: ClassVar[list[tuple[str, str]]] = []
    fault: ClassVar[Exception | None] = None
    late: ClassVar[bool] = False

    def read_pairs(self, pairs: list[tuple[str, str]]) -> Vectors:
        if Pairs.fault is not None:
            raise Pairs.fault
        Pairs.read += pairs
        return np.array([Pairs.by_texts.get(pair, APART) for pair in pairs], np.float32)

    def read_asked(self, pairs: list[tuple[str, str]]) -> Vectors:
        if Pairs.fault is not None:
            raise Pairs.fault
        Pairs.read += pairs
        return np.array([Pairs.by_texts.get(pair, STAYS) for pair in pairs], np.float32)


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Here]:
    Pairs.by_texts, Pairs.read, Pairs.fault = {(OLD, NEW): BETWEEN, (NEW, LAST): BETWEEN}, [], None
    Pairs.late = False
    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Pairs))
    config = MeshConfig(recall_timeout_s=20.0, write_timeout_s=60.0, abstain_below=0.0)
    async with running(tmp_path, model=ModelConfig(download=False), mesh=config) as mesh:
        yield Here(mesh, "test/asked", monkeypatch)


async def written(here: Here, *texts: str) -> list[str]:
    """The ids of memories, once their pairs are read."""
    ids = [(await here.remember(text)).id for text in texts]
    await paired(here.mesh)
    return ids


async def test_the_newer_memory_comes_first_where_the_question_says_so(here: Here) -> None:
    await written(here, OLD, NEW)
    assert found(await here.recall(ASKED))[0] == OLD
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    here.mesh._parts.embedder._readings.clear()
    answer = await here.recall(ASKED)
    assert found(answer)[:2] == [NEW, OLD]
    assert answer.results[0].score >= answer.results[1].score
    assert answer.results[1].memory.may_be_replaced_by == (answer.results[0].memory.id,)
    await here.recall(OTHER)
    assert (asked_text(OTHER, OLD), NEW) in Pairs.read


async def test_of_two_newer_memories_the_likelier_comes_first(here: Here) -> None:
    Pairs.by_texts |= {(OLD, LAST): BETWEEN, (asked_text(ASKED, OLD), LAST): COMES_FIRST}
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = (0.9, 1.0)
    await written(here, OLD, NEW, LAST)
    assert found(await here.recall(ASKED))[0] == LAST


async def test_in_a_large_space_a_question_needs_surer_words_to_put_a_newer_memory_first(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = (0.5, 1.0)
    await written(here, OLD, NEW)
    assert found(await here.recall(ASKED))[0] == NEW
    here.patch.setattr(PairStore, "counted", lambda _, space: COUNTED_MAX if space == here.space else 0)
    assert found(await here.recall(ASKED))[0] == OLD


async def test_only_the_likeliest_pairs_of_the_first_result_are_read(here: Here) -> None:
    here.patch.setattr(asked_pairs, "READ_MAX", 2)
    here.patch.setattr(asked_pairs, "BEHIND_MAX", 0)
    newer = [f"{who} takes the orders of meals" for who in ("The app", "The clerk", "The robot")]
    Pairs.by_texts = {
        (OLD, text): (0.0, share, 1 - share, 1.0) for text, share in zip(newer, (0.3, 0.05, 0.2), strict=True)
    }
    await written(here, OLD, *newer)
    Pairs.read.clear()
    first = found(await here.recall("are meals ordered on paper"))[0]
    assert first == OLD
    assert [text for _, text in Pairs.read] == [newer[0], newer[2]]


async def test_a_memory_that_is_far_from_the_question_is_not_read(here: Here) -> None:
    dice = "The dice decide who washes up"
    Pairs.by_texts = {(asked_text(ASKED, OLD), dice): COMES_FIRST}
    older, newer = await written(here, OLD, dice)
    store = here.mesh._parts.pairs
    assert store is not None
    await store.take({}, [], [ReadPair(older, newer, 0.0)], False)
    Pairs.read.clear()
    assert found(await here.recall(ASKED))[0] == OLD
    assert (asked_text(ASKED, OLD), dice) not in Pairs.read
    here.patch.setattr(asked_pairs, "ASKED_COSINE_MIN", -1.0)
    assert found(await here.recall(ASKED))[0] == dice


async def test_a_search_by_words_reads_kept_pairs_that_share_none(here: Here) -> None:
    dice = "The dice decide who washes up"
    Pairs.by_texts = {(asked_text("paper", OLD), dice): COMES_FIRST}
    older, newer = await written(here, OLD, dice)
    store = here.mesh._parts.pairs
    assert store is not None
    await store.take({}, [], [ReadPair(older, newer, 0.0)], False)
    assert found(await here.recall("paper", mode="keyword"))[0] == dice


async def test_the_memories_of_a_space_are_counted_without_those_that_are_gone(here: Here) -> None:
    await written(here, OLD, NEW)
    store = here.mesh._parts.pairs
    assert store is not None
    assert [await store.counted(space) for space in ("test/asked", "test/other")] == [2, 0]
    await here.mesh.forget(READER, (await here.recall(ASKED)).results[0].memory.id)
    await paired(here.mesh)
    assert await store.counted("test/asked") == 1


async def test_a_pair_that_is_sure_to_hold_together_is_read_again_where_both_are_results(here: Here) -> None:
    Pairs.by_texts = {(asked_text(ASKED, OLD), NEW): COMES_FIRST}
    await written(here, OLD, NEW)
    assert found(await here.recall(ASKED)) == [NEW, OLD]
    assert found(await here.recall(ASKED, limit=1)) == [NEW]


async def test_of_the_results_behind_the_first_only_the_next_ones_that_are_newer_are_read(here: Here) -> None:
    newer = [
        *("Ana tastes all meals", "Leftovers of meals feed the pigs", "Guests praise meals in the book"),
        *("Salt is missing in some meals", "Big meals need two pots"),
    ]
    Pairs.by_texts = {}
    await written(here, "The cook plans the meals of the week", OLD, *newer)
    await judged(here.mesh)
    Pairs.read.clear()
    results = found(await here.recall(OLD))
    assert results[0] == OLD
    assert [text for _, text in Pairs.read] == [text for text in results[1 : 1 + BEHIND_MAX] if text in newer]


async def test_a_first_result_that_replaced_a_memory_is_read_beside_its_kept_pairs_alone(here: Here) -> None:
    Pairs.by_texts = {(asked_text(ASKED, OLD), NEW): COMES_FIRST}
    bread = await here.remember("Bread comes from the bakery at the gate")
    await here.remember(OLD, supersedes=(bread.id,))
    await written(here, NEW)
    Pairs.read.clear()
    assert found(await here.recall(ASKED))[0] == OLD
    assert Pairs.read == []


async def test_pairs_that_were_read_in_time_decide_and_the_answer_says_that_others_are_unread(here: Here) -> None:
    newer = [f"{who} takes the orders of meals" for who in ("The app", "The clerk", "The robot", "The cook")]
    Pairs.by_texts = {(OLD, text): BETWEEN for text in newer}
    Pairs.by_texts |= {(asked_text(ASKED, OLD), text): COMES_FIRST for text in newer}
    await written(here, OLD, *newer)
    read = EmbeddingPool.read_asked

    async def late(pool: EmbeddingPool, pairs: list[tuple[str, str]], generation: str) -> Vectors:
        if Pairs.late:
            await asyncio.get_running_loop().create_future()
        Pairs.late = True
        return await read(pool, pairs, generation)

    here.patch.setattr(EmbeddingPool, "read_asked", late)
    here.patch.setattr(retrieval, "READING_SHARE", 0.05)
    answer = await here.recall(ASKED)
    assert answer.degraded == ("pairs of memories: the model has not answered in time",)
    assert found(answer)[0] in newer


async def test_a_newer_result_that_is_linked_with_the_first_one_is_not_read(here: Here) -> None:
    Pairs.by_texts = {(asked_text(ASKED, OLD), NEW): COMES_FIRST}
    older, newer = await written(here, OLD, NEW)
    await here.mesh.link(READER, older, SEE_ALSO, newer)
    Pairs.read.clear()
    assert found(await here.recall(ASKED))[0] == OLD
    assert Pairs.read == []


@pytest.mark.parametrize(
    ("words", "read"), [("in October 2023", False), ("in November 2023", True), ("today", True), ("", True)]
)
async def test_a_question_about_a_time_that_is_over_puts_nothing_newer_first(
    here: Here, words: str, read: bool
) -> None:
    day = 86_400_000
    asked = f"{ASKED} {words}".strip()
    Pairs.by_texts = {(asked_text(text, OLD), NEW): COMES_FIRST for text in (asked, ASKED)}
    now = here.mesh._parts.clock()
    await here.remember(OLD, valid_from=now - 30 * day if not read else now - 2)
    await here.remember(NEW, valid_from=now - 29 * day if not read else now - 1)
    await paired(here.mesh)
    Pairs.read.clear()
    results = found(await here.recall(asked, time_zone="UTC"))
    assert (results[0], bool(Pairs.read)) == ((NEW, True) if read else (OLD, False))


async def test_a_search_by_words_reads_no_results_behind_the_first(here: Here) -> None:
    Pairs.by_texts = {(asked_text("meals", OLD), NEW): COMES_FIRST}
    await written(here, OLD, NEW)
    Pairs.read.clear()
    await here.recall("meals", mode="keyword")
    assert Pairs.read == []
    assert found(await here.recall("meals"))[0] == NEW


async def test_a_turn_of_a_talk_is_no_newer_answer(here: Here) -> None:
    Pairs.by_texts = {(asked_text(ASKED, OLD), NEW): COMES_FIRST}
    await here.remember(OLD)
    await here.remember(NEW, kind="episode")
    await paired(here.mesh)
    Pairs.read.clear()
    assert found(await here.recall(ASKED))[0] == OLD
    assert Pairs.read == []


async def test_a_newer_memory_that_a_filter_leaves_out_is_neither_read_nor_shown(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    await here.remember(OLD, tags=("kept",))
    await written(here, NEW)
    Pairs.read.clear()
    assert found(await here.recall(ASKED, tags_any=("kept",))) == [OLD]
    # A search by words alone has no cosine of a newer memory, and the filter alone keeps that out.
    assert found(await here.recall("paper", mode="keyword", tags_any=("kept",))) == [OLD]
    assert Pairs.read == []


async def test_a_question_with_a_number_of_the_older_memory_alone_keeps_it_first(here: Here) -> None:
    older, newer, asked = "Gate 3 is open at night", "Gate 4 is open at night", "is gate 3 open at night"
    Pairs.by_texts = {(older, newer): BETWEEN, (asked_text(asked, older), newer): COMES_FIRST}
    await written(here, older, newer)
    assert found(await here.recall(asked))[0] == older


async def test_a_pair_that_somebody_decided_is_not_asked_about(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    older = await here.remember(OLD)
    await here.remember(NEW, links=(Link(BOTH_HOLD, older.id),))
    await paired(here.mesh)
    assert found(await here.recall(ASKED))[0] == OLD


async def test_a_text_that_was_stored_with_force_comes_before_no_older_one(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    await here.remember(OLD)
    forced = await here.remember(NEW, force=True)
    await paired(here.mesh)
    assert found(await here.recall(ASKED))[0] == OLD
    assert (OLD, NEW) not in Pairs.read
    assert (asked_text(ASKED, OLD), NEW) not in Pairs.read
    reworded = NEW.upper()
    Pairs.by_texts |= {(OLD, reworded): BETWEEN, (asked_text(ASKED, OLD), reworded): COMES_FIRST}
    await here.mesh.update(READER, forced.id, Patch(content=reworded))
    await paired(here.mesh)
    assert found(await here.recall(ASKED))[0] == reworded


async def test_a_memory_that_replaced_another_one_comes_before_no_further_one(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    await here.remember(OLD)
    bread = await here.remember("Bread comes from the bakery at the gate")
    await here.remember(NEW, supersedes=(bread.id,))
    await paired(here.mesh)
    assert found(await here.recall(ASKED))[0] == OLD
    assert (asked_text(ASKED, OLD), NEW) not in Pairs.read


@pytest.mark.parametrize("another", [{"sort": "recency"}, {"valid_at": 1_600_000_000_000}])
async def test_another_order_and_another_time_read_nothing(here: Here, another: dict[str, object]) -> None:
    await written(here, OLD, NEW)
    Pairs.read.clear()
    await here.recall(ASKED, **another)
    assert Pairs.read == []


async def test_an_answer_says_when_the_model_did_not_read_its_pairs(here: Here) -> None:
    await written(here, OLD, NEW)
    Pairs.fault = Unavailable("no room")
    answer = await here.recall(ASKED)
    assert here.mesh._parts.embedder.pairs_fault == "", "the model of the guard has not failed"
    assert answer.degraded == ("pairs of memories: no room",)
    assert set(found(answer)) == {OLD, NEW}


async def test_an_answer_says_when_there_is_no_model_that_reads_pairs_with_a_question(here: Here) -> None:
    here.mesh._parts.embedder.asked = "no such file"
    await written(here, OLD)
    assert (await here.recall(ASKED)).degraded == (), "there is nothing to read"
    await written(here, NEW)
    answer = await here.recall(ASKED)
    assert (set(found(answer)), answer.degraded) == ({OLD, NEW}, ("pairs of memories: no such file",))


async def test_a_question_that_leaves_no_room_for_the_texts_is_not_read(here: Here) -> None:
    await written(here, OLD, NEW)
    Pairs.read.clear()
    await here.recall(" ".join([ASKED] * 60))
    assert Pairs.read == []


async def test_a_reading_without_all_words_decides_nothing(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = (*COMES_FIRST[:1], 0.0)
    await written(here, OLD, NEW)
    assert found(await here.recall(ASKED))[0] == OLD


@pytest.mark.parametrize(
    "span", [{"valid_from": 1_900_000_000_000}, {"valid_from": 1_699_999_990_000, "valid_to": 1_699_999_999_000}]
)
async def test_a_newer_memory_of_another_time_stays_behind(here: Here, span: dict[str, int]) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    await here.remember(OLD, valid_from=1_600_000_000_000)
    await here.remember(NEW, **span)
    await paired(here.mesh)
    Pairs.read.clear()
    await here.recall(ASKED)
    assert Pairs.read == []


async def test_a_memory_that_comes_late_or_back_is_read_beside_the_newer_ones(here: Here) -> None:
    newer = await here.remember(NEW)
    older = await here.remember(OLD, valid_from=1_600_000_000_000)
    await paired(here.mesh)
    assert [pair.newer for pair in await here.mesh._parts.pairs.newer(older.id)] == [newer.id]
    await here.mesh.forget(READER, older.id)
    await paired(here.mesh)
    assert await here.mesh._parts.pairs.newer(older.id) == []
    await here.mesh.restore(READER, older.id)
    await paired(here.mesh)
    assert [pair.newer for pair in await here.mesh._parts.pairs.newer(older.id)] == [newer.id]


async def test_a_change_that_says_nothing_new_is_not_read_again(here: Here) -> None:
    older, newer = await written(here, OLD, NEW)
    here.mesh._parts.embedder._readings.clear()
    Pairs.read.clear()
    await here.mesh.update(READER, older, Patch(tags=("meals",)))
    await paired(here.mesh)
    assert Pairs.read == []
    assert [pair.newer for pair in await here.mesh._parts.pairs.newer(older)] == [newer]


async def test_a_model_that_fails_at_rest_is_asked_again(here: Here) -> None:
    Pairs.fault = Unavailable("no room")
    older, newer = [(await here.remember(text)).id for text in (OLD, NEW)]
    runner = next(one for one in here.mesh._consumers.runners if one.name == "pairs")
    await until(lambda: runner.fault != "")
    Pairs.fault = None
    await paired(here.mesh)
    assert [pair.newer for pair in await here.mesh._parts.pairs.newer(older)] == [newer]


async def test_a_link_of_another_kind_leaves_the_question_open(here: Here) -> None:
    Pairs.by_texts[asked_text(ASKED, OLD), NEW] = COMES_FIRST
    older = await here.remember(OLD)
    await here.remember(NEW, links=(Link(SEE_ALSO, older.id),))
    await paired(here.mesh)
    assert found(await here.recall(ASKED))[0] == NEW


async def test_a_revised_older_memory_is_read_anew_beside_the_newer_one(here: Here) -> None:
    older, _ = await written(here, OLD, NEW)
    await here.mesh.update(READER, older, Patch(content="Meals are ordered on a paper form"))
    await paired(here.mesh)
    assert ("Meals are ordered on a paper form", NEW) in Pairs.read
    assert await here.mesh._parts.pairs.newer(older) == []  # by the new text both are sure to hold


async def test_a_purged_memory_leaves_no_byte_in_the_file_of_pairs(here: Here, tmp_path: Path) -> None:
    older, newer = await written(here, OLD, NEW)
    file = tmp_path / "derived" / "pairs.sqlite"
    assert [pair.newer for pair in await here.mesh._parts.pairs.newer(older)] == [newer]
    await here.mesh.purge(Caller("owner/reader", "owner"), newer)
    await paired(here.mesh)
    assert await here.mesh._parts.pairs.newer(older) == []
    held = b"".join(path.read_bytes() for path in file.parent.glob("pairs.sqlite*"))
    assert newer.encode() not in held
    assert not here.mesh._parts.embedder._readings


async def test_another_model_reads_all_pairs_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Pairs))
    for pairs, number in ((False, 0), (True, 1)):
        Pairs.by_texts, Pairs.fault = {(OLD, NEW): BETWEEN}, None
        async with running(tmp_path, model=ModelConfig(download=False, pairs=pairs)) as mesh:
            here = Here(mesh, "test/asked", monkeypatch)
            ids = (
                await written(here, OLD, NEW)
                if not pairs
                else [hit.memory.id for hit in (await here.recall(ASKED)).results]
            )
            await paired(mesh)
            assert sum([len(await mesh._parts.pairs.newer(id_)) for id_ in ids]) == number


async def test_a_model_that_takes_over_reads_all_pairs_anew_at_the_next_write(here: Here) -> None:
    older, newer = await written(here, OLD, NEW)
    here.mesh._parts.embedder.pair_reader = "another"
    here.mesh._parts.embedder._readings.clear()
    Pairs.read.clear()
    await written(here, "Ana paints the lamp")
    store = here.mesh._parts.pairs
    assert (await store.reader(), [pair.newer for pair in await store.newer(older)]) == ("another", [newer])
    assert (OLD, NEW) in Pairs.read


@given(st.floats(-9, 9), st.floats(0, 1), st.floats(0, 5), st.floats(0, 1))
def test_more_evidence_never_keeps_a_newer_memory_back(pair: float, asked: float, more: float, other: float) -> None:
    less, surer = (AskedReading(probability, whole=True) for probability in sorted((asked, other)))
    assert asked_odds(pair, less) <= asked_odds(pair + more, less)
    assert asked_odds(pair, less) <= asked_odds(pair, surer)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_memories_never_lower_the_limit_of_a_newer_memory(memories: int, more: int) -> None:
    assert first_from(0) == first_from(CROWD_FROM) == FIRST_FROM <= first_from(memories) <= first_from(memories + more)


def test_a_repeat_and_a_text_that_was_not_read_whole_are_not_kept() -> None:
    for reading in (Reading(0.9, 0.08, 0.02, whole=True), Reading(0.0, 0.99, 0.01, whole=False)):
        assert pair_score(OLD, NEW, 0.9, reading) < KEPT_FROM
    assert pair_score(OLD, NEW, 0.9, Reading(0.0, 0.5, 0.5, whole=True)) >= KEPT_FROM
