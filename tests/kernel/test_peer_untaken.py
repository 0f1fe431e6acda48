"""The number of entries a peer does not take: each counted once, by writer, space and sender."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ledger_builders import Pen, all_done
from peer_builders import EVERYTHING, NOW, Node

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers import peer_log
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.ledger.peers.exchange import Incoming
from mnemesh_actors.ledger.peers.peer_log import Order, Untaken
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_gateway.peers.peer_status import PeerStatus
from mnemesh_gateway.peers.peer_untaken import NotTaken

FAR = Node()
HUB = PeerStatus(
    name="hub", incoming=False, target="hub:1", direction="both", spaces=("team/*",), node_id=FAR.id, takes=()
)  # fmt: skip


class Asked:
    """The ledger as NotTaken asks it, and where each question began."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.me = SimpleNamespace(incarnation="one")
        self.began: list[int] = []

    async def untaken(self, after: int, order: Order) -> Untaken:
        self.began.append(after)
        return self._ledger.untaken(after, order)


async def test_what_is_written_or_brought_by_others_counts_unless_the_peer_takes_it_or_brought_it(
    ledger: Ledger, pen: Pen
) -> None:
    other = Pen(agent="ana/cli", now=pen.now + 100)
    all_done(
        ledger, pen.create("a", space="team/x"), pen.create("b", space="home/x"), other.create("c", space="team/y")
    )
    theirs = Incoming(
        peer="hub:1", origin=f"{FAR.id}/inc", grant=EVERYTHING, entries=(FAR.says("theirs"),), keys=FAR.keys
    )  # fmt: skip
    assert ledger.take_in(theirs, NOW).accepted == 1

    async def counted(**fields: Any) -> int:
        return await NotTaken(cast(Syncing, Asked(ledger))).of(replace(HUB, **fields))

    assert await counted() == 2
    assert await counted(takes=("team/y",)) == 1
    assert await counted(takes=("team/*",), only_by="ana") == 1
    assert await counted(takes=("team/*",), only_by="bob") == 2
    assert await counted(node_id="0" * 32) == 3, "what the hub brought is not there at another node"
    for nothing in ({"takes": ("team/*",)}, {"takes": None}, {"direction": "pull"}, {"incoming": True}):
        assert await counted(**nothing) == 0


async def test_only_what_is_new_is_counted_page_by_page_and_all_again_after_an_erasure(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_log, "SPAN", 2)
    asked = Asked(ledger)
    count = NotTaken(cast(Syncing, asked))
    first, *_ = all_done(ledger, *(pen.create(text, space="team/x") for text in "abcde"))
    assert (await count.of(HUB), asked.began) == (5, [0, 2, 4])
    asked.began.clear()
    all_done(ledger, pen.create("f", space="team/x"))
    assert (await count.of(HUB), asked.began) == (6, [5])
    asked.began.clear()
    pen.now += 1
    ledger.erase(Erase(agent=pen.agent, at=pen.now, actor=bytes(16), id=first.memory.id, as_admin=False))
    assert (await count.of(HUB), asked.began) == (6, [6, 0, 2, 4, 6]), "its change is gone, the erasure is there"
    asked.began.clear()
    asked.me.incarnation = "two"
    assert (await count.of(HUB), asked.began[0]) == (6, 0), "the numbers of another log are others"
