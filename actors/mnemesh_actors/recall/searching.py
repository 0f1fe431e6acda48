"""Searches that come while the index works go to it together in the next call, as one batched query."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.index.shard import Search
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

# An index in this process holds the interpreter while it answers: so many questions are some 10 to 50 ms.
SEARCHES_A_CALL_MAX: Final = 8
LATE: Final = "it has not answered in time"


class Searching:
    """The searches of a node. A call that takes longer than `call_timeout_s` is given up, for all who wait for it, and
    the index counts as away until it was found again."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._follower: IndexFollower | None = None
        self._batcher: Batcher[Search, Candidates] | None = None

    async def ask(self, follower: IndexFollower, search: Search) -> Candidates:
        """What the index behind `follower` finds. Raises what RetrievalShard.search and IndexFollower.read raise."""
        if follower.away:
            raise Unavailable(follower.away, part="index")
        if self._batcher is None or self._follower is not follower:

            async def call(searches: list[Search]) -> Sequence[Candidates | Exception]:
                try:
                    async with asyncio.timeout(self._call_timeout_s):
                        return await _found(follower, searches)
                except TimeoutError:
                    late = Unavailable(LATE, part="index")
                    follower.went_away(late)
                    raise late from None

            self._follower = follower
            self._batcher = Batcher("index", call, SEARCHES_A_CALL_MAX, limits.INBOX_MESSAGES_MAX)
        return await self._batcher.submit(search)


async def _found(follower: IndexFollower, searches: Sequence[Search]) -> Sequence[Candidates | Exception]:
    if len(searches) > 1:
        try:
            found: list[Candidates] = await follower.read(lambda shard: shard.search_batch(searches))
            return found
        except InvalidArgument:
            pass  # one of them is at fault, and only who asked it is told
    return [await _alone(follower, search) for search in searches]


async def _alone(follower: IndexFollower, search: Search) -> Candidates | Exception:
    try:
        found: Candidates = await follower.read(lambda shard: shard.search(search))
    except InvalidArgument as error:
        return error
    return found
