"""Coverage: how well the best results answer a question, from absolute evidence; and the terms that it compares."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.scores import SCORE_DECIMALS, unit
from mnemesh_memory.text.counted_words import humps, may_spell, spaced, spellings
from mnemesh_memory.text.traits import QUESTIONS_KEPT
from mnemesh_memory.wordlists import COMMON_WORDS

TERM_CHARS: Final = 6
SHARES_KEPT: Final = 64
_WORD: Final = re.compile(r"[^\W_]+")


def coverage(query: str, best: Iterable[tuple[Fused, str]]) -> float:
    """How well the best results answer, in [0, 1], from absolute evidence: unlike scores it compares across queries.

    `best` are the first results with their texts. The value of a result is the mean of max(0, cosine) and the share of
    the query's terms in the text, however identifiers are spelled. The largest value counts. Without a dense list the
    share stands alone, and without a term in the query the cosine. Coverage is 0 without results, and for a query
    without a word. On LoCoMo the AUROC is .96 for questions about a conversation against questions about another. At
    .35, one in 25 of the former lies below and three in four of the latter.
    """
    wanted = _asked(query)
    if not wanted[0] and _WORD.search(query) is None:
        return 0.0  # signs alone: to the model all that it does not know is alike
    return round(max((_evidence(wanted, fused, text) for fused, text in best), default=0.0), SCORE_DECIMALS)


@lru_cache(maxsize=QUESTIONS_KEPT)
def _asked(query: str) -> tuple[frozenset[str], ...]:
    """The terms of a query as it is written and, where that differs, with its names in camel case taken apart."""
    written, apart = terms(query), terms(humps(query))
    return (written,) if apart == written else (written, apart)


def share(query: str, text: str) -> float | None:
    """The share of the query's terms that the text holds, however identifiers are spelled; None without a term."""
    return _share(_asked(query), text)


def _evidence(wanted: tuple[frozenset[str], ...], fused: Fused, text: str) -> float:
    evidence = [] if fused.cosine is None else [unit(fused.cosine)]
    held = _share(wanted, text)
    if held is not None:
        evidence.append(held)
    return sum(evidence) / len(evidence) if evidence else 0.0


# A result is looked at for the coverage of the answer, for its own score and for the best score.
@lru_cache(maxsize=SHARES_KEPT)
def _share(wanted: tuple[frozenset[str], ...], text: str) -> float | None:
    if not wanted[0]:
        return None
    there = terms(text)
    if may_spell(spaced(text), frozenset().union(*wanted) - there):
        there |= terms(" ".join(spellings(text)))
    return max(len(asked & there) / len(asked) for asked in wanted if asked)


def terms(text: str) -> frozenset[str]:
    """The words of a text that coverage matches, folded, without the common English ones. In place of a stemmer the
    plural s goes, and the first letters stay. Accents, other scripts and emoji are as the index counts them."""
    words: set[str] = set()
    for word in _WORD.findall(spaced(text.casefold())):
        if word not in COMMON_WORDS:
            plural = len(word) > 3 and word[-1] == "s" and word[-2] not in "su"
            words.add(word[: -1 if plural else None][:TERM_CHARS])
    return frozenset(words)
