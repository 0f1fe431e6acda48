"""The operation that watches spaces."""

from __future__ import annotations

from typing import Any

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh.api.wire import to_value
from mnemesh_proto.v1 import watch_pb2


def watch(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    kinds: Words | None = None,
    not_agent: str = "",
    cursor: str = "",
    from_start: bool = False,
    include_content: bool = False,
) -> Call[values.Change]:
    """Every change of the spaces as it happens, in the order of the node's log and at least once. The iterator goes on
    by itself after a broken connection or a restart of the node. It gives up after `timeout_s` without a node.

    Without `cursor` it tells future changes, with one the changes after it, with `from_start` all changes first.
    `kinds` filters; `not_agent` leaves out what that agent wrote, such as your own writes (`client.whoami().agent`);
    `include_content` gives the texts too.

    >>> with client.watch(space="team/payments", cursor=kept) as changes:
    ...     for change in changes:
    ...         kept = change.cursor
    """
    which = {"spaces": places(space, spaces), "kinds": kinds, "not_agent": not_agent}
    how = {"cursor": cursor, "from_start": from_start, "include_content": include_content}
    return ask(watch_pb2, "Watch", {**which, **how}, _changed, repeatable=True)


def _changed(response: watch_pb2.WatchResponse) -> values.Change:
    """A message about a change, without the fields of the stream's own messages."""

    def change(*, spaces: object, reason: object, **fields: Any) -> values.Change:
        return values.Change(**fields)

    return to_value(response, change)
