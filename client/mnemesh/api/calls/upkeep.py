"""The operations that keep memories in order: each builds the Call that asks for it."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import upkeep_pb2


def anchor(id: str, reason: str = "", *, release: bool = False, wait: str = "") -> Call[values.Written]:
    """Keep a memory for good, for a stated reason, or `release` it.

    >>> client.anchor("018f6f0e", "The law asks for it.").memory.anchor
    'The law asks for it.'
    """
    fields = {"id": id, "reason": reason, "release": release, "wait": wait}
    return ask(upkeep_pb2, "Anchor", fields, values.Written, repeatable=True)
