"""Quoted phrases: what stands in quotation marks is looked for word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, Sight
from mnemesh_memory.wordlists import UNSPACED

PHRASES_MAX: Final = 8
_QUOTED: Final = re.compile(
    r'"([^"]{2,200})"|\u201c([^\u201d]{2,200})\u201d|\u00ab([^\u00bb]{2,200})\u00bb|`([^`]{2,200})`'
)


def phrases_of(question: str) -> tuple[str, ...]:
    """The phrases in quotation marks, folded, without repetition."""
    phrases = (_folded(next(filter(None, marks))) for marks in _QUOTED.findall(question))
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:PHRASES_MAX]


def held(phrases: Sequence[str], text: str) -> float:
    """The share of the phrases that the text holds word for word, but for case and white space."""
    folded = _folded(text)
    return sum(_stands_in(phrase, folded) for phrase in phrases) / len(phrases) if phrases else 0.0


def _stands_in(phrase: str, text: str) -> bool:
    """Whether it is there as whole words; scripts without spaces have none."""
    if phrase not in text:
        return False
    before = "" if UNSPACED.match(phrase[0]) else r"(?<!\w)"
    after = "" if UNSPACED.match(phrase[-1]) else r"(?!\w)"
    return re.search(before + re.escape(phrase) + after, text) is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _gain(sight: Sight) -> dict[str, float]:
    phrases = phrases_of(sight.query.text)
    return {id_: held(phrases, memory.content) for id_, memory in sight.memories.items()}


ROW: Final = OptionalSignal(
    "phrases", 0.8, "Gain by the quoted phrases of a question.", gain=_gain,
    concerns=lambda question: bool(phrases_of(question)),
)  # fmt: skip
