"""Searches of the index, and the work of a recall that needs no vector yet.

Searches that arrive while the index works go together in the next call, as one batched query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.index.shard import Search
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.fusion import coverage
from mnemesh_memory.text.text import marks
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, Unavailable
from mnemesh_memory.values.model import Query

# An index in this process holds the interpreter while it answers: so many questions are some 10 to 50 ms.
SEARCHES_A_CALL_MAX: Final = 8
# The model runs for some milliseconds without the interpreter, but needs the interpreter for its tokens first. Work
# that starts earlier than this delays the answer.
MODEL_BEGINS_S: Final = 0.001
LATE: Final = "it has not answered in time"


class Searching:
    """The searches of a node. A call beyond `call_timeout_s` is given up for all its callers, and the index counts as
    away until it answers again."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._follower: IndexFollower | None = None
        self._batcher: Batcher[Search, Candidates] | None = None

    async def ask(self, follower: IndexFollower, search: Search) -> Candidates:
        """The candidates of the index behind `follower`. Raises what RetrievalShard.search and IndexFollower.read
        raise."""
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


async def look_ahead(follower: IndexFollower, search: Search, query: Query) -> None:
    """While the model embeds: count the words of `search` in the index, and read the question as fusion, coverage and
    snippets will. All of them cache their reading. An error here shows again in the search itself, which raises it."""
    await asyncio.sleep(MODEL_BEGINS_S)
    with suppress(MnemeshError):
        await follower.read(lambda shard: shard.prepare(search))
    question_of(query.text, query.window)
    coverage(query.about or query.text, ())
    marks("", query.text)


async def _found(follower: IndexFollower, searches: Sequence[Search]) -> Sequence[Candidates | Exception]:
    if len(searches) > 1:
        try:
            found: list[Candidates] = await follower.read(lambda shard: shard.search_batch(searches))
            return found
        except InvalidArgument:
            pass  # one of them is at fault, and only its own caller hears so
    return [await _alone(follower, search) for search in searches]


async def _alone(follower: IndexFollower, search: Search) -> Candidates | Exception:
    try:
        found: Candidates = await follower.read(lambda shard: shard.search(search))
    except InvalidArgument as error:
        return error
    return found
