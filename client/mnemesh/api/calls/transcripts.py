"""The operations on transcripts, sessions as spoken. Each function builds the Call of one operation. Transcripts are a
corpus of their own. Recall never shows a turn, and no search here finds a memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Time
from mnemesh_proto.v1 import transcript_pb2


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
