"""The words that a model wants before questions and before texts: read, part of its generation, never mixed up."""

from __future__ import annotations

import itertools
import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastembed import TextEmbedding
from follower_scene import until
from second_model import cut_model
from test_embedder_front import Worker
from test_embedding_directory import load, tiny_model

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.embedding.embedding_pool import EmbeddingPool
from mnemesh_actors.models import EmbeddingWorker, ModelConfig, Prefixes
from mnemesh_actors.models.embedding_model import generation_of
from mnemesh_actors.models.engine import known
from mnemesh_actors.models.prefixes import KNOWN, PREFIX_CHARS_MAX, PROMPTS_FILE, told_by
from mnemesh_actors.node.start import StartConfig, start_mesh
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller, Draft, Query

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
    ticks = itertools.count(1_700_000_000_000)
    data = open_directory(tmp_path / "data")
    mesh = await start_mesh(
        data, LocalRuntime(), StartConfig(clock=lambda: next(ticks), entropy=secrets.token_bytes, model=ModelConfig())
    )
    try:
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
        assert status.model is not None
        assert (status.model.query_prefix, status.model.passage_prefix) == ("query: ", "passage: ")
    finally:
        await mesh.close()
