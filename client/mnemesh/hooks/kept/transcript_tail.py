"""The fields of a checkpoint out of the end of a transcript: JSON lines of Claude Code or Codex. No model is asked.

Lines that are half written, damaged, of another form or of a subagent are passed over. The host's own words (commands,
reminders) and the blocks of memories that a hook put there are no work of the session, and are left out.
"""

from __future__ import annotations

import json
import re

from mnemesh.hooks import context
from mnemesh.hooks.kept.captures import relative

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Final

    from mnemesh.transport.space import StrPath

TAIL_BYTES: Final = 512 * 1024
ITEMS_MAX: Final = 30
ITEM_CHARS_MAX: Final = 300
TASK_CHARS_MAX: Final = 600
LAST_WORDS_CHARS_MAX: Final = 1_500
SUMMARY_CHARS_MAX: Final = 8_000
QUESTIONS_MAX: Final = 5
EDITING_TOOLS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_OWN_BLOCK: Final = re.compile(rf"<{context.TAG}\b.*?(?:</{context.TAG}>|\Z)", re.DOTALL)
_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_QUESTION: Final = re.compile(r"[^.!?\n]{8,280}\?(?=\s|$)")


def checkpoint_fields(transcript: StrPath, bytes_written: int | None, folder: str) -> dict[str, Any]:
    """The fields of a checkpoint by the last TAIL_BYTES of the first `bytes_written` bytes (all without). `folder` is
    the session's. Raises OSError."""
    state = _TailState(folder)
    for entry in _entries(_tail(transcript, bytes_written)):
        state.take(entry)
    return state.fields()


def last_words(transcript: StrPath) -> tuple[str, str]:
    """The last text of the agent, and all texts of the person, in the last TAIL_BYTES. Raises OSError."""
    state = _TailState("")
    for entry in _entries(_tail(transcript, None)):
        state.take(entry)
    return state.said, "\n".join(state.asked)


def own_words(text: str) -> str:
    """`text` without blocks that a hook or the host put there."""
    return _REMINDER.sub("", _OWN_BLOCK.sub("", text)).strip()


class _TailState:
    """Where work stands by the entries so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._task = self.said = self._summary = ""
        self.asked: list[str] = []
        self._files: list[str] = []
        self._errors: list[str] = []
        self._todo: list[str] = []

    def take(self, entry: Mapping[str, Any]) -> None:
        """Take in one line."""
        if entry.get("isSidechain") or entry.get("isMeta"):
            return
        payload = entry.get("payload")
        message = payload if isinstance(payload, dict) else entry.get("message")
        if not isinstance(message, dict):
            return
        role = message.get("role") or entry.get("type")
        blocks = _blocks(message.get("content"))
        text = own_words("\n".join(block.get("text", "") for block in blocks if _is_text(block)))
        if entry.get("isCompactSummary"):
            self._summary = text
        elif role == "user":
            self._user(text, blocks)
        elif role == "assistant":
            self.said = text or self.said
            for block in blocks:
                if block.get("type") == "tool_use":
                    self._call(block)

    def _user(self, text: str, blocks: Iterable[Mapping[str, Any]]) -> None:
        self.asked.append(text)
        if text and not text.startswith("<") and not context.is_trivial(text):
            self._task = text
        for block in blocks:
            if block.get("type") == "tool_result" and block.get("is_error"):
                text = "\n".join(part.get("text", "") for part in _blocks(block.get("content")) if _is_text(part))
                self._errors.append(own_words(text))

    def _call(self, block: Mapping[str, Any]) -> None:
        given = block.get("input")
        if not isinstance(given, dict):
            return
        path = given.get("file_path") or given.get("notebook_path")
        if block.get("name") in EDITING_TOOLS and isinstance(path, str):
            self._files.append(relative(path, self._folder))
        todos = given.get("todos")
        if block.get("name") == "TodoWrite" and isinstance(todos, list):
            self._todo = [
                str(todo.get("content", "")) for todo in todos
                if isinstance(todo, dict) and todo.get("status") != "completed"
            ]  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """The fields that have something to say."""
        custom = self._summary[:SUMMARY_CHARS_MAX]
        if self.said:
            last = self.said[-LAST_WORDS_CHARS_MAX:]
            custom = f"{custom}\n\nLast words: {last}" if custom else f"Last words: {last}"
        fields = {
            "task": _line(self._task, TASK_CHARS_MAX),
            "files": _items(self._files),
            "errors": _items(self._errors),
            "next_steps": _items(self._todo),
            "questions": _items(_QUESTION.findall(self.said))[-QUESTIONS_MAX:],
            "custom": "".join(ch for ch in custom if ch.isprintable() or ch in "\n\t"),
        }
        return {name: value for name, value in fields.items() if value}


def _tail(transcript: StrPath, bytes_written: int | None) -> bytes:
    """The end of the file, without the line that it begins within."""
    with open(transcript, "rb") as file:
        end = file.seek(0, 2)
        end = min(end, bytes_written) if bytes_written is not None else end
        start = max(0, end - TAIL_BYTES)
        file.seek(start)
        data = file.read(end - start)
    return data.partition(b"\n")[2] if start else data


def _entries(data: bytes) -> Iterator[Mapping[str, Any]]:
    for line in data.split(b"\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _blocks(content: object) -> list[Mapping[str, Any]]:
    """The parts of a message, a plain text as one part."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") in ("text", "input_text", "output_text") and isinstance(block.get("text"), str)


def _line(text: str, chars: int) -> str:
    shown = " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())
    return shown if len(shown) <= chars else f"{shown[: chars - 1]}\u2026"


def _items(items: Iterable[str]) -> list[str]:
    """The last items as lines, each once."""
    lines = [_line(item, ITEM_CHARS_MAX) for item in items]
    return list(reversed(dict.fromkeys(line for line in reversed(lines) if line)))[-ITEMS_MAX:]
