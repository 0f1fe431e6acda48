"""The state of exchange with other nodes at the last contact, for a person before the first contact after a start.

Nothing is decided by it. The durable cursor already says how far a node was read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.values import limits

DAY_MS = 86_400_000
# Of the table, as the fields of a Contact.
_COLUMNS: Final = ("peer", "heard", "caught_up", "head_in", "target", "direction", "auth", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """`peer` is the name of its cursors: the principal of its token, or nothing for a node called from here, then a
    colon and the node's id. `heard` is the time of its last word. `caught_up` is when both sides last had everything,
    None for never (ms). `cursor_out` is how far the peer has the own log. `cursor_in` is how far its log, which ends at
    `head_in`, is read."""

    peer: str
    heard: int
    caught_up: int | None
    cursor_out: int
    head_in: int
    target: str
    direction: str
    spaces: tuple[str, ...]
    auth: str
    error: str
    cursor_in: int = 0


def known(db: sqlite3.Connection, incarnation: str, now: int) -> list[Contact]:
    """Of all nodes that were heard of within PEER_CONTACT_DAYS of `now` (ms), the latest first. The own log is
    `incarnation`: what a node has read of an earlier one counts as nothing."""
    rows = db.execute(
        f"SELECT {', '.join(_COLUMNS)}, spaces, iif(incarnation = ?, cursor_out, 0), "
        # A repair counts batches of one stream, and its feed says nothing of the log.
        "coalesce((SELECT seq FROM peer_cursor c WHERE c.peer = p.peer AND c.incarnation NOT LIKE '%/repair' "
        "ORDER BY c.at DESC, c.seq DESC LIMIT 1), 0) "
        "FROM peer_contact p WHERE heard >= ? ORDER BY heard DESC, peer LIMIT ?",
        (incarnation, now - limits.PEER_CONTACT_DAYS * DAY_MS, limits.PEER_CONTACTS_MAX),
    )
    return [
        Contact(
            **dict(zip(_COLUMNS, row, strict=False)), spaces=tuple(json.loads(spaces)), cursor_out=out, cursor_in=in_
        )
        for *row, spaces, out, in_ in rows
    ]


def keep(db: sqlite3.Connection, heard: Sequence[Contact], incarnation: str, now: int) -> None:
    """Note these. Forget who was not heard of for PEER_CONTACT_DAYS, and more than PEER_CONTACTS_MAX."""
    db.executemany(
        f"INSERT OR REPLACE INTO peer_contact ({', '.join(_COLUMNS)}, spaces, cursor_out, incarnation) "
        f"VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})",
        [
            (*(getattr(peer, name) for name in _COLUMNS), json.dumps(peer.spaces), peer.cursor_out, incarnation)
            for peer in heard
        ],
    )
    db.execute(
        "DELETE FROM peer_contact WHERE heard < ? OR peer NOT IN "
        "(SELECT peer FROM peer_contact ORDER BY heard DESC, peer LIMIT ?)",
        (now - limits.PEER_CONTACT_DAYS * DAY_MS, limits.PEER_CONTACTS_MAX),
    )


def forget(db: sqlite3.Connection, peers: Sequence[str]) -> None:
    """Know nothing more of these, by the names of their cursors."""
    db.executemany("DELETE FROM peer_contact WHERE peer = ?", [(peer,) for peer in peers])
