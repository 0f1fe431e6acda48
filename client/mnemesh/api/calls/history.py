"""The operations on a memory's past: each builds the Call that asks for it.

Nothing is ever undone: rollback and resolve write a new revision, and what was said before stays in the history. A
revision is named by its id, "n@actor", or by a unique beginning, such as "2".
"""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import history_pb2


def history(id: str, *, limit: int | None = None, cursor: str = "") -> Call[values.History]:
    """Every revision of a memory, newest first, at most `limit` (1 to 200, default 20) a page. Each has its text,
    author, time, node and parents. A forgotten memory has its history, too.

    >>> for revision in client.history("018f6f0e").revisions:
    ...     print(revision.id, revision.by, revision.at, revision.content)
    """
    return ask(history_pb2, "History", {"id": id, "limit": limit, "cursor": cursor}, values.History, repeatable=True)


def blame(id: str, *, revision: str = "") -> Call[values.Blame]:
    """The writer of each line of a memory's text, each field, tag and link; of the shown revision or of another.

    >>> for run in client.blame("018f6f0e").lines:
    ...     print(run.by, run.text)
    """
    return ask(history_pb2, "Blame", {"id": id, "revision": revision}, values.Blame, repeatable=True)


def rollback(id: str, to: str, *, expected_heads: Words | None = None, wait: str = "") -> Call[values.Written]:
    """Make a memory say again what revision `to` said, as a new revision. Later revisions stay in its history.
    NOOP when it says just that. With `expected_heads`, Aborted when the memory has other heads by then.

    >>> client.rollback("018f6f0e", to="1").action
    'ROLLBACK'
    """
    fields = {"id": id, "to": to, "expected_heads": expected_heads, "wait": wait}
    return ask(history_pb2, "Rollback", fields, values.Written, repeatable=False)


def conflicts(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None, cursor: str = ""
) -> Call[values.Conflicts]:
    """Memories that two writers changed at the same time, with all their versions, and behind them pairs of memories
    that contradict each other while both stand. At most `limit` (1 to 200, default 20) a page, without spaces of all
    that the caller may see.

    >>> for conflict in client.conflicts().conflicts:
    ...     print(conflict.id, [version.content for version in conflict.versions])
    """
    fields = {"spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(history_pb2, "Conflicts", fields, values.Conflicts, repeatable=True)


def resolve(
    id: str,
    *,
    keep: str = "",
    content: str | None = None,
    expected_heads: Words | None = None,
    other: str = "",
    wait: str = "",
) -> Call[values.Written]:
    """End a conflict: `keep` one of the heads, or say `content` instead of all of them. FailedPrecondition when there
    is no conflict. With `expected_heads`, Aborted when the memory has other heads by then. With `other`, decide between
    two memories that contradict each other: `keep` the one that holds, by its id, or "both".

    >>> client.resolve("018f6f0e", content="Deploys run from CI, or from the release laptop").action
    'RESOLVE'
    """
    fields = {
        "id": id, "keep": keep, "content": content, "expected_heads": expected_heads, "other": other, "wait": wait
    }  # fmt: skip
    return ask(history_pb2, "Resolve", fields, values.Written, repeatable=False)
