"""Checks for harm to the ledger's data: alarms that nobody has acknowledged, and missing entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.incarnation import known_as, mark_of
from mnemesh_actors.ledger.store.schema import read_only, version_of
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_gateway.doctor.process_checks import is_locked
from mnemesh_proto.rendezvous import LOCK_FILE


def unacknowledged(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """Alarms stay findings until a person acknowledges them."""
    for alarm in alarms.read(examined.ledger.parent):
        yield DoctorFinding(
            "data", alarm, f"once you have read it: mnemesh doctor --acknowledge --data {examined.data_dir}"
        )  # fmt: skip


def missing_entries(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The mark of the last commit, before a start of the node compares it."""
    runs = examined.node is not None and is_locked(examined.data_dir / LOCK_FILE)  # a pid alone may be another's
    if runs or not version_of(examined.ledger):
        return  # a node that runs has compared it, and commits right now
    try:
        incarnation, reached = mark_of(examined.ledger.with_suffix(".head").read_bytes())
        with closing(read_only(examined.ledger)) as db:
            last = int(db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0])
            known = known_as(db)
    except (OSError, sqlite3.DatabaseError):
        return  # no mark was written yet, or the ledger's own check says what is wrong
    if known == incarnation and last < reached:
        yield DoctorFinding(
            "data",
            f"{reached - last} entries are lost: {examined.ledger} ends at {last}, and {reached} were committed",
            "restore a backup, or start the node: its peers bring back the entries that they hold, "
            "and the index is made anew",
        )


def acknowledge(data_dir: Path) -> int:
    """Remove the alarms of a directory. Their number comes back. Raises OSError."""
    return alarms.acknowledge(data_dir / "ledger")
