"""For any requests about a peer at once, a peer of the book has exactly one line, and another none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.sync.handshake import Me
from mnemesh_crdt.sync.messages import Status
from mnemesh_gateway.peers import peers as module
from mnemesh_gateway.peers.peer_book import Peer, PeerBook
from mnemesh_gateway.peers.peer_log import PeerLog
from mnemesh_gateway.peers.peer_status import PeerStatus
from mnemesh_gateway.peers.peers import Peers
from mnemesh_memory.values.errors import FailedPrecondition, NotFound

HUB = Peer(name="hub", target="127.0.0.1:1", token="first", spaces=("team/*",))
ME = Me(node_id="0" * 32, key=b"", incarnation="inc", life="life")
WAIT_S = 20.0


class Line:
    """A stream to a node that was started anew before each call. It stands at once, and ends only when `hung_up` is
    set."""

    heard_ms = None
    comparing = False
    hung_up: asyncio.Event
    lives: Iterator[int]

    def __init__(
        self,
        syncing: object,
        stream: object,
        key: object,
        told: Callable[[Status], None],
        admit: Callable[[str, str], Awaitable[str]],
        **_: object,
    ):
        self._told = told
        self._admit = admit

    async def answers(self, within_s: float) -> bool:
        """The standing side is alive."""
        return True

    async def run(self, direction: str, channel: Dialed, cursors: Mapping[str, int]) -> Any:
        if channel.token == "away":
            await asyncio.sleep(0)
            return SimpleNamespace(reason="no node answers", code="")
        if channel.token == "wrong":
            channel.refused = "refuses the token"
            return SimpleNamespace(reason="", code="")
        if copied := await self._admit("1" * 32, str(next(self.lives))):
            return SimpleNamespace(reason=copied, code="identity")
        self._told(Status(phase="open"))
        try:
            await asyncio.Event().wait()
        finally:
            await self.hung_up.wait()


class Dialed:
    """A channel to no one, whose peer refuses the token "wrong"."""

    def __init__(self, target: str, token: str) -> None:
        self.token = token
        self.refused = ""

    async def close(self) -> None:
        """Nothing was opened."""


@pytest.fixture
async def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Peers:
    monkeypatch.setattr(module, "StreamShell", Line)
    monkeypatch.setattr(module, "DialedChannel", Dialed)
    monkeypatch.setattr(Line, "hung_up", asyncio.Event(), raising=False)
    monkeypatch.setattr(Line, "lives", count(), raising=False)
    quotas = SimpleNamespace(note=lambda peer: "")
    return Peers(PeerBook(tmp_path), cast(Syncing, SimpleNamespace(me=ME, head=0, quotas=quotas)), lambda: 0)


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
        with pytest.raises(NotFound, match="'hub' not found; sync status shows the names"):
            await asked


async def test_a_node_that_is_called_again_in_another_life_is_no_copy_of_what_was_called_before(peers: Peers) -> None:
    await peers.add(HUB, WAIT_S)
    Line.hung_up.set()
    again = await peers.give_token("hub", "second", WAIT_S)
    assert (again.state, again.last_error) == ("connected", "")
    await peers.remove("hub")


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


async def test_a_peer_that_is_away_is_told_of_once_and_once_when_it_is_back(
    peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(module, "WAIT_S_MAX", 0.0)
    Line.hung_up.set()
    with capture_logs() as lines:
        await peers.add(replace(HUB, token="away"), WAIT_S)
        async with asyncio.timeout(WAIT_S):
            while peers.status()[0].attempts < 5:  # noqa: ASYNC110  the line has no bell for an attempt
                await asyncio.sleep(0)
        for token in ("second", "third"):
            await peers.give_token("hub", token, WAIT_S)
        await peers.remove("hub")
    address = {"peer": "hub", "address": HUB.target}
    away, *back = [{name: one[name] for name in one if name != "log_level"} for one in lines]
    told = {"event": "peer_away", "reason": "no node answers", "again_in_s": 0.0, "again_s_max": 0.0}
    assert away == address | told
    assert back == [address | {"event": "peer_connected", "node": ""}] * 2


async def test_a_peer_that_refuses_is_told_of_as_a_warning_though_it_was_away_before() -> None:
    kept = PeerStatus(name="hub", incoming=False, target=HUB.target, direction="both", spaces=())
    with capture_logs() as lines:
        said = PeerLog("hub", HUB.target)
        for state in ("offline", "connecting", "offline", "refused", "connecting", "refused", "offline"):
            said.gone(replace(kept, state=state), 1.26, 60.0)
        said.there("node")
        said.there("node")
    events = [(one["event"], one["log_level"]) for one in lines]
    away, refuses = ("peer_away", "info"), ("peer_refuses", "warning")
    assert events == [away, refuses, away, ("peer_connected", "info")]
    assert lines[0]["again_in_s"] == 1.3
