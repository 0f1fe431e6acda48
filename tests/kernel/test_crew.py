"""Several workers with one model: each call goes to a free worker, and their models are the same."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_embedder_front import GENERATION, PATIENCE_S, WIDTH, Worker, vector_of

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.embedding.embedding_pool import EmbeddingPool
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models import worker as worker_module
from mnemesh_actors.models.embedding_model import Located
from mnemesh_actors.node.start import _where_to_embed
from mnemesh_actors.runtime.base import Machine, Place
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable


def crew_of(*workers: Worker, patience_s: float | None = None) -> EmbeddingPool:
    for number, worker in enumerate(workers):
        worker.name = f"embedder-{number}"
    return EmbeddingPool(workers, patience_s)


async def test_a_question_is_answered_while_texts_are_being_embedded() -> None:
    first, second = Worker(), Worker()
    first.gate.clear()
    embedder = Embedder(crew_of(first, second), GENERATION, WIDTH)
    passages = [f"{number:04}" + "x" * 1000 for number in range(64)]
    bulk = asyncio.create_task(embedder.embed(passages))
    async with asyncio.timeout(PATIENCE_S):
        await first.called.wait()
        assert np.array_equal(await embedder.embed_one("a question"), vector_of("a question"))
        assert second.calls == [["a question"]], "and no other text takes its place"
        first.gate.set()
        assert len(await bulk) == len(passages)


async def test_every_worker_loads_the_model_and_a_dead_one_loads_it_again() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second)
    assert (await crew.load()).generation == GENERATION
    embedder = Embedder(crew, GENERATION, WIDTH)
    first.loaded = ""
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    assert first.loaded == GENERATION


async def test_machines_with_different_models_are_refused_and_named() -> None:
    first, second = Worker(), Worker()
    second.loads = ["another.int8"]
    with pytest.raises(FailedPrecondition, match="embedder-1 has found another model") as caught:
        await crew_of(first, second).load()
    assert (caught.value.fields["value"], caught.value.fields["limit"]) == ("another.int8", GENERATION)


async def test_a_worker_that_is_down_leaves_the_work_to_the_others_and_is_used_again_when_it_is_back() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second)
    first.fault = Unavailable("gone", part="embedder-0")
    for _ in range(3):
        assert np.array_equal(await crew.embed(["one"], GENERATION), [vector_of("one")])
    assert second.calls == [["one"]] * 3
    second.fault = Unavailable("gone, too", part="embedder-1")
    with pytest.raises(Unavailable, match="gone, too"):
        await crew.embed(["one"], GENERATION)
    first.fault = second.fault = None
    tries = len(first.calls)
    assert np.array_equal(await crew.embed(["two"], GENERATION), [vector_of("two")])
    assert len(first.calls) == tries + 1


async def test_for_a_worker_that_was_cut_off_another_answers_and_it_is_asked_last_until_it_does() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second, patience_s=0.01)
    first.gate.clear()
    async with asyncio.timeout(PATIENCE_S):
        for text in ("one", "two", "six"):
            assert np.array_equal(await crew.embed([text], GENERATION), [vector_of(text)])
        assert (first.calls, second.calls) == ([["one"]], [["one"], ["two"], ["six"]])
        first.gate.set()
        while len(first.calls) == 1:
            assert np.array_equal(await crew.embed(["ten"], GENERATION), [vector_of("ten")])


async def test_when_all_are_late_or_gone_the_first_to_answer_counts_and_else_the_last_fault() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second, patience_s=0.01)
    first.gate.clear()
    second.gate.clear()
    async with asyncio.timeout(PATIENCE_S):
        asked = asyncio.create_task(crew.embed(["one"], GENERATION))
        await second.called.wait()
        first.gate.set()
        assert np.array_equal(await asked, [vector_of("one")])
        first.gate.clear()
        asked = asyncio.create_task(crew.embed(["two"], GENERATION))
        await asyncio.sleep(0)
        first.fault = second.fault = Unavailable("gone", part="embedder")
        first.gate.set()
        second.gate.set()
        with pytest.raises(Unavailable, match="gone"):
            await asked


async def test_who_can_not_have_the_model_is_told_of_while_the_others_go_on() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second)
    first.fault = InvalidArgument("model_dir", "/m", "a folder that is there")
    assert (await crew.load()).generation == GENERATION
    assert [fault.partition(":")[0] for fault in crew.faults] == ["embedder-0"]
    second.fault = Unavailable("no model", part="embedder-1")
    with pytest.raises(InvalidArgument, match="a folder that is there"):
        await crew.load()


def test_workers_of_one_process_make_the_files_of_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0
    locate = worker_module.locate

    def one_at_a_time(config: ModelConfig) -> Located:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        found = locate(config)
        inside -= 1
        return found

    monkeypatch.setattr(worker_module, "locate", one_at_a_time)
    workers = [EmbeddingWorker(ModelConfig(download=False)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert len({made.generation for made in pool.map(lambda one: one.load(), workers)}) == 1
    assert most == 1


def test_workers_of_one_process_share_the_weights_and_give_the_same_vectors_at_once() -> None:
    one, two = (EmbeddingWorker(ModelConfig(download=False)) for _ in range(2))
    assert one.load() == two.load()
    assert one._engine is two._engine
    other = EmbeddingWorker(ModelConfig(download=False, threads=2))
    other.load()
    assert other._engine is not one._engine
    texts = [f"The {number}th text that is embedded beside others." for number in range(24)]
    alone = one.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for made in pool.map(lambda worker: worker.embed(texts), (one, two, one, two)):
                assert np.array_equal(made, alone)
    one.close()
    assert np.array_equal(two.embed(texts), alone)


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        (1, 2, [Place(roams=True, works=True)] * 2),
        (2, 1, ["m1"]),
        (3, 1, ["m1"]),
        (3, 2, ["m1", "m2"]),
        (4, 3, ["m2", "m1", "m3"]),
        (3, 5, ["m1", "m2", "m1", "m2", "m1"]),
    ],
)
def test_workers_are_spread_over_the_machines_but_that_of_the_doors(
    machines: int, workers: int, expected: list[str | dict[str, bool]]
) -> None:
    found = _where_to_embed([Machine(f"m{number}", f"10.0.0.{number}") for number in range(machines)], workers)
    assert found == [one if isinstance(one, Place) else Place(machine=one, roams=True, works=True) for one in expected]
