"""The embedder, its workers, and the reranker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastembed.rerank.cross_encoder import TextCrossEncoder
from structlog.testing import capture_logs

from mnemesh_actors.embedding import embedder as module
from mnemesh_actors.embedding.embedder import BATCH_TEXTS_MAX, CALL_BYTES_MAX, Embedder, EmbeddingPool, Vector
from mnemesh_actors.models import EmbeddingWorker, ModelConfig, embedding_engine
from mnemesh_actors.models import worker as worker_module
from mnemesh_actors.models.embedding_model import Located, ModelInfo
from mnemesh_actors.models.reranker import Reranker
from mnemesh_actors.node.assembly import _where_to_embed
from mnemesh_actors.runtime.base import Machine, Place
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable
from mnemesh_memory.values.limits import INBOX_MESSAGES_MAX

PATIENCE_S = 60.0
WIDTH = 4
GENERATION = "model.fp32"


def vector_of(text: str) -> Vector:
    """A unit vector that only this text has."""
    seed = np.frombuffer(text.encode().ljust(WIDTH, b"\x01")[:WIDTH], dtype=np.uint8).astype(np.float32)
    made = seed + np.float32(len(text))
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


class Worker:
    """Stands where the embedding worker's handle stands; keeps what it was asked."""

    name = "embedder-0"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.called = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.loaded = GENERATION
        self.loads: list[str] = []
        self.fault: Exception | None = None
        self.looked_at: list[str] = []

    async def load(self) -> ModelInfo:
        """A worker that was started anew. It loads `loads`, or its former model."""
        if self.fault is not None:
            raise self.fault
        self.loaded = self.loads.pop(0) if self.loads else GENERATION
        return ModelInfo(self.loaded, "model", "1", "fp32", WIDTH, "packaged", "/model")

    async def reads(self, text: str) -> bool:
        """It knows Han and nothing else."""
        if not self.loaded:
            raise Unavailable("no model is loaded", part="embedder-0")
        self.looked_at.append(text)
        return any("\u4e00" <= char <= "\u9fff" for char in text)

    async def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        self.calls.append(list(texts))
        self.called.set()
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        if not self.loaded:
            raise Unavailable("no model is loaded", part="embedder-0")
        return np.stack([vector_of(text) for text in texts])

    embed_questions = embed


def front(cache_texts_max: int = 100) -> tuple[Worker, Embedder]:
    """A worker, and the embedder before it."""
    worker = Worker()
    return worker, Embedder(EmbeddingPool([worker]), GENERATION, WIDTH, cache_texts_max)


async def test_a_text_gets_its_vector() -> None:
    _, embedder = front()
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    many = await embedder.embed(["two", "one", "three"])
    assert [made.tolist() for made in many] == [vector_of(text).tolist() for text in ("two", "one", "three")]
    assert (embedder.generation, embedder.dimensions) == (GENERATION, WIDTH)


async def test_a_text_that_is_known_is_not_made_again_and_a_question_is_another_text() -> None:
    worker, embedder = front()
    await embedder.embed_one("one")
    await embedder.embed_one("one")
    await embedder.embed(["one", "two", "two", "one"])
    await embedder.embed(["two"])
    assert worker.calls == [["one"], ["one", "two"]]


async def test_the_model_is_asked_what_it_reads_only_of_a_text_without_a_short_word_of_ascii() -> None:
    worker, embedder = front()
    assert [await embedder.reads(text) for text in ("a word", "🎉 party", "Café 3")] == [True] * 3
    assert worker.looked_at == []
    assert [await embedder.reads(text) for text in ("支付", "🎉", "x" * 101, "été", "")] == [True, *[False] * 4]
    assert worker.looked_at == ["支付", "🎉", "x" * 101, "été", ""]


async def test_a_worker_that_was_started_anew_loads_its_model_before_it_says_what_it_reads() -> None:
    worker, embedder = front()
    worker.loaded = ""
    assert await embedder.reads("支付")


async def test_no_texts_need_no_worker() -> None:
    worker, embedder = front()
    assert await embedder.embed([]) == []
    assert worker.calls == []


async def test_texts_that_come_while_the_worker_is_busy_go_together() -> None:
    worker, embedder = front()
    worker.gate.clear()
    tasks = [asyncio.create_task(embedder.embed_one("first"))]
    async with asyncio.timeout(PATIENCE_S):
        await worker.called.wait()
        tasks += [asyncio.create_task(embedder.embed_one(f"later {number}")) for number in range(3)]
        await asyncio.sleep(0)
        worker.gate.set()
        await asyncio.gather(*tasks)
    assert worker.calls == [["first"], ["later 0", "later 1", "later 2"]]


async def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    worker, embedder = front(cache_texts_max=2)
    for text in ("one", "two", "one", "three", "one"):
        await embedder.embed_one(text)
    assert worker.calls == [["one"], ["two"], ["three"]]
    await embedder.embed_one("two")
    assert worker.calls[-1] == ["two"], "it had to make room for the third"


async def test_a_text_that_leaves_the_cache_while_others_are_made_still_gets_its_vector() -> None:
    worker, embedder = front(cache_texts_max=2)
    await embedder.embed_one("known")
    worker.gate.clear()
    worker.called.clear()
    both = asyncio.create_task(embedder.embed(["known", "new"]))
    async with asyncio.timeout(PATIENCE_S):
        await worker.called.wait()
        crowd = [asyncio.create_task(embedder.embed_one(f"crowd {number}")) for number in range(5)]
        await asyncio.sleep(0)
        worker.gate.set()
        await asyncio.gather(*crowd)
        made = await both
    assert [vector.tolist() for vector in made] == [vector_of("known").tolist(), vector_of("new").tolist()]


async def test_one_long_list_never_fills_the_queue_by_itself() -> None:
    worker, embedder = front()
    texts = [f"text {number}" for number in range(INBOX_MESSAGES_MAX * 4 + 1000)]
    async with asyncio.timeout(PATIENCE_S):
        made = await embedder.embed(texts)
    assert len(made) == len(texts)
    assert np.array_equal(made[-1], vector_of(texts[-1]))
    assert max(len(call) for call in worker.calls) == BATCH_TEXTS_MAX


async def test_a_failing_worker_fails_the_call_and_nothing_is_kept() -> None:
    worker, embedder = front()
    worker.fault = Unavailable("the worker is gone", part="embedder-0")
    with pytest.raises(Unavailable, match="gone"):
        await embedder.embed_one("one")
    with pytest.raises(Unavailable, match="gone"):
        await embedder.embed(["one", "two"])
    worker.fault = None
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))


async def test_a_worker_that_was_started_anew_is_given_its_model_again() -> None:
    worker, embedder = front()
    worker.loaded = ""
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    assert worker.loaded == GENERATION


async def test_a_worker_that_comes_back_with_another_model_is_refused() -> None:
    worker, embedder = front()
    worker.loaded = ""
    worker.loads = ["another.int8"]
    with pytest.raises(FailedPrecondition, match="restart the node") as caught:
        await embedder.embed_one("one")
    assert (caught.value.fields["value"], caught.value.fields["limit"]) == ("another.int8", GENERATION)
    assert len(worker.calls) == 1


async def test_a_question_goes_before_the_texts_that_wait() -> None:
    worker, embedder = front()
    worker.gate.clear()
    passages = [f"{number:04}" + "x" * 1000 for number in range(64)]
    bulk = asyncio.create_task(embedder.embed(passages))
    async with asyncio.timeout(PATIENCE_S):
        await worker.called.wait()
        question = asyncio.create_task(embedder.embed_one("a question"))
        await asyncio.sleep(0)
        worker.gate.set()
        await question
        await bulk
    assert worker.calls[1] == ["a question"]
    assert [text for call in worker.calls if call != ["a question"] for text in call] == passages
    assert max(sum(map(len, call)) for call in worker.calls) <= CALL_BYTES_MAX


async def test_a_text_larger_than_a_call_goes_alone() -> None:
    worker, embedder = front()
    texts = ["short", "long" * CALL_BYTES_MAX, "also short", "é" * (CALL_BYTES_MAX // 2), "last"]
    await embedder.embed(texts)
    assert worker.calls == [[texts[0]], [texts[1]], [texts[2]], [texts[3]], [texts[4]]]


async def test_the_cache_is_bounded_by_its_characters_and_holds_no_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_CHARS_MAX", 10)
    worker, embedder = front()
    for text in ("aaaaaa", "bbbb", "aaaaaa", "cccc", "aaaaaa", "bbbb"):
        await embedder.embed_one(text)
    assert worker.calls == [["aaaaaa"], ["bbbb"], ["cccc"], ["bbbb"]]
    long = "y" * (module.CACHED_TEXT_CHARS_MAX + 1)
    await embedder.embed_one(long)
    await embedder.embed_one(long)
    assert worker.calls[-2:] == [[long], [long]]
    assert np.array_equal(await embedder.embed_one("bbbb"), vector_of("bbbb"))
    assert worker.calls[-1] == [long], "it made no room for what it does not keep"


# ---- what was kept --------------------------------------------------------------------------------------------------


def test_what_was_kept_is_taken_as_it_is_and_only_what_is_damaged_is_left_out_and_told_once() -> None:
    _, embedder = front()
    sound = {text: vector_of(text).tobytes() for text in ("one", "two", "three")}
    damaged = {
        "short": sound["one"][:-1], "long": sound["one"] * 2, "none": b"", "zero": bytes(4 * WIDTH),
        "nan": np.full(WIDTH, np.nan, np.float32).tobytes(), "inf": np.full(WIDTH, np.inf, np.float32).tobytes(),
        "huge": np.full(WIDTH, 3e38, np.float32).tobytes(), "twice": (2 * vector_of("one")).tobytes(),
    }  # fmt: skip
    with capture_logs() as lines:
        assert {key: vector.tobytes() for key, vector in embedder.stored(sound).items()} == sound
        assert embedder.stored({}) == {}
        assert lines == []
        for _ in range(2):
            found = embedder.stored(damaged | sound)
            assert {key: vector.tobytes() for key, vector in found.items()} == sound
    assert [(line["event"], line["damaged"]) for line in lines] == [("cached_vectors_damaged", len(damaged))]


# ---- crew ------------------------------------------------------------------------------------------------------------
# Several workers with one model: each call goes to a free worker, and their models are the same.


def crew_of_two(patience_s: float | None = None) -> tuple[Worker, Worker, EmbeddingPool]:
    first, second = Worker(), Worker()
    second.name = "embedder-1"
    return first, second, EmbeddingPool((first, second), patience_s)


async def test_a_question_is_answered_while_texts_are_being_embedded() -> None:
    first, second, crew = crew_of_two()
    first.gate.clear()
    embedder = Embedder(crew, GENERATION, WIDTH)
    passages = [f"{number:04}" + "x" * 1000 for number in range(64)]
    bulk = asyncio.create_task(embedder.embed(passages))
    async with asyncio.timeout(PATIENCE_S):
        await first.called.wait()
        assert np.array_equal(await embedder.embed_one("a question"), vector_of("a question"))
        assert second.calls == [["a question"]], "and no other text takes its place"
        first.gate.set()
        assert len(await bulk) == len(passages)


async def test_every_worker_loads_the_model_and_a_dead_one_loads_it_again() -> None:
    first, _, crew = crew_of_two()
    assert (await crew.load()).generation == GENERATION
    embedder = Embedder(crew, GENERATION, WIDTH)
    first.loaded = ""
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    assert first.loaded == GENERATION


async def test_machines_with_different_models_are_refused_and_named() -> None:
    _, second, crew = crew_of_two()
    second.loads = ["another.int8"]
    with pytest.raises(FailedPrecondition, match="embedder-1 has found another model") as caught:
        await crew.load()
    assert (caught.value.fields["value"], caught.value.fields["limit"]) == ("another.int8", GENERATION)


async def test_a_worker_that_is_down_leaves_the_work_to_the_others_and_is_used_again_when_it_is_back() -> None:
    first, second, crew = crew_of_two()
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
    first, second, crew = crew_of_two(patience_s=0.01)
    first.gate.clear()
    async with asyncio.timeout(PATIENCE_S):
        for text in ("one", "two", "six"):
            assert np.array_equal(await crew.embed([text], GENERATION), [vector_of(text)])
        assert (first.calls, second.calls) == ([["one"]], [["one"], ["two"], ["six"]])
        first.gate.set()
        while len(first.calls) == 1:
            assert np.array_equal(await crew.embed(["ten"], GENERATION), [vector_of("ten")])


async def test_when_all_are_late_or_gone_the_first_to_answer_counts_and_else_the_last_fault() -> None:
    first, second, crew = crew_of_two(patience_s=0.01)
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
    first, second, crew = crew_of_two()
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


# ---- reranker --------------------------------------------------------------------------------------------------------
# The optional cross-encoder: the real path through fastembed up to the model itself, for which a double stands.


NAME = "Xenova/ms-marco-MiniLM-L-6-v2"


class Overlap:
    """Says as a logit how many words question and text share; beyond any float for "forever"."""

    list_supported_models = TextCrossEncoder.list_supported_models

    def __init__(self, model_name: str, **given: Any) -> None:
        assert (model_name, given["local_files_only"]) == (NAME, True)

    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterator[float]:
        assert batch_size > 0
        for text in documents:
            shared = len(set(query.split()) & set(text.split()))
            yield 1e9 if "forever" in text else shared - 1e9 * ("never" in text)


def test_a_model_that_is_not_there_and_may_not_be_fetched_is_named_with_its_remedy(tmp_path: Path) -> None:
    reranker = Reranker(ModelConfig(name=NAME, cache_dir=str(tmp_path), download=False))
    with pytest.raises(Unavailable, match=f"{NAME} can't be had .*{tmp_path}.* reranker_model to empty"):
        reranker.load()
    with pytest.raises(Unavailable, match="not loaded"):
        reranker.relevance("question", ["text"])


def test_a_model_that_nobody_knows_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=f"reranker_model.*{NAME}"):
        Reranker(ModelConfig(name="nobody/knows-it", cache_dir=str(tmp_path))).load()


def test_relevance_is_in_the_unit_interval_in_the_order_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_engine, "TextCrossEncoder", Overlap)
    reranker = Reranker(ModelConfig(name=NAME, download=False))
    reranker.load()
    reranker.load()
    told = reranker.relevance("when does it close", ["it will close", "lamp", "forever", "never"])
    assert told == [pytest.approx(0.881, abs=1e-3), 0.5, 1.0, pytest.approx(0.0)]
    assert reranker.relevance("question", []) == []
    reranker.close()
    with pytest.raises(Unavailable, match="not loaded"):
        reranker.relevance("question", ["text"])
