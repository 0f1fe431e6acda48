"""Calls of a search: the model gives the vector of the question, and the index gives candidates.

Searches that arrive while the index works go together in the next call, as one batched query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.index.shard import Search
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.text.text import marks
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError, Unavailable, count_of
from mnemesh_memory.values.model import Query

# An index in this process holds the interpreter while it answers: so many questions are some 10 to 50 ms.
SEARCHES_A_CALL_MAX: Final = 8
LATE: Final = "it has not answered in time"
LAG_TOLERATED_ENTRIES: Final = 256


class IndexCalls:
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

    async def candidates(self, follower: IndexFollower, search: Search, by: float) -> Candidates | str:
        """The candidates, or the reason why there are none. Nothing is waited for beyond `by`, in the event loop's
        time. Raises InvalidArgument."""
        try:
            async with asyncio.timeout_at(by):
                return await self.ask(follower, search)
        except TimeoutError:  # busy with others, or late: who called it finds out
            return LATE
        except InvalidArgument:
            raise
        except MnemeshError as error:
            return error.message


def behind(follower: IndexFollower, gaps: int | None = None) -> tuple[str, ...]:
    """Why the index may lack something, but for the usual lag right behind writes. `gaps` is the follower's count
    from before the search."""
    lacking = f"{count_of(follower.lag, 'entry')} not searchable yet"
    if follower.fault:
        return (f"index: {follower.fault}; {lacking}",)
    if follower.catching_up or follower.lag > LAG_TOLERATED_ENTRIES:
        return (f"index: {lacking}",)
    if gaps is not None and gaps != follower.gaps:
        return ("index: opened anew during the search, and not complete then",)
    return ()


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


# The model runs for some milliseconds without the interpreter, but needs the interpreter for its tokens first. Work
# that starts earlier than this delays the answer.
MODEL_BEGINS_S: Final = 0.001


async def question_vector(
    space: VectorSpace, query: Query, search: Search | None, limit_s: float
) -> tuple[Vector | None, tuple[str, ...]]:
    """The question's vector, or why there is none after `limit_s`; meanwhile all else is made ready for `search`.
    Raises in semantic mode, which cannot do without."""
    if query.mode == "keyword":
        return None, ()
    preparation = None
    if search is not None and search.bm25 and not space.embedder.knows(query.text):
        preparation = asyncio.create_task(_prepare(space.follower, search, query), name="look-ahead")
    try:
        async with asyncio.timeout(limit_s):
            if not await space.embedder.reads(query.text):
                return None, ()  # to the model all that it does not know is alike
            return await space.embedder.embed_one(query.text), ()
    except Unavailable as error:
        if query.mode == "semantic":
            raise
        return None, (f"embedder: {error.message}; matched by words only",)
    except TimeoutError:
        if query.mode == "semantic":
            raise DeadlineExceeded(f"the question was not embedded within {limit_s:g} s; ask again") from None
        return None, (f"embedder: busy for longer than {limit_s:g} s; matched by words only",)
    finally:
        if preparation is not None:
            preparation.cancel()


async def _prepare(follower: IndexFollower, search: Search, query: Query) -> None:
    """Count the words of `search` in the index, and read the question as fusion, coverage and snippets will. All of
    them cache their reading. An error here shows again in the search itself, which raises it."""
    await asyncio.sleep(MODEL_BEGINS_S)
    with suppress(MnemeshError):
        await follower.read(lambda shard: shard.prepare(search))
    question_of(query.text, query.window)
    coverage(query.about or query.text, ())
    marks("", query.text)
