"""The names under which a ledger keeps its cursors in the feeds of another ledger of its node."""

from __future__ import annotations

import sqlite3
from typing import Final

_REPLICA: Final = "*replica:"  # no token bears a name with a star


def cursor_name(node_id: str) -> str:
    """The name of a ledger's cursors in the feeds of another ledger of its node."""
    return f"{_REPLICA}{node_id}"


def twin_of(peer: str) -> str:
    """The id of the ledger of this node with cursors under that name, "" for a peer's."""
    return peer.removeprefix(_REPLICA) if peer.startswith(_REPLICA) else ""


def twins(db: sqlite3.Connection) -> list[str]:
    """The ids of the other ledgers of this node, present and former, that brought anything here."""
    # In the order of SQLite's texts ";" is what follows ":".
    rows = db.execute(
        "SELECT DISTINCT substr(peer, ?) FROM peer_cursor WHERE peer >= ? AND peer < ?",
        (len(_REPLICA) + 1, _REPLICA, _REPLICA[:-1] + ";"),
    )
    return [str(node) for (node,) in rows]
