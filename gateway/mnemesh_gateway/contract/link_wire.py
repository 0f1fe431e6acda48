"""Links and ratings as messages; beside wire.py, which has the memories that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_memory.values.memory_links import Linked, Rated
from mnemesh_proto.v1 import link_pb2, memory_pb2


def linked(ends: Sequence[Linked]) -> list[memory_pb2.Linked]:
    """What is at the other ends of links."""
    return [
        memory_pb2.Linked(
            type=end.type,
            direction=end.direction,
            id=end.id,
            title=end.title,
            space=end.space,
            kind=end.kind,
            state=end.state,
            snippet=end.snippet,
        )
        for end in ends
    ]


def rate_response(rated: Sequence[Rated]) -> link_pb2.RateResponse:
    """What became of ratings."""
    return link_pb2.RateResponse(
        rated=[
            link_pb2.RatedMemory(id=one.id, useful=one.useful, not_useful=one.not_useful, changed=one.changed)
            for one in rated
        ]
    )
