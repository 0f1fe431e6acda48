"""The operations that read memories by name or page. Each function builds the Call of one operation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time, Words, places
from mnemesh.api.wire import to_message, to_value
from mnemesh_proto.v1 import memory_pb2

# A whole node may be streamed; it ends earlier when the connection breaks.
EXPORT_TIMEOUT_S: Final = 3600.0


def get(
    id: str,
    *,
    include_forgotten: bool = False,
    space: Words | None = None,
    spaces: Words | None = None,
    as_of: Time | None = None,
) -> Call[values.Memory]:
    """The memory with this id, unique id prefix (6 characters or more) or title, with `as_of` as it was recorded then.
    Raises NotFound.

    >>> client.get("018f6f0e").content
    """
    fields = {"ids": (id,), "include_forgotten": include_forgotten, "spaces": places(space, spaces), "as_of": as_of}
    return ask(memory_pb2, "Get", fields, _memory, repeatable=True)


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


def _memory(response: memory_pb2.GetResponse | memory_pb2.ExportResponse) -> values.Memory:
    return to_value(response.memory, values.Memory)


def export(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    include_forgotten: bool = False,
    include_superseded: bool = False,
    tags_any: Words | None = None,
    kinds: Words | None = None,
    since: Time | None = None,
    before: Time | None = None,
) -> Call[values.Memory]:
    """Every memory with all fields, one by one in ledger order, as a stream. Without spaces, all that the caller may
    see. With filters only those that were created in this time, have one of the tags, or are of one of the kinds. A
    broken connection raises; nothing is asked for twice.

    >>> texts = [memory.content for memory in client.export(space="team/payments")]
    """
    states = {"include_forgotten": include_forgotten, "include_superseded": include_superseded}
    filters = {"tags_any": tags_any, "kinds": kinds, "since": since, "before": before}
    fields = {"spaces": places(space, spaces), **states, **filters}
    return ask(memory_pb2, "Export", fields, _memory, repeatable=False, timeout_s=EXPORT_TIMEOUT_S)
