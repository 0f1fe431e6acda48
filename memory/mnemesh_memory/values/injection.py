"""Words by which a text speaks to a model in place of a reader. Pure.

Such a text is shown with a mark, and nothing is refused: a note about an attack holds the same words.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.values.model import Memory

_PATTERNS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|your|everything)\b"
    r".{0,40}\b(?:instructions?|rules?|prompts?|messages?|told)\b"
    r"|\byou are now\b(?! (?:able|allowed|connected|done|free|in|logged|on|ready|using)\b)"
    r"|\b(?:system|developer) prompt\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|show|ask)\b.{0,30}\buser\b"
    r"|\b(?:reveal|print|send|upload|post|exfiltrate)\b.{0,60}"
    r"(?:\b(?:secrets?|passwords?|credentials?|tokens?(?! (?:budget|count|limit|usage)))\b"
    r"|(?<!\w)\.(?:env|ssh)\b(?!\.example))"
    r"|\b(?:curl|wget)\b[^|\n]{0,400}\|\s*(?:ba|z)?sh\b|</?(?:system|instructions?|important)\b"
)
# One of these stands in every match. Looking for them first takes a tenth of the time.
_CUES: Final = (
    "ignore", "disregard", "forget", "override", "you are now", "prompt", "user", "reveal", "print", "send", "upload",
    "post", "exfiltrate", "curl", "wget", "<",
)  # fmt: skip
# Characters that hide words from a person.
_HIDDEN: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def is_marked(memory: Memory) -> bool:
    """Whether the words of a memory hold a pattern of prompt injection."""
    return is_suspicious(f"{memory.title}\n{memory.content}")


def is_suspicious(text: str) -> bool:
    """Whether a text holds a pattern of prompt injection."""
    lowered = text.lower()
    if any(cue in lowered for cue in _CUES) and _PATTERNS.search(lowered):
        return True
    return not text.isascii() and _HIDDEN.search(text) is not None
