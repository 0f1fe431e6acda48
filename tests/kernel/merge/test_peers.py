"""Peers of a node: turns, contacts, copies, and counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ledger_builders import Home, Pen, all_done
from peer_builders import EVERYTHING, FEED, ID, NOW, OTHER, Node
from set_clock import Clock
from stored_transcripts import Direct
from structlog.testing import capture_logs

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers import peer_log
from mnemesh_actors.ledger.peers.contacts import DAY_MS, Contact
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.peer_log import Order, Untaken
from mnemesh_actors.runtime.bell import LogHead
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.sync.greeting import ONE_IS_A_COPY, Me
from mnemesh_crdt.sync.messages import Batch, Status, TakeIn
from mnemesh_gateway.peers import peers as module
from mnemesh_gateway.peers.peer_book import Peer, PeerBook
from mnemesh_gateway.peers.peer_guard import TOLD_S, NodeCopies
from mnemesh_gateway.peers.peer_status import Contacts, LivePeer, NotTaken, PeerLog, PeerStatus, gone
from mnemesh_gateway.peers.peers import Peers
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, NotFound, QuotaReached
from mnemesh_memory.values.quotas import UNLIMITED

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
async def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Peers:
    monkeypatch.setattr(module, "StreamShell", Line)
    monkeypatch.setattr(module, "DialedChannel", Dialed)
    monkeypatch.setattr(Line, "hung_up", asyncio.Event(), raising=False)
    monkeypatch.setattr(Line, "lives", count(), raising=False)
    quotas = SimpleNamespace(note=lambda peer: "")
    return Peers(PeerBook(tmp_path), cast(Syncing, SimpleNamespace(me=ME, head=0, quotas=quotas)), lambda: 0)


@pytest.fixture
async def peers(book: Peers) -> Peers:
    """The hub is called."""
    await book.add(HUB, WAIT_S)
    return book


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
    given, removed = await both(peers.give_token("hub", "second", WAIT_S), peers.remove("hub"))
    assert (given.state, removed) == ("connected", None)
    assert (callers(), peers.status()) == (0, ())


async def test_of_two_tokens_given_at_once_the_last_is_called_with_alone(peers: Peers, tmp_path: Path) -> None:
    first, second = await both(peers.give_token("hub", "second", WAIT_S), peers.give_token("hub", "third", WAIT_S))
    assert (first.state, second.state) == ("connected", "connected")
    assert (callers(), PeerBook(tmp_path).get("hub").token) == (1, "third")
    await peers.remove("hub")
    assert callers() == 0


async def test_a_peer_removed_while_a_token_is_refused_is_gone_and_the_refusal_is_told(peers: Peers) -> None:
    given, removed = await both(peers.give_token("hub", "wrong", WAIT_S), peers.remove("hub"))
    assert isinstance(given, FailedPrecondition)
    assert "the token was not changed" in given.message
    assert (removed, callers()) == (None, 0)
    for asked in (peers.give_token("hub", "second", WAIT_S), peers.remove("hub"), peers.now("hub", WAIT_S)):
        with pytest.raises(NotFound, match="'hub' not found; sync status shows the names"):
            await asked


async def test_a_node_that_is_called_again_in_another_life_is_no_copy_of_what_was_called_before(peers: Peers) -> None:
    Line.hung_up.set()
    again = await peers.give_token("hub", "second", WAIT_S)
    assert (again.state, again.last_error) == ("connected", "")
    await peers.remove("hub")


async def test_a_caller_that_hangs_up_leaves_the_peer_called(peers: Peers) -> None:
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
    book: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(module, "WAIT_S_MAX", 0.0)
    Line.hung_up.set()
    with capture_logs() as lines:
        await book.add(replace(HUB, token="away"), WAIT_S)
        async with asyncio.timeout(WAIT_S):
            while book.status()[0].attempts < 5:  # noqa: ASYNC110  the line has no bell for an attempt
                await asyncio.sleep(0)
        for token in ("second", "third"):
            await book.give_token("hub", token, WAIT_S)
        await book.remove("hub")
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


# ---- contacts --------------------------------------------------------------------------------------------------------
# The ledger's record of contacts with other nodes, and its picture for a person.


CONTACT = Contact(
    peer=":" + "0" * 32, heard=NOW, caught_up=NOW - 5, cursor_out=7, head_in=9, target="hub:1", direction="both",
    spaces=("team/*", "@me"), auth="accepted", error="",
)  # fmt: skip
PEER = PeerStatus(name="hub", incoming=False, target="hub:1", direction="both", spaces=("team/*",))


def read_up_to(node: Node, feed: str, last_seq: int) -> IncomingEntries:
    return IncomingEntries(peer=node.id, origin=node.origin, grant=EVERYTHING, entries=(), feed=feed, last_seq=last_seq)


def test_a_contact_is_known_after_a_restart_with_the_durable_cursor_in_its_feed(home: Home) -> None:
    node = Node()
    contact = replace(CONTACT, peer=node.id)
    with home.opened() as ledger:
        ledger.take_in(read_up_to(node, "inc/old", 90), NOW)
        ledger.keep_contacts([contact, CONTACT], NOW)
    with home.opened() as ledger:
        assert ledger.contacts(NOW) == [CONTACT, replace(contact, cursor_in=90)]
        ledger.take_in(read_up_to(node, FEED, 3), NOW + 1)
        ledger.take_in(read_up_to(node, "inc/repair", 50), NOW + 2)
        assert ledger.contacts(NOW)[1].cursor_in == 3, "of the feed that was read last, and of no repair"


def test_what_a_node_has_read_of_an_earlier_life_of_the_log_counts_as_nothing(home: Home) -> None:
    with home.opened() as ledger:
        ledger.keep_contacts([CONTACT], NOW)
    home.file.with_suffix(".lock").write_text("ended")
    with home.opened() as ledger:
        assert ledger.contacts(NOW) == [replace(CONTACT, cursor_out=0)]


def test_contacts_are_bounded_and_forgotten_in_time(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PEER_CONTACTS_MAX", 2)
    three = [replace(CONTACT, peer=f"ana:{number}", heard=NOW + number) for number in range(3)]
    ledger.keep_contacts(three, NOW)
    assert [one.peer for one in ledger.contacts(NOW)] == ["ana:2", "ana:1"]
    later = NOW + 1 + limits.PEER_CONTACT_DAYS * DAY_MS + 1
    assert [one.peer for one in ledger.contacts(later)] == ["ana:2"]
    ledger.keep_contacts([], later)
    assert [one.peer for one in ledger.contacts(NOW)] == ["ana:2"]


def test_the_lag_is_the_time_since_both_sides_had_all_that_the_other_had() -> None:
    assert PEER.at(5, NOW).lag_s is None, "they never had"
    open_ = Status(phase="open", node_id="n", acked=3, taken=4, peer_head=6)
    behind = PEER.with_stream(open_, NOW)
    assert behind.at(5, NOW).lag_s is None
    level = behind.with_stream(replace(open_, caught_up=True), NOW)
    assert level.at(5, NOW + 9_000).lag_s == 0
    again = level.with_stream(open_, NOW + 9_000)
    assert again.at(5, NOW + 9_000).lag_s == 0
    assert again.at(5, NOW + 11_500).lag_s == 2.5
    away = again.ended("offline", "the wire is cut", NOW + 20_000)
    assert away.at(5, NOW + 69_000).lag_s == 60
    assert (away.last_error, away.caught_up) == ("the wire is cut", False)


@pytest.mark.parametrize(("direction", "pending"), [("both", (2, 2)), ("push", (2, 0)), ("pull", (0, 2))])
def test_only_what_goes_in_a_direction_of_the_stream_is_pending(direction: str, pending: tuple[int, int]) -> None:
    status = replace(PEER, direction=direction, cursor_out=3, cursor_in=4, head_in=6).at(5, NOW)
    assert (status.pending_out, status.pending_in) == pending


@pytest.mark.parametrize(
    ("direction", "takes", "effective", "pending"),
    [
        ("both", None, "both", 3),
        ("both", ("team/a",), "both", 3),
        ("both", (), "pull", 0),
        ("push", (), "none", 0),
        ("pull", (), "pull", 0),
    ],
)
def test_nothing_is_pending_for_a_peer_whose_token_takes_nothing(
    direction: str, takes: tuple[str, ...] | None, effective: str, pending: int
) -> None:
    status = replace(PEER, direction=direction, takes=takes, cursor_out=4).at(7, NOW)
    assert (status.effective, status.pending_out) == (effective, pending)


def test_a_peer_that_called_once_is_shown_as_it_was() -> None:
    contact = replace(CONTACT, peer="ana:" + "1" * 32, cursor_in=4, error="cut")
    shown = gone(contact)
    assert (shown.name, shown.incoming, shown.node_id, shown.state) == ("ana", True, "1" * 32, "offline")
    assert (shown.last_contact, shown.last_error, shown.auth) == (NOW, "cut", "accepted")
    assert shown.contact() == contact
    assert replace(shown, last_contact=None).contact() is None
    assert PEER.contact() is None, "its node is not known"


async def test_a_node_that_comes_with_another_token_or_name_is_the_one_that_was_caught_up(home: Home) -> None:
    node_id, other = "1" * 32, "2" * 32
    with home.opened() as ledger:
        ledger.keep_contacts([replace(CONTACT, peer=f"ana:{node_id}"), replace(CONTACT, peer=f":{other}")], NOW)

        async def kept() -> list[Contact]:
            return ledger.contacts(NOW)

        contacts = Contacts(cast(Syncing, SimpleNamespace(contacts=kept)))
        await contacts.load()
    called = replace(PEER, name="bob", incoming=True)
    contacts.left(replace(called, node_id=node_id, last_contact=NOW, caught_up_at=NOW - 3))
    contacts.left(replace(called, name="eve", node_id=node_id, last_contact=NOW))
    for status, node, lag_s in ((called, node_id, 1.003), (PEER, other, 1.005), (called, "3" * 32, None)):
        live = LivePeer(status, lambda: NOW, contacts.level)
        live.heard(Status(phase="greeting", node_id=node))
        assert live.status.at(9, NOW + 1_000).lag_s is None, "it has not proved yet who it is"
        live.heard(Status(phase="open", node_id=node, peer_head=6))
        assert live.status.at(9, NOW + 1_000).lag_s == lag_s


# ---- untaken ---------------------------------------------------------------------------------------------------------
# The number of entries a peer does not take: each counted once, by writer, space and sender.


FAR = Node()
HUB_STATUS = PeerStatus(
    name="hub", incoming=False, target="hub:1", direction="both", spaces=("team/*",), node_id=FAR.id, takes=()
)  # fmt: skip


class Asked:
    """The ledger as NotTaken asks it, and where each question began."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.ledger = self
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
    theirs = IncomingEntries(
        peer="hub:1", origin=f"{FAR.id}/inc", grant=EVERYTHING, entries=(FAR.says("theirs"),), keys=FAR.keys
    )  # fmt: skip
    assert ledger.take_in(theirs, NOW).accepted == 1

    async def counted(**fields: Any) -> int:
        return await NotTaken(cast(Syncing, Asked(ledger))).of(replace(HUB_STATUS, **fields))

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
    assert (await count.of(HUB_STATUS), asked.began) == (5, [0, 2, 4])
    asked.began.clear()
    all_done(ledger, pen.create("f", space="team/x"))
    assert (await count.of(HUB_STATUS), asked.began) == (6, [5])
    asked.began.clear()
    pen.now += 1
    ledger.erase(Erase(agent=pen.agent, at=pen.now, actor=bytes(16), id=first.memory.id, as_admin=False))
    assert (await count.of(HUB_STATUS), asked.began) == (6, [6, 0, 2, 4, 6]), "its change is gone, the erasure is there"
    asked.began.clear()
    asked.me.incarnation = "two"
    assert (await count.of(HUB_STATUS), asked.began[0]) == (6, 0), "the numbers of another log are others"


# ---- erasure quota ---------------------------------------------------------------------------------------------------
# A peer that has used up its quota still has its memories erased here.


def order(node: Node, last_seq: int, *entries: Entry) -> TakeIn:
    batch = Batch(feed=FEED, after=0, head=last_seq, last_seq=last_seq, entries=entries, keys=node.keys)
    return TakeIn(batch=batch, node_id=node.id, grant=EVERYTHING, origin=node.origin)


async def test_erasures_pass_a_quota_that_stops_all_else_and_the_rest_comes_again(home: Home, ledger: Ledger) -> None:
    node = Node()
    syncing: Any = Syncing(Direct(ledger), lambda seq: None, LogHead(), None, lambda: NOW, None)  # type: ignore[arg-type]
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


# ---- copies ----------------------------------------------------------------------------------------------------------
# A copy of a node differs from a restarted node: the stream that stands is asked, and answers or not.


NODE, OTHER_NODE = "a" * 32, "b" * 32


@dataclass(eq=False)
class StandingStream:
    """A stream whose peer is alive, or not, once `gate` lets it answer."""

    alive: bool = True
    hung_up: str = ""
    asked: int = 0
    gate: asyncio.Event | None = None
    within: list[float] = field(default_factory=list)

    async def answers(self, within_s: float) -> bool:
        self.asked += 1
        self.within.append(within_s)
        if self.gate is not None:
            await self.gate.wait()
        return self.alive

    def hang_up(self, why: str) -> None:
        self.hung_up = why


async def test_a_copy_that_comes_second_is_refused_and_told_of_for_a_while() -> None:
    clock = Clock(1000.0)
    copies, first = NodeCopies(answer_s=3.0, now=clock), StandingStream()
    assert await copies.admit(first, "laptop", NODE, "one") == ""
    assert copies.note(NODE) == ""
    for _ in range(2):
        assert await copies.admit(StandingStream(), "laptop", NODE, "two") == ONE_IS_A_COPY
    assert (first.asked, first.within[0], first.hung_up) == (2, 3.0, "")
    assert "mnemesh node new-identity" in copies.note(NODE)
    assert copies.note(OTHER_NODE) == ""
    clock.now += TOLD_S
    assert copies.note(NODE) == ""


async def test_a_copy_with_another_token_is_one_too() -> None:
    copies = NodeCopies()
    assert await copies.admit(StandingStream(), "laptop", NODE, "one") == ""
    assert await copies.admit(StandingStream(), "desk", NODE, "two") == ONE_IS_A_COPY


async def test_a_restarted_node_takes_the_place_of_its_old_stream_on_which_nobody_answers() -> None:
    copies, old, new = NodeCopies(), StandingStream(alive=False), StandingStream()
    await copies.admit(old, "laptop", NODE, "one")
    assert await copies.admit(new, "laptop", NODE, "two") == ""
    assert "met anew" in old.hung_up
    assert copies.note(NODE) == ""
    assert await copies.admit(StandingStream(), "laptop", NODE, "one") == ONE_IS_A_COPY, "the old one wakes up"
    assert (old.asked, new.asked) == (1, 1)


async def test_other_nodes_and_the_same_process_again_are_not_asked_about() -> None:
    copies, first = NodeCopies(), StandingStream()
    await copies.admit(first, "laptop", NODE, "one")
    assert await copies.admit(StandingStream(), "desk", OTHER_NODE, "two") == ""
    assert await copies.admit(StandingStream(), "laptop", NODE, "one") == ""
    assert first.asked == 0


async def test_who_has_left_keeps_nobody_out() -> None:
    copies, first = NodeCopies(), StandingStream()
    await copies.admit(first, "laptop", NODE, "one")
    copies.leave(first)
    assert await copies.admit(StandingStream(), "laptop", NODE, "two") == ""
    assert first.asked == 0


async def test_of_two_that_come_at_once_while_the_old_one_is_asked_one_stays() -> None:
    gate = asyncio.Event()
    copies, old = NodeCopies(), StandingStream(alive=False, gate=gate)
    await copies.admit(old, "laptop", NODE, "one")
    coming = [asyncio.create_task(copies.admit(StandingStream(), "laptop", NODE, life)) for life in ("two", "three")]
    await asyncio.sleep(0)
    gate.set()
    assert sorted(await asyncio.gather(*coming)) == ["", ONE_IS_A_COPY]
