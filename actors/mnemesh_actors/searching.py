"""Searches that come while the index works go to it together in the next call, as one batched query."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from mnemesh_actors.batching import Batcher
from mnemesh_actors.follower import IndexFollower
from mnemesh_actors.shard import Search
from mnemesh_memory import limits
from mnemesh_memory.errors import Unavailable
from mnemesh_memory.ranking import Candidates

# An index in this process holds the interpreter while it answers: so many questions are some 10 to 50 ms.
SEARCHES_A_CALL_MAX: Final = 8


class Searching:
    """The searches of a node. A call that takes longer than `call_timeout_s` is given up, for all who wait for it."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._follower: IndexFollower | None = None
        self._batcher: Batcher[Search, Candidates] | None = None

    async def ask(self, follower: IndexFollower, search: Search) -> Candidates:
        """What the index behind `follower` finds. Raises TimeoutError, and what RetrievalShard.search and
        IndexFollower.read raise."""
        if follower.away:
            raise Unavailable(follower.away, part="index")
        if self._batcher is None or self._follower is not follower:

            async def call(searches: list[Search]) -> Sequence[Candidates]:
                async with asyncio.timeout(self._call_timeout_s):
                    if len(searches) == 1:
                        return [await follower.read(lambda shard: shard.search(searches[0]))]
                    found: list[Candidates] = await follower.read(lambda shard: shard.search_batch(searches))
                    return found

            self._follower = follower
            self._batcher = Batcher("index", call, SEARCHES_A_CALL_MAX, limits.INBOX_MESSAGES_MAX)
        return await self._batcher.submit(search)
