"""The operations on transcripts, sessions as spoken. Each function builds the Call of one operation. Transcripts are a
corpus of their own. Recall never shows a turn, and no search here finds a memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypedDict

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time, Words, places
from mnemesh_proto.v1 import transcript_pb2

# Erasing makes the index anew, which takes its time when much is stored.
ERASE_TIMEOUT_S: Final = 600.0


class TurnItem(TypedDict, total=False):
    """A turn to be added: `id` (its own in the session), `role` (user, assistant, tool, system or summary), `text`, and
    `at` when it is known."""

    id: str
    role: str
    text: str
    at: Time | None


def add_transcript(
    session: str,
    turns: Iterable[TurnItem],
    *,
    space: str = "",
    part_of: str = "",
    source: str = "",
    dir: str = "",
    title: str = "",
) -> Call[values.AddedTurns]:
    """Add turns to a session, in their order: 1 to 256 a call, at most 1 MiB together. A turn whose id is there already
    is left as it is. Without `space` they go to the caller's private one. Credentials are replaced by their type, and
    `masked` says in which turns.

    >>> turn = {"id": "u1", "role": "user", "text": "use pnpm, not npm"}
    >>> client.add_transcript("018f6f0e", [turn], source="my-editor").stored
    1
    """
    fields = {
        "session": session, "turns": turns, "space": space, "part_of": part_of, "source": source, "dir": dir,
        "title": title,
    }  # fmt: skip
    return ask(transcript_pb2, "AddTranscript", fields, values.AddedTurns, repeatable=True)


def search_transcripts(
    query: str,
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    session: str = "",
    agent: str = "",
    roles: Words | None = None,
    since: Time | None = None,
    before: Time | None = None,
    limit: int | None = None,
    context: int | None = None,
) -> Call[values.FoundTurns]:
    """Turns of past sessions with words of `query`, best first, at most `limit` (1 to 200, default 10). Each has
    `context` turns (0 to 5, default 1) on either side.

    >>> for hit in client.search_transcripts("pnpm workspace error").results:
    ...     print(hit.turn.session, hit.turn.position, hit.turn.text)
    """
    fields = {
        "query": query, "spaces": places(space, spaces), "session": session, "agent": agent, "roles": roles,
        "since": since, "before": before, "limit": limit, "context": context,
    }  # fmt: skip
    return ask(transcript_pb2, "SearchTranscripts", fields, values.FoundTurns, repeatable=True)


def read_transcript(
    session: str, *, space: str = "", first: int | None = None, count: int | None = None
) -> Call[values.Transcript]:
    """A session and `count` (1 to 200, default 20) of its turns, from position `first` (default 1) on. `space` is
    needed when sessions of several spaces have that name.

    >>> for turn in client.read_transcript("018f6f0e", first=40, count=10).turns:
    ...     print(turn.position, turn.role, turn.text)
    """
    fields = {"session": session, "space": space, "first": first, "count": count}
    return ask(transcript_pb2, "ReadTranscript", fields, values.Transcript, repeatable=True)


def list_transcripts(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    agent: str = "",
    since: Time | None = None,
    before: Time | None = None,
    limit: int | None = None,
    cursor: str = "",
) -> Call[values.Sessions]:
    """Stored sessions, those with the latest turns first, at most `limit` (1 to 200, default 20) a page.

    >>> for session in client.list_transcripts(since="2026-05-01").sessions:
    ...     print(session.session, session.turns, session.title)
    """
    fields = {
        "spaces": places(space, spaces), "agent": agent, "since": since, "before": before, "limit": limit,
        "cursor": cursor,
    }  # fmt: skip
    return ask(transcript_pb2, "ListTranscripts", fields, values.Sessions, repeatable=True)


def erase_transcript(session: str, *, space: str = "") -> Call[values.ErasedSessions]:
    """Erase a session and its part sessions for good, in `space` or in every granted space. Raises NotFound,
    PermissionDenied.

    >>> client.erase_transcript("018f6f0e").turns
    212
    """
    fields = {"session": session, "space": space}
    erased = values.ErasedSessions
    return ask(transcript_pb2, "EraseTranscript", fields, erased, repeatable=False, timeout_s=ERASE_TIMEOUT_S)
