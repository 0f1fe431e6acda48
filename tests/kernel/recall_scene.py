"""A real mesh, and short ways to remember and recall in one space of it."""

from __future__ import annotations

import itertools
import secrets
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from follower_scene import until

from mnemesh_actors.consumers.consumer import ConsumerRunner
from mnemesh_actors.models import ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.policy.rules.stored_rules import rules_of
from mnemesh_memory.ranking.answers import Hit, Recalled
from mnemesh_memory.values.model import Caller, Draft, Memory, Query, Written

READER = Caller("owner/reader", "owner")
TIMEOUT_S = 20.0


USUAL = MeshConfig(recall_timeout_s=TIMEOUT_S, weights={"dense": 0.6, "bm25": 0.4}, abstain_below=0.03)


async def started(path: Path, **given: Any) -> Mesh:
    """A mesh in which no two things happen in the same millisecond, with these fields of StartConfig."""
    ticks = itertools.count(1_700_000_000_000)
    usual = {"clock": lambda: next(ticks), "entropy": secrets.token_bytes, "model": ModelConfig(), "mesh": USUAL}
    return await start_mesh(open_directory(path), LocalRuntime(), StartConfig(**{**usual, **given}))


@asynccontextmanager
async def running(path: Path, **given: Any) -> AsyncIterator[Mesh]:
    """A mesh until the end of the block."""
    mesh = await started(path, **given)
    try:
        yield mesh
    finally:
        await mesh.close()


def judge_of(mesh: Mesh) -> ConsumerRunner:
    """The consumer that judges at rest what a write does not."""
    (runner,) = [one for one in mesh._consumers.runners if one.name == "contradictions"]
    return runner


async def judged(mesh: Mesh) -> None:
    """Everything of the log was judged."""
    await taken(mesh, judge_of(mesh))


async def paired(mesh: Mesh) -> None:
    """Each memory of the log was read beside its nearest older ones."""
    await taken(mesh, next(one for one in mesh._consumers.runners if one.name == "pairs"))


async def taken(mesh: Mesh, runner: ConsumerRunner) -> None:
    """The consumer has come to the end of the log."""
    _, head = await mesh._parts.ledger.position()
    await until(lambda: runner.applied >= head)


def signals_of(hit: Hit) -> dict[str, float]:
    """The share of each signal in a score."""
    return {share.name: share.share for share in hit.signals}


def found(answer: Recalled) -> list[str]:
    return [hit.memory.content for hit in answer.results]


@dataclass
class Here:
    """A space of a mesh, and what a test changes in the mesh until its end."""

    mesh: Mesh
    space: str
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)

    def draft(self, content: str, **fields: Any) -> Draft:
        return Draft(content=content, space=self.space, **fields)

    async def remember(self, content: str, **fields: Any) -> Memory:
        return (await self.mesh.remember(READER, self.draft(content, **fields))).memory

    async def recall(self, text: str, **fields: Any) -> Recalled:
        return await self.mesh.recall(READER, Query(text=text, spaces=(self.space,), **fields))

    async def chain(self, *contents: str) -> list[Memory]:
        """A memory and its versions, each the successor of the previous version."""
        versions = [await self.remember(contents[0])]
        for content in contents[1:]:
            draft = self.draft(content, wait="durable" if content is not contents[-1] else "indexed")
            versions.append((await self.mesh.supersede(READER, versions[-1].id, draft))[0].memory)
        return versions

    def with_parts(self, **parts: Any) -> None:
        """Recall has other parts until the test ends."""
        self.patch.setattr(self.mesh._recalling, "_parts", replace(self.mesh._parts, **parts))

    def ruled(self, text: str) -> None:
        self.with_parts(config=replace(self.mesh._parts.config, rules=rules_of(text)))


async def memories(here: Here, done: Sequence[Written]) -> list[Memory]:
    """What was written, as it is now."""
    found, _ = await here.mesh.get(READER, [one.memory.id for one in done])
    return list(found)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    async with running(tmp_path_factory.mktemp("recalling")) as made:
        yield made


@pytest.fixture
def here(mesh: Mesh, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Here:
    """A space of the test's own."""
    return Here(mesh, f"test/{zlib.crc32(request.node.name.encode()):08x}", monkeypatch)
