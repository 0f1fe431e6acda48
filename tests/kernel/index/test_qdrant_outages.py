"""A own_mesh on a Qdrant server: outages and another model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import recall_scene
from follower_scene import until
from qdrant_double import Fault, QdrantDouble, qdrant_double
from second_model import cut_model

from mnemesh_actors.consumers import feed_loop, index_presence
from mnemesh_actors.consumers import follower as follower_module
from mnemesh_actors.consumers.consumer_table import NEXT_INDEX
from mnemesh_actors.generations import generation_factory, reembedding
from mnemesh_actors.index.engines import server as server_module
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.recall import recall as recalling_module
from mnemesh_actors.recall import retrieval
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.values.errors import FailedPrecondition, Unavailable
from mnemesh_memory.values.model import Caller, Draft, Query

CALLER = Caller("owner/tester", "owner")
SPACE = "test/outage"
KEY = "a key of the tests"


@pytest.fixture
def qdrant() -> Iterator[QdrantDouble]:
    with qdrant_double(api_key=KEY) as double:
        yield double


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_loop, "RETRY_S", 0.01)
    monkeypatch.setattr(feed_loop, "RETRY_MAX_S", 0.02)
    monkeypatch.setattr(index_presence, "AWAY_GRACE_S", 0.0)
    monkeypatch.setattr(follower_module, "FLUSH_S", 1000.0)
    monkeypatch.setattr(server_module, "ATTEMPTS_MAX", 2)


def running(
    qdrant: QdrantDouble, path: Path, key: str = KEY, recall_timeout_s: float = 20.0
) -> AbstractAsyncContextManager[Mesh]:
    usual = replace(recall_scene.USUAL, recall_timeout_s=recall_timeout_s)
    return recall_scene.running(path, mesh=usual, qdrant=ServerConfig(url=qdrant.url, api_key=key))


@pytest.fixture
async def own_mesh(qdrant: QdrantDouble, tmp_path: Path) -> AsyncIterator[Mesh]:
    async with running(qdrant, tmp_path / "data") as made:
        yield made


async def remember(own_mesh: Mesh, content: str, wait: str = "indexed") -> tuple[bool, str]:
    written = await own_mesh.remember(CALLER, Draft(content=content, space=SPACE, wait=wait))
    return written.indexed, written.reason


async def recall(own_mesh: Mesh, text: str, **fields: object) -> Recalled:
    return await own_mesh.recall(CALLER, Query(text=text, spaces=(SPACE,), **fields))  # type: ignore[arg-type]


def contents(answer: Recalled) -> list[str]:
    return [hit.memory.content for hit in answer.results]


async def caught_up(own_mesh: Mesh) -> None:
    follower = own_mesh._parts.follower
    await until(lambda: not follower.away and not follower.fault and follower.lag == 0)


async def test_a_mesh_on_a_server_remembers_and_recalls_as_any_other(own_mesh: Mesh, qdrant: QdrantDouble) -> None:
    assert (await remember(own_mesh, "The harbour closes at nine"))[0]
    answer = await recall(own_mesh, "when does the harbour close")
    assert (contents(answer), answer.degraded) == (["The harbour closes at nine"], ())
    status = await own_mesh.status()
    assert (status.state, status.index[0].backend) == ("ready", f"server at {qdrant.host}")
    assert KEY not in repr(status)
    assert "harbour" not in qdrant.everything()


@pytest.mark.parametrize("outage", ["refused", "503", "429", "cut", "key"])
async def test_what_is_written_during_an_outage_is_durable_told_and_found_when_it_is_over(
    own_mesh: Mesh, qdrant: QdrantDouble, outage: str
) -> None:
    await remember(own_mesh, "The harbour closes at nine")
    if outage == "refused":
        qdrant.stop()
    elif outage == "key":
        qdrant.api_key = "another"
    else:
        qdrant.lasting = {"503": Fault(503), "429": Fault(429, {"retry-after": "1"}), "cut": Fault(cut=True)}[outage]
    indexed, reason = await remember(own_mesh, "The lighthouse keeper is called Aud")
    assert not indexed
    assert "stored, but not searchable until the index is back: Qdrant at" in reason
    assert (await remember(own_mesh, "The ferry leaves at noon", "durable"))[0] is False
    status = await own_mesh.status()
    assert (status.state, status.index[0].lag) == ("degraded", 2)
    assert any(notice.startswith("index away: Qdrant at") for notice in status.notices)
    answer = await recall(own_mesh, "who is the lighthouse keeper")
    assert contents(answer) == ["The lighthouse keeper is called Aud"], "by words, from the ledger"
    assert "matched by words only" in answer.degraded[0]
    assert KEY not in repr((status, answer.degraded, reason))
    qdrant.lasting, qdrant.api_key = None, KEY
    if outage == "refused":
        qdrant.start()
    own_mesh._parts.follower._asked_for = 0.0
    await caught_up(own_mesh)
    answer = await recall(own_mesh, "who is the lighthouse keeper", limit=1)
    assert (contents(answer), answer.degraded) == (["The lighthouse keeper is called Aud"], ())
    assert contents(await recall(own_mesh, "when does the ferry leave", limit=1)) == ["The ferry leaves at noon"]
    status = await own_mesh.status()
    assert (status.state, status.index[0].points) == ("ready", 3)


async def test_a_server_that_lost_its_disk_is_filled_again_from_the_ledger(
    own_mesh: Mesh, qdrant: QdrantDouble
) -> None:
    for number in range(30):
        await remember(own_mesh, f"Lighthouse {number} stands on rock {number}", "durable")
    await caught_up(own_mesh)
    qdrant.wipe()
    answer = await recall(own_mesh, "lighthouse 7")
    assert contents(answer) or answer.degraded, "never silently empty"
    await caught_up(own_mesh)
    answer = await recall(own_mesh, "lighthouse 7", limit=1)
    assert (contents(answer), answer.degraded) == (["Lighthouse 7 stands on rock 7"], ())
    assert (await own_mesh.status()).index[0].points == 30


async def test_a_server_that_takes_questions_and_never_answers_delays_no_answer_beyond_its_time(
    qdrant: QdrantDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual_share = recalling_module.INDEX_SHARE
    async with running(qdrant, tmp_path / "data", recall_timeout_s=10.0) as own_mesh:
        await remember(own_mesh, "The harbour closes at nine")
        monkeypatch.setattr(recalling_module, "INDEX_SHARE", 0.05)
        qdrant.lasting = Fault(hang=True)
        try:
            answer = await recall(own_mesh, "when does the harbour close")
            assert contents(answer) == ["The harbour closes at nine"]
            assert answer.degraded == ("index: it has not answered in time; matched by words only",)
            asked = len(qdrant.asked)
            for _ in range(20):
                assert contents(await recall(own_mesh, "when does the harbour close")) == ["The harbour closes at nine"]
            assert len(qdrant.asked) <= asked + 1, "no question waits for it again, only one looks for it"
            assert (await remember(own_mesh, "The ferry leaves at noon", "durable"))[0] is False
            with pytest.raises(Unavailable, match="another mode"):
                await recall(own_mesh, "when does the harbour close", mode="semantic")
        finally:  # the own_mesh ends beside a server that hangs otherwise
            qdrant.lasting = None
            qdrant.release()
        # a busy machine may take longer than the short share that stood for "never answers"
        monkeypatch.setattr(recalling_module, "INDEX_SHARE", usual_share)
        await caught_up(own_mesh)
        assert (await recall(own_mesh, "when does the harbour close")).degraded == ()


async def test_a_node_starts_without_its_server_and_goes_on_there(qdrant: QdrantDouble, tmp_path: Path) -> None:
    async with running(qdrant, tmp_path / "data") as first:
        await remember(first, "The harbour closes at nine")
    qdrant.stop()
    async with running(qdrant, tmp_path / "data") as own_mesh:
        assert (await own_mesh.status()).state == "degraded"
        assert (await remember(own_mesh, "The ferry leaves at noon"))[0] is False
        assert contents(await recall(own_mesh, "when does the ferry leave", limit=1)) == ["The ferry leaves at noon"]
        qdrant.start()
        before = len(qdrant.asked)
        await caught_up(own_mesh)
        upserts = [asked for asked in qdrant.asked[before:] if (asked.method, asked.path[-7:]) == ("PUT", "/points")]
        assert [len(asked.body["points"]) for asked in upserts] == [1], "only what it lacked"
        assert (await own_mesh.status()).index[0].points == 2


async def test_a_wrong_key_at_the_start_is_refused_with_the_remedy(qdrant: QdrantDouble, tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="check qdrant_api_key"):
        async with running(qdrant, tmp_path / "data", key="another"):
            pass


async def test_without_an_index_the_words_of_the_newest_memories_are_counted_and_the_rest_is_named(
    own_mesh: Mesh, qdrant: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "WORDS_MEMORIES_MAX", 3)
    monkeypatch.setattr(retrieval.limits, "LIST_LIMIT_MAX", 2)
    for number in range(6):
        await remember(own_mesh, f"Lighthouse {number}", "durable")
    await caught_up(own_mesh)
    qdrant.stop()
    answer = await recall(own_mesh, "lighthouse")
    assert sorted(contents(answer)) == ["Lighthouse 3", "Lighthouse 4", "Lighthouse 5"]
    assert answer.degraded[0].endswith("matched by words only among the newest 3 memories")
    assert contents(await recall(own_mesh, "lighthouse 4", min_score=0.5)) == ["Lighthouse 4"]
    assert (await recall(own_mesh, "")).degraded == (), "the newest come from the ledger, which is there"


async def test_by_words_a_memory_scores_as_the_index_would_score_it(own_mesh: Mesh, qdrant: QdrantDouble) -> None:
    texts = ["The lighthouse keeper is called Aud", "A keeper feeds the seals", "The ferry leaves at noon"]
    for text in texts:
        await remember(own_mesh, text)
    asked = await recall(own_mesh, "lighthouse keeper", mode="keyword")
    qdrant.stop()
    counted = await recall(own_mesh, "lighthouse keeper", mode="keyword")
    assert counted.degraded
    assert contents(counted) == contents(asked) == texts[:2]
    scores = [[hit.score for hit in answer.results] for answer in (counted, asked)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


# ---- qdrant reembedding ----------------------------------------------------------------------------------------------
# Another model takes over on a Qdrant server while recalls go on, in a collection of its own; an outage delays it.


TEXTS = [f"Locker {number} is painted {('red', 'green', 'white')[number % 3]}" for number in range(90)]
WIDTH = 128


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "PAUSE_S", 0.01)
    monkeypatch.setattr(generation_factory, "NEXT_INDEX", replace(NEXT_INDEX, page_entries=8))


@pytest.fixture
async def filled(own_mesh: Mesh) -> Mesh:
    for start in range(0, len(TEXTS), 30):
        await own_mesh.remember_batch(CALLER, [Draft(content=text, space=SPACE) for text in TEXTS[start : start + 30]])
    return own_mesh


async def finds(own_mesh: Mesh, number: int, who: str) -> None:
    answer = await recall(own_mesh, f"{who} asks: how is locker {number} painted?", limit=1)
    assert ([hit.memory.content for hit in answer.results], answer.degraded) == ([TEXTS[number]], ())


async def taken_over(own_mesh: Mesh, qdrant: QdrantDouble) -> None:
    """The new model answers, nothing of the old model is left, and each text is in the only collection."""
    reembed: Any = own_mesh._reembedding
    await until(lambda: reembed.state.active.dimensions == WIDTH and not reembed.state.leaving and not reembed._tasks)
    status = await own_mesh.status()
    assert (status.state, status.reembed.state, status.index[0].points) == ("ready", "idle", len(TEXTS))
    (collection,) = qdrant.collections()
    assert collection.endswith(f"-{reembed.state.active.slot}")


async def test_another_model_takes_over_on_a_server_while_recalls_go_on(
    filled: Mesh, qdrant: QdrantDouble, tmp_path: Path
) -> None:
    (old,) = qdrant.collections()
    folder = cut_model(tmp_path / "cut", WIDTH)
    seen: list[int] = []
    async with asyncio.timeout(60):
        await filled.reembed(str(folder))
        while old in qdrant.collections():
            number = len(seen) * 7 % len(TEXTS)
            await finds(filled, number, "abcdefghij"[len(seen) % 10] * 5)
            seen.append(number)
    assert len(seen) > 1
    await taken_over(filled, qdrant)
    for number in (0, 44, 89):
        await finds(filled, number, "afterwards")


async def test_a_server_that_goes_away_meanwhile_delays_the_change_and_loses_nothing(
    filled: Mesh, qdrant: QdrantDouble, tmp_path: Path
) -> None:
    reembed: Any = filled._reembedding
    await filled.reembed(str(cut_model(tmp_path / "cut", WIDTH)))
    await until(lambda: reembed.status().done > 0 or reembed.state.active.dimensions == WIDTH)
    assert reembed.state.active.dimensions == 384, "it was too quick to be disturbed"
    qdrant.stop()
    assert not (await filled.remember(CALLER, Draft(content="The quay has a new gate", space=SPACE))).indexed
    await until(lambda: bool(reembed.status().fault))
    assert reembed.state.active.dimensions == 384
    qdrant.start()
    await until(lambda: reembed.state.active.dimensions == WIDTH and not reembed.state.leaving)
    await caught_up(filled)
    answer = await recall(filled, "is there a gate?", limit=1)
    assert [hit.memory.content for hit in answer.results] == ["The quay has a new gate"]
    assert (await filled.status()).index[0].points == len(TEXTS) + 1
    for number in (0, len(TEXTS) - 1):
        await finds(filled, number, "afterwards")
