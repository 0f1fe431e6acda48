"""The limits of writing: quotas, the ledger's counts, and the treatment of a peer over its quota."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from ledger_builders import Home, Pen, done
from peer_builders import Node, taken
from stream_scene import Node as StreamNode
from stream_scene import meeting, node, until_told

from mnemesh_actors.streams.sync_port import SLOWED_FOR_S, PeerQuotas
from mnemesh_memory.values.errors import InvalidArgument, NotFound, QuotaReached
from mnemesh_memory.values.quotas import BURST_S, DEFAULT, UNLIMITED, Bucket, Quota, Usage

# ---- values ----------------------------------------------------------------------------------------------------------


def test_a_quota_takes_the_defaults_where_nothing_is_said() -> None:
    assert Quota(max_bytes=0).over(DEFAULT) == Quota(
        max_memories=DEFAULT.max_memories, max_bytes=0, writes_per_second=DEFAULT.writes_per_second
    )


@pytest.mark.parametrize(
    "bad", [Quota(max_memories=-1), Quota(max_bytes=2**60), Quota(writes_per_second=float("nan"))], ids=str
)
def test_a_quota_out_of_range_is_refused_with_its_name(bad: Quota) -> None:
    with pytest.raises(InvalidArgument) as caught:
        bad.checked()
    assert getattr(bad, caught.value.fields["field"]) is not None


def test_no_limit_is_more_than_any_limit() -> None:
    assert UNLIMITED.beyond(DEFAULT) == "max_memories"
    assert DEFAULT.beyond(UNLIMITED) == ""
    assert DEFAULT.beyond(DEFAULT) == ""


def test_a_bucket_lets_a_burst_and_a_batch_of_any_size_through_and_then_the_rate() -> None:
    bucket, rate = Bucket(0.0), 10.0
    for _ in range(int(rate * BURST_S)):
        assert bucket.wait_s(rate, 0.0) == 0
        bucket.take(1)
    bucket.take(100)
    assert bucket.wait_s(rate, 0.0) == pytest.approx(10.0)
    assert bucket.wait_s(rate, 9.0) == pytest.approx(1.0)
    assert bucket.wait_s(rate, 10.0) == 0


# ---- what the ledger counts ------------------------------------------------------------------------------------------


def counted(home: Home) -> dict[str, Usage]:
    """By hand, from the file."""
    found: dict[str, Usage] = {}
    seen: set[str] = set()
    with home.looked_into() as db:
        for agent, doc, size in db.execute(
            "SELECT agent, doc, length(raw) FROM entry WHERE received = 0 AND type = 'change' ORDER BY seq"
        ):
            principal = agent.partition("/")[0]
            found[principal] = found.get(principal, Usage()).and_also(int(doc not in seen), size)
            seen.add(doc)
    return found


def test_what_each_principal_wrote_is_counted_as_it_is_in_the_log(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    ana, bob = Pen(agent="ana/cli"), Pen(agent="bob")
    with home.opened() as ledger:
        assert ledger.usage() == {}
        first = done(ledger, ana.create("one")).memory
        done(ledger, bob.revise(first, content="one, says bob"))
        done(ledger, Pen(agent="ana").create("two"))
        assert ledger.usage() == counted(home)
        assert {name: used.memories for name, used in ledger.usage().items()} == {"ana": 2, "bob": 0}
        third = done(ledger, bob.create("three")).memory
        assert ledger.usage() == counted(home)
        ledger.erase(bob.erase(third.id))
        assert ledger.usage()["bob"].memories == 0
        with pytest.raises(NotFound):
            ledger.erase(bob.erase("no such memory"))
        before = ledger.usage()
    with home.opened() as ledger:
        assert ledger.usage() == before == counted(home)


def test_an_erasure_that_never_reaches_disk_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, ana = Home.at(tmp_path), Pen(agent="ana")
    with home.opened() as ledger:
        memory = done(ledger, ana.create("one")).memory
        before = ledger.usage()
        with monkeypatch.context() as patched:

            def fails() -> None:
                raise KeyboardInterrupt

            patched.setattr(ledger._journal.digest, "write", fails)
            with pytest.raises(KeyboardInterrupt):
                ledger.erase(ana.erase(memory.id))
        assert ledger.usage() == before == counted(home)


def test_what_a_peer_brought_is_counted_by_sender_also_after_a_restart(tmp_path: Path) -> None:
    home, far = Home.at(tmp_path), Node()
    with home.opened() as ledger:
        ids = [far.own_id()]
        first = far.says("one", id=ids[0])
        second = far.says("another one", id=far.own_id())
        third = far.says("one, again", id=ids[0])
        came = taken(ledger, far, first, second, third)
        assert (came.brought_memories, came.brought_bytes) == (2, sum(len(one.raw) for one in (first, second, third)))
        again = taken(ledger, far, first)
        assert (again.accepted, again.brought_memories) == (0, 0)
        has = ledger.brought()
        assert list(has.values()) == [Usage(2, came.brought_bytes)]
        assert ledger.usage() == {}
    with home.opened() as ledger:
        assert ledger.brought() == has


# ---- what becomes of a peer ------------------------------------------------------------------------------------------


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[StreamNode, StreamNode]]:
    async with AsyncExitStack() as open_:
        yield (
            await open_.enter_async_context(node(tmp_path, "ana")),
            await open_.enter_async_context(node(tmp_path, "bob")),
        )


async def test_a_stream_stops_at_a_total_and_goes_on_with_a_larger_one(pair: tuple[StreamNode, StreamNode]) -> None:
    ana, bob = pair
    bob.syncing.quotas.quota_of = lambda sender: Quota(max_memories=2).over(UNLIMITED)
    await ana.writes("one", "two", "three")
    async with meeting(ana, bob):
        await until_told(bob, lambda said: said.caught_up)
        await ana.writes("four")
        stopped = await until_told(bob, lambda said: said.phase == "closed")
    assert stopped.reason.startswith("stopped at a quota: this peer has brought 3 memories of at most 2")
    assert await bob.texts() == ["one", "three", "two"]
    assert await bob.scene.ledger.brought() == {
        f":{ana.syncing.me.node_id}": bob.syncing.quotas._known[f":{ana.syncing.me.node_id}"]
    }
    bob.syncing.quotas.quota_of = lambda sender: Quota(max_memories=9).over(UNLIMITED)
    bob.told.clear()
    async with meeting(ana, bob):
        await until_told(bob, lambda said: said.caught_up)
    assert await bob.texts() == ["four", "one", "three", "two"]
    backlog = await bob.syncing.ledger.backlog()
    assert (backlog.pending, backlog.quarantined) == (0, 0)


async def test_a_peer_that_is_too_fast_is_slowed_and_nothing_of_it_is_lost(
    pair: tuple[StreamNode, StreamNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, bob = pair
    bob.syncing.quotas.quota_of = lambda sender: Quota(writes_per_second=0.05).over(UNLIMITED)
    monkeypatch.setattr("mnemesh_actors.streams.sync_port.WAIT_MAX_S", 0.05)
    sender = f":{ana.syncing.me.node_id}"
    async with meeting(ana, bob):
        await until_told(bob, lambda said: said.caught_up)
        assert bob.syncing.quotas.note(sender) == ""
        for number in range(4):
            await ana.writes(f"number {number}")
            await until_told(bob, lambda said, want=number + 1: said.taken == want and said.caught_up)
        assert bob.syncing.quotas.note(sender).startswith("slowed: it brings more than 0.05 entries a second")
    assert await bob.texts() == await ana.texts()


async def test_the_note_of_a_slowed_stream_goes_when_it_is_slow_enough() -> None:
    async def nothing() -> Mapping[str, Usage]:
        return {}

    quotas = PeerQuotas(nothing)
    quotas.quota_of = lambda sender: Quota(writes_per_second=1000).over(UNLIMITED)
    now = asyncio.get_running_loop().time()
    quotas._slowed["hub"] = now
    assert quotas.note("hub")
    quotas._slowed["hub"] = now - SLOWED_FOR_S - 1
    assert not quotas.note("hub")
    quotas.quota_of = lambda sender: Quota(max_bytes=1).over(UNLIMITED)
    await quotas.admit("hub", 1)
    quotas.took("hub", Usage(1, 1))
    with pytest.raises(QuotaReached):
        await quotas.admit("hub", 1)
