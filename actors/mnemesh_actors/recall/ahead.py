"""What a recall can know of its question before there is a vector is worked out while the model makes it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.index.shard import Search
from mnemesh_memory.ranking.fusion import coverage
from mnemesh_memory.text.text import marks
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Query

# The model takes some milliseconds without the interpreter, but needs it for its tokens first: who takes it from there
# makes the answer later by all that is done here.
MODEL_BEGINS_S: Final = 0.001


async def look_ahead(follower: IndexFollower, search: Search, query: Query) -> None:
    """Count the words of `search` in the index, and read the question as fusion, coverage and snippets will, which
    keep what they read. What goes wrong here goes wrong in the search itself, which says so."""
    await asyncio.sleep(MODEL_BEGINS_S)
    with suppress(MnemeshError):
        await follower.read(lambda shard: shard.prepare(search))
    question_of(query.text, query.window)
    coverage(query.about or query.text, ())
    marks("", query.text)
