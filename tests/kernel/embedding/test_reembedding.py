"""Another model takes over while a mesh serves: nothing is mixed, nothing is lost, and a crash at any step goes on.

The mesh is real but for its models, which give vectors at random, fixed by model and text. The text itself is then the
only near neighbour of a question, and none is near when question and memory were embedded by two models.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recall_scene
from follower_scene import PATIENCE_S, until
from numpy.typing import NDArray
from structlog.testing import capture_logs

from mnemesh_actors.consumers.consumer_table import NEXT_INDEX
from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding import embedder
from mnemesh_actors.generations import generation_factory, reembedding
from mnemesh_actors.generations.generation_factory import Workshop
from mnemesh_actors.generations.generation_file import FILE, Generation, GenerationFile, Generations, ModelChoice
from mnemesh_actors.index.shard import RetrievalShard, ShardStatus
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.embedding_model import ModelInfo, generation_of
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.values.model import Caller, Draft, Query

CALLER = Caller("owner/tester", "owner", default_space="notes")
WIDTHS = {"old": 384, "new": 256, "newer": 384}
TEXTS = [f"Fact number {number} of the team" for number in range(12)]


class Models:
    """The shared state of the fake models of a test. `gates` hold a model back; `made` counts how often a text of a
    memory was embedded."""

    def __init__(self) -> None:
        self.made: Counter[tuple[str, str]] = Counter()
        self.gates: dict[str, threading.Event] = {}
        self.revisions: dict[str, str] = {}
        self.missing: set[str] = set()

    def made_by(self, name: str) -> int:
        return sum(count for (model, _), count in self.made.items() if model == name)


def vector_of(model: str, text: str) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(f"{model}:{text}".encode()).digest()[:8])
    vector = np.random.default_rng(seed).normal(size=WIDTHS[model])
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    shared = Models()

    class Worker:
        def __init__(self, config: ModelConfig) -> None:
            self._name, self._precision = config.name or "old", config.precision

        def load(self) -> ModelInfo:
            if self._name not in WIDTHS:
                raise InvalidArgument("model", self._name, "a model that there is")
            if self._name in shared.missing:
                raise Unavailable("it is not there", field="model_dir")
            revision = shared.revisions.get(self._name, "1")
            generation = generation_of(self._name, revision, self._precision, WIDTHS[self._name])
            return ModelInfo(generation, self._name, revision, self._precision, WIDTHS[self._name], "configured", "/m")

        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            if gate := shared.gates.get(self._name):
                assert gate.wait(30)
            shared.made.update((self._name, text) for text in texts)
            return np.stack([vector_of(self._name, text) for text in texts])

        def embed_questions(self, questions: list[str]) -> NDArray[np.float32]:
            return np.stack([vector_of(self._name, question) for question in questions])

    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Worker))
    monkeypatch.setattr(reembedding, "PAUSE_S", 0.001)
    monkeypatch.setattr(embedder, "YIELDED_S", 0.001)
    monkeypatch.setattr(generation_factory, "NEXT_INDEX", replace(NEXT_INDEX, page_entries=4))
    return shared


def running(path: Path, model: str = "") -> AbstractAsyncContextManager[Mesh]:
    patient = MeshConfig(recall_timeout_s=PATIENCE_S, write_timeout_s=PATIENCE_S)
    return recall_scene.running(path, model=ModelConfig(name=model), mesh=patient)


async def remember(mesh: Mesh, *texts: str) -> list[str]:
    written = await mesh.remember_batch(CALLER, [Draft(content=text) for text in texts])
    assert not [one for one in written if isinstance(one, MnemeshError)]
    return [one.memory.id for one in written if not isinstance(one, MnemeshError)]


async def asked(mesh: Mesh, text: str) -> Recalled:
    return await mesh.recall(CALLER, Query(text=text, mode="semantic", limit=1, explain=True))


async def finds_all(mesh: Mesh, *texts: str) -> None:
    """By meaning alone, each text finds itself."""
    for text in texts:
        answer = await asked(mesh, text)
        assert ([hit.memory.content for hit in answer.results], answer.degraded) == ([text], ())


async def changed_over(mesh: Mesh, path: Path, name: str = "new") -> None:
    """Wait until that model answers and nothing is left of another."""
    reembed: Any = mesh._reembedding
    await until(lambda: reembed.state.active.name == name and not reembed.state.leaving and not reembed._tasks)
    status = await mesh.status()
    assert (status.model and status.model.name, status.reembed.state, status.state) == (name, "idle", "ready")
    assert [file.name for file in (path / "index").iterdir()] == [f"0{reembed.state.active.suffix}"]
    assert len(cached(path)) == 1


def cached(path: Path) -> dict[str, int]:
    """How many vectors the ledger keeps, by model."""
    names = {generation_of(name, "1", "fp32", width): name for name, width in WIDTHS.items()}
    with closing(sqlite3.connect(path / "ledger" / "0.sqlite")) as db:
        rows = db.execute("SELECT generation, count(*) FROM vector GROUP BY generation")
        return {names.get(generation, generation): count for generation, count in rows}


@asynccontextmanager
async def reembedded_up_to(mesh: Mesh, seq: int) -> AsyncIterator[None]:
    """A change to the new model that has taken in the log up to `seq`, and goes no further meanwhile."""
    step, answering = IndexFollower._step, mesh._parts.follower

    async def held(follower: IndexFollower) -> bool:
        if follower is answering or follower.applied < seq or follower._erased:
            return await step(follower)
        follower._news.clear()
        await follower._news.wait()
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexFollower, "_step", held)
        await mesh.reembed("new")
        await until(lambda: mesh._reembedding.status().done == seq)
        yield


# ---- the way of a change ---------------------------------------------------------------------------------------------


async def test_the_precision_of_the_model_is_told_during_and_after_a_change(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, TEXTS[0])
        used = (await mesh.status()).model
        began = (await mesh.reembed(precision="int8")).reembed.model
        await until(lambda: mesh._reembedding.state.active.precision == "int8")
        now = (await mesh.status()).model
        assert [one and (one.name, one.precision) for one in (used, began, now)] == [
            ("old", "fp32"), ("old", "int8"), ("old", "int8"),
        ]  # fmt: skip


async def test_another_model_of_another_width_takes_over_and_stays(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        before = await mesh.status()
        began = await mesh.reembed("new")
        assert (began.model and began.model.name) == "old"
        await changed_over(mesh, tmp_path)
        after = await mesh.status()
        assert (after.model.dimensions, before.model.dimensions) == (256, 384)
        assert after.model.generation != before.model.generation
        await finds_all(mesh, *TEXTS)
        await remember(mesh, "One more fact of the team")
        await finds_all(mesh, "One more fact of the team")
        assert models.made_by("new") == len(TEXTS) + 1
    async with running(tmp_path) as mesh:
        await finds_all(mesh, *TEXTS)
        assert not [text for text in (await mesh.status()).notices if "rebuilt" in text]


async def test_only_the_last_change_is_told_to_hold_from_now_on(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, TEXTS[0])
        for name in ("new", "old"):
            await mesh.reembed(name)
            await changed_over(mesh, tmp_path, name)
        assert (await mesh.status()).notices == ("the memories are embedded with old from now on",)


async def test_while_it_is_made_the_old_index_answers_and_writes_reach_both(tmp_path: Path, models: Models) -> None:
    models.gates["new"] = threading.Event()
    async with running(tmp_path) as mesh:
        ids = await remember(mesh, *TEXTS)
        status = await mesh.reembed("new")
        assert status.reembed.model.name == "new"
        await until(lambda: mesh._parts.serving.next is not None)
        status = await mesh.status()
        assert (status.reembed.state, status.reembed.done, status.reembed.total) == ("embedding", 0, len(TEXTS))
        await remember(mesh, "Written meanwhile")
        await mesh.forget(CALLER, ids[0])
        await finds_all(mesh, *TEXTS[1:], "Written meanwhile")
        assert models.made_by("new") == 0
        models.gates["new"].set()
        await changed_over(mesh, tmp_path)
        await finds_all(mesh, *TEXTS[1:], "Written meanwhile")
        assert [hit.memory.id for hit in (await asked(mesh, TEXTS[0])).results] != [ids[0]]


async def test_a_question_and_a_write_that_began_before_the_change_end_with_the_old_model(
    tmp_path: Path, models: Models
) -> None:
    async with running(tmp_path) as mesh:
        gone, *_ = await remember(mesh, *TEXTS)
        models.gates["old"] = threading.Event()
        mesh._parts.embedder.forget()
        question = asyncio.create_task(asked(mesh, TEXTS[3]))
        write = asyncio.create_task(mesh.remember(CALLER, Draft(content="On its way")))
        reembed: Any = mesh._reembedding
        await until(lambda: mesh._parts.serving.current._users > 1)
        await mesh.reembed("new")
        await until(lambda: reembed.state.active.name == "new")
        assert reembed.state.leaving, "somebody is inside still"
        assert "is still to be removed" in "".join((await mesh.purge(CALLER, gone)).pending)
        models.gates["old"].set()
        assert [hit.memory.content for hit in (await question).results] == [TEXTS[3]]
        assert (await write).indexed
        await changed_over(mesh, tmp_path)
        await finds_all(mesh, "On its way", *TEXTS[1:])
        assert ("old", "On its way") in models.made
        assert ("new", "On its way") in models.made, "what the old model made of it is not taken for the new one's"


async def test_an_index_refuses_a_vector_of_another_generation(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        shard: Any = mesh._parts.serving.current.shard
        with pytest.raises(InvalidArgument, match="generation"):
            await shard.neighbours_batch([(vector_of("newer", TEXTS[0]), "notes")], 3, "another")
        mesh._parts.embedder.generation = "another"
        with pytest.raises(InvalidArgument, match="generation"):
            await asked(mesh, TEXTS[0])


async def test_what_is_erased_meanwhile_leaves_both_indexes_and_both_caches(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        ids = await remember(mesh, *TEXTS)
        async with reembedded_up_to(mesh, 8):
            for number in (0, 11):
                assert (await mesh.purge(CALLER, ids[number])).pending == ()
            beside: Any = mesh._parts.serving.next
            assert ((await beside.shard.status()).points, beside.follower.applied) == (7, 8), "before its turn"
            assert cached(tmp_path) == {"old": 10, "new": 7}
        beside.follower.look()
        await changed_over(mesh, tmp_path)
        assert (await mesh.status()).index[0].points == 10
        assert cached(tmp_path) == {"new": 10}
        await finds_all(mesh, *TEXTS[1:11])


# ---- what is refused, given up, or goes wrong ------------------------------------------------------------------------


async def test_what_can_not_begin_is_refused_and_changes_nothing(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        state = (tmp_path / FILE).read_text()
        for fields, field in (
            ({"model": "nothing like it"}, "model"),
            ({"model": "a\nb"}, "model"),
            ({"model": "x" * 2000}, "model"),
            ({"model": "new", "precision": "fp16"}, "precision"),
            ({"model": "new", "cancel": True}, "cancel"),
        ):
            with pytest.raises(InvalidArgument) as refused:
                await mesh.reembed(**fields)  # type: ignore[arg-type]
            assert refused.value.fields["field"] == field
        assert (await mesh.reembed("old")).reembed.state == "idle", "it answers already"
        assert (await mesh.reembed(cancel=True)).reembed.state == "idle"
        assert (tmp_path / FILE).read_text() == state
        assert {actor.name for actor in (await mesh.status()).actors} == {
            "ledger-0",
            "astrocyte-0",
            "embedder-0",
            "embedder-1",
            "shard-0",
        }


async def test_one_change_at_a_time_and_asking_again_shows_it(tmp_path: Path, models: Models) -> None:
    models.gates["new"] = threading.Event()
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        await mesh.reembed("new")
        with pytest.raises(FailedPrecondition, match="embedded with new; wait for it"):
            await mesh.reembed("newer")
        assert (await mesh.reembed("new")).reembed.state in ("loading", "embedding")
        assert (await mesh.reembed()).reembed.state in ("loading", "embedding")
        models.gates["new"].set()
        await changed_over(mesh, tmp_path)


async def test_a_change_that_is_given_up_leaves_nothing_behind(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        async with reembedded_up_to(mesh, 8):
            assert cached(tmp_path) == {"old": 12, "new": 8}
            status = await mesh.reembed(cancel=True)
        assert (status.reembed.state, status.model and status.model.name) == ("idle", "old")
        await changed_over(mesh, tmp_path, "old")
        await finds_all(mesh, *TEXTS)
        await mesh.reembed("new")
        await changed_over(mesh, tmp_path, "new")
        await mesh.reembed("old")
        await changed_over(mesh, tmp_path, "old")
        await finds_all(mesh, *TEXTS)


async def test_a_model_that_is_gone_stalls_the_change_and_asking_again_goes_on(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        ids = await remember(mesh, *TEXTS)
        async with reembedded_up_to(mesh, 4):
            await mesh.close()
    models.missing.add("new")
    async with running(tmp_path) as mesh:
        await until(lambda: mesh._reembedding.status().state == "stalled")
        status = await mesh.status()
        assert (status.reembed.fault, status.notices) == ("it is not there", ("reembed: it is not there",))
        await finds_all(mesh, *TEXTS)
        assert "is not open" in "".join((await mesh.purge(CALLER, ids[0])).pending)
        models.missing.clear()
        models.revisions["new"] = "2"
        await mesh.reembed("new")
        await until(lambda: "is not the one that this was begun with" in mesh._reembedding.status().fault)
        models.revisions.clear()
        await mesh.reembed("new")
        await changed_over(mesh, tmp_path)
        await finds_all(mesh, *TEXTS[1:])
        assert cached(tmp_path) == {"new": len(TEXTS) - 1}


# ---- crashes ---------------------------------------------------------------------------------------------------------


class Crash(Exception):
    """The node dies here."""


def crash_at(patch: pytest.MonkeyPatch, step: str) -> Callable[[], bool]:
    """Let the node do nothing more at `step`; whether that was reached."""
    reached: list[str] = []

    def dead() -> None:
        reached.append(step)
        raise Crash(step)

    write, end, name = GenerationFile.write, Workshop.end, step.partition(" ")[2]
    told = {
        "begun": lambda state: state.next is not None,
        "switched": lambda state: state.active.name == "new" and bool(state.leaving),
        "removed": lambda state: state.active.name == "new" and not state.leaving,
    }

    def written(self: GenerationFile, state: Generations) -> None:
        here = name in told and told[name](state)
        if reached or (here and step.startswith("before")):
            dead()
        write(self, state)
        if here:
            dead()

    async def ended(self: Workshop, space: Any) -> None:
        if name == "removing":
            dead()
        await end(self, space)

    patch.setattr(GenerationFile, "write", written)
    patch.setattr(Workshop, "end", ended)
    return lambda: bool(reached)


@pytest.mark.parametrize(
    "step",
    ["before begun", "after begun", "before switched", "after switched", "at removing", "before removed",
     "after removed"],
)  # fmt: skip
async def test_a_node_that_dies_at_any_step_goes_on_from_there(tmp_path: Path, models: Models, step: str) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        with pytest.MonkeyPatch.context() as patch, capture_logs():
            reached = crash_at(patch, step)
            if "begun" in step:
                with pytest.raises(Crash):
                    await mesh.reembed("new")
            else:
                await mesh.reembed("new")
                await until(lambda: reached() and not [task for task in mesh._reembedding._tasks if not task.done()])
    async with running(tmp_path) as mesh:
        await finds_all(mesh, TEXTS[0])
        if step == "before begun":
            assert (await mesh.status()).reembed.state == "idle"
            await mesh.reembed("new")
        await changed_over(mesh, tmp_path)
        assert models.made_by("new") <= len(TEXTS) + 1, "what was embedded is not embedded again, but the question"
        await finds_all(mesh, *TEXTS)


async def test_a_node_that_stops_in_the_middle_embeds_nothing_twice(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
        async with reembedded_up_to(mesh, 8):
            await mesh.close()
    assert models.made_by("new") == 8
    async with running(tmp_path) as mesh:
        await changed_over(mesh, tmp_path)
        assert models.made_by("new") == len(TEXTS)
        await finds_all(mesh, *TEXTS)


# ---- the settings, and the model's files -----------------------------------------------------------------------------


async def test_settings_that_name_another_model_only_say_what_to_do(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
    async with running(tmp_path, "newer") as mesh:
        status = await mesh.status()
        assert status.model.name == "old"
        (notice,) = status.notices
        assert "`mnemesh reembed --model newer --precision fp32`" in notice
        await finds_all(mesh, *TEXTS)
        await mesh.reembed("newer")
        await changed_over(mesh, tmp_path, "newer")
        assert (await mesh.status()).notices == ("the memories are embedded with newer from now on",)
    async with running(tmp_path, "newer") as mesh:
        assert (await mesh.status()).notices == ()


async def test_a_model_of_a_users_own_that_is_gone_or_changed_is_not_replaced(tmp_path: Path, models: Models) -> None:
    async with running(tmp_path, "newer") as mesh:
        await remember(mesh, *TEXTS)
    models.missing.add("newer")
    with pytest.raises(FailedPrecondition, match=r"newer, which can't be loaded .*put it back; or delete .*json"):
        await recall_scene.started(tmp_path)
    models.missing.clear()
    models.revisions["newer"] = "2"
    with pytest.raises(FailedPrecondition, match="the files there give"):
        await recall_scene.started(tmp_path)
    (tmp_path / FILE).unlink()
    async with running(tmp_path) as mesh:
        await changed_over(mesh, tmp_path, "old")
        await finds_all(mesh, *TEXTS)


async def test_a_model_that_the_node_finds_by_itself_and_has_changed_makes_the_index_anew(
    tmp_path: Path, models: Models
) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
    models.revisions["old"] = "2"
    async with running(tmp_path) as mesh:
        await changed_over(mesh, tmp_path, "old")
        await mesh._parts.follower.wait_for(len(TEXTS))
        await finds_all(mesh, *TEXTS)
        assert [text for text in (await mesh.status()).notices if "the index was made for generation" in text]


# ---- the file --------------------------------------------------------------------------------------------------------


def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    old, new = (Generation(fingerprint=name, name=name, dimensions=4, slot=name) for name in ("old", "new"))
    state = Generations(old)
    file = GenerationFile(tmp_path)
    assert file.read() is None
    for one in (state, state.begun(new), state.begun(new).switched(), state.begun(new).cancelled()):
        file.write(one)
        assert file.read() == one
    assert state.begun(new).switched().removed(old) == Generations(new)
    assert state.begun(new).cancelled().removed(new) == state
    assert state.begun(new).used == ("old", "new")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 1}', '{"format": 1, "active": {}, "next": null, "leaving": []}']
)
def test_a_damaged_file_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(DataLoss, match="delete it, and start with the model"):
        GenerationFile(tmp_path).read()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"format": 2}')
    with pytest.raises(FailedPrecondition, match="newer mnemesh"):
        GenerationFile(tmp_path).read()


@pytest.mark.parametrize(
    ("choice", "folder", "name"),
    [
        (ModelChoice("/m"), "/m", ""),
        (ModelChoice("~/m"), "~/m", ""),
        (ModelChoice("a/b"), "", "a/b"),
        (ModelChoice(), "", ""),
    ],
)
def test_a_choice_is_a_folder_or_a_name(choice: ModelChoice, folder: str, name: str) -> None:
    config = choice.config(ModelConfig(threads=3))
    assert (config.model_dir, config.name, config.threads) == (folder, name, 3)


async def test_the_index_is_opened_while_the_model_is_loaded(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as mesh:
        await remember(mesh, *TEXTS)
    opened = threading.Event()
    open_, load = RetrievalShard.open, EmbeddingWorker.load

    def noted(shard: RetrievalShard, incarnation: str = "") -> ShardStatus:
        status = open_(shard, incarnation)
        opened.set()
        return status

    def late(worker: EmbeddingWorker) -> ModelInfo:
        assert opened.wait(PATIENCE_S), "the model was loaded before the index was opened"
        return load(worker)

    monkeypatch.setattr(RetrievalShard, "open", noted)
    monkeypatch.setattr(EmbeddingWorker, "load", late)
    async with running(tmp_path) as mesh:
        await finds_all(mesh, *TEXTS)
        assert models.made_by("old") == len(TEXTS), "each text once, when it came"
