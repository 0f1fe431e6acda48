"""The sentences of a message, without code, quotations and tables."""

from __future__ import annotations

import re
from typing import Final

PASTED_CHARS: Final = 6_000  # from here on a person's message is mostly pasted text
TYPED_CHARS: Final = 2_000  # of such a message are read
SENTENCE_CHARS_MAX: Final = 400
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_LEFT_OUT: Final = re.compile(r"\s*(?:>|\||#{1,6} |    |\t)")
_BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_STOP: Final = re.compile(r"[.!?][\"')*]*\s")  # a quick look before the slow one
_END: Final = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)[\"')*]*\s+")


def paragraphs_of(text: str, *, typed: bool) -> list[list[str]]:
    """The sentences of each paragraph. `typed`: of a person, who may have pasted a log behind the first words."""
    if typed and len(text) > PASTED_CHARS:
        text = text[:TYPED_CHARS]
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    paragraphs = []
    for line in text.replace("\u2019", "'").splitlines():
        if not line or _LEFT_OUT.match(line):
            continue
        bullet = _BULLET.match(line)
        plain = (line[bullet.end() :] if bullet else line).replace("**", "").strip()
        parts = _END.split(plain) if _STOP.search(plain) else (plain,)
        sentences = [part for part in parts if 2 < len(part) <= SENTENCE_CHARS_MAX]
        if sentences:
            paragraphs.append(sentences)
    return paragraphs
