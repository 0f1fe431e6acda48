"""The operation seed_project as a Call."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import seed_pb2


def seed_project(dir: str, *, space: str = "", dry_run: bool = False) -> Call[values.SeededProject]:
    """Store the first memories of the project in `dir`, an absolute path on the node's machine.

    >>> [(seed.topic, seed.action) for seed in client.seed_project("/srv/api", dry_run=True).seeds]
    [('overview', 'add'), ('stack', 'add')]
    """
    return ask(
        seed_pb2, "SeedProject", {"dir": dir, "space": space, "dry_run": dry_run}, values.SeededProject, repeatable=True
    )
