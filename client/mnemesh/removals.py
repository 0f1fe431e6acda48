"""The operations that remove memories, many at once or for good: each builds the Call that asks for it. `forget`, which
takes one memory out of use and can be undone, is among the writes."""

from __future__ import annotations

from typing import Unpack

from mnemesh import removal_values
from mnemesh.call import Call, reading
from mnemesh.reads import MEMORY, ListOptions, Words, places
from mnemesh.wire import to_message
from mnemesh_proto.v1 import memory_pb2


def bulk_forget(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    purge: bool = False,
    dry_run: bool = True,
    limit: int | None = None,
    **options: Unpack[ListOptions],
) -> Call[removal_values.Bulk]:
    """Forget, or with `purge` erase for good, the memories that filters name, at most `limit` (1 to 200, default 20) a
    call; only says which they are unless `dry_run` is False. Options: those of list; with the `cursor` of the last
    answer a call goes on where that one ended.

    >>> client.bulk_forget(space="team/old", tags_any=["stale"]).matched
    17
    >>> client.bulk_forget(space="team/old", tags_any=["stale"], dry_run=False, limit=200).ids
    """
    which = {"spaces": places(space, spaces), "limit": limit, **options}
    return Call(
        rpc=MEMORY + "BulkForget",
        request=to_message(memory_pb2.BulkForgetRequest, {"which": which, "purge": purge, "dry_run": dry_run}),
        response=memory_pb2.BulkForgetResponse,
        read=reading(removal_values.Bulk),
        repeatable=True,
    )


def purge(id: str) -> Call[removal_values.Purged]:
    """Erase a memory for good: its text and every version, here and, as they sync, at every peer. Nothing brings it
    back; `forget` is the one that can be undone. Raises NotFound, PermissionDenied.

    >>> client.purge("018f6f0e").changes
    3
    """
    return Call(
        rpc=MEMORY + "Purge",
        request=to_message(memory_pb2.PurgeRequest, {"id": id}),
        response=memory_pb2.PurgeResponse,
        read=reading(removal_values.Purged),
        repeatable=False,
    )
