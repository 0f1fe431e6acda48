"""The front of the embedding workers: what is known is not made again, what comes together is made together."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from mnemesh_actors.embedding import embedder as module
from mnemesh_actors.embedding.embedder import BATCH_TEXTS_MAX, CALL_BYTES_MAX, Embedder, Vector
from mnemesh_actors.embedding.embedding_pool import EmbeddingPool
from mnemesh_actors.models import ModelInfo
from mnemesh_memory.values.errors import FailedPrecondition, Unavailable
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


def front(worker: Any, cache_texts_max: int = 100) -> Embedder:
    return Embedder(EmbeddingPool([worker]), GENERATION, WIDTH, cache_texts_max)


async def test_a_text_gets_its_vector() -> None:
    embedder = front(Worker())
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    many = await embedder.embed(["two", "one", "three"])
    assert [made.tolist() for made in many] == [vector_of(text).tolist() for text in ("two", "one", "three")]
    assert (embedder.generation, embedder.dimensions) == (GENERATION, WIDTH)


async def test_a_text_that_is_known_is_not_made_again() -> None:
    worker = Worker()
    embedder = front(worker)
    await embedder.embed_one("one")
    await embedder.embed_one("one")
    await embedder.embed(["one", "two", "two", "one"])
    await embedder.embed_one("two")
    assert worker.calls == [["one"], ["two"]]


async def test_the_model_is_asked_what_it_reads_only_of_a_text_without_a_short_word_of_ascii() -> None:
    worker = Worker()
    embedder = front(worker)
    assert [await embedder.reads(text) for text in ("a word", "🎉 party", "Café 3")] == [True] * 3
    assert worker.looked_at == []
    assert [await embedder.reads(text) for text in ("支付", "🎉", "x" * 101, "été", "")] == [True, *[False] * 4]
    assert worker.looked_at == ["支付", "🎉", "x" * 101, "été", ""]


async def test_a_worker_that_was_started_anew_loads_its_model_before_it_says_what_it_reads() -> None:
    worker = Worker()
    worker.loaded = ""
    assert await front(worker).reads("支付")


async def test_no_texts_need_no_worker() -> None:
    worker = Worker()
    assert await front(worker).embed([]) == []
    assert worker.calls == []


async def test_texts_that_come_while_the_worker_is_busy_go_together() -> None:
    worker = Worker()
    worker.gate.clear()
    embedder = front(worker)
    tasks = [asyncio.create_task(embedder.embed_one("first"))]
    async with asyncio.timeout(PATIENCE_S):
        await worker.called.wait()
        tasks += [asyncio.create_task(embedder.embed_one(f"later {number}")) for number in range(3)]
        await asyncio.sleep(0)
        worker.gate.set()
        await asyncio.gather(*tasks)
    assert worker.calls == [["first"], ["later 0", "later 1", "later 2"]]


async def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    worker = Worker()
    embedder = front(worker, cache_texts_max=2)
    for text in ("one", "two", "one", "three", "one"):
        await embedder.embed_one(text)
    assert worker.calls == [["one"], ["two"], ["three"]]
    await embedder.embed_one("two")
    assert worker.calls[-1] == ["two"], "it had to make room for the third"


async def test_a_text_that_leaves_the_cache_while_others_are_made_still_gets_its_vector() -> None:
    worker = Worker()
    embedder = front(worker, cache_texts_max=2)
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
    worker = Worker()
    texts = [f"text {number}" for number in range(INBOX_MESSAGES_MAX * 4 + 1000)]
    async with asyncio.timeout(PATIENCE_S):
        made = await front(worker).embed(texts)
    assert len(made) == len(texts)
    assert np.array_equal(made[-1], vector_of(texts[-1]))
    assert max(len(call) for call in worker.calls) == BATCH_TEXTS_MAX


async def test_a_failing_worker_fails_the_call_and_nothing_is_kept() -> None:
    worker = Worker()
    embedder = front(worker)
    worker.fault = Unavailable("the worker is gone", part="embedder-0")
    with pytest.raises(Unavailable, match="gone"):
        await embedder.embed_one("one")
    with pytest.raises(Unavailable, match="gone"):
        await embedder.embed(["one", "two"])
    worker.fault = None
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))


async def test_a_worker_that_was_started_anew_is_given_its_model_again() -> None:
    worker = Worker()
    embedder = front(worker)
    worker.loaded = ""
    assert np.array_equal(await embedder.embed_one("one"), vector_of("one"))
    assert worker.loaded == GENERATION


async def test_a_worker_that_comes_back_with_another_model_is_refused() -> None:
    worker = Worker()
    embedder = front(worker)
    worker.loaded = ""
    worker.loads = ["another.int8"]
    with pytest.raises(FailedPrecondition, match="restart the node") as caught:
        await embedder.embed_one("one")
    assert (caught.value.fields["value"], caught.value.fields["limit"]) == ("another.int8", GENERATION)
    assert len(worker.calls) == 1


async def test_a_question_goes_before_the_texts_that_wait() -> None:
    worker = Worker()
    worker.gate.clear()
    embedder = front(worker)
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
    worker = Worker()
    texts = ["short", "long" * CALL_BYTES_MAX, "also short", "é" * (CALL_BYTES_MAX // 2), "last"]
    await front(worker).embed(texts)
    assert worker.calls == [[texts[0]], [texts[1]], [texts[2]], [texts[3]], [texts[4]]]


async def test_the_cache_is_bounded_by_its_characters_and_holds_no_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_CHARS_MAX", 10)
    worker = Worker()
    embedder = front(worker)
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
    embedder = front(Worker())
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
