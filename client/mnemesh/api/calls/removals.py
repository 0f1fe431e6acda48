"""The operations that remove memories, many at once or for good. Each function builds the Call of one operation.
`forget`, which takes one memory out of use and can be undone, is among the writes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh.api.calls.options import ListOptions
from mnemesh_proto.v1 import memory_pb2


def bulk_forget(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    purge: bool = False,
    dry_run: bool = True,
    limit: int | None = None,
    **options: Unpack[ListOptions],
) -> Call[values.Bulk]:
    """Forget, or with `purge` erase for good, the memories that filters name, at most `limit` (1 to 200, default 20) a
    call. Only says which they are unless `dry_run` is False. Options: those of list. With the `cursor` of the last
    answer, a call goes on after that answer.

    >>> client.bulk_forget(space="team/old", tags_any=["stale"]).matched
    17
    >>> client.bulk_forget(space="team/old", tags_any=["stale"], dry_run=False, limit=200).ids
    """
    which = {"spaces": places(space, spaces), "limit": limit, **options}
    return ask(
        memory_pb2, "BulkForget", {"which": which, "purge": purge, "dry_run": dry_run}, values.Bulk, repeatable=True
    )


def joined(first: values.Bulk, later: values.Bulk) -> values.Bulk:
    """The sum of two calls with the same filters, the one after the other."""
    lists = ("ids", "refused", "pending", "backups", "not_told")
    sums: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(first, name), *getattr(later, name)))) for name in lists
    }
    return replace(first, cursor=later.cursor, **sums)
