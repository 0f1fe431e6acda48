"""The operations that keep memories in order: each builds the Call that asks for it."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import upkeep_pb2


def anchor(id: str, reason: str = "", *, release: bool = False, wait: str = "") -> Call[values.Written]:
    """Keep a memory for good, for a stated reason, or `release` it.

    >>> client.anchor("018f6f0e", "The law asks for it.").memory.anchor
    'The law asks for it.'
    """
    fields = {"id": id, "reason": reason, "release": release, "wait": wait}
    return ask(upkeep_pb2, "Anchor", fields, values.Written, repeatable=True)


def validate(
    id: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    cursor: str = "",
) -> Call[values.Validation]:
    """Compare the files that a memory names, or the memories of spaces, with what they were at the time of writing.

    >>> for memory in client.validate(space="acme/api").memories:
    ...     print(memory.title, [(file.path, file.state) for file in memory.references])
    """
    fields = {"id": id, "spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(upkeep_pb2, "Validate", fields, values.Validation, repeatable=True)


def tidy(
    finding: str,
    action: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    stale_days: int | None = None,
    limit: int | None = None,
    dry_run: bool = True,
) -> Call[values.Tidied]:
    """Forget, or with action `archive` put aside, up to `limit` (1 to 200, default 20) memories that hygiene names as
    `finding`: idle, orphaned or stale. Only says which they are unless `dry_run` is False. Pinned ones stay.

    >>> client.tidy("idle", "archive", space="team/old").ids
    """
    fields = {"finding": finding, "action": action, "spaces": places(space, spaces), "stale_days": stale_days}
    fields |= {"limit": limit, "dry_run": dry_run}
    return ask(upkeep_pb2, "Tidy", fields, values.Tidied, repeatable=True)
