"""The shell of a sync stream: two real ledgers, a wire in memory, and all that can break between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from follower_scene import PATIENCE_S, until
from ledger_builders import START
from stream_scene import EVERYTHING, WIRE_MESSAGES, Node, Wire, meeting, node, syncing_of, until_told, wire

from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.streams.stream_shell import TICK_S, StreamShell
from mnemesh_crdt.intake.arrivals import TakenIn
from mnemesh_crdt.sync.audience import feed_name
from mnemesh_crdt.sync.greeting import DIALER, LISTENER, PROTOCOL
from mnemesh_crdt.sync.messages import Batch, Digest, Granted, Hello, Ping, Pong, Proof, Refusal, Resend, Tick
from mnemesh_crdt.sync.proof import NONCE_BYTES, Claim
from mnemesh_crdt.sync.stream import FULL_HERE, FULL_THERE, Stream
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, Unavailable


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path, "ana") as made:
        yield made


@pytest.fixture
async def bob(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path, "bob") as made:
        yield made


class Slow:
    """A ledger with a gate: calls of one method wait until let through, or fail."""

    def __init__(self, ledger: Any, method: str) -> None:
        self._ledger = ledger
        self._method = method
        self.gate = asyncio.Event()
        self.asked = 0
        self.most = 0
        self.inside = 0
        self.fault: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._ledger, name)
        return self._held(call) if name == self._method else call

    def _held(self, call: Any) -> Any:
        async def held(*args: Any) -> Any:
            self.asked += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            try:
                if self.fault is not None:
                    raise self.fault
                await self.gate.wait()
                return await call(*args)
            finally:
                self.inside -= 1

        return held


async def slowed(node: Node, method: str) -> Slow:
    """Calls of `method` of its ledger wait from now on."""
    slow = Slow(node.scene.ledger, method)
    node.syncing = await syncing_of(node.scene, slow)
    return slow


def at_work() -> set[str]:
    """The tasks of any shell; the follower of a scene has some of its own, which come and go."""
    names = {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
    return {name for name in names if name.startswith("StreamShell.")}


def hello_of(node: Node, **changes: Any) -> Hello:
    me = node.syncing.me
    hello = Hello(
        protocol=PROTOCOL, node_id=me.node_id, key=me.key, incarnation=me.incarnation, wants=("*",), only_by="",
        cursors={}, nonce=bytes(NONCE_BYTES), life=me.life,
    )  # fmt: skip
    return replace(hello, **changes)


async def test_two_ledgers_have_the_same_once_both_shells_say_so(ana: Node, bob: Node) -> None:
    await ana.writes("one", "two", "three")
    await bob.writes("four")
    async with meeting(ana, bob):
        await until_told(ana, lambda said: said.caught_up and said.taken == 4)
        await until_told(bob, lambda said: said.caught_up and said.taken == 4)
        assert await ana.texts() == await bob.texts() == ["four", "one", "three", "two"]
        # A write during the stream goes over it, and reaches the index of the other side.
        await bob.writes("five")
        await until_told(ana, lambda said: said.taken == 5 and said.caught_up)
    assert "five" in await ana.texts()
    await ana.scene.until_indexed(5)
    assert sorted(ana.scene.shelved()) == ["five", "four", "one", "three", "two"]


async def test_a_status_is_told_for_each_step_from_the_greeting_to_the_end(ana: Node, bob: Node) -> None:
    await ana.writes("one")
    async with meeting(ana, bob) as (dialer, listener):
        await until_told(bob, lambda said: said.caught_up)
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
        bob_ends = bob.told[-1].phase
        dialer.cancel()
    assert [said.phase for said in ana.told][:2] == ["greeting", "open"]
    assert (bob.told[-1].node_id, bob.told[-1].taken) == (ana.syncing.me.node_id, 1)
    assert bob_ends == "open"  # a cancelled shell has nobody to tell


async def test_a_wire_that_breaks_at_any_message_loses_and_repeats_nothing(ana: Node, bob: Node) -> None:
    contents = [f"memory number {number}" for number in range(6)]
    await ana.writes(*contents[:3])
    await bob.writes(*contents[3:])
    for cut_after in range(1, 7):
        ends = wire()
        ends[cut_after % 2].cut_after = cut_after
        async with meeting(ana, bob, ends) as tasks:
            done, _ = await asyncio.wait(tasks, timeout=0.2 if cut_after > 3 else PATIENCE_S)
            for task in done:
                assert task.result().phase == "closed"
                assert task.result().reason == "the wire is cut"
    async with meeting(ana, bob):
        await until_told(ana, lambda said: said.caught_up)
        await until_told(bob, lambda said: said.caught_up)
    assert await ana.texts() == await bob.texts() == contents
    assert (ana.syncing.head, bob.syncing.head) == (6, 6)


async def test_a_stream_that_the_peer_ends_says_so_and_leaves_no_task(ana: Node) -> None:
    here, _ = wire()
    here.inbox.put_nowait(None)
    ended = await asyncio.wait_for(ana.shell().run(DIALER, here, {}), PATIENCE_S)
    assert (ended.phase, ended.reason) == ("closed", "the peer ended the stream")
    assert at_work() == set()


async def test_a_cancelled_stream_leaves_no_task_and_what_it_took_in_is_indexed(ana: Node, bob: Node) -> None:
    await ana.writes("one")
    slow = await slowed(bob, "take_in")
    async with meeting(ana, bob) as (_, listener):
        await until(lambda: slow.asked == 1)
        assert "StreamShell._listen" in at_work()
        listener.cancel()
        slow.gate.set()
        await asyncio.gather(listener, return_exceptions=True)
        assert listener.cancelled()
    assert at_work() == set()
    assert await bob.texts() == ["one"]
    await bob.scene.until_indexed(1)
    assert bob.scene.shelved() == ["one"]


async def test_a_ledger_that_fails_ends_the_stream_and_the_next_one_goes_on_there(ana: Node, bob: Node) -> None:
    await ana.writes("one")
    async with meeting(ana, bob):
        await until_told(ana, lambda said: said.acked == 1)
    await ana.writes("two")
    sound, slow = bob.syncing, await slowed(bob, "take_in")
    slow.fault = Unavailable("the disk is full", part="ledger")
    async with meeting(ana, bob) as (_, listener):
        ended = await asyncio.wait_for(listener, PATIENCE_S)
        assert (ended.phase, ended.reason) == ("closed", "this node's ledger: the disk is full")
    assert await bob.texts() == ["one"]
    assert list((await bob.cursors(ana)).values()) == [1]
    bob.syncing = sound
    async with meeting(ana, bob):
        await until_told(ana, lambda said: said.acked == 2)
    assert await bob.texts() == ["one", "two"]


async def test_a_fault_of_ours_in_the_ledger_ends_the_stream_instead_of_hanging_it(ana: Node, bob: Node) -> None:
    slow = await slowed(bob, "cursors")
    slow.fault = ZeroDivisionError("a bug")
    async with meeting(ana, bob) as (_, listener):
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await asyncio.wait_for(listener, PATIENCE_S)


async def test_a_slow_ledger_takes_one_batch_at_a_time_without_acknowledging(ana: Node, bob: Node) -> None:
    slow = await slowed(bob, "take_in")
    async with meeting(ana, bob):
        for number in range(1, 8):
            await ana.writes(f"memory {number}")
            await until_told(ana, lambda said, sent=number: said.sending == min(sent, limits.SYNC_WINDOW_BATCHES))
        await until(lambda: slow.asked == 1)
        assert ana.told[-1].acked == 0
        assert await bob.texts() == []
        slow.gate.set()
        await until_told(ana, lambda said: said.acked == 7)
    assert slow.most == 1


async def test_a_peer_that_says_what_is_no_message_is_told_so(ana: Node) -> None:
    here, there = wire()
    here.inbox.put_nowait(InvalidArgument("message", "none", "hello, batch or another"))
    ended = await asyncio.wait_for(ana.shell().run(DIALER, here, {}), PATIENCE_S)
    assert (ended.code, "message" in ended.reason) == ("fault", True)
    said = [there.inbox.get_nowait() for _ in range(there.inbox.qsize())]
    assert [type(one) for one in said] == [Hello, Refusal]
    assert said[-1] == Refusal("fault", ended.reason)


async def test_a_grant_that_changes_ends_the_stream_at_once_and_a_busy_one_too(ana: Node, bob: Node) -> None:
    await slowed(bob, "measure")
    listener = bob.shell()
    async with meeting(ana, bob, listener=listener) as (dialing, listening):
        await until_told(bob, lambda said: said.phase == "open")
        listener.say(Granted(EVERYTHING))
        listener.say(Granted(PeerGrant(read=(), write=(), principal="")))
        ended = await asyncio.wait_for(listening, PATIENCE_S)
        assert ended.code == "changed"
        assert (await asyncio.wait_for(dialing, PATIENCE_S)).code == "changed"


class Endless:
    """A node that calls, proves its identity, then repeats one message without end and reads nothing more."""

    def __init__(self, caller: Node, again: Any, times: int) -> None:
        self._caller = caller
        self._again = again
        self._times = times
        self.said = 0
        self._greeting: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._proved = asyncio.Event()

    async def send(self, message: Any) -> None:
        if isinstance(message, Hello):
            return self._greeting.set_result(message)
        if isinstance(message, Proof):
            self._proved.set()
        return await asyncio.Event().wait()

    async def messages(self) -> AsyncIterator[Any]:
        mine = hello_of(self._caller)
        yield mine
        theirs = await self._greeting
        claim = Claim(
            node_id=mine.node_id, incarnation=mine.incarnation, life=mine.life, role=DIALER, nonce=mine.nonce,
            peer_id=theirs.node_id, peer_nonce=theirs.nonce,
        )  # fmt: skip
        yield Proof((await self._caller.syncing.prove(claim)).signature)
        await self._proved.wait()
        for _ in range(self._times):
            await asyncio.sleep(0)
            self.said += 1
            yield self._again(self.said)
        await asyncio.Event().wait()


async def test_a_peer_whose_questions_are_not_answered_yet_is_not_read_any_further(ana: Node, bob: Node) -> None:
    slow = await slowed(bob, "digests")
    flood = Endless(ana, lambda number: Digest(f"team/{number}", {}), 5_000)
    running = asyncio.create_task(bob.shell(compare=False).run(LISTENER, flood))
    await until(lambda: slow.inside >= limits.SYNC_QUESTIONS_MAX)
    for _ in range(200):
        await asyncio.sleep(0)
    most = limits.SYNC_QUESTIONS_MAX + limits.SYNC_MESSAGES_WAITING_MAX
    assert slow.most <= most
    assert flood.said <= most + 1
    running.cancel()
    slow.gate.set()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_peer_that_reads_nothing_of_what_it_causes_is_left_when_the_outbox_is_full(
    ana: Node, bob: Node
) -> None:
    await ana.writes("one")
    async with meeting(ana, bob) as _:
        await until_told(ana, lambda said: said.acked == 1)
    feed = next(iter(await bob.cursors(ana)))
    old = Batch(feed=feed, after=0, last_seq=1, head=1, entries=())
    flood = Endless(ana, lambda _: old, limits.SYNC_OUTBOX_MESSAGES_MAX * 2)
    shell = StreamShell(bob.syncing, Stream(bob.syncing.me, EVERYTHING), lambda id: f":{id}", bob.told.append)
    running = asyncio.create_task(shell.run(LISTENER, flood))
    await until_told(bob, lambda said: said.phase == "closed")
    assert "unread" in bob.told[-1].reason
    assert flood.said <= limits.SYNC_OUTBOX_MESSAGES_MAX + limits.SYNC_MESSAGES_WAITING_MAX + 2
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def skipped(reader: Node, writer: Node) -> None:
    """The cursor of `reader` falsely claims to have read all of `writer`'s log."""
    feed = feed_name(writer.syncing.me.incarnation, ("*",), "")
    peer = f":{writer.syncing.me.node_id}"
    nothing = IncomingEntries(
        peer=peer, origin="", grant=EVERYTHING, entries=(), feed=feed, last_seq=writer.syncing.head
    )
    await reader.scene.ledger.take_in(nothing, START)


@pytest.mark.parametrize("asked", ["dialer", "listener"])
async def test_a_comparison_that_one_side_is_asked_for_repairs_both(ana: Node, bob: Node, asked: str) -> None:
    await ana.writes("one")
    await bob.writes("two", space="team/y")
    await skipped(ana, bob)
    await skipped(bob, ana)
    shells = {"dialer": ana.shell(compare=False), "listener": bob.shell(compare=False)}
    async with meeting(ana, bob, **shells):
        await until_told(ana, lambda said: said.caught_up)
        await until_told(bob, lambda said: said.caught_up)
        assert (await ana.texts(), await bob.texts()) == (["one"], ["two"])
        shell = shells[asked]
        assert not shell.comparing
        shell.compare()
        shell.compare()
        assert shell.comparing
        asker = {"dialer": ana, "listener": bob}[asked]
        await until_told(asker, lambda said: said.compared == 1 and said.caught_up)
        assert not shell.comparing
        assert await ana.texts() == await bob.texts() == ["one", "two"]


class Crammed:
    """A ledger without room for entries of peers until told otherwise."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.full = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def take_in(self, batch: IncomingEntries, now: int) -> Any:
        return TakenIn(full=True) if self.full else await self._ledger.take_in(batch, now)


async def test_a_side_without_room_still_gives_and_takes_once_there_is_room(ana: Node, bob: Node) -> None:
    ledger = Crammed(bob.scene.ledger)
    bob.syncing = await syncing_of(bob.scene, ledger)
    listener = bob.shell(compare=False)
    await ana.writes("one")
    async with meeting(ana, bob, dialer=ana.shell(compare=False), listener=listener):
        await until_told(ana, lambda said: said.reason == FULL_THERE)
        await until_told(bob, lambda said: said.reason == FULL_HERE)
        await bob.writes("two")
        await until_told(ana, lambda said: said.taken == 1)
        assert await ana.texts() == ["one", "two"]
        assert await bob.texts() == ["two"]
        ledger.full = False
        listener.say(Tick())
        await until_told(ana, lambda said: said.caught_up and not said.reason)
        assert await bob.texts() == ["one", "two"]
    assert {said.phase for said in ana.told} == {"greeting", "open"}, "one stream all the time"


async def test_a_side_that_only_takes_gets_what_it_lost_and_tells_nothing_it_has(ana: Node, bob: Node) -> None:
    await ana.writes("nobody is to know that there is such a space", space="family/lawyer")
    await ana.writes("here alone", space="team/x")
    await bob.writes("one", "two", space="team/x")
    await skipped(ana, bob)
    dialer = ana.shell(replace(EVERYTHING, read=()), back=True)
    listener = bob.shell(replace(EVERYTHING, write=(), relay=False, principal="ana"), compare=False)
    here, there = wire()
    async with meeting(ana, bob, (here, there), dialer=dialer, listener=listener):
        await until_told(ana, lambda said: said.compared == 1)
        assert {"one", "two"} < set(await ana.texts())
    assert not [said for said in here.sent if isinstance(said, Digest)]
    assert [said.space for said in here.sent if isinstance(said, Resend)] == ["team/x"]
    assert await bob.texts() == ["one", "two"]


async def test_when_the_peer_was_last_heard_is_known(ana: Node, bob: Node) -> None:
    shells = {"dialer": ana.shell(), "listener": bob.shell()}
    assert shells["dialer"].heard_ms is None
    async with meeting(ana, bob, **shells):
        await until_told(ana, lambda said: said.caught_up)
        assert shells["dialer"].heard_ms == ana.syncing.clock()


async def test_a_stream_that_is_hung_up_ends_at_once_though_the_peer_reads_nothing(ana: Node, bob: Node) -> None:
    shell = bob.shell()
    quiet = Endless(ana, lambda _: Digest("team/x", {}), 1)
    running = asyncio.create_task(shell.run(LISTENER, quiet))
    await until_told(bob, lambda said: said.phase == "open")
    shell.hang_up("called anew")
    (done, _) = await asyncio.wait({running}, timeout=TICK_S / 2)
    assert [task.result().reason for task in done] == ["called anew"]
    assert shell.refused == ""


async def test_a_living_peer_answers_and_one_that_is_gone_or_silent_does_not(ana: Node, bob: Node) -> None:
    shell = bob.shell()
    async with meeting(ana, bob, listener=shell) as (dialing, listening):
        await until_told(bob, lambda said: said.phase == "open")
        assert await asyncio.gather(*(shell.answers(PATIENCE_S) for _ in range(5))) == [True] * 5
        asking = asyncio.create_task(shell.answers(PATIENCE_S))
        dialing.cancel()
        shell.hang_up("gone")
        await asyncio.wait_for(listening, PATIENCE_S)
        assert not await asyncio.wait_for(asking, PATIENCE_S), "the end of the stream is an answer"
    silent = bob.shell()
    running = asyncio.create_task(silent.run(LISTENER, Endless(ana, lambda _: Digest("team/x", {}), 1)))
    await until_told(bob, lambda said: said.phase == "open")
    assert not await silent.answers(0.05)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_caller_that_is_not_admitted_is_refused_with_the_reason(ana: Node, bob: Node) -> None:
    await ana.writes("one")
    asked: list[tuple[str, str]] = []

    async def nobody(node_id: str, life: str) -> str:
        asked.append((node_id, life))
        return "a copy"

    async with meeting(ana, bob, listener=bob.shell(admit=nobody)) as (dialing, listening):
        ended = await asyncio.wait_for(listening, PATIENCE_S)
        assert (ended.code, ended.reason) == ("identity", "a copy")
        assert "a copy" in (await asyncio.wait_for(dialing, PATIENCE_S)).reason
    assert asked == [(ana.syncing.me.node_id, ana.syncing.me.life)]
    assert await bob.texts() == []


async def test_who_was_called_is_read_no_further_until_it_is_known_that_it_is_no_copy(ana: Node, bob: Node) -> None:
    await bob.writes("one")
    here, there = wire()
    known, said = asyncio.Event(), 0

    async def admitted(node_id: str, life: str) -> str:
        await known.wait()
        return ""

    async def flood() -> None:
        nonlocal said
        await until(lambda: any(isinstance(message, Proof) for message in there.sent))
        for number in range(1, 101):
            await there.send(Ping(number))
            said = number

    async with meeting(ana, bob, (here, there), dialer=ana.shell(admit=admitted)):
        flooding = asyncio.create_task(flood())
        await until(lambda: said > limits.SYNC_MESSAGES_WAITING_MAX)
        for _ in range(200):
            await asyncio.sleep(0)
        assert said <= limits.SYNC_MESSAGES_WAITING_MAX + WIRE_MESSAGES + 2
        assert not any(isinstance(message, Pong) for message in here.sent)
        known.set()
        await asyncio.wait_for(flooding, PATIENCE_S)
        await until_told(ana, lambda said: said.caught_up and said.taken == 1)
        await until(lambda: Pong(100) in here.sent)
    assert await ana.texts() == ["one"]


async def test_a_peer_whose_entries_are_refused_again_and_again_is_left(ana: Node, bob: Node) -> None:
    count = limits.SYNC_REFUSED_ENTRIES_MAX + 1
    await ana.writes(*(f"memory {number}" for number in range(count)))
    grant = replace(EVERYTHING, write=("*",), relay=False, principal="carl")
    listener = bob.shell(grant)

    class Liar(Wire):
        """Claims to have been asked for everything."""

        async def messages(self) -> AsyncIterator[Any]:
            async for message in super().messages():
                yield replace(message, only_by="") if isinstance(message, Hello) else message

    here, there = Liar(), Wire()
    here.other, there.other = there, here
    async with meeting(ana, bob, (here, there), listener=listener) as (_, listening):
        ended = await asyncio.wait_for(listening, PATIENCE_S)
    assert (ended.code, "quarantine" in ended.reason) == ("fault", True)
    assert await bob.texts() == []
    assert ended.taken == count
