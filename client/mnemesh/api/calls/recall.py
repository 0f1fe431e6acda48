"""The operations that search: for one question, for many in one call, and around a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh.api.calls.options import RecallOptions
from mnemesh.api.wire import listed, to_message, to_value
from mnemesh.errors import InvalidArgument
from mnemesh_proto.v1 import recall_pb2

Query = str | Mapping[str, object]


def recall(
    query: str,
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    **options: Unpack[RecallOptions],
) -> Call[values.Recalled]:
    """The memories that answer `query`, best first; at most `limit` (1 to 200, default 10).

    `query` is any text of at most 10,000 characters; an empty one lists by time. Options: `mode` hybrid, semantic
    or keyword. `kinds`, `tags_any`, `tags_all`, `tags_none`, `since`, `before`, `agent`, `session`, `paths`,
    `source_dir` and `valid_at` (what held in the world then) filter. `as_of` shows what was known then. `min_score` and
    `min_heat` from 0 to 1. `token_budget` bounds the texts. `sort` relevance, recency or importance. `weights` of the
    signals dense and bm25, and of the optional ones. `include_superseded`, `include_archive`, `explain`,
    `snippets_only`. `time_words` of the query ("last week", "before the release") prefer, only or off, in `time_zone`
    (IANA): see `Recalled.time`. `current_session` is the session that asks; its own words stand above equals.
    A `probe` leaves no trace: no use is counted, and no trigger fires.

    >>> for result in client.recall("how do we deploy?", space="team/payments", limit=3).results:
    ...     print(f"{result.score:.2f}  {result.content}")
    """
    fields = {"query": query, "spaces": places(space, spaces), "limit": limit, **options}
    return ask(recall_pb2, "Recall", fields, whole, repeatable=True)


def whole(response: recall_pb2.RecallResponse) -> values.Recalled:
    """On the wire a result's memory doesn't repeat its content. As a value the memory is whole."""
    recalled = to_value(response, values.Recalled)
    whole = tuple(replace(r, memory=replace(r.memory, content=r.content)) for r in recalled.results)
    return replace(recalled, results=whole)


def recall_batch(queries: Iterable[Query]) -> Call[values.RecalledBatch]:
    """Answer 1 to 32 queries in one call. `answers` have the order of the queries, each as from recall. A query is a
    text, or a mapping with `query` and other arguments of recall. A refused query is named by its place, and then no
    query is answered.

    >>> both = client.recall_batch(["how do we deploy?", {"query": "who is on call?", "limit": 3, "kinds": "person"}])
    >>> [answer.coverage for answer in both.answers]
    """
    request = recall_pb2.RecallBatchRequest()
    for place, query in enumerate(listed("queries", queries)):
        path = f"queries[{place}]"
        if not isinstance(query, str | Mapping):
            raise InvalidArgument(path, query, "a text, or a mapping of what recall takes")
        given: dict[str, Any] = {"query": query} if isinstance(query, str) else dict(query)
        spaces = places(given.pop("space", None), given.pop("spaces", None), path + ".")
        request.queries.append(to_message(recall_pb2.RecallRequest, {**given, "spaces": spaces}, path + "."))
    return ask(recall_pb2, "RecallBatch", request, _batch, repeatable=True)


def _batch(response: recall_pb2.RecallBatchResponse) -> values.RecalledBatch:
    return values.RecalledBatch(answers=tuple(whole(answer) for answer in response.answers))
