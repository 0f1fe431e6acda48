"""Beside recall: many queries in one call, and what has to do with a memory. As in reads, each builds its Call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mnemesh import recall_values
from mnemesh.call import Call, reading
from mnemesh.errors import InvalidArgument
from mnemesh.reads import RECALL, Words, places, whole
from mnemesh.wire import listed, to_message
from mnemesh_proto.v1 import recall_pb2

Query = str | Mapping[str, object]


def recall_batch(queries: Iterable[Query]) -> Call[recall_values.RecalledBatch]:
    """Answer 1 to 32 queries in one call; `answers` are in their order, each as recall would give it. A query is its
    text, or a mapping with `query` and whatever else recall takes. One that is refused is named by its place, and
    nothing is answered then.

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
    return Call(
        rpc=RECALL + "RecallBatch",
        request=request,
        response=recall_pb2.RecallBatchResponse,
        read=_batch,
        repeatable=True,
    )


def _batch(response: recall_pb2.RecallBatchResponse) -> recall_values.RecalledBatch:
    return recall_values.RecalledBatch(answers=tuple(whole(answer) for answer in response.answers))


def related(
    id: str, *, limit: int | None = None, space: Words | None = None, spaces: Words | None = None
) -> Call[recall_values.Neighbourhood]:
    """What has to do with the memory of this id, unique id prefix or title: those it links to, then the nearest by
    their text, and what stands beside it in its session; at most `limit` (1 to 50, default 10), without itself. A title
    is looked for in `space` and `spaces`.

    >>> [(near.title, near.reasons) for near in client.related("018f6f0e").results]
    """
    fields = {"id": id, "limit": limit, "spaces": places(space, spaces)}
    return Call(
        rpc=RECALL + "Related",
        request=to_message(recall_pb2.RelatedRequest, fields),
        response=recall_pb2.RelatedResponse,
        read=reading(recall_values.Neighbourhood),
        repeatable=True,
    )
