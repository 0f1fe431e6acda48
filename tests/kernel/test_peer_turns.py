"""Whatever is asked of a peer at once: one of the book is called by one line, another by none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mnemesh_actors.syncing import Syncing
from mnemesh_crdt.handshake import Me
from mnemesh_crdt.messages import Status
from mnemesh_gateway import peers as module
from mnemesh_gateway.peer_book import Peer, PeerBook
from mnemesh_gateway.peers import Peers
from mnemesh_memory.errors import FailedPrecondition, NotFound

HUB = Peer(name="hub", target="127.0.0.1:1", token="first", spaces=("team/*",))
ME = Me(node_id="0" * 32, key=b"", incarnation="inc", life="life")
WAIT_S = 20.0


class Line:
    """A stream that stands at once and, told to end, hangs up only when `hung_up` is set."""

    heard_ms = None
    comparing = False
    hung_up: asyncio.Event

    def __init__(self, syncing: object, stream: object, key: object, told: Callable[[Status], None], **_: object):
        self._told = told

    async def run(self, direction: str, channel: Dialed, cursors: Mapping[str, int]) -> Any:
        if channel.token == "wrong":
            channel.refused = "refuses the token"
            return SimpleNamespace(reason="", code="")
        self._told(Status(phase="open"))
        try:
            await asyncio.Event().wait()
        finally:
            await self.hung_up.wait()


class Dialed:
    """A channel to no one, whose peer refuses the token "wrong"."""

    def __init__(self, target: str, token: str, options: object) -> None:
        self.token = token
        self.refused = ""

    async def close(self) -> None:
        """Nothing was opened."""


@pytest.fixture
async def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Peers:
    monkeypatch.setattr(module, "StreamShell", Line)
    monkeypatch.setattr(module, "DialedChannel", Dialed)
    monkeypatch.setattr(Line, "hung_up", asyncio.Event(), raising=False)
    return Peers(PeerBook(tmp_path), cast(Syncing, SimpleNamespace(me=ME, head=0)), lambda: 0)


def callers() -> int:
    return sum(task.get_name() == "peer-hub" and not task.done() for task in asyncio.all_tasks())


async def both(first: Any, second: Any) -> list[Any]:
    """Both at once: the first is at the hanging up of the line when the second begins."""
    begun = asyncio.ensure_future(first)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not begun.done()
    then = asyncio.ensure_future(second)
    for _ in range(10):
        await asyncio.sleep(0)
    Line.hung_up.set()
    async with asyncio.timeout(WAIT_S):
        return await asyncio.gather(begun, then, return_exceptions=True)


async def test_a_peer_removed_while_it_gets_a_token_is_called_no_more(peers: Peers) -> None:
    await peers.add(HUB, WAIT_S)
    given, removed = await both(peers.give_token("hub", "second", WAIT_S), peers.remove("hub"))
    assert (given.state, removed) == ("connected", None)
    assert (callers(), peers.status()) == (0, ())


async def test_of_two_tokens_given_at_once_the_last_is_called_with_alone(peers: Peers, tmp_path: Path) -> None:
    await peers.add(HUB, WAIT_S)
    first, second = await both(peers.give_token("hub", "second", WAIT_S), peers.give_token("hub", "third", WAIT_S))
    assert (first.state, second.state) == ("connected", "connected")
    assert (callers(), PeerBook(tmp_path).get("hub").token) == (1, "third")
    await peers.remove("hub")
    assert callers() == 0


async def test_a_peer_removed_while_a_token_is_refused_is_gone_and_the_refusal_is_told(peers: Peers) -> None:
    await peers.add(HUB, WAIT_S)
    given, removed = await both(peers.give_token("hub", "wrong", WAIT_S), peers.remove("hub"))
    assert isinstance(given, FailedPrecondition)
    assert "the token was not changed" in given.message
    assert (removed, callers()) == (None, 0)
    for asked in (peers.give_token("hub", "second", WAIT_S), peers.remove("hub"), peers.now("hub", WAIT_S)):
        with pytest.raises(NotFound, match="'hub' not found; `mnemesh peer list` shows the names"):
            await asked


async def test_a_caller_that_hangs_up_leaves_the_peer_called(peers: Peers) -> None:
    await peers.add(HUB, WAIT_S)
    given = asyncio.ensure_future(peers.give_token("hub", "second", WAIT_S))
    for _ in range(10):
        await asyncio.sleep(0)
    given.cancel()
    Line.hung_up.set()
    with pytest.raises(asyncio.CancelledError):
        await given
    assert callers() == 1
    await peers.remove("hub")
    assert callers() == 0
