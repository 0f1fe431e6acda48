"""Search of a transcript: the searched words of a text, and the score of a turn among its neighbours.

Values in, values out; the counting of words is left to an engine. A word is found as it is written, an identifier
however it is spelled, other scripts and emoji as in recall.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.text.counted_words import spaced, spellings
from mnemesh_memory.values import limits

# Version of the analysis of texts in this module. A file written with another version is indexed anew.
ANALYSIS: Final = 2
# A turn's own score is raised by a part of the scores of the turns one and two places before and after. The best turn
# of its session raises it, too. Chosen on LoCoMo, see docs/decisions/transcripts.md.
NEAR: Final = (0.3, 0.15)
SESSION: Final = 0.5
# A word that more turns than this share hold tells little; it is asked for only when no other word is left.
COMMON: Final = 0.1
COMMON_FROM_TURNS: Final = 50
WORD_CHARS_MAX: Final = 64

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn by its session and position there, with the score of its own words."""

    session: int
    position: int
    score: float


def words(text: str) -> list[str]:
    """The words that `text` is indexed and asked by, in their own case."""
    plain = spaced(text)
    return [word[:WORD_CHARS_MAX] for word in (*_WORD.findall(plain), *spellings(plain))]


def asked(held: Mapping[str, int], turns: int) -> tuple[str, ...]:
    """The words of a question worth a search: `held` counts the turns with each word, among all `turns`. The rarest
    TRANSCRIPT_SEARCH_TERMS_MAX, without words of no turn and words of every turn."""
    known = [word for word, count in held.items() if count]
    telling = [word for word in known if turns < COMMON_FROM_TURNS or held[word] <= COMMON * turns]
    return tuple(sorted(telling or known, key=lambda word: (held[word], word))[: limits.TRANSCRIPT_SEARCH_TERMS_MAX])


def full_match(counts: Iterable[int], turns: int) -> float:
    """The BM25 score of a turn of average length with each word once; `counts` has the number of turns with each. As
    SQLite computes it (https://www.sqlite.org/fts5.html#the_bm25_function)."""
    return sum(max(1e-6, math.log((turns - count + 0.5) / (count + 0.5))) for count in counts)


def ranked(pool: Iterable[Scored], full: float) -> list[tuple[Scored, float]]:
    """The pool, best first, each turn with its relevance in [0, 1]. Relevance is the turn's own score with its part of
    its neighbours, over `full`: the score of a lone turn with every word of the question."""
    turns = list(pool)
    own = {(turn.session, turn.position): turn.score for turn in turns}
    best: dict[int, float] = {}
    for turn in turns:
        best[turn.session] = max(turn.score, best.get(turn.session, 0.0))

    def score(turn: Scored) -> float:
        around = sum(
            share * (own.get((turn.session, turn.position - n), 0.0) + own.get((turn.session, turn.position + n), 0.0))
            for n, share in enumerate(NEAR, 1)
        )
        return turn.score + around + SESSION * best[turn.session]

    scored = sorted(
        ((score(turn), turn) for turn in turns), key=lambda pair: (-pair[0], pair[1].session, pair[1].position)
    )
    return [(turn, min(1.0, value / (full * (1 + SESSION)))) for value, turn in scored]
