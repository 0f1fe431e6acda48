"""Bad input over a real stream: it changes nothing, is answered with a reason, and nobody else notices."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from hostile_peer import HostileStream, Signer, brings, resealed, stream_to
from node_process import Nodes, NodeUnderTest
from peer_scene import WAIT_S, client, converged, hub_and_laptop, introduce, texts

from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry
from mnemesh_crdt.sync.messages import Ack, Batch, Digest, Hello, Message, Proof, Refusal, Resend
from mnemesh_gateway.peers.sync_channel import to_wire
from mnemesh_memory.values import limits
from mnemesh_proto.v1 import sync_pb2

ROUNDS = 200
MESSAGES_A_ROUND = 50
GROWTH_BYTES_MAX = 96 * 1024 * 1024


@dataclass
class Siege:
    """A hub, an honest laptop that exchanges with it, and tokens for enemies."""

    hub: NodeUnderTest
    laptop: NodeUnderTest
    told: int = 0

    async def token(self, name: str, role: str = "writer") -> str:
        async with client(self.hub) as there:
            return (await there.add_agent(name, role=role, spaces=["team/*"])).token

    async def taken(self, eve: Signer, *entries: Entry, role: str = "writer") -> None:
        """The hub acknowledges `entries`, which `eve` brings."""
        await brings(self.hub.grpc, await self.token("eve", role), eve, *entries)

    async def stands(self) -> None:
        """Both nodes answer, and what the one writes the other has."""
        self.told += 1
        async with client(self.laptop) as here:
            await here.remember(f"all is well, for the {self.told}. time", space="team/honest")
        await converged("team/honest", self.hub, self.laptop)


@pytest.fixture
async def siege(nodes: Nodes, tmp_path: Path) -> Siege:
    hub, laptop = await hub_and_laptop(nodes, tmp_path, "team/*")
    return Siege(hub, laptop)


def wired(message: Message) -> bytes:
    return to_wire(message, sync_pb2.SyncRequest).SerializeToString()


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


@asynccontextmanager
async def greeted(siege: Siege, token: str, eve: Signer) -> AsyncIterator[HostileStream]:
    async with stream_to(siege.hub.grpc, token) as stream:
        await stream.greet(eve)
        yield stream


# No message of an honest peer: a name, the bytes, and a word of the reason.
SHOUTS: list[tuple[str, Callable[[Signer], bytes], str]] = [
    ("nothing", lambda eve: b"", "message"),
    ("noise", lambda eve: bytes(range(256)), "well-formed"),
    ("truncated", lambda eve: wired(eve.batch(0, eve.says("x")))[:-7], "well-formed"),
    ("a text that is no UTF-8", lambda eve: wired(Digest("team/xx", {})).replace(b"xx", b"\xff\xfe"), "UTF-8"),
    ("another proof", lambda eve: wired(Proof(bytes(64))), "second Proof"),
    ("another Hello", lambda eve: wired(eve.hello(wants=("team/*",))), "second Hello"),
    ("a short hash", lambda eve: wired(eve.batch(0, replace(eve.says("x"), hash="ab"))), "hash"),
    ("a long name", lambda eve: wired(eve.batch(0, replace(eve.says("x"), space="team/" + "x" * 300))), "space"),
    ("an unknown type", lambda eve: wired(eve.batch(0, replace(eve.says("x"), type="drop"))), "type"),
    ("a huge change", lambda eve: wired(eve.batch(0, replace(eve.says("x"), raw=bytes(200_000)))), "raw"),
    (
        "a huge batch",
        lambda eve: wired(eve.batch(0, *(replace(eve.says("x"), raw=bytes(150_000)) for _ in range(8)))),
        "a batch holds at most",
    ),
    ("a batch of many", lambda eve: wired(eve.batch(0, *[eve.says("x")] * 300)), "a batch holds at most"),
    ("another's feed", lambda eve: wired(eve.batch(0, feed="ab" * 16 + "/scope")), "feed"),
    ("numbers backwards", lambda eve: wired(eve.batch(9, last_seq=3)), "goes from 9 to 3"),
    ("numbers beyond", lambda eve: wired(eve.batch(0, last_seq=2**63)), "goes from"),
    ("an acknowledgement of nothing", lambda eve: wired(Ack("ab/scope", 7)), "was not sent"),
    ("a digest of too many", lambda eve: wired(Digest("team/x", {5000: "ab" * 32})), "buckets"),
    ("a wish for what it was not told of", lambda eve: wired(Resend(1, "home/x", (1,))), "not told of"),
    ("a wish for too many", lambda eve: wired(Resend(1, "team/x", (5000,))), "buckets"),
]


async def test_what_is_no_message_ends_its_stream_with_the_reason_and_nothing_else(siege: Siege) -> None:
    for number, (name, shout, word) in enumerate(SHOUTS):
        eve = Signer(f"far {number}")
        token = await siege.token(f"eve{number}")
        async with greeted(siege, token, eve) as stream:
            await stream.shout(shout(eve))
            refusal = await stream.hear(Refusal)
        assert (refusal.code, word in refusal.reason) == ("fault", True), (name, refusal)
    await siege.stands()
    assert await texts(siege.hub, "team/x") == []


async def test_who_does_not_prove_to_be_the_node_that_it_says_is_told_nothing_and_believed_nothing(
    siege: Siege,
) -> None:
    eve, ana = Signer("eve"), Signer("ana")
    await siege.stands()
    wrong: list[Callable[[Hello], Message]] = [
        lambda theirs: eve.proof(theirs, node_id=ana.id),
        lambda theirs: ana.proof(theirs, peer_nonce=bytes(32)),
        lambda theirs: ana.proof(theirs, nonce=bytes(32)),
        lambda theirs: ana.proof(theirs, role="listener"),
        lambda theirs: ana.proof(theirs, incarnation=eve.incarnation),
        lambda theirs: ana.proof(theirs, peer_id=eve.id),
        lambda theirs: Proof(b""),
    ]
    for number, proof in enumerate(wrong):
        async with stream_to(siege.hub.grpc, await siege.token(f"eve{number}", "admin")) as stream:
            await stream.say(ana.hello())
            theirs = await stream.hear(Hello)
            await stream.say(proof(theirs))
            # Heard from before more is said: once grpc can not send any more it forgets what has come and was not read.
            hearing = asyncio.create_task(stream.hear(Refusal, Batch, Ack, Proof))
            await asyncio.sleep(0)
            with suppress(EOFError):  # the stream may be over by now
                await stream.say(ana.batch(0, ana.says("in the name of another")))
            refusal = await hearing
        assert (type(refusal), refusal.code) == (Refusal, "identity"), (number, refusal)
        assert f"who says to be node {ana.id} has not proved it" in refusal.reason
    async with stream_to(siege.hub.grpc, await siege.token("hasty", "admin")) as stream:
        await stream.say(ana.hello())
        await stream.say(ana.batch(0, ana.says("in the name of another")))
        refusal = await stream.hear(Refusal, Batch, Ack, Proof)
    assert (type(refusal), refusal.code) == (Refusal, "fault")
    assert await texts(siege.hub, "team/x") == []
    async with client(siege.hub) as there:
        shown = [one.name for one in (await there.sync_status()).peers]
        assert "laptop" in shown
        assert not {"hasty", *(f"eve{number}" for number in range(len(wrong)))} & {*shown}
    await siege.stands()


async def test_a_message_beyond_the_size_of_one_is_not_read_also_when_it_is_small_on_the_wire(siege: Siege) -> None:
    token = await siege.token("eve")
    process = psutil.Process(siege.hub.process.pid)
    before = process.memory_info().rss
    async with greeted(siege, token, Signer()) as stream:
        await stream.shout(bytes(limits.GRPC_MESSAGE_BYTES_MAX * 16))
        with pytest.raises(EOFError, match="RESOURCE_EXHAUSTED"):
            await stream.hear(Refusal)
    assert process.memory_info().rss - before < GROWTH_BYTES_MAX
    await siege.stands()


def _other(entry: Entry, eve: Signer) -> Entry:
    return eve.signs(entry.doc, entry.space, entry.raw, agent="ana/cli")


# How an entry lies, and a word of the reason for which it is in quarantine.
LIES: list[tuple[str, Callable[[Entry, Signer], Entry], str]] = [
    ("a bit flipped", lambda one, eve: replace(one, raw=flipped(one.raw, 20)), "checksum"),
    ("truncated", lambda one, eve: replace(one, raw=one.raw[:-3]), "announced"),
    ("no change at all", lambda one, eve: replace(one, raw=b"hello"), "does not start as one"),
    ("a checksum made right", lambda one, eve: replace(one, raw=resealed(one.raw, 30)), "another hash"),
    ("a space not granted", lambda one, eve: eve.signs(one.doc, "home/x", one.raw), "may not write to home/x"),
    ("another principal", _other, "may not speak for ana/cli"),
    ("the author inside", lambda one, eve: eve.says("x", by="ana"), ""),
    ("a signature of noise", lambda one, eve: replace(one, signature=bytes(64)), "signature"),
    ("another's node", lambda one, eve: replace(one, node="ab" * 16), "no key of node"),
    ("another's id", lambda one, eve: eve.signs("not-an-id", one.space, one.raw), "doc"),
]


async def test_an_entry_that_lies_is_kept_aside_with_the_reason_and_what_follows_is_taken(siege: Siege) -> None:
    eve = Signer()
    lies = [(name, lie(eve.says(f"a lie: {name}"), eve), word) for name, lie, word in LIES]
    stray = eve.says("meant for another space")
    lies.append(("another space", eve.signs(stray.doc, "team/y", stray.raw), "can begin in"))
    good = eve.says("the truth")
    await siege.taken(eve, *(entry for _, entry, _ in lies), good)
    assert await texts(siege.hub, "team/y") == []
    assert await texts(siege.hub, "team/x") == ["the truth"]
    async with client(siege.hub) as there:
        kept = (await there.quarantine(limit=200)).entries
        assert (await there.sync_status()).pending == 0
    for name, entry, word in lies:
        reasons = [one.reason for one in kept if one.hash == entry.hash or one.doc == entry.doc]
        assert any(word in reason for reason in reasons), (name, reasons, [one.reason for one in kept])
    assert len(kept) == len(lies)
    await siege.stands()
    assert await texts(siege.laptop, "team/x") == ["the truth"]


async def test_what_many_allowed_changes_inflate_to_takes_no_memory_of_a_node_or_of_its_readers(siege: Siege) -> None:
    eve = Signer(agent="eve")
    processes = [psutil.Process(one.process.pid) for one in (siege.hub, siege.laptop)]
    first = eve.says("eve's own", "team/x")
    swollen = [eve.swells(first) for _ in range(400)]
    assert sum(len(one.raw) for one in swollen) < 500_000
    await siege.stands()
    before = [process.memory_info().rss for process in processes]
    async with greeted(siege, await siege.token("eve"), eve) as stream:
        after = 0
        for batch in ([first], swollen[:200], swollen[200:]):
            await stream.say(eve.batch(after, *batch))
            after += len(batch)
        while (await stream.hear(Ack, Refusal)) != Ack(eve.feed, after):
            pass
    await converged("team/x", siege.hub, siege.laptop)
    for node in (siege.hub, siege.laptop):
        async with client(node) as there:
            memory = await there.get(first.doc)
            assert "of its changes are kept but not read" in memory.notes[-1]
            page = await there.history(first.doc, limit=200)
            assert page.notes == memory.notes
            assert 1 <= len(page.revisions) <= page.total < 100
            assert sum(len(one.content) for one in page.revisions) <= limits.READ_BYTES_MAX
            await there.conflicts(limit=200)
            assert (await there.get(first.doc, as_of=memory.updated_at)).id == first.doc
    grown = [process.memory_info().rss - one for process, one in zip(processes, before, strict=True)]
    assert max(grown) < GROWTH_BYTES_MAX, grown
    await siege.stands()


async def test_nobody_erases_anothers_memory_by_saying_at_a_hub_to_have_begun_it(
    siege: Siege, nodes: Nodes, tmp_path: Path
) -> None:
    """The hub has not got the memory yet. The id alone says that the writer may not begin this memory."""
    eve, ana = Signer(), await nodes.start(tmp_path / "ana")
    async with client(ana) as here:
        kept = [(await here.remember(text, space="team/x")).memory.id for text in ("a real one", "another real one")]
        mine = eve.says("eve's own", doc=kept[0])
        retracted, erased = eve.erases(RETRACT, kept[0]), eve.erases(ERASE, kept[1])
        await siege.taken(eve, mine, retracted, erased)
        await introduce(ana, siege.hub, "ana", "team/*")
        await here.sync_now(wait_s=WAIT_S)
        assert await texts(ana, "team/x") == ["a real one", "another real one"]
        assert (await here.quarantine(limit=10)).entries == ()
    assert await texts(siege.hub, "team/x") == ["a real one", "another real one"]
    async with client(siege.hub) as there:
        refused = {one.hash: one.reason for one in (await there.quarantine(limit=10)).entries}
        assert refused.keys() == {mine.hash, erased.hash, retracted.hash}
        assert "is not one that 'eve' can begin in" in refused[mine.hash]
        assert "only a peer that relays" in refused[erased.hash]
        assert "'eve' did not begin this memory alone, 'owner' did" in refused[retracted.hash]
    await siege.stands()


async def test_a_peer_that_sends_garbage_for_long_is_held_off_and_costs_nobody_anything(siege: Siege) -> None:
    eve, chance = Signer(), random.Random(11)
    token = await siege.token("eve")
    process = psutil.Process(siege.hub.process.pid)
    before = 0
    for turn in range(ROUNDS):
        async with stream_to(siege.hub.grpc, token) as stream:
            with suppress(EOFError):  # it ends while we talk
                await stream.say(eve.hello())
                for _ in range(MESSAGES_A_ROUND):
                    noise = chance.randbytes(chance.randrange(1, 4_000))
                    await stream.shout(chance.choice((noise, wired(eve.batch(turn)), wired(Digest("team/x", {})))))
                await stream.hear(Refusal)
        if turn == ROUNDS // 10:
            before = process.memory_info().rss
        if turn % (ROUNDS // 4) == 0:
            await siege.stands()
    async with stream_to(siege.hub.grpc, token) as stream:
        await stream.say(eve.hello())
        with pytest.raises(EOFError, match=r"UNAVAILABLE.*ended in a row.*call again in"):
            await stream.hear(Refusal)
    assert process.memory_info().rss - before < GROWTH_BYTES_MAX
    async with client(siege.hub) as there:
        assert [one.name for one in (await there.sync_status()).peers if one.state == "connected"] == ["laptop"]
