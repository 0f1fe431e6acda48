"""The operation that answers many questions in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import places
from mnemesh.api.wire import listed, to_message, to_value
from mnemesh.errors import InvalidArgument
from mnemesh_proto.v1 import recall_pb2

Query = str | Mapping[str, object]


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
