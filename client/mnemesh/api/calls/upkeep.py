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
