"""One session as it is read: events in, extractions out. Pure, and what it carries to a later reading is small JSON.

Extractions of a session come once each. A fix waits for the end of a reading. A later denial ("still fails") or a
failing command takes the fix back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mnemesh.mining.credentials import masked
from mnemesh.mining.sentence_rules import decisions, fixes, rules
from mnemesh.mining.sentence_rules.phrases import WordedPhrases
from mnemesh.mining.sentence_rules.sentences import paragraphs_of
from mnemesh.mining.session_tally import INTERRUPTED, SessionTally
from mnemesh.mining.shell_commands import group_of, parts_of, worth_knowing
from mnemesh.mining.transcript import (
    ASSISTANT,
    USER,
    Chosen,
    Event,
    LineContext,
    Own,
    TokenUsage,
    ToolCall,
    ToolResult,
    Words,
)
from mnemesh_memory.values.injection import is_suspicious

CARRIED_MAX: Final = 200  # files, and open calls
EDITS_MIN: Final = 2
FIX_SENTENCES: Final = 3
FIX_CHARS_MAX: Final = 500
DENIAL_MESSAGES: Final = 3  # behind a fix, in which it can be denied
# Words that mean something in the sentence before.
_REFERS: Final = WordedPhrases(
    ("there way like same", r"\b(?:there|that way|like that|this way|like this|^(?:the )?same (?:in|for|with))\b")
)
_TAKES_BACK: Final = re.compile(r"git (?:checkout|restore)\b")
FIXES_MAX: Final = 50  # that wait
HEARD_MAX: Final = 2_000
EXTRACTIONS_MAX: Final = 500  # of one reading


class Extraction(NamedTuple):
    """A finding of a class. `path`: the file that it is about."""

    class_: str
    text: str
    path: str = ""
    basis: str = ""  # of a preference
    by_model: bool = False

    @property
    def suspicious(self) -> bool:
        """Whether the text holds a pattern of prompt injection."""
        return is_suspicious(self.text)


@dataclass(slots=True)
class MinedSession:
    """A session so far. Fields without `_` are carried from reading to reading. `signals` counts by the text of a
    preference how often the person showed it."""

    id: str = ""
    cwd: str = ""
    edits: dict[str, int] = field(default_factory=dict)
    open_calls: dict[str, ToolCall] = field(default_factory=dict)
    signals: dict[str, int] = field(default_factory=dict)
    tally: SessionTally = field(default_factory=SessionTally)
    own: bool = False
    heard: list[Words] | None = None  # Since the last asking, for a model.
    _found: dict[tuple[str, str], Extraction] = field(default_factory=dict)
    _fixes: list[Extraction] = field(default_factory=list)
    _central: set[str] = field(default_factory=set)
    # An error was reported, and something worked since.
    _trouble: bool = False
    _worked: bool = False
    _unspoken: int = 0  # messages since the last fix
    # The decisions that the last message of a person and of the agent told, which an answer can take back.
    _told: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _asked: bool = False  # The agent's last message ends with a question.

    def take(self, events: Iterable[Event]) -> None:
        """Take in the events of a line."""
        for event in events:
            if isinstance(event, Words):
                self._hear(event)
            elif isinstance(event, LineContext):
                self.id = self.id or event.session
                self.cwd = self.cwd or event.cwd
                if event.at:
                    self.tally.at(event.at)
            elif isinstance(event, ToolCall):
                self.open_calls[event.id] = event
                if len(self.open_calls) > CARRIED_MAX:
                    del self.open_calls[next(iter(self.open_calls))]
            elif isinstance(event, ToolResult):
                self._end(event)
            elif isinstance(event, TokenUsage):
                self.tally.spent(event)
            elif isinstance(event, Chosen):
                self._chosen(event.command)
            elif isinstance(event, Own):
                self.own = True
            else:
                self.tally.status = INTERRUPTED

    def extractions(self) -> list[Extraction]:
        """The findings since the last asking."""
        for fix in self._fixes:
            self._add(fix)
        for path in self._central:
            self._heat(path, "edited, and named as central")
        kept = [] if self.own else list(self._found.values())[:EXTRACTIONS_MAX]
        self._found.clear()
        self._fixes.clear()
        self._central.clear()
        return kept

    def carried(self) -> dict[str, Any]:
        """The beginning of a later reading of the same file."""
        calls = [[call.id, masked(call.command), list(call.edited)] for call in self.open_calls.values()]
        return {
            "session": self.id, "cwd": self.cwd, "edits": self.edits, "calls": calls, "trouble": self._trouble,
            "signals": self.signals, "tally": self.tally.carried(), "own": self.own,
        }  # fmt: skip

    @classmethod
    def of(cls, carried: Mapping[str, Any]) -> MinedSession:
        """A session by what `carried` gave."""
        calls = [ToolCall(id_, command, tuple(edited)) for id_, command, edited in carried.get("calls", ())]
        return cls(
            str(carried.get("session", "")), str(carried.get("cwd", "")), dict(carried.get("edits", {})),
            {call.id: call for call in calls}, dict(carried.get("signals", {})),
            SessionTally.of(carried.get("tally", {})), own=carried.get("own") is True,
            _trouble=carried.get("trouble") is True,
        )  # fmt: skip

    @classmethod
    def masked_again(cls, carried: Mapping[str, Any]) -> dict[str, Any]:
        """`carried` of an earlier version, which left credentials in it."""
        return cls.of(carried).carried() if carried else {}

    def _hear(self, words: Words) -> None:
        self._unspoken += 1
        if self.heard is not None:
            self.heard.append(words)
            del self.heard[:-HEARD_MAX]
        if self._fixes and self._unspoken <= DENIAL_MESSAGES and fixes.denies(words.text):
            self._fixes.pop()
        if words.role == USER:
            if self._told:
                self._take_back(words.text)
            self.tally.prompt(words.text)
            trouble = (self._worked or not self._trouble) and fixes.tells_trouble(words.text)
            self._worked = self._trouble and self._worked and not trouble
            self._trouble = self._trouble or trouble
        else:
            self.tally.answer(words.text)
            self._asked = words.text.rstrip().endswith("?")
        settled: list[tuple[str, str]] = []
        for sentences in paragraphs_of(words.text, typed=words.role == USER):
            if self.edits:
                for sentence in sentences:
                    if "." in sentence[:-1]:  # the name of a file
                        self._central.update(rules.names_central(sentence, self.edits))
            fix = self._fix_in(sentences) if words.role != USER else None
            if fix is not None:
                self._trouble, self._worked, self._unspoken = False, False, 0
                fixed = " ".join(sentences[fix])[:FIX_CHARS_MAX]
                self._fixes = [*self._fixes[-FIXES_MAX:], Extraction(rules.FIX, fixed)]
                sentences = sentences[: fix.start] + sentences[fix.stop :]
            for extraction in _classed(sentences, words.role):
                key = self._add(extraction)
                if extraction.class_ == rules.DECISION:
                    settled.append(key)
                if extraction.basis == rules.INFERRED:
                    self._signal(extraction.text)
        if settled:
            self._told[words.role] = settled
        elif words.role == USER:
            self._told.clear()

    def _take_back(self, text: str) -> None:
        """Forget the decisions that a person's message takes back: the agent's last ones by a no, one's own too by
        words such as "scrap that"."""
        taken = decisions.takes_back(text)
        if taken or (decisions.rejects(text) and not self._asked):
            for role in (ASSISTANT, USER) if taken else (ASSISTANT,):
                for key in self._told.pop(role, ()):
                    self._found.pop(key, None)

    def _fix_in(self, sentences: list[str]) -> slice | None:
        """The sentences of a paragraph that tell a fix, from before the first cue to behind the last."""
        cues = [number for number, sentence in enumerate(sentences) if fixes.tells_fix(sentence)]
        if not cues:
            if not (self._trouble and self._worked) or not fixes.explains(sentences):
                return None
            if any(rules.class_of(sentence, ASSISTANT) for sentence in sentences):
                return None
            cues = [0, len(sentences) - 1]
        first = max(0, cues[0] - 1)
        return slice(first, min(len(sentences), max(cues[-1] + 2, first + FIX_SENTENCES)))

    def _end(self, result: ToolResult) -> None:
        call = self.open_calls.pop(result.id, None)
        if call is None:
            return
        parts = worth_knowing(call.command)
        if result.turned_down:
            self._turned_down(call)
            return
        if parts:
            self.tally.ran(parts, failed=result.failed)
            self._trouble = self._trouble or result.failed
            self._worked = self._trouble and not result.failed
        if result.failed:
            if parts and self._fixes and self._unspoken <= DENIAL_MESSAGES:
                self._fixes.pop()
            return
        for part in parts:
            self._found[rules.COMMAND, group_of(part)] = Extraction(rules.COMMAND, f"Worked in this project: `{part}`")
        for path in call.edited:
            if path in self.edits or len(self.edits) < CARRIED_MAX:
                self.edits[path] = self.edits.get(path, 0) + 1
                if self.edits[path] == EDITS_MIN:
                    self._heat(path, "edited several times in one session")

    def _turned_down(self, call: ToolCall) -> None:
        for part in parts_of(call.command):
            self._signal(f"Turned down by the person: `{' '.join(group_of(part).split()[:2])}`")
        for path in call.edited:
            self._signal(f"Turned down by the person: edits of `{self._shown(path)}`")

    def _chosen(self, command: str) -> None:
        for part in worth_knowing(command):
            self._signal(f"Typed by the person: `{group_of(part)}`")
        for part in parts_of(command):
            if _TAKES_BACK.match(part):
                for path in map(self._shown, self.edits):
                    if path in part.split():
                        self._signal(f"Taken back by the person with git: `{path}`")

    def _signal(self, text: str) -> None:
        text = masked(text)
        if text in self.signals or len(self.signals) < CARRIED_MAX:
            self.signals[text] = self.signals.get(text, 0) + 1

    def _shown(self, path: str) -> str:
        inside = self.cwd and path.startswith(self.cwd.rstrip("/") + "/")
        return os.path.relpath(path, self.cwd) if inside else path

    def _heat(self, path: str, how: str) -> None:
        text = f"Hot file: `{self._shown(path)}` ({how})"
        self._found.setdefault((rules.HOT_FILE, path), Extraction(rules.HOT_FILE, text, path))

    def record(self) -> dict[str, Any]:
        """The fields of the session's record."""
        return self.tally.fields([self._shown(path) for path in self.edits])

    def _add(self, extraction: Extraction) -> tuple[str, str]:
        key = extraction.class_, extraction.text.casefold()
        self._found.setdefault(key, extraction)
        return key


def _classed(sentences: list[str], role: str) -> Iterator[Extraction]:
    """The sentences of a paragraph that have a class. A sentence that refers to the one before takes it along, and so
    does a second preference."""
    classed: list[Extraction] = []
    before = ""
    for sentence in sentences:
        class_ = rules.class_of(sentence, role)
        if not class_:
            before = sentence
            continue
        basis = rules.basis_of(sentence) if class_ == rules.PREFERENCE else ""
        if classed and classed[-1].text.endswith(before) and classed[-1].class_ == class_ == rules.PREFERENCE:
            basis = min(basis, classed[-1].basis)  # explicit comes first
            classed[-1] = Extraction(class_, f"{classed[-1].text} {sentence}", basis=basis)
        else:
            text = f"{before} {sentence}" if before and _REFERS.search(sentence.lower()) else sentence
            classed.append(Extraction(class_, text, basis=basis))
        before = sentence
    yield from classed
