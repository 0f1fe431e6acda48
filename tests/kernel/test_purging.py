"""The operation purge over a real ledger: what it erases, what it says is left, and who learns of it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from follower_scene import Scene, played
from ledger_builders import AGENT, SPACE, START, Home

from mnemesh_actors.batching import Batcher
from mnemesh_actors.ledger.erase import Erase, Gone
from mnemesh_actors.parts import MeshConfig, Parts
from mnemesh_actors.purging import Purging
from mnemesh_memory.model import Caller

CALLER = Caller(AGENT, "owner", default_space=SPACE)


@pytest.fixture
async def scene(home: Home) -> AsyncIterator[Scene]:
    async with played(home) as scene:
        await scene.start()
        yield scene


def parts_of(scene: Scene, ledger: Any = None) -> Parts:
    moments, chance = itertools.count(START), itertools.count()
    commits: Any = Batcher("ledger", scene.ledger.commit, 256, 256)
    return Parts(
        ledger=ledger or scene.ledger,
        serving=scene.serving(),
        commits=commits,
        clock=lambda: next(moments),
        entropy=lambda size: hashlib.sha512(str(next(chance)).encode()).digest()[:size],
        config=MeshConfig(),
    )


class Alone:
    """A ledger of two machines of which one is away."""

    name = "ledger-0"

    def __init__(self, scene: Scene, why: str) -> None:
        self._ledger = scene.ledger
        self._why = why

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        found: Callable[..., Awaitable[Any]] = getattr(self._ledger, method)
        return found

    async def erase(self, command: Erase) -> Gone:
        return replace(await self._ledger.erase(command), alone=self._why)


async def test_what_only_one_machine_has_erased_is_pending(scene: Scene) -> None:
    memory = await scene.remember("the text")
    purging = Purging(parts_of(scene, Alone(scene, "degraded: on one machine only, a; b")))
    gone = await purging.purge(CALLER, memory.id)
    assert gone.changes == 1
    assert gone.pending == "other machines erase it once they are level again (degraded: on one machine only, a, b)"
