"""The vector of a question, and the work that needs no vector yet, done while the model computes it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import VectorSpace
from mnemesh_actors.index.shard import Search
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.text.text import marks
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.errors import DeadlineExceeded, MnemeshError, Unavailable
from mnemesh_memory.values.model import Query

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
