"""Many memories at once: those that a listing names are forgotten or purged. Without being told to act, only counted.

One call takes in one page of the listing; what is left is said, so that a caller goes on until nothing is. Memories
that changed or went meanwhile are no error: each is judged by itself, as the operation on one memory judges it.
"""

from __future__ import annotations

import asyncio

from mnemesh_actors.parts import Parts
from mnemesh_actors.purging import Purging
from mnemesh_actors.writing import Writing
from mnemesh_memory import grants, validate
from mnemesh_memory.errors import MnemeshError
from mnemesh_memory.model import Caller, ListQuery, Page
from mnemesh_memory.removal import Bulk

# Commits of one call that wait for each other; the ledger groups what waits.
AT_ONCE = 32


class BulkForgetting:
    """The operation forget_many."""

    def __init__(self, parts: Parts, writing: Writing, purging: Purging) -> None:
        self._parts = parts
        self._writing = writing
        self._purging = purging

    async def forget_many(self, caller: Caller, query: ListQuery, *, purge: bool, dry_run: bool) -> Bulk:
        """Forget (or, with `purge`, erase for good) up to `query.limit` memories that `query` names; with `dry_run`
        only say which. Raises InvalidArgument, PermissionDenied for a space that the caller may not write."""
        clean = validate.list_query(query, caller)
        for space in clean.spaces:
            grants.require_space(caller, grants.WRITE, space)
        page: Page = await self._parts.ledger.page(clean)
        ids = tuple(memory.id for memory in page.memories)
        if dry_run:
            return Bulk(matched=page.total, ids=ids, dry_run=True)
        refused: list[tuple[str, str]] = []
        room = asyncio.Semaphore(AT_ONCE)

        async def one(id_: str) -> None:
            async with room:
                try:
                    if purge:
                        await self._purging.purge(caller, id_)
                    else:
                        await self._writing.forget(caller, id_)
                except MnemeshError as error:
                    refused.append((id_, error.message))

        await asyncio.gather(*(one(id_) for id_ in ids))
        bad = dict(refused)
        done = tuple(id_ for id_ in ids if id_ not in bad)
        return Bulk(matched=page.total, ids=done, dry_run=False, refused=tuple(sorted(bad.items())))
