"""Readings on the way of a write: asked where they may matter, and never a reason for a write to fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import numpy as np
import pytest
from recall_scene import judge_of, judged, running
from structlog.testing import capture_logs

from mnemesh_actors.consumers.pair_follower import PairFollower
from mnemesh_actors.embedding import readings
from mnemesh_actors.embedding.embedder import PAIRS_A_CALL_MAX, Embedder, EmbeddingPool
from mnemesh_actors.generations import generation_factory
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.models.embedding_model import PAIRS_OFF, PAIRS_READY, ModelInfo
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.judge.reading import READINGS_MAX, Reading
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Caller, Draft, Patch, Written

CALLER = Caller("owner/ana", "owner")
PATIENCE_S = 60.0
REPLACES = (0.1, 0.8, 0.1, 1.0)
SURELY_REPLACES = (0.002, 0.996, 0.002, 1.0)
APART = (0.01, 0.01, 0.98, 1.0)
MARK = "may-replace"
# A write leaves the first two texts to rest, and reads the last two beside each other.
DESK, MOVED = "Ana's desk is on the third floor", "We moved Ana up to the fifth storey last week"
CDN, DNS = "Dimitri handles vendor contracts with the CDN", "Dimitri handles vendor contracts with the DNS provider"
# Words alone mark these.
ALICE, BOB = "Alice leads the platform team", "Bob leads the platform team"
QUARTER, HOUR = "Access tokens are valid for 15 minutes.", "An access token lives for 60 minutes."
OLDER, NEWER = "The search cluster has 3 nodes", "The search cluster has 5 nodes"


class Worker:
    """Stands where the embedding worker's handle stands, and says the same of each pair."""

    name = "embedder-0"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.calls: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: Exception | None = None

    async def load(self) -> ModelInfo:
        return ModelInfo("g", "model", "1", "fp32", 4, "packaged", "/model", pairs=PAIRS_READY)

    async def read_pairs(self, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.calls.append(len(pairs))
        self.asked += pairs
        return np.array([REPLACES] * len(pairs), np.float32)


def front(worker: Any, pairs: str = PAIRS_READY) -> Embedder:
    return Embedder(EmbeddingPool([worker]), "g", 4, pairs=pairs)


def candidate(number: int, text: str, cosine: float = 0.9, **fields: Any) -> guard.OlderText:
    return guard.OlderText(
        id=str(number), text=text, kind=fields.pop("kind", "fact"), cosine=cosine, replaceable=True, **fields
    )


def unread(*candidates: guard.OlderText, text: str = NEWER, kind: str = "fact") -> readings.JudgedText:
    return readings.JudgedText(text, kind, "", candidates, {})


async def test_a_contested_memory_is_read_before_the_newer_text(capsys: pytest.CaptureFixture[str]) -> None:
    worker = Worker()
    far = candidate(2, "Ana drinks tea", 0.4)
    ((first, second),) = await readings.read(front(worker), [unread(candidate(1, OLDER), far)], PATIENCE_S)
    assert worker.asked == [(OLDER, NEWER)]
    assert (first.read, second) == (Reading(*map(pytest.approx, REPLACES[:3]), True), far)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The admin role can now delete users.", "The admin role can now export users."),
        ("Payment deploys run through Jenkins.", "Payment deploys moved to Spinnaker today."),
    ],
)
async def test_a_memory_that_words_alone_would_replace_or_link_is_read_however_far_it_is(
    older: str, newer: str
) -> None:
    worker = Worker()
    beside = unread(candidate(1, older, 0.59), text=newer)
    found = guard.judge(newer, "fact", beside.candidates)
    assert found.supersedes + found.contradicts == ("1",)
    await readings.read(front(worker), [beside], PATIENCE_S)
    assert worker.asked == [(older, newer)]


async def test_texts_that_the_model_can_not_read_whole_are_judged_by_words_alone() -> None:
    worker = Worker()
    long = unread(candidate(1, f"{OLDER}. {'It holds the index. ' * 40}"))
    assert await readings.read(front(worker), [long], PATIENCE_S, at_rest=True) == [long.candidates]
    assert worker.asked == []


async def test_no_more_than_a_few_are_read_and_none_twice_in_vain() -> None:
    worker = Worker()
    many = [candidate(number, f"The search cluster has {number} racks", 0.9 - number / 100) for number in range(9)]
    (found,) = await readings.read(front(worker), [unread(*many)], PATIENCE_S)
    assert [one.id for one in found if one.read is not None] == [str(number) for number in range(READINGS_MAX)]
    (again,) = await readings.read(front(worker), [unread(*found)], PATIENCE_S)
    assert [one.read for one in again[:READINGS_MAX]] == [one.read for one in found[:READINGS_MAX]]
    assert len(worker.asked) == len(set(worker.asked))


async def test_a_word_for_word_repetition_and_a_record_need_no_reading() -> None:
    worker = Worker()
    texts = [unread(candidate(1, NEWER, 1.0)), unread(candidate(1, OLDER), kind="episode")]
    assert await readings.read(front(worker), texts, PATIENCE_S) == [one.candidates for one in texts]
    assert await readings.read(front(worker, PAIRS_OFF), [unread(candidate(1, OLDER))], PATIENCE_S)
    assert worker.asked == []


async def test_the_texts_of_a_batch_are_read_in_small_calls() -> None:
    worker = Worker()
    texts = [unread(candidate(1, OLDER), text=f"The search cluster has {number} nodes") for number in range(4, 14)]
    found = await readings.read(front(worker), texts, PATIENCE_S, at_rest=True)
    assert all(one.read is not None for (one,) in found)
    assert (sum(worker.calls), max(worker.calls)) == (10, PAIRS_A_CALL_MAX)


@pytest.mark.parametrize("fault", [Unavailable("no memory is left", part="guard model"), TimeoutError()])
async def test_readings_of_a_batch_that_have_come_are_kept_when_the_next_do_not_come(fault: Exception) -> None:
    class Ending(Worker):
        async def read_pairs(self, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
            self.fault = fault if len(self.calls) == 2 else None
            return await super().read_pairs(pairs)

    texts = [unread(candidate(1, OLDER), text=f"The search cluster has {number} nodes") for number in range(4, 14)]
    with capture_logs() as logs:
        found = await readings.read(front(Ending()), texts, PATIENCE_S, at_rest=True)
    come = 2 * PAIRS_A_CALL_MAX
    assert [one.read is not None for (one,) in found] == [True] * come + [False] * (len(texts) - come)
    assert [(one["event"], one["pairs"]) for one in logs] == [("texts_not_read", len(texts) - come)]


@pytest.mark.parametrize("fault", ["fails", "is late"])
async def test_a_model_that_fails_or_is_late_leaves_the_verdict_to_the_rules(fault: str) -> None:
    worker = Worker()
    if fault == "fails":
        worker.fault = Unavailable("no memory is left", part="guard model")
    else:
        worker.gate.clear()
    asked = unread(candidate(1, OLDER))
    with capture_logs() as logs:
        (found,) = await readings.read(front(worker), [asked], PATIENCE_S if fault == "fails" else 0.01)
    assert found == asked.candidates
    assert [(one["event"], one["pairs"]) for one in logs] == [("texts_not_read", 1)]


# ---- on a node -------------------------------------------------------------------------------------------------------


class Recording(EmbeddingWorker):
    """The worker of a node, with answers in the place of readings."""

    asked: list[tuple[str, str]]
    fault: Exception | None = None
    answer = REPLACES

    def load(self) -> ModelInfo:
        self._info = replace(super().load(), pairs=PAIRS_READY)
        return self._info

    def read_pairs(self, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
        if Recording.fault is not None:
            raise Recording.fault
        Recording.asked += pairs
        return np.array([Recording.answer] * len(pairs), np.float32)


@pytest.fixture
async def own_mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Mesh]:
    Recording.asked, Recording.fault, Recording.answer = [], None, REPLACES
    monkeypatch.setattr(PairFollower, "take", AsyncMock())  # these tests count the readings of the guard
    monkeypatch.setattr(generation_factory, "EMBEDDER", replace(generation_factory.EMBEDDER, make=Recording))
    patient = MeshConfig(recall_timeout_s=PATIENCE_S, write_timeout_s=10 * PATIENCE_S)
    async with running(tmp_path, model=ModelConfig(download=False), mesh=patient) as own_mesh:
        yield own_mesh


async def rested(own_mesh: Mesh) -> None:
    judge_of(own_mesh)._able.set()
    await judged(own_mesh)


async def not_judged(own_mesh: Mesh, older: str, newer: str) -> tuple[Written, Written]:
    """Both texts are written, and the judge has not come to them."""
    judge_of(own_mesh)._able.clear()
    old, new = [await own_mesh.remember(CALLER, Draft(content=text, space="s")) for text in (older, newer)]
    return old, new


async def waiting(own_mesh: Mesh, *written: Written) -> list[str]:
    """The texts that wait for a verdict at rest."""
    ids: dict[str, tuple[str, str]] = await own_mesh._parts.ledger.postponed([one.memory.id for one in written])
    return [one.memory.content for one in written if one.memory.id in ids]


async def states(own_mesh: Mesh, *written: Written) -> list[str]:
    memories, _ = await own_mesh.get(CALLER, [one.memory.id for one in written])
    return [memory.state for memory in memories]


async def test_a_write_a_check_and_a_batch_are_read_and_a_new_topic_is_not(own_mesh: Mesh) -> None:
    await own_mesh.remember(CALLER, Draft(content=OLDER, space="s"))
    await own_mesh.remember(CALLER, Draft(content="Ana drinks tea", space="s"))
    assert Recording.asked == []
    await own_mesh.check(CALLER, Draft(content=NEWER, space="s"))
    assert Recording.asked == [(OLDER, NEWER)]
    await own_mesh.remember(CALLER, Draft(content=NEWER, space="s"))
    assert Recording.asked == [(OLDER, NEWER)]  # a reading is kept
    texts = ["The vault opens at 6", "The vault opens at 7", "Bob keeps bees"]
    await own_mesh.remember_batch(CALLER, [Draft(content=text, space="s") for text in texts])
    assert Recording.asked[1:] == [(texts[0], texts[1])]
    status = await own_mesh.status()
    assert status.model is not None
    assert status.model.pairs == PAIRS_READY


async def test_an_import_is_read_at_rest(own_mesh: Mesh) -> None:
    await own_mesh.remember(CALLER, Draft(content=OLDER, space="s"))
    done = await own_mesh.remember_batch(CALLER, [Draft(content=NEWER, space="s")], at_rest=True)
    assert isinstance(done[0], Written)
    await rested(own_mesh)
    assert (OLDER, NEWER) in Recording.asked


async def test_a_worker_that_can_read_nothing_costs_no_write(own_mesh: Mesh) -> None:
    Recording.fault = Unavailable("no memory is left", part="guard model")
    await own_mesh.remember(CALLER, Draft(content=OLDER, space="s"))
    with capture_logs() as logs:
        written = await own_mesh.remember(CALLER, Draft(content=NEWER, space="s"))
    assert written.memory.content == NEWER
    assert "texts_not_read" in [one["event"] for one in logs]


async def test_status_tells_that_the_last_reading_failed_until_one_succeeds(own_mesh: Mesh) -> None:
    async def told() -> str:
        model = (await own_mesh.status()).model
        assert model is not None
        return model.pairs

    await own_mesh.remember(CALLER, Draft(content=OLDER, space="s"))
    assert await told() == PAIRS_READY
    for fault in (Unavailable("no memory is left", part="guard model"), None):
        Recording.fault = fault
        await own_mesh.check(CALLER, Draft(content=NEWER, space="s"))
        assert ("no memory is left" in await told(), await told() == PAIRS_READY) == (fault is not None, fault is None)


async def test_a_pair_that_a_write_does_not_read_is_read_at_rest(own_mesh: Mesh) -> None:
    Recording.answer = SURELY_REPLACES
    old, new = await not_judged(own_mesh, DESK, MOVED)
    assert (new.action, "at rest" in new.reason, Recording.asked) == ("ADD", False, [])
    assert await waiting(own_mesh, old, new) == [MOVED]
    await rested(own_mesh)
    assert Recording.asked == [(DESK, MOVED)]
    assert await states(own_mesh, old, new) == ["superseded", "active"]
    assert await waiting(own_mesh, old, new) == []


async def test_a_text_that_is_forced_or_was_read_or_has_no_rival_does_not_wait_for_a_verdict(own_mesh: Mesh) -> None:
    judge_of(own_mesh)._able.clear()
    drafts = [
        Draft(content=DESK, space="s"),
        Draft(content=MOVED, space="s", force=True),
        Draft(content="Bob keeps bees", space="s"),
        Draft(content=CDN, space="s"),
        Draft(content=DNS, space="s"),
    ]
    written = [await own_mesh.remember(CALLER, draft) for draft in drafts]
    assert await waiting(own_mesh, *written) == []
    assert Recording.asked == [(CDN, DNS)]


@pytest.mark.parametrize("fault", [None, Unavailable("no memory is left", part="guard model")])
async def test_what_a_model_has_read_as_apart_is_not_named_for_a_replacement(
    own_mesh: Mesh, fault: Exception | None
) -> None:
    Recording.answer, Recording.fault = APART, fault
    await own_mesh.remember(CALLER, Draft(content=CDN, space="s"))
    draft = Draft(content=DNS, space="s")
    for done in (await own_mesh.check(CALLER, draft), await own_mesh.remember(CALLER, draft)):
        assert done.related
        assert ("supersede(" in done.hint) == bool(fault)


async def test_a_text_that_the_model_failed_to_read_is_read_at_rest(own_mesh: Mesh) -> None:
    Recording.fault = Unavailable("no memory is left", part="guard model")
    old, new = await not_judged(own_mesh, CDN, DNS)
    assert (new.action, await waiting(own_mesh, old, new)) == ("ADD", [DNS])
    Recording.fault = None
    await rested(own_mesh)
    assert Recording.asked == [(CDN, DNS)]


@pytest.mark.parametrize(
    ("pair", "answer", "state", "link"),
    [
        ((QUARTER, HOUR), SURELY_REPLACES, "superseded", "supersedes"),
        ((ALICE, BOB), SURELY_REPLACES, "active", "contradicts"),
        ((ALICE, BOB), APART, "active", "both-hold"),
    ],
)
async def test_a_mark_of_words_becomes_what_the_model_at_rest_is_sure_of(
    own_mesh: Mesh, pair: tuple[str, str], answer: tuple[float, ...], state: str, link: str
) -> None:
    Recording.fault = Unavailable("no memory is left", part="guard model")
    old, new = await not_judged(own_mesh, *pair)
    assert [(one.type, one.id) for one in new.memory.links] == [(MARK, old.memory.id)]
    Recording.fault, Recording.answer = None, answer
    await rested(own_mesh)
    assert Recording.asked == [pair]
    assert await states(own_mesh, old, new) == [state, "active"]
    ((later,), _) = await own_mesh.get(CALLER, [new.memory.id])
    assert [(one.type, one.id) for one in later.links] == [(link, old.memory.id)]


async def test_a_mark_that_somebody_settled_is_not_judged_at_rest(own_mesh: Mesh) -> None:
    Recording.fault, Recording.answer = Unavailable("no memory is left", part="guard model"), SURELY_REPLACES
    old, new = await not_judged(own_mesh, ALICE, BOB)
    await own_mesh.unlink(CALLER, new.memory.id, MARK, old.memory.id)
    Recording.fault = None
    await rested(own_mesh)
    assert (Recording.asked, await states(own_mesh, old, new)) == ([], ["active", "active"])


async def test_words_that_came_after_a_text_are_not_replaced_at_rest(own_mesh: Mesh) -> None:
    Recording.answer = SURELY_REPLACES
    old, new = await not_judged(own_mesh, DESK, MOVED)
    await own_mesh.update(CALLER, old.memory.id, Patch(content=f"{DESK}, by the window"))
    await rested(own_mesh)
    assert await states(own_mesh, old, new) == ["active", "active"]
