"""All checks, in the order in which a person would look.

A check takes an `ExaminedNode` and gives findings. None but remarks means healthy. Nothing is written, and no lock is
taken that a node could want. The engines (Automerge, Edge, the model) are not imported: a broken engine would stop the
doctor too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mnemesh_gateway.doctor import alarm_checks, directory_checks, process_checks, qdrant
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding

CHECKS: tuple[Callable[[ExaminedNode], Iterator[DoctorFinding]], ...] = (
    directory_checks.data_directory,
    directory_checks.disk,
    directory_checks.manifest,
    directory_checks.owner_token,
    directory_checks.agents,
    directory_checks.peers,
    directory_checks.toolsets,
    process_checks.no_node,
    process_checks.node_file,
    process_checks.running_node,
    process_checks.degraded_node,
    process_checks.peers,
    process_checks.ports,
    process_checks.exposure,
    directory_checks.model,
    directory_checks.ledger,
    alarm_checks.unacknowledged,
    alarm_checks.missing_entries,
    directory_checks.index,
    directory_checks.transcripts,
    qdrant.server,
)


def examine(examined: ExaminedNode) -> list[DoctorFinding]:
    """The findings of all checks, in order. Of a directory out of sight that alone."""
    if unseen := list(directory_checks.out_of_sight(examined)):
        return unseen
    return [finding for check in CHECKS for finding in check(examined)]
