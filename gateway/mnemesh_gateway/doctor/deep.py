"""`mnemesh doctor --deep`: the view of the ledger beside its log, memory by memory.

Loads documents and changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from mnemesh_actors.ledger.integrity.scrub import ViewComparison
from mnemesh_actors.ledger.store.faults import salvage_advice
from mnemesh_actors.ledger.store.schema import MIGRATIONS, read_only, version_of
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_memory.values.errors import count_of

SHOWN_MAX: Final = 8


def view(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """What differs. An older format has no checksums yet, and a start makes them."""
    version = version_of(examined.ledger)
    if not version:
        return
    if version != len(MIGRATIONS):
        yield DoctorFinding(
            "view", f"{examined.ledger} has format {version}, which can't be compared",
            "start the node once (`mnemesh up`): it brings the ledger to the present format", remark=True,
        )  # fmt: skip
        return
    try:
        with closing(read_only(examined.ledger)) as db:
            comparison = ViewComparison(db)
            damaged, (entries, rows) = list(comparison.damaged()), comparison.counts()
    except sqlite3.DatabaseError as error:
        yield DoctorFinding(
            "view", f"{examined.ledger} can't be read to its end ({error})",
            "start the node: a start makes the view anew from the log. Where that fails, restore a backup, or "
            f"{salvage_advice(examined.ledger)}",
        )  # fmt: skip
        return
    if damaged:
        named = "; ".join(f"{id_}: {why}" for id_, why in damaged[:SHOWN_MAX])
        more = f"; {len(damaged) - SHOWN_MAX} more" if len(damaged) > SHOWN_MAX else ""
        yield DoctorFinding(
            "view", f"{count_of(len(damaged), 'memory')} damaged on disk ({named}{more})",
            "read one of them, or leave the node running, which makes the view anew from the log. Where the log is "
            "damaged, `mnemesh sync now` brings back what a peer holds. Otherwise restore a backup, or "
            f"{salvage_advice(examined.ledger)}",
        )  # fmt: skip
    else:
        checked = f"{count_of(entries, 'entry')} of the log and {count_of(rows, 'row')} of the view"
        yield DoctorFinding("view", f"{checked} were compared, and agree", "nothing is to be done", remark=True)
