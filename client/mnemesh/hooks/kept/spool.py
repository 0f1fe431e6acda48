"""Checkpoints and votes that no node took. A later hook that finds a node hands them over.

A note of a checkpoint names a transcript, and a note of votes names memories. A note goes once it is delivered, or when
nobody can deliver it. A note that the node does not take now waits behind the others.
"""

from __future__ import annotations

import os
import time

from mnemesh.hooks.kept.citations import CitedMemories
from mnemesh.hooks.kept.notes import SPOOL, VERSION, Notes
from mnemesh.hooks.kept.session_file import session_name
from mnemesh.hooks.kept.transcript_tail import checkpoint_fields
from mnemesh.hooks.node_http import RefusedQuestion, Unanswered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Final

    from mnemesh.hooks.node_http import NodeHttp
    from mnemesh.transport.space import StrPath

    Headers = Sequence[tuple[str, str]]

CHECKPOINT: Final = "POST /v1/checkpoints"
RATE: Final = "POST /v1/rate"
RESUME: Final = "POST /v1/resume"
RESUME_TOKENS: Final = 100  # The least: only the moment of the checkpoint is read.
HANDED_OVER_MAX: Final = 2  # Notes, by one hook.
VOTES_MAX: Final = 100  # Of one session. The latest stay.
VOTES: Final = "votes"
# Faults of a note, or of the transcript that it names.
_UNREADABLE: Final = (KeyError, TypeError, ValueError, OverflowError, OSError)


class Spool:
    """The notes of a data directory as one session sees them."""

    def __init__(self, data_dir: StrPath, host: str, session: str, headers: Headers) -> None:
        self._data_dir = data_dir
        self._host = host
        self._session = session
        self._headers = headers
        self._notes = Notes(data_dir, SPOOL)
        self._checkpoint = session_name(host, session)
        self._votes = session_name(VOTES, host, session)

    def add_checkpoint(self, transcript: str, size: int, cwd: str) -> None:
        """Note the first `size` bytes of a transcript. Raises OSError."""
        self._put(self._checkpoint, {"cwd": cwd, "transcript": transcript, "bytes": size})

    def add_votes(self, ids: Iterable[str]) -> None:
        """Note memories that the session found useful. Raises OSError."""
        before = [id_ for _, note in self._notes.named(self._votes) for id_ in _texts(note.get(VOTES))]
        self._put(self._votes, {VOTES: list(dict.fromkeys((*before, *ids)))[-VOTES_MAX:]})

    def hand_over(self, node: NodeHttp, *, own: bool = False) -> None:
        """Deliver the oldest notes, or the checkpoint of this session alone. Raises OSError of the folder."""
        for name, note in self._notes.named(self._checkpoint) if own else self._notes.oldest(HANDED_OVER_MAX):
            try:
                question, headers = self._question(note), _headers(note)
                moment = _moment(note["at"])
            except _UNREADABLE:
                question = None
            try:
                if question and not (question[0] == CHECKPOINT and _has_newer(node, question[1], headers, moment)):
                    node.ask(question, headers)
                    self._delivered(note)
            except RefusedQuestion:
                pass
            except (Unanswered, OSError, ValueError):
                self._notes.defer(name)
                return
            self._notes.remove(name)

    def _put(self, name: str, work: Mapping[str, Any]) -> None:
        note = {
            "version": VERSION,
            "host": self._host,
            "session": self._session,
            "headers": [list(header) for header in self._headers],
            "at": round(time.time(), 3),
        }
        self._notes.put(name, {**note, **work})

    def _question(self, note: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The question of a note, None for nothing to say. Raises the errors of _UNREADABLE."""
        if VOTES in note:
            known = self._counted(note).lines()
            ids = [id_ for id_ in _texts(note[VOTES]) if id_ not in known]
            return (RATE, {"answer": " ".join(ids)}) if ids else None
        transcript = os.fspath(note["transcript"])
        if not os.path.isfile(transcript):  # a pipe would be waited for
            return None
        body = checkpoint_fields(transcript, int(note["bytes"]), str(note["cwd"]))
        return (CHECKPOINT, {**body, "session": str(note["session"]), "merge": True, "mask": True}) if body else None

    def _counted(self, note: Mapping[str, Any]) -> CitedMemories:
        return CitedMemories(self._data_dir, str(note["host"]), str(note["session"]))

    def _delivered(self, note: Mapping[str, Any]) -> None:
        if VOTES in note:
            counted = self._counted(note)
            counted.append(_texts(note[VOTES]))
            counted.sweep()


def _has_newer(node: NodeHttp, body: Mapping[str, Any], headers: Headers, moment: str) -> bool:
    """Whether the session has a checkpoint from after the moment of a note. Its texts must not give way to older."""
    answer = node.ask((RESUME, {"session": body["session"], "token_budget": RESUME_TOKENS}), headers)
    last = answer.get("checkpoint")
    return bool(last) and last["session"] == body["session"] and last["at"].removesuffix("Z") > moment


def _moment(seconds: float) -> str:
    """A moment as the node writes it, without the zone."""
    whole = int(seconds)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((seconds - whole) * 1000):03d}"


def _headers(note: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers = [(str(name), str(value)) for name, value in note["headers"]]
    "".join(map("".join, headers)).encode("latin-1")  # as they are sent
    return headers


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
