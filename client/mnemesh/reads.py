"""The operations that read: each builds the Call that asks for it. They write nothing and may be repeated.

Wherever spaces are asked for, `space` and `spaces` mean the same: each takes one path or several, and both together
all of them; without any the node takes the client's space and the caller's private space. Wherever a time is asked for,
an aware datetime, an RFC 3339 text, or a date, which means its start in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack

from mnemesh import recall_values, values
from mnemesh.call import Call, reading
from mnemesh.wire import listed, to_message, to_value
from mnemesh_proto.v1 import admin_pb2, memory_pb2, recall_pb2, watch_pb2

MEMORY: Final = "/mnemesh.v1.MemoryService/"
RECALL: Final = "/mnemesh.v1.RecallService/"
ADMIN: Final = "/mnemesh.v1.AdminService/"
WATCH: Final = "/mnemesh.v1.WatchService/"
# A whole node may be streamed; it ends earlier when the connection breaks.
EXPORT_TIMEOUT_S: Final = 3600.0

Words = str | Iterable[str]
Time = datetime | str


class Filters(TypedDict, total=False):
    """Which memories a reading call looks at. Left out, a filter lets everything through."""

    kinds: Words
    tags_any: Words
    tags_all: Words
    tags_none: Words
    since: Time | None
    before: Time | None
    valid_at: Time | None
    agent: str
    session: str


class RecallOptions(Filters, total=False):
    """How recall searches, ranks and shows; each field as in the contract's RecallRequest."""

    mode: str
    as_of: Time | None
    min_score: float
    min_heat: float
    token_budget: int | None
    include_superseded: bool
    include_archive: bool
    sort: str
    weights: Mapping[str, float]
    paths: Words
    source_dir: str
    explain: bool
    snippets_only: bool
    time_words: str
    time_zone: str


class ListOptions(Filters, total=False):
    """Which memories a listing shows and in what order; each field as in the contract's ListRequest."""

    everywhere: bool
    state: str
    order: str
    cursor: str


def recall(
    query: str,
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    **options: Unpack[RecallOptions],
) -> Call[recall_values.Recalled]:
    """The memories that answer `query`, best first; at most `limit` (1 to 200, default 10).

    `query` is any text of at most 10,000 characters; an empty one lists by time. Options: `mode` hybrid, semantic
    or keyword; `kinds`, `tags_any`, `tags_all`, `tags_none`, `since`, `before`, `agent`, `session`, `paths`,
    `source_dir` and `valid_at` (what held in the world then) filter; `as_of` shows what was known then; `min_score` and
    `min_heat` from 0 to 1; `token_budget` bounds the texts; `sort` relevance, recency or importance; `weights` of the
    signals dense and bm25, and of the optional ones; `include_superseded`, `include_archive`, `explain`,
    `snippets_only`; `time_words` of the query ("last week", "before the release") prefer, only or off, in `time_zone`
    (IANA): see `Recalled.time`.

    >>> for result in client.recall("how do we deploy?", space="team/payments", limit=3).results:
    ...     print(f"{result.score:.2f}  {result.content}")
    """
    fields = {"query": query, "spaces": places(space, spaces), "limit": limit, **options}
    return Call(
        rpc=RECALL + "Recall",
        request=to_message(recall_pb2.RecallRequest, fields),
        response=recall_pb2.RecallResponse,
        read=whole,
        repeatable=True,
    )


def whole(response: recall_pb2.RecallResponse) -> recall_values.Recalled:
    """On the wire a result's memory doesn't repeat its content; as a value it is whole."""
    recalled = to_value(response, recall_values.Recalled)
    whole = tuple(replace(r, memory=replace(r.memory, content=r.content)) for r in recalled.results)
    return replace(recalled, results=whole)


def get(
    id: str,
    *,
    include_forgotten: bool = False,
    space: Words | None = None,
    spaces: Words | None = None,
    as_of: Time | None = None,
) -> Call[values.Memory]:
    """The memory with this id, unique id prefix (6 characters or more) or title, with `as_of` as it was recorded then.
    Raises NotFound.

    >>> client.get("018f6f0e").content
    """
    return Call(
        rpc=MEMORY + "Get",
        request=_get_request((id,), include_forgotten, places(space, spaces), as_of),
        response=memory_pb2.GetResponse,
        read=_memory,
        repeatable=True,
    )


def get_many(
    ids: Iterable[str],
    *,
    include_forgotten: bool = False,
    space: Words | None = None,
    spaces: Words | None = None,
    as_of: Time | None = None,
) -> Call[values.Found]:
    """Up to 200 memories by id, unique id prefix or title, in the order asked, with `as_of` as they were recorded then;
    `missing` names the others, be it all of them.

    >>> found = client.get_many(["018f6f0e", "Deploys run from CI"])
    """
    request = _get_request(ids, include_forgotten, places(space, spaces), as_of)
    return Call(
        rpc=MEMORY + "Get",
        request=request,
        response=memory_pb2.GetResponse,
        read=reading(values.Found),
        repeatable=True,
        absent=values.Found(memory=None, memories=(), missing=tuple(request.ids)),
    )


def places(space: Words | None, spaces: Words | None, path: str = "") -> list[object] | None:
    """What was given as `space` and as `spaces`, in one list. Raises InvalidArgument that names the field after
    `path`."""
    given = {name: one for name, one in (("space", space), ("spaces", spaces)) if one is not None}
    return [place for name, one in given.items() for place in listed(path + name, one)] if given else None


def _get_request(
    ids: Iterable[str], include_forgotten: bool, spaces: list[object] | None, as_of: Time | None
) -> memory_pb2.GetRequest:
    fields = {"ids": ids, "include_forgotten": include_forgotten, "spaces": spaces, "as_of": as_of}
    return to_message(memory_pb2.GetRequest, fields)


def _memory(response: memory_pb2.GetResponse | memory_pb2.ExportResponse) -> values.Memory:
    return to_value(response.memory, values.Memory)


def list_memories(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    **options: Unpack[ListOptions],
) -> Call[values.Page]:
    """One page of memories, newest first; at most `limit` (1 to 200, default 20).

    Options: the filters of recall; `state` active (default), forgotten, superseded or all; `order` newest or
    oldest; `cursor` of the page before.

    >>> page = client.list(kinds="decision", limit=50)
    >>> while page.cursor:
    ...     page = client.list(kinds="decision", limit=50, cursor=page.cursor)
    """
    return Call(
        rpc=MEMORY + "List",
        request=to_message(memory_pb2.ListRequest, {"spaces": places(space, spaces), "limit": limit, **options}),
        response=memory_pb2.ListResponse,
        read=reading(values.Page),
        repeatable=True,
    )


def timeline(
    id: str,
    *,
    before: int | None = None,
    after: int | None = None,
    space: Words | None = None,
    spaces: Words | None = None,
) -> Call[values.Timeline]:
    """The memories written just before and after one (0 to 50 each, default 5), in the same session or, without
    one, in the same space. A title is looked for in `space` and `spaces`.

    >>> [memory.title for memory in client.timeline("018f6f0e", before=2, after=2).memories]
    """
    fields = {"id": id, "before": before, "after": after, "spaces": places(space, spaces)}
    return Call(
        rpc=MEMORY + "Timeline",
        request=to_message(memory_pb2.TimelineRequest, fields),
        response=memory_pb2.TimelineResponse,
        read=reading(values.Timeline),
        repeatable=True,
    )


def stats(*, space: Words | None = None, spaces: Words | None = None) -> Call[values.Stats]:
    """Counts by state, kind, tag, space and agent; without spaces, of all that the caller may see.

    >>> client.stats().memories
    """
    return Call(
        rpc=MEMORY + "Stats",
        request=to_message(memory_pb2.StatsRequest, {"spaces": places(space, spaces)}),
        response=memory_pb2.StatsResponse,
        read=reading(values.Stats),
        repeatable=True,
    )


def export(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    include_forgotten: bool = False,
    include_superseded: bool = False,
) -> Call[values.Memory]:
    """Every memory with all its fields, one after the other as the node streams them, in ledger order; without
    spaces, all that the caller may see. A broken connection raises; nothing is asked for twice.

    >>> texts = [memory.content for memory in client.export(space="team/payments")]
    """
    fields = {
        "spaces": places(space, spaces),
        "include_forgotten": include_forgotten,
        "include_superseded": include_superseded,
    }
    return Call(
        rpc=MEMORY + "Export",
        request=to_message(memory_pb2.ExportRequest, fields),
        response=memory_pb2.ExportResponse,
        read=_memory,
        repeatable=False,
        timeout_s=EXPORT_TIMEOUT_S,
    )


def watch(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    kinds: Words | None = None,
    not_agent: str = "",
    cursor: str = "",
    from_start: bool = False,
    include_content: bool = False,
) -> Call[values.Change]:
    """Every change of the spaces as it happens, in the order of the node's log and at least once: an iterator that
    goes on by itself when the connection breaks or the node restarts, and gives up after `timeout_s` without a node.

    Without `cursor` it tells what is to come; with one, what came after it; with `from_start`, all there is first.
    `kinds` filters; `not_agent` leaves out what that agent wrote, such as your own writes (`client.whoami().agent`);
    `include_content` gives the texts too.

    >>> with client.watch(space="team/payments", cursor=kept) as changes:
    ...     for change in changes:
    ...         kept = change.cursor
    """
    fields = {
        "spaces": places(space, spaces),
        "kinds": kinds,
        "not_agent": not_agent,
        "cursor": cursor,
        "from_start": from_start,
        "include_content": include_content,
    }
    return Call(
        rpc=WATCH + "Watch",
        request=to_message(watch_pb2.WatchRequest, fields),
        response=watch_pb2.WatchResponse,
        read=_changed,
        repeatable=True,
    )


def _changed(response: watch_pb2.WatchResponse) -> values.Change:
    """A message about a change; what only the stream's own messages carry is left out."""

    def change(*, spaces: object, reason: object, **fields: Any) -> values.Change:
        return values.Change(**fields)

    return to_value(response, change)


def status() -> Call[values.Status]:
    """What the node is doing: addresses, actors, ledger, index, model.

    >>> client.status().state
    'ready'
    """
    return Call(
        rpc=ADMIN + "Status",
        request=admin_pb2.StatusRequest(),
        response=admin_pb2.StatusResponse,
        read=reading(values.Status),
        repeatable=True,
    )


def whoami() -> Call[values.Identity]:
    """Who the token and headers of this client speak for; no side effects.

    >>> client.whoami().agent
    'owner/claude-code'
    """
    return Call(
        rpc=ADMIN + "Whoami",
        request=admin_pb2.WhoamiRequest(),
        response=admin_pb2.WhoamiResponse,
        read=reading(values.Identity),
        repeatable=True,
    )
