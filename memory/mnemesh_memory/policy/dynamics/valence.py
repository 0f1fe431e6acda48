"""Valence: how good or bad the outcome is that a memory tells of, in (-1, 1).

    v = (p - n) / (p + n + 1), with p words of good outcomes, n of bad ones; an error counts one more bad outcome.

A negation just before a word turns its sign. Good and bad outcomes are remembered longer alike (McGaugh 2004), so heat
takes `|v|`: the factor on the half-life is `2^(|v| / 2)`, between 1 and the square root of 2. Votes are a channel of
their own, usefulness. The words are English. A text in another language has valence 0, unless its kind is error.
"""

from __future__ import annotations

import math
import re
from typing import Final

LOOKED_AT_CHARS: Final = 2_000
_GOOD: Final = frozenset(
    {"fixed", "solved", "resolved", "works", "worked", "passed", "passes", "succeeded", "success", "shipped"}
    | {"recovered", "stable", "faster", "improved", "won", "green", "finally", "reliable", "praised", "restored"}
)
_BAD: Final = frozenset(
    {"failed", "fails", "failure", "broke", "broken", "crashed", "crashes", "crash", "outage", "incident", "lost"}
    | {"corrupted", "regression", "wrong", "bug", "leaked", "timeout", "timeouts", "slower", "flaky", "deadlock"}
)
_NEGATIONS: Final = frozenset({"not", "no", "never", "without", "hardly"})
_WORD: Final = re.compile(r"[a-z]+(?:n['\u2019]t)?")


def valence(text: str, kind: str) -> float:
    """The valence of a memory of a kind."""
    words = _WORD.findall(text[:LOOKED_AT_CHARS].lower())
    signs = [
        (1 if word in _GOOD else -1) * (-1 if at and _negates(words[at - 1]) else 1)
        for at, word in enumerate(words)
        if word in _GOOD or word in _BAD
    ]
    good, bad = signs.count(1), signs.count(-1) + (kind == "error")
    return (good - bad) / (good + bad + 1)


def stretch(of: float) -> float:
    """The factor on a half-life, the same for a valence and its opposite."""
    return math.exp2(abs(of) / 2.0)


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith(("n't", "n\u2019t"))
