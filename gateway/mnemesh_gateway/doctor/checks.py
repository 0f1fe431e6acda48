"""All checks, in the order in which a person would look.

A check takes a `Place` and gives findings; none but remarks means healthy. Nothing is written, no lock is taken that
a node could want, and the engines (Automerge, Edge, the model) are not imported: a broken one would stop the doctor
too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mnemesh_gateway.doctor import alarms, directory, process, qdrant
from mnemesh_gateway.doctor.installation import Finding
from mnemesh_gateway.doctor.place import Place

CHECKS: tuple[Callable[[Place], Iterator[Finding]], ...] = (
    directory.data_directory,
    directory.disk,
    directory.manifest,
    directory.owner_token,
    directory.agents,
    directory.peers,
    directory.toolsets,
    process.no_node,
    process.node_file,
    process.running_node,
    process.degraded_node,
    process.differing_peers,
    process.ports,
    process.exposure,
    directory.model,
    directory.ledger,
    alarms.unacknowledged,
    alarms.missing_entries,
    directory.index,
    directory.transcripts,
    qdrant.server,
)


def examine(place: Place) -> list[Finding]:
    """The findings of all checks, in order; of a directory out of sight that alone."""
    if unseen := list(directory.out_of_sight(place)):
        return unseen
    return [finding for check in CHECKS for finding in check(place)]
