"""What `mnemesh sync now` ends with, so that a script can go on only when everything is exchanged."""

from __future__ import annotations

from typing import Any

import pytest

from mnemesh.cli.peers import _line, exit_status
from mnemesh.peer_values import PeerStatus


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
