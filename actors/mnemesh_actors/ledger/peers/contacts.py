"""How it stood with other nodes when they were last heard: what a person is shown before the first contact after a
start.

Nothing is decided by it. What was read of a node is not kept here a second time: its durable cursor says so.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from mnemesh_memory.values import limits

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """`peer` is the name of its cursors: the principal of its token, or nothing for a node that this one calls, then a
    colon and the node's id. `heard` is when it last said anything, `caught_up` when both sides last had all that the
    other had for them, None for never (ms). `cursor_out` is how far it has the own log, `cursor_in` of its log, which
    ends at `head_in`, is read."""

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
        "SELECT peer, heard, caught_up, incarnation, cursor_out, head_in, target, direction, spaces, auth, error, "
        # A repair counts batches of one stream; its feed says nothing of the log.
        "(SELECT seq FROM peer_cursor c WHERE c.peer = p.peer AND c.incarnation NOT LIKE '%/repair' "
        "ORDER BY c.at DESC, c.seq DESC LIMIT 1) "
        "FROM peer_contact p WHERE heard >= ? ORDER BY heard DESC, peer LIMIT ?",
        (now - limits.PEER_CONTACT_DAYS * DAY_MS, limits.PEER_CONTACTS_MAX),
    )
    return [
        Contact(
            peer=peer,
            heard=heard,
            caught_up=caught_up,
            cursor_out=cursor_out if of == incarnation else 0,
            head_in=head_in,
            target=target,
            direction=direction,
            spaces=tuple(json.loads(spaces)),
            auth=auth,
            error=error,
            cursor_in=cursor_in or 0,
        )
        for peer, heard, caught_up, of, cursor_out, head_in, target, direction, spaces, auth, error, cursor_in in rows
    ]


def keep(db: sqlite3.Connection, found: Sequence[Contact], incarnation: str, now: int) -> None:
    """Note these; forget who was not heard of for PEER_CONTACT_DAYS, and more than PEER_CONTACTS_MAX."""
    db.executemany(
        "INSERT OR REPLACE INTO peer_contact VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(one.peer, one.heard, one.caught_up, incarnation, one.cursor_out, one.head_in, one.target),
                *(one.direction, json.dumps(one.spaces), one.auth, one.error),
            )
            for one in found
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
