"""The operations on a memory's past: each builds the Call that asks for it.

Nothing is ever undone: rollback and resolve write a new revision, and what was said before stays in the history. A
revision is named by its id, "n@actor", or the beginning of one that fits no other, such as "2".
"""

from __future__ import annotations

from typing import Final

from mnemesh import history_values, values
from mnemesh.call import Call, reading
from mnemesh.reads import Words, places
from mnemesh.wire import to_message
from mnemesh_proto.v1 import history_pb2

HISTORY: Final = "/mnemesh.v1.HistoryService/"


def history(id: str, *, limit: int | None = None, cursor: str = "") -> Call[history_values.History]:
    """Every revision of a memory, newest first, at most `limit` (1 to 200, default 20) a page: what it said, who wrote
    it, when, through which node, and on which revisions it builds. A forgotten memory has its history, too.

    >>> for revision in client.history("018f6f0e").revisions:
    ...     print(revision.id, revision.by, revision.at, revision.content)
    """
    return Call(
        rpc=HISTORY + "History",
        request=to_message(history_pb2.HistoryRequest, {"id": id, "limit": limit, "cursor": cursor}),
        response=history_pb2.HistoryResponse,
        read=reading(history_values.History),
        repeatable=True,
    )


def blame(id: str, *, revision: str = "") -> Call[history_values.Blame]:
    """Who last set each line of a memory's text, each field, tag and link; of the shown revision or of another.

    >>> for run in client.blame("018f6f0e").lines:
    ...     print(run.by, run.text)
    """
    return Call(
        rpc=HISTORY + "Blame",
        request=to_message(history_pb2.BlameRequest, {"id": id, "revision": revision}),
        response=history_pb2.BlameResponse,
        read=reading(history_values.Blame),
        repeatable=True,
    )


def rollback(id: str, to: str, *, expected_heads: Words | None = None, wait: str = "") -> Call[values.Written]:
    """Make a memory say again what revision `to` said, as a new revision; what was said since stays in its history.
    NOOP when it says just that. With `expected_heads`, Aborted when the memory has other heads by then.

    >>> client.rollback("018f6f0e", to="1").action
    'ROLLBACK'
    """
    fields = {"id": id, "to": to, "expected_heads": expected_heads, "wait": wait}
    return Call(
        rpc=HISTORY + "Rollback",
        request=to_message(history_pb2.RollbackRequest, fields),
        response=history_pb2.RollbackResponse,
        read=reading(values.Written),
        repeatable=False,
    )


def conflicts(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None, cursor: str = ""
) -> Call[history_values.Conflicts]:
    """Memories that two writers changed at the same time, with all their versions; at most `limit` (1 to 200, default
    20) a page, without spaces of all that the caller may see.

    >>> for conflict in client.conflicts().conflicts:
    ...     print(conflict.id, [version.content for version in conflict.versions])
    """
    fields = {"spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return Call(
        rpc=HISTORY + "Conflicts",
        request=to_message(history_pb2.ConflictsRequest, fields),
        response=history_pb2.ConflictsResponse,
        read=reading(history_values.Conflicts),
        repeatable=True,
    )


def resolve(
    id: str,
    *,
    keep: str = "",
    content: str | None = None,
    expected_heads: Words | None = None,
    wait: str = "",
) -> Call[values.Written]:
    """End a conflict: `keep` one of the heads, or say `content` instead of all of them. FailedPrecondition when there
    is no conflict. With `expected_heads`, Aborted when the memory has other heads by then.

    >>> client.resolve("018f6f0e", content="Deploys run from CI, or from the release laptop").action
    'RESOLVE'
    """
    fields = {"id": id, "keep": keep, "content": content, "expected_heads": expected_heads, "wait": wait}
    return Call(
        rpc=HISTORY + "Resolve",
        request=to_message(history_pb2.ResolveRequest, fields),
        response=history_pb2.ResolveResponse,
        read=reading(values.Written),
        repeatable=False,
    )
