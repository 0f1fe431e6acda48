"""One session as it is read: events in, extractions out. Pure, and what it carries to a later reading is small JSON.

Extractions of a session come once each. A fix waits for the end of a reading. A later denial ("still fails") or a
failing command takes the fix back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemesh.mining import rules
from mnemesh.mining.commands import group_of, worth_knowing
from mnemesh.mining.sentences import paragraphs_of
from mnemesh.mining.transcript import USER, Event, Place, ToolCall, ToolResult, Words

CARRIED_MAX: Final = 200  # files, and open calls
EDITS_MIN: Final = 2
FIX_SENTENCES: Final = 3
FIX_CHARS_MAX: Final = 500
FIXES_MAX: Final = 50  # that wait
EXTRACTIONS_MAX: Final = 500  # of one reading


@dataclass(frozen=True, slots=True)
class Extraction:
    """A finding of a class. `path`: the file that it is about."""

    class_: str
    text: str
    path: str = ""

    @property
    def suspicious(self) -> bool:
        """Whether the text holds a pattern of prompt injection."""
        return rules.is_suspicious(self.text)


@dataclass(slots=True)
class Session:
    """A session so far. `edits` and `open_calls` are carried from reading to reading."""

    id: str = ""
    cwd: str = ""
    edits: dict[str, int] = field(default_factory=dict)
    open_calls: dict[str, ToolCall] = field(default_factory=dict)
    _found: dict[tuple[str, str], Extraction] = field(default_factory=dict)
    _fixes: list[Extraction] = field(default_factory=list)
    _central: set[str] = field(default_factory=set)

    def take(self, events: Iterable[Event]) -> None:
        """Take in the events of a line."""
        for event in events:
            match event:
                case Place():
                    self.id = self.id or event.session
                    self.cwd = self.cwd or event.cwd
                case Words():
                    self._hear(event)
                case ToolCall():
                    self.open_calls[event.id] = event
                    if len(self.open_calls) > CARRIED_MAX:
                        del self.open_calls[next(iter(self.open_calls))]
                case ToolResult():
                    self._end(event)

    def extractions(self) -> list[Extraction]:
        """The findings since the last asking."""
        for fix in self._fixes:
            self._add(fix)
        for path in self._central:
            self._heat(path, "edited, and named as central")
        found = list(self._found.values())[:EXTRACTIONS_MAX]
        self._found.clear()
        self._fixes.clear()
        self._central.clear()
        return found

    def carried(self) -> dict[str, Any]:
        """The beginning of a later reading of the same file."""
        calls = [[call.id, call.command, list(call.edited)] for call in self.open_calls.values()]
        return {"session": self.id, "cwd": self.cwd, "edits": self.edits, "calls": calls}

    @classmethod
    def of(cls, carried: Mapping[str, Any]) -> Session:
        """A session by what `carried` gave."""
        calls = [ToolCall(id_, command, tuple(edited)) for id_, command, edited in carried.get("calls", ())]
        return cls(
            str(carried.get("session", "")), str(carried.get("cwd", "")), dict(carried.get("edits", {})),
            {call.id: call for call in calls},
        )  # fmt: skip

    def _hear(self, words: Words) -> None:
        if self._fixes and rules.denies(words.text):
            self._fixes.pop()
        for sentences in paragraphs_of(words.text, typed=words.role == USER):
            if self.edits:
                for sentence in sentences:
                    self._central.update(rules.names_central(sentence, self.edits))
            fix = _fix_in(sentences) if words.role != USER else None
            if fix is not None:
                told = " ".join(sentences[fix])[:FIX_CHARS_MAX]
                self._fixes = [*self._fixes[-FIXES_MAX:], Extraction(rules.FIX, told)]
                sentences = sentences[: fix.start] + sentences[fix.stop :]
            for sentence in sentences:
                if class_ := rules.class_of(sentence, words.role):
                    self._add(Extraction(class_, sentence))

    def _end(self, result: ToolResult) -> None:
        call = self.open_calls.pop(result.id, None)
        if call is None:
            return
        parts = worth_knowing(call.command)
        if result.failed:
            if parts and self._fixes:
                self._fixes.pop()
            return
        for part in parts:
            self._found[rules.COMMAND, group_of(part)] = Extraction(rules.COMMAND, f"Worked in this project: `{part}`")
        for path in call.edited:
            if path in self.edits or len(self.edits) < CARRIED_MAX:
                self.edits[path] = self.edits.get(path, 0) + 1
                if self.edits[path] == EDITS_MIN:
                    self._heat(path, "edited several times in one session")

    def _heat(self, path: str, how: str) -> None:
        shown = os.path.relpath(path, self.cwd) if self.cwd and path.startswith(self.cwd.rstrip("/") + "/") else path
        self._found.setdefault((rules.HOT_FILE, path), Extraction(rules.HOT_FILE, f"Hot file: `{shown}` ({how})", path))

    def _add(self, extraction: Extraction) -> None:
        self._found.setdefault((extraction.class_, extraction.text.casefold()), extraction)


def _fix_in(sentences: list[str]) -> slice | None:
    """The sentences of a paragraph that tell a fix: from the one before the first cue to the one behind the last."""
    cues = [number for number, sentence in enumerate(sentences) if rules.tells_fix(sentence)]
    if not cues:
        return None
    first = max(0, cues[0] - 1)
    return slice(first, min(len(sentences), max(cues[-1] + 2, first + FIX_SENTENCES)))
