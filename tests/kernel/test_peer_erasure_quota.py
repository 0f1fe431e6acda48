"""A peer that has used up its quota still has its memories erased here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ledger_builders import Home
from peer_builders import EVERYTHING, FEED, ID, NOW, OTHER, Node

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.runtime.bell import News
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.sync.messages import Batch, TakeIn
from mnemesh_memory.values.errors import QuotaReached
from mnemesh_memory.values.quotas import UNLIMITED


class Asked:
    """A ledger in this thread, asked as an actor is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __getattr__(self, method: str) -> Any:
        async def call(*args: Any) -> Any:
            return getattr(self._ledger, method)(*args)

        return call


class Follower:
    def publish(self, seq: int) -> None:
        """Nobody follows."""


def order(node: Node, last_seq: int, *entries: Entry) -> TakeIn:
    batch = Batch(feed=FEED, after=0, head=last_seq, last_seq=last_seq, entries=entries, keys=node.keys)
    return TakeIn(batch=batch, node_id=node.id, grant=EVERYTHING, origin=node.origin)


async def test_erasures_pass_a_quota_that_stops_all_else_and_the_rest_comes_again(home: Home, ledger: Ledger) -> None:
    node = Node()
    syncing: Any = Syncing(Asked(ledger), Follower(), News(), None, lambda: NOW, None)  # type: ignore[arg-type]
    syncing.quotas.quota_of = lambda sender: replace(UNLIMITED, max_memories=1)
    await syncing.take_in(order(node, 1, node.says("one")), "hub")
    more, erasure = node.says("two", id=OTHER), node.erases()
    with pytest.raises(QuotaReached):
        await syncing.take_in(order(node, 3, more, erasure), "hub")
    assert ledger.read([ID, OTHER]) == {}
    assert ledger.backlog().erased == 1
    assert ledger.cursors("hub") == {FEED: 1}
    await syncing.take_in(order(node, 4, node.erases(OTHER)), "hub")
    assert ledger.backlog().erased == 2
