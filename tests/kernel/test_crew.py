"""Several workers with one model: each call goes to one that is free, and their models are the same."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_embedder_front import GENERATION, PATIENCE_S, WIDTH, Worker, vector_of

from mnemesh_actors.crew import Crew
from mnemesh_actors.embedder import Embedder
from mnemesh_actors.embedding import EmbeddingWorker, ModelConfig
from mnemesh_actors.runtime.base import Machine
from mnemesh_actors.start import _where_to_embed
from mnemesh_memory.errors import FailedPrecondition, Unavailable


def crew_of(*workers: Worker) -> Crew:
    for number, worker in enumerate(workers):
        worker.name = f"embedder-{number}"
    return Crew(workers)


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


async def test_a_call_that_fails_frees_its_worker() -> None:
    first, second = Worker(), Worker()
    crew = crew_of(first, second)
    first.fault = Unavailable("gone", part="embedder-0")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await crew.ask("embed", ["one"])
    assert second.calls == []
    first.fault = None
    assert np.array_equal(await crew.ask("embed", ["one"]), [vector_of("one")])


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
        (1, 2, [{"roams": True}] * 2),
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
    assert found == [one if isinstance(one, dict) else {"machine": one, "roams": True} for one in expected]
