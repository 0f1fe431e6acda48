"""The gate of the mode `gated`: whether a prompt is worth a question to the memory. Pure, but for its small file.

After a prompt that got memories, the next PAUSE prompts get none. After EMPTY_STREAK prompts without an answer, one in
EMPTY_EVERY is asked. A prompt on another topic always is: a topic is the words of the latest prompt that was asked. Of
words only their numbers are kept.
"""

from __future__ import annotations

import zlib

from mnemesh.hooks.context import TRIVIAL_WORDS, words_in
from mnemesh.hooks.kept.session_file import SessionFile
from mnemesh_proto.plain_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

PAUSE: Final = 2
EMPTY_STREAK: Final = 3
EMPTY_EVERY: Final = 3
# The least share of words that a prompt has in common with the topic, to belong to it.
SHARED_MIN: Final = 0.25
WORDS_MAX: Final = 200
WORD_CHARS_MIN: Final = 4


class Gate:
    """The state of a session: `empty` questions in a row, prompts `passed` since the last question, whether that
    `brought` anything, and the numbers of its words."""

    __slots__ = ("brought", "empty", "passed", "topic")

    def __init__(
        self, empty: int = 0, passed: int = 0, brought: bool = False, topic: frozenset[int] = frozenset()
    ) -> None:
        self.empty = empty
        self.passed = passed
        self.brought = brought
        self.topic = topic

    def opens(self, prompt: str) -> bool:
        """Whether the memory is to be asked."""
        if is_shift(self.topic, words_of(prompt)):
            return True
        if self.brought:
            return self.passed >= PAUSE
        return self.empty < EMPTY_STREAK or self.passed + 1 >= EMPTY_EVERY

    def asked(self, prompt: str, *, brought: bool) -> Gate:
        """The gate after a question."""
        words = words_of(prompt)
        empty = 0 if brought else 1 if is_shift(self.topic, words) else self.empty + 1
        return Gate(empty=empty, brought=brought, topic=words)

    def closed(self) -> Gate:
        """The gate after a prompt that was passed over."""
        return Gate(self.empty, self.passed + 1, self.brought, self.topic)

    def members(self) -> dict[str, Any]:
        """The state as its file has it."""
        topic = sorted(self.topic)
        return {"empty": self.empty, "passed": self.passed, "brought": self.brought, "topic": topic}


def words_of(prompt: str) -> frozenset[int]:
    """The numbers of the words that say what a prompt is about."""
    words: dict[str, None] = {}
    for word in words_in(prompt.lower()):
        if len(word) >= WORD_CHARS_MIN and word not in TRIVIAL_WORDS:
            words[word] = None
        if len(words) == WORDS_MAX:
            break
    return frozenset(zlib.crc32(word.encode("utf-8", "replace")) for word in words)


def is_shift(topic: frozenset[int], words: frozenset[int]) -> bool:
    """Whether words belong to another topic. Few words alone say nothing."""
    if not topic:
        return True
    return bool(words) and len(words & topic) < SHARED_MIN * min(len(words), len(topic))


class GateFile(SessionFile):
    """The gate of a session on disk. A session without an id has a new one at each prompt."""

    folder = "hosts/gates"

    def read(self) -> Gate:
        """The gate, a new one where the file is damaged."""
        try:
            state: Any = loads("".join(self.lines()[-1:]) or "{}")
            topic = frozenset(int(number) for number in state.get("topic", ()))
            return Gate(int(state.get("empty", 0)), int(state.get("passed", 0)), state.get("brought") is True, topic)
        except (ValueError, OverflowError, TypeError, AttributeError):
            return Gate()

    def write(self, gate: Gate) -> None:
        """Keep the gate in place of the one before."""
        self.clear()
        self.append([dumps(gate.members())])
