"""The events that a host tells and wants no answer to: what a hook keeps of a session.

- Before a compaction, and at its end, a session's checkpoint is stored from transcript and capture buffer.
- A changed file or failed command goes into the capture buffer. After some of them a checkpoint is stored.
- The end of a turn counts the memories that the agent's last words name or quote as useful.
- The end of a turn, subagent or session leaves a note for the miner. The end of a session starts the miner where
  mining is on.

Without a node, a note takes the place of the checkpoint or the votes. A later hook that finds a node hands it over.
"""

from __future__ import annotations

import os
import sys
import time

from mnemesh.hooks import events
from mnemesh.hooks.kept.captures import CHECKPOINT_EVERY, CaptureBuffer
from mnemesh.hooks.kept.citations import CitedMemories, cited
from mnemesh.hooks.kept.notes import MINING, MINING_ON, VERSION, Notes
from mnemesh.hooks.kept.session_file import session_name
from mnemesh.hooks.kept.shown_memories import ShownMemories
from mnemesh.hooks.kept.spool import CHECKPOINT, RATE, Spool
from mnemesh.hooks.kept.transcript_tail import SUMMARY_CHARS_MAX, checkpoint_fields, last_words, own_words
from mnemesh.hooks.node_http import NodeHttp, RefusedQuestion, Unanswered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Final

    from mnemesh.transport.space import StrPath

    Headers = Iterable[tuple[str, str]]

CHECKPOINTED: Final = (events.BEFORE_COMPACTION, events.COMPACTED, events.SESSION_END)
MINED: Final = (events.TURN_END, events.SUBAGENT_END, events.SESSION_END)


class SessionRecord:
    """The record of one event: `given` is the host's JSON, `meaning` one of events."""

    def __init__(
        self, host: str, meaning: str, given: Mapping[str, Any], cwd: str, data_dir: str, headers: Headers
    ) -> None:
        self._host = host
        self._meaning = meaning
        self._given = given
        self._data_dir = data_dir
        self._headers = tuple(headers)
        self._cwd = cwd
        self._session = events.session_of(given)
        self._buffer = CaptureBuffer(data_dir, host, self._session)
        self._counted = CitedMemories(data_dir, host, self._session)
        self._spool = Spool(data_dir, host, self._session, self._headers)

    def keep(self, environ: Mapping[str, str], until: float) -> None:
        """Carry out the event. Raises OSError."""
        if self._meaning in MINED:
            self._enqueue()
        due = self._meaning in CHECKPOINTED
        if self._meaning in (events.TOOL_USE, events.TOOL_FAILURE):
            captured = self._buffer.add(self._given, failed=self._meaning == events.TOOL_FAILURE)
            due = captured.calls >= CHECKPOINT_EVERY
        if not due and self._meaning != events.TURN_END:
            return
        named = self._cited() if self._meaning == events.TURN_END else ()
        body = self._body() if due else {}
        try:
            node = NodeHttp(self._data_dir, environ, until)
            if due:
                self._spool.hand_over(node, own=True)  # first: the later checkpoint has the last word
                self._store(node, body)
            if named:
                self._rate(node, named)
        except RefusedQuestion:  # by a node that knows no checkpoints
            return
        except (Unanswered, OSError, ValueError):
            self._wait(due=due, named=named)
            return
        if due:
            self._buffer.clear()
        self._spool.hand_over(node)

    def _body(self) -> dict[str, Any]:
        """The checkpoint by the transcript, the buffer and the summary of a compaction."""
        transcript = self._transcript()
        body: dict[str, Any] = {}
        if transcript:
            try:
                body = checkpoint_fields(transcript, None, self._cwd)
            except OSError:  # not for this user: the buffer alone is stored
                body = {}
        summary = self._given.get("compact_summary")
        if isinstance(summary, str) and summary:
            body["custom"] = summary[:SUMMARY_CHARS_MAX]
        captured = self._buffer.read()
        body["files"] = _together(body.get("files", ()), captured.files)
        body["errors"] = _together(body.get("errors", ()), (f"failed: {words}" for words in captured.failures))
        return body

    def _store(self, node: NodeHttp, body: Mapping[str, Any]) -> None:
        if any(body.values()):
            node.ask((CHECKPOINT, {**body, "session": self._session, "merge": True, "mask": True}), self._headers)

    def _cited(self) -> Sequence[str]:
        """The memories that the agent's last words name or quote, of those shown in this session, each once."""
        shown = ShownMemories(self._data_dir, self._host, self._session).marked()
        if not shown:
            return ()
        message = self._given.get("last_assistant_message")  # the transcript may lag behind it
        transcript = self._transcript()
        try:
            last, asked = last_words(transcript) if transcript else ("", "")
        except OSError:  # not for this user
            last, asked = "", ""
        ids = cited(own_words(message if isinstance(message, str) else last), shown, asked)
        before = self._counted.lines() if ids else ()
        return [id_ for id_ in ids if id_ not in before]

    def _rate(self, node: NodeHttp, ids: Sequence[str]) -> None:
        """Tell the node. A vote that somebody has given stays, because ids in an answer are citations."""
        node.ask((RATE, {"answer": " ".join(ids)}), self._headers)
        self._counted.append(ids)
        self._counted.sweep()

    def _wait(self, *, due: bool, named: Sequence[str]) -> None:
        """Leave notes for a later hook."""
        transcript = self._transcript()
        if due and transcript:
            self._spool.add_checkpoint(transcript, _size(transcript), self._cwd)
        if named:
            self._spool.add_votes(named)

    def _enqueue(self) -> None:
        """Leave a note for the miner: one a transcript, the last event wins."""
        agent = self._given.get("agent_id") if self._meaning == events.SUBAGENT_END else ""
        named = self._given.get("agent_transcript_path") if self._meaning == events.SUBAGENT_END else ""
        transcript = named if isinstance(named, str) and named else self._transcript()
        if not transcript or not self._session:
            return
        note = {
            "version": VERSION,
            "host": self._host,
            "event": self._meaning,
            "session": self._session,
            "agent": agent if isinstance(agent, str) else "",
            "transcript": transcript,
            "bytes": _size(transcript),
            "cwd": self._cwd,
            "at": int(time.time()),
        }
        Notes(self._data_dir, MINING).put(session_name(self._host, self._session, str(note["agent"])), note)
        if self._meaning == events.SESSION_END and os.path.exists(os.path.join(self._data_dir, MINING_ON)):
            start_miner(self._data_dir)

    def _transcript(self) -> str:
        path = self._given.get("transcript_path")
        return path if isinstance(path, str) and os.path.isfile(path) else ""


def start_miner(data_dir: StrPath) -> None:
    """Start `mnemesh mine now` in a process of its own, which nobody waits for. Raises OSError."""
    import subprocess  # few hooks come here

    words = (sys.executable, "-P", "-m", "mnemesh", "mine", "now", "--data", os.path.abspath(data_dir))
    nothing = subprocess.DEVNULL
    subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _together(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*first, *second)))[-60:]
