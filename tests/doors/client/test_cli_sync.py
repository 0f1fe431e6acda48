"""The exit status of `mnemesh sync now`, by which a script goes on only when everything is exchanged."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from client_support import value
from grpc.aio import AioRpcError, Metadata

from mnemesh.api.values.peers import AddedPeer, PeerStatus
from mnemesh.cli.commands.node.peers import _added, _line, exit_status, goes_on
from mnemesh_gateway.contract.status import DETAILS_KEY
from mnemesh_gateway.peers.sync_channel import DialedChannel, broken
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.errors import Unauthenticated


def peer(**fields: Any) -> PeerStatus:
    usual = {
        "name": "hub", "target": "hub:7433", "direction": "both", "effective_direction": "both", "spaces": ("*",),
        "state": "connected", "caught_up": True, "cursor_out": 1, "cursor_in": 1, "auth": "accepted", "lag_s": 0.0,
    }  # fmt: skip
    return value(PeerStatus, **usual | fields)


@pytest.mark.parametrize(
    ("peers", "status"),
    [
        ([], 0),
        ([{}, {}], 0),
        ([{}, {"state": "offline"}], 3),
        ([{"state": "connecting"}], 3),
        ([{"caught_up": False}], 3),
        ([{"comparing": True}], 3),
        ([{"state": "offline"}, {"state": "refused"}], 4),
    ],
)
def test_sync_now_ends_well_only_when_every_peer_has_everything(peers: list[dict[str, Any]], status: int) -> None:
    assert exit_status(peer(**one) for one in peers) == status


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({}, False),
        ({"caught_up": False}, True),
        ({"comparing": True}, True),
        ({"state": "connecting", "caught_up": False}, True),
        ({"state": "offline", "caught_up": False}, False),
        ({"state": "refused", "caught_up": False}, False),
    ],
)
def test_sync_now_waits_also_for_a_peer_that_is_being_called(fields: dict[str, Any], waits: bool) -> None:
    assert goes_on(peer(**fields)) is waits


def test_a_peer_that_takes_less_than_its_direction_says_so_in_its_line() -> None:
    assert _line(peer()) == "-> hub  hub:7433  both  *  connected: caught up; never heard"
    less = peer(effective_direction="pull", not_taken=7)
    expected = "-> hub  hub:7433  both (pull by its token)  *  connected: caught up; not taken there: 7; never heard"
    assert _line(less) == expected
    assert "both (only by ana)  *" in _line(peer(only_by="ana"))


def test_a_peer_that_does_not_agree_after_a_comparison_says_in_how_many_memories() -> None:
    for count, words in ((1, "1 memory"), (3, "3 memories")):
        line = _line(peer(differs=count))
        assert f"; differs in {words} after a comparison: `mnemesh sync quarantine` on both nodes" in line


def test_what_is_pending_is_a_bound_because_entries_that_are_never_given_are_counted_too() -> None:
    assert "offline: up to 3 to give, 0 to take" in _line(peer(state="offline", caught_up=False, pending_out=3))


def test_a_peer_that_is_not_reached_is_said_to_be_kept_and_how_to_take_it_away() -> None:
    away = peer(
        name="hub-7433", state="offline", caught_up=False, last_error="no node answers at hub:7433: Connection refused"
    )
    assert list(_added(AddedPeer(peer=away, note=""))) == [
        "hub-7433 is kept as a peer, but is not reached now (no node answers at hub:7433: Connection refused); it is "
        "called again by itself. `mnemesh peer remove hub-7433` takes it away"
    ]
    assert list(_added(AddedPeer(peer=peer(), note="so"))) == [_line(peer()), "note: so"]


HUB = "hub:7433"


@pytest.mark.parametrize(
    ("code", "words", "told"),
    [
        (
            "UNAVAILABLE",
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:44763: Failed to connect to "
            "remote host: Connection refused",
            "no node answers at hub:7433: Connection refused",
        ),
        (
            "UNAVAILABLE",
            "errors resolving no.invalid:7433: [field:hostname lookup error:address lookup failed for no.invalid:7433: "
            "Domain name not found]",
            "no node answers at hub:7433: Domain name not found",
        ),
        (
            "UNAVAILABLE",
            "failed to connect to all addresses; last error: INTERNAL: ipv4:127.0.0.1:34977: Failed parsing HTTP/2 "
            "(Expected SETTINGS frame as the first frame, got frame type 80) (Trying to connect an http1.x server "
            "(HTTP status 400))",
            "hub:7433 is not the gRPC address of a node, which usually has the port 7433",
        ),
        (
            "UNIMPLEMENTED",
            "Method not found!",
            "hub:7433 is not the gRPC address of a node, which usually has the port 7433",
        ),
        (
            "UNAVAILABLE",
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:39205: connection attempt timed "
            "out before receiving SETTINGS frame",
            "hub:7433 takes the connection and says nothing",
        ),
        ("UNAVAILABLE", "keepalive watchdog timeout", "hub:7433 takes the connection and says nothing"),
        ("UNAVAILABLE", "Stream removed (recvmsg:Connection reset by peer (104))", "the connection to hub:7433 broke"),
        ("UNAVAILABLE", "Cancelling all calls", "the connection to hub:7433 broke"),
        ("UNKNOWN", "Unexpected <class 'ValueError'>: x", "hub:7433: Unexpected <class 'ValueError'>: x"),
    ],
)
def test_what_grpc_says_of_a_peer_is_told_in_our_words(code: str, words: str, told: str) -> None:
    assert broken(HUB, grpc.StatusCode[code], words) == told


def dialed(monkeypatch: pytest.MonkeyPatch) -> DialedChannel:
    channel = DialedChannel.__new__(DialedChannel)
    monkeypatch.setattr(channel, "_target", HUB, raising=False)
    return channel


def test_what_a_peer_itself_says_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said = AioRpcError(
        grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata((DETAILS_KEY, b"")), "the node is stopping: come back"
    )
    assert dialed(monkeypatch)._explained(said).message == "hub:7433: the node is stopping: come back"


def test_a_peer_that_does_not_know_the_token_is_not_told_of_in_the_words_of_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unauthenticated) as wrong:
        Authenticator("the owner's").authenticate({})
    said = AioRpcError(grpc.StatusCode.UNAUTHENTICATED, Metadata(), Metadata(), wrong.value.message)
    channel = dialed(monkeypatch)
    told = "hub:7433 refuses the token: missing or wrong token; `mnemesh agent add` there issues one"
    assert channel._explained(said).message == told
    assert channel.refused == told
