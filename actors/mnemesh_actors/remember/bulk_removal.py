"""Many memories at once: those that a listing names are forgotten or purged. Without being told to act, only counted.

One call takes in one page of the listing and says how many are left, so that a caller repeats until none is. A memory
that changed or went meanwhile is no error: each is judged by itself, as the operation on one memory does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.purge import Purging
from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.access import grants
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Caller, ListQuery, Page
from mnemesh_memory.values.removal import Bulk

# Commits of one call that run at once. The ledger groups them.
AT_ONCE = 32


class BulkForgetting:
    """The operation bulk_forget."""

    def __init__(self, parts: NodePorts, writing: Writing, purging: Purging) -> None:
        self._parts = parts
        self._writing = writing
        self._purging = purging

    async def bulk_forget(self, caller: Caller, query: ListQuery, *, purge: bool, dry_run: bool) -> Bulk:
        """Forget up to `query.limit` memories that `query` names, or erase them for good with `purge`. With `dry_run`
        only list them, and the memories that the caller may not erase. Raises InvalidArgument, PermissionDenied for a
        space that the caller may not write."""
        # "Active" means active now. Memories that were active only at `valid_at` are history.
        clean = replace(request_checks.list_query(query, caller), active_now=True)
        for space in clean.spaces or (caller.private_space,):  # a right to write in one space holds in all of them
            grants.require_space(caller, grants.WRITE, space)
        page = await self._parts.ledger.page(clean)
        left_out = 0
        if purge and clean.state == "active":
            whole = await self._parts.ledger.page(replace(clean, state="all", limit=1, cursor=""))
            left_out = max(0, whole.total - page.total)
        refused: dict[str, str] = {}
        if dry_run:
            if purge:
                refused = await self._purging.refused(caller, [memory.id for memory in page.memories])
            return replace(_told(caller, page, refused, purge=purge, dry_run=True), left_out=left_out)
        pending: set[str] = set()
        room = asyncio.Semaphore(AT_ONCE)

        async def one(id_: str) -> None:
            async with room:
                try:
                    if purge:
                        pending.update((await self._purging.purge(caller, id_)).pending)
                    else:
                        await self._writing.forget(caller, id_)
                except MnemeshError as error:
                    refused[id_] = error.message

        await asyncio.gather(*(one(memory.id) for memory in page.memories))
        return replace(
            _told(caller, page, refused, purge=purge, dry_run=False), pending=tuple(sorted(pending)), left_out=left_out
        )


def _told(caller: Caller, page: Page, refused: Mapping[str, str], *, purge: bool, dry_run: bool) -> Bulk:
    going = (memory for memory in page.memories if purge or memory.state != "forgotten")
    memories = [memory for memory in going if memory.id not in refused]
    return Bulk(
        matched=page.total,
        ids=tuple(memory.id for memory in memories),
        dry_run=dry_run,
        refused=tuple(sorted(refused.items())),
        spaces=tuple(sorted({memory.space for memory in memories})),
        others=tuple(sorted({one.space for one in memories if grants.principal_of(one.by) != caller.principal})),
        oldest=min((memory.created_at for memory in memories), default=0),
        cursor=page.cursor,
    )
