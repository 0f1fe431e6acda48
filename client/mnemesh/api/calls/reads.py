"""The operation that reads many memories by name, and how answers that are no value by themselves are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time, Words, places
from mnemesh.api.wire import to_message, to_value
from mnemesh_proto.v1 import memory_pb2, watch_pb2


def get_many(
    ids: Iterable[str],
    *,
    include_forgotten: bool = False,
    space: Words | None = None,
    spaces: Words | None = None,
    as_of: Time | None = None,
) -> Call[values.Found]:
    """Up to 200 memories by id, unique id prefix or title, in the order asked, with `as_of` as they were recorded then.
    `missing` names the others, be it all of them.

    >>> found = client.get_many(["018f6f0e", "Deploys run from CI"])
    """
    fields = {"ids": ids, "include_forgotten": include_forgotten, "spaces": places(space, spaces), "as_of": as_of}
    request = to_message(memory_pb2.GetRequest, fields)
    absent = values.Found(memory=None, memories=(), missing=tuple(request.ids))
    return ask(memory_pb2, "Get", request, values.Found, repeatable=True, absent=absent)


def memory_of(response: memory_pb2.GetResponse | memory_pb2.ExportResponse) -> values.Memory:
    """The memory of an answer that holds one."""
    return to_value(response.memory, values.Memory)


def change_of(response: watch_pb2.WatchResponse) -> values.Change:
    """A message about a change, without the fields of the stream's own messages."""

    def change(*, spaces: object, reason: object, **fields: Any) -> values.Change:
        return values.Change(**fields)

    return to_value(response, change)
