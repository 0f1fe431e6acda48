"""What `mnemesh sync now` ends with, so that a script can go on only when everything is exchanged."""

from __future__ import annotations

from typing import Any

import pytest

from mnemesh.cli.peers import _added, _line, exit_status
from mnemesh.peer_values import AddedPeer, PeerStatus
from mnemesh_gateway.sync_channel import last_cause


def peer(**fields: Any) -> PeerStatus:
    usual: dict[str, Any] = {
        "name": "hub", "incoming": False, "target": "hub:7433", "direction": "both", "spaces": ("*",), "node_id": "",
        "state": "connected", "caught_up": True, "pending_out": 0, "pending_in": 0, "cursor_out": 1, "cursor_in": 1,
        "last_contact": None, "last_error": "", "attempts": 0, "auth": "accepted", "lag_s": 0.0, "comparing": False,
        "effective_direction": "both", "only_by": "", "not_taken": 0,
    }  # fmt: skip
    return PeerStatus(**{**usual, **fields})


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


def test_a_peer_that_takes_less_than_its_direction_says_so_in_its_line() -> None:
    usual = "-> hub  hub:7433  both  *  connected: caught up; never heard"
    assert _line(peer()) == usual
    less = peer(effective_direction="pull", not_taken=7)
    expected = "-> hub  hub:7433  both (pull by its token)  *  connected: caught up; not taken there: 7; never heard"
    assert _line(less) == expected
    assert "both (only by ana)  *" in _line(peer(only_by="ana"))


def test_a_peer_that_is_not_reached_is_said_to_be_kept_and_how_to_take_it_away() -> None:
    away = peer(name="hub-7433", state="offline", caught_up=False, last_error="hub:7433: Connection refused")
    assert list(_added(AddedPeer(peer=away, note=""))) == [
        "hub-7433 is kept as a peer, but is not reached now (hub:7433: Connection refused); it is called again by "
        "itself. `mnemesh peer remove hub-7433` takes it away"
    ]
    assert list(_added(AddedPeer(peer=peer(), note="so"))) == [_line(peer()), "note: so"]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:44763: Failed to connect to "
            "remote host: Connection refused",
            "Connection refused",
        ),
        (
            "errors resolving no.invalid:7433: [field:hostname lookup error:address lookup failed for no.invalid:7433: "
            "Domain name not found]",
            "Domain name not found",
        ),
        ("the node is stopping: come back", "the node is stopping: come back"),
    ],
)
def test_of_grpcs_own_words_the_cause_is_told_and_a_peers_words_are_left_as_they_are(words: str, cause: str) -> None:
    assert last_cause(words) == cause
