"""Several recalls in one call. Each is what it would be alone: they run beside each other, so that the model embeds
their questions together and the index is asked for all of them together (batching, searching).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import ceil

from mnemesh_actors.recall.recall import Recalling
from mnemesh_actors.recall.searching import SEARCHES_A_CALL_MAX
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Caller, Query


async def recall_batch(recalling: Recalling, caller: Caller, queries: Sequence[Query]) -> list[Recalled]:
    """The answers in the order of the queries, 1 to RECALL_BATCH_MAX. All or none: raises what recall would raise for
    the first query that it refuses, with its place, such as queries[3].limit."""
    request_checks.queries(queries, caller)
    answers: list[Recalled] = []
    # Their time is that of one, and as much again for every call of the index that others fill.
    patience = ceil(len(queries) / SEARCHES_A_CALL_MAX)
    asked = (recalling.recall(caller, query, patience) for query in queries)
    for place, outcome in enumerate(await asyncio.gather(*asked, return_exceptions=True)):
        if isinstance(outcome, MnemeshError):
            raise outcome.at(f"queries[{place}]") from None
        if isinstance(outcome, BaseException):
            raise outcome
        answers.append(outcome)
    return answers
