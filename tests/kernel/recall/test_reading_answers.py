"""With `verify` a question whose answer is in doubt is read beside the best results. Recall never fails by that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from recall_scene import READER, Here, found, running

from mnemesh_actors.embedding.answer_reading import PACKAGED, PackagedReranker
from mnemesh_actors.generations import generation_factory
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.embedding_model import PAIRS_OFF, PAIRS_READY
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.recall.results import FoundMemory, passage_read
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.relevance import BEST_FOR_ANSWER
from mnemesh_memory.values.errors import InvalidArgument, Unavailable
from mnemesh_memory.values.model import Draft

TEXTS = ("The harbour is closed in winter", "Ana paints the lamp", "The ferry carries bicycles", "Bob keeps bees")
DOUBTFUL = "when does the ferry to the harbour leave?"


class Reading(EmbeddingWorker):
    """The worker of a node, with a probability in the place of readings."""

    asked: list[tuple[str, list[str]]]
    fault: Exception | None = None
    probability = 0.5
    by_text: Mapping[str, float] = MappingProxyType({})
    state = PAIRS_READY

    def load(self) -> object:  # type: ignore[override]
        self._info = replace(super().load(), answers=Reading.state)
        return self._info

    def read_answers(self, question: str, texts: list[str]) -> list[float]:
        if Reading.fault is not None:
            raise Reading.fault
        Reading.asked.append((question, texts))
        return [Reading.by_text.get(text, Reading.probability) for text in texts]


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Here]:
    Reading.asked, Reading.fault, Reading.probability, Reading.by_text = [], None, 0.5, {}
    Reading.state = PAIRS_READY
    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Reading))
    config = MeshConfig(recall_timeout_s=20.0, write_timeout_s=60.0, abstain_below=0.15)
    async with running(tmp_path, model=ModelConfig(download=False), mesh=config) as mesh:
        scene = Here(mesh, "test/reading", monkeypatch)
        for text in TEXTS:
            await scene.remember(text, force=True)
        yield scene


async def test_only_an_answer_in_doubt_is_read_and_when_asked_to(here: Here) -> None:
    await here.recall("The harbour is closed in winter", verify=True)
    await here.recall("which quark has the largest mass?", verify=True)
    await here.recall(DOUBTFUL)
    assert Reading.asked == []
    answer = await here.recall(DOUBTFUL, verify=True)
    ((question, texts),) = Reading.asked
    assert (question, texts) == (DOUBTFUL, found(answer)[:BEST_FOR_ANSWER])


async def test_a_reading_moves_scores_and_the_probability_of_an_answer_and_no_place(here: Here) -> None:
    answers = []
    for Reading.probability in (0.001, 0.5, 0.999):
        answers.append(await here.recall(DOUBTFUL, explain=True, verify=True))
    low, even, high = answers
    assert low.answered < even.answered < high.answered
    assert low.results[0].score < even.results[0].score < high.results[0].score
    assert found(low) == found(even) == found(high)
    assert low.abstain
    assert not high.abstain
    estimate = high.results[0].estimate
    assert estimate is not None
    (part,) = [part for part in estimate.parts if part.name == "read"]
    assert part.raw == 0.999
    for answer in answers:
        scores = [hit.score for hit in answer.results]
        assert scores == sorted(scores, reverse=True)


async def test_a_reader_that_fails_costs_the_reading_alone(here: Here) -> None:
    plain = await here.recall(DOUBTFUL, verify=True)
    Reading.fault = Unavailable("no memory is left", part="answer reader")
    answer = await here.recall(DOUBTFUL, verify=True)
    assert found(answer) == found(plain)
    assert answer.degraded == ("answer reader: no memory is left",)


async def test_a_node_without_the_reader_judges_by_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Reading.asked, Reading.fault, Reading.state = [], None, PAIRS_OFF
    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Reading))
    async with running(tmp_path, model=ModelConfig(download=False)) as mesh:
        for text in TEXTS:
            await mesh.remember(READER, Draft(content=text, space="s", force=True))
        scene = Here(mesh, "s", monkeypatch)
        answer = await scene.recall(DOUBTFUL, verify=True)
    assert (Reading.asked, answer.degraded) == ([], ("answer reader: off",))
    assert answer.answered > 0


async def test_a_question_waits_for_a_slow_reader_for_a_share_of_its_time(here: Here) -> None:
    async def hanging(*_: object) -> list[float]:
        await asyncio.Event().wait()
        raise AssertionError

    here.patch.setattr(type(here.mesh._parts.embedder), "read_answers", hanging)
    here.with_parts(config=replace(here.mesh._parts.config, recall_timeout_s=2.0))
    answer = await here.recall(DOUBTFUL, verify=True)
    assert answer.degraded == ("answer reader: it has not answered in time",)
    assert answer.results


async def test_the_packaged_reader_ranks_where_a_cross_encoder_may(here: Here) -> None:
    with pytest.raises(InvalidArgument, match="no reranker_model"):
        await here.recall(DOUBTFUL, weights={"rerank": 1.0})
    here.with_parts(reranker=PackagedReranker(lambda: here.mesh._parts.embedder))
    plain = await here.recall(DOUBTFUL)
    Reading.probability = 0.9
    answer = await here.recall(DOUBTFUL, weights={"rerank": 1.0})
    assert [hit.score for hit in answer.results] == [0.9] * len(plain.results)
    Reading.fault = Unavailable("no memory is left", part="answer reader")
    answer = await here.recall(DOUBTFUL, weights={"rerank": 1.0})
    assert (found(answer), answer.degraded) == (found(plain), ("reranker: no memory is left",))


async def test_a_node_whose_model_has_no_reader_refuses_the_packaged_reranker(here: Here) -> None:
    here.patch.setattr(here.mesh._parts.embedder, "answers", "only the packaged weights have one")
    with pytest.raises(InvalidArgument, match=r"reranker_model: .*another one, or empty: only the packaged weights"):
        PackagedReranker(lambda: here.mesh._parts.embedder)


async def test_a_reading_counts_for_its_own_text(here: Here) -> None:
    plain = await here.recall(DOUBTFUL, verify=True, explain=True)
    first, second = found(plain)[:2]
    Reading.by_text = {first: 0.9, second: 0.4}
    answer = await here.recall(DOUBTFUL, verify=True, explain=True)
    read = {}
    for hit in answer.results[:2]:
        assert hit.estimate is not None
        read[hit.memory.content] = [part.raw for part in hit.estimate.parts if part.name == "read"]
    assert read == {first: [0.9], second: [0.4]}


async def test_nothing_is_read_where_a_reading_would_not_count(here: Here) -> None:
    await here.recall(DOUBTFUL, verify=True, mode="keyword")
    assert Reading.asked == []


async def test_a_title_is_read_before_the_passage_that_has_the_words(here: Here) -> None:
    text = "Nothing of note. " * 40 + "The zeppelin lands on Friday."
    memory = await here.remember(text, title="Airfield", force=True)
    read = passage_read(FoundMemory(memory, Fused(memory.id, 1.0)), "which day does the zeppelin land?")
    assert read.startswith("Airfield: ")
    assert "zeppelin lands on Friday" in read
    assert len(read) < len(text)


async def test_a_node_starts_with_the_packaged_reranker(tmp_path: Path) -> None:
    packaged = ModelConfig(name=PACKAGED, download=False)
    async with running(tmp_path, model=ModelConfig(download=False), reranker=packaged) as mesh:
        for text in TEXTS:
            await mesh.remember(READER, Draft(content=text, space="s", force=True))
        scene = Here(mesh, "s")
        answer = await scene.recall("what does the ferry carry?", weights={"rerank": 1.0})
    assert found(answer)[0] == "The ferry carries bicycles"
    assert answer.degraded == ()
