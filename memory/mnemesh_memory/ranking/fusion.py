"""One order out of two kinds of evidence: a convex combination of normalised scores.

Scores, not ranks: reciprocal rank fusion throws away how much better the first is, and with a weak dense model loses to
BM25 alone. S. Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 42(1), 2023,
doi:10.1145/3596512. The answer depends on the candidates alone, not on the order they come in, so replicas agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from mnemesh_memory.text.identifiers import humps, may_spell, spellings
from mnemesh_memory.text.scripts import spaced
from mnemesh_memory.text.traits import QUESTIONS_KEPT, Traits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.wordlists import COMMON_WORDS

SIGNALS: Final = ("dense", "bm25")
# Chosen on five LoCoMo conversations (Maharana et al., ACL 2024) with all-MiniLM-L6-v2; .55 to .75 for dense differ by
# less than .01 in hit@10 and .02 in MRR. `python -m bench.fitting` says what of the figures is only fit.
DEFAULT_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({"dense": 0.66, "bm25": 0.34})
# Weights of signals after the answer of the index (second_look.py), from 0, which is off, to 1. `statement` says
# whether words are looked for in the form of a statement.
OPTIONAL: Final[Mapping[str, float]] = MappingProxyType(
    {"statement": 1.0, "phrases": 0.8, "structure": 0.0, "completion": 0.0, "rerank": 0.0, "diversity": 0.0}
)
# With so much evidence a memory gets all that form and date are worth, with less in proportion.
FULL_EVIDENCE: Final = 0.3
SCORE_DECIMALS: Final = 6
TERM_CHARS: Final = 6
_WORD: Final = re.compile(r"[^\W_]+")


def _counts(part: str, weight: float, meaning: str) -> float:
    """A field of Mix: what the signal is counted in, how much, and what it says."""
    value: float = field(default=weight, metadata={"part": part, "meaning": meaning})
    return value


@dataclass(frozen=True, slots=True)
class Mix:
    """How much each signal counts. Those of `dense` and of `bm25` share the weight of theirs and sum to 1 in each;
    those of `form` make good so much of what the evidence lacks, together less than 1. A signal that is added here is
    in the table of `python -m bench.ablation`."""

    meaning: float = _counts("dense", 0.41, "cosine of question and memory")
    near: float = _counts("dense", 0.205, "cosines of the memories beside it in its session")
    episode: float = _counts("dense", 0.385, "the best cosine of its session")
    words: float = _counts("bm25", 0.24, "BM25 of the memory")
    window: float = _counts("bm25", 0.52, "BM25 of it together with the two before it in its session")
    episode_words: float = _counts("bm25", 0.24, "the best BM25 of its session")
    substance: float = _counts("form", 0.32, "a whole statement rather than a remark")
    states: float = _counts("form", 0.1, "it does not only ask")
    time: float = _counts("form", 0.2, "words of time, for who asks when")
    date: float = _counts("form", 0.3, "the month, year or stretch of time that the question names")
    speaker: float = _counts("form", 0.07, "the speaker that the question names")

    def without(self, *names: str) -> Mix:
        """The same with these signals off; the rest of `dense` and of `bm25` share what is theirs."""
        parts = signals()
        off: dict[str, float] = dict.fromkeys(names, 0.0)
        for part in SIGNALS:
            whole = {name: getattr(self, name) for name, theirs in parts.items() if theirs == part}
            left = {name: weight for name, weight in whole.items() if name not in off}
            if len(left) < len(whole) and (total := sum(left.values())):
                off |= {name: weight * sum(whole.values()) / total for name, weight in left.items()}
        return replace(self, **off)


DEFAULT_MIX: Final = Mix()


def signals() -> dict[str, str]:
    """Every signal with the part of the score that it is counted in."""
    return {one.name: one.metadata["part"] for one in fields(Mix)}


class Context(NamedTuple):
    """The surroundings of a candidate. `window` is the BM25 score of its text together with the texts just before it in
    its episode, `near` the mean cosine of the two beside it there, 0 for who is not in the list; `best_dense` and
    `best_window` are the best of its episode."""

    window: float = 0.0
    near: float = 0.0
    best_dense: float = 0.0
    best_window: float = 0.0


class Candidate(NamedTuple):
    """A memory with the raw scores that the index gave: cosine in [-1, 1], BM25 >= 0; None where a list lacks it.
    Without a context it is its own episode."""

    id: str
    dense: float | None = None
    bm25: float | None = None
    context: Context | None = None
    traits: Traits | None = None


class Fused(NamedTuple):
    """A memory with its relevance in [0, 1], and each signal's part of it, which sum to the score; None for a signal
    that says nothing of it. `form` is what substance, time, date and speaker add, `more` what a second look changed,
    `useful` what ratings add or take.

    `cosine` is its raw dense score, or the lowest of the list when the list lacks it; None without a dense list.
    """

    id: str
    score: float
    dense: float | None = None
    bm25: float | None = None
    cosine: float | None = None
    form: float | None = None
    useful: float | None = None
    more: Mapping[str, float] = MappingProxyType({})


def scaled_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weight of every signal, summing to 1. See ranking.fuse for what is refused."""
    for name, weight in weights.items():
        if name not in SIGNALS:
            raise InvalidArgument("weights", name, "one of " + ", ".join(SIGNALS))
        if not math.isfinite(weight) or weight < 0:
            raise InvalidArgument(f"weights.{name}", weight, "a finite number, not negative")
    whole = {name: weights.get(name, default) for name, default in DEFAULT_WEIGHTS.items()}
    largest = max(whole.values())
    if largest <= 0:
        raise InvalidArgument("weights", whole, "at least one above 0")
    # Divided by the largest first: the sum of huge weights must not overflow.
    relative = {name: weight / largest for name, weight in whole.items()}
    total = sum(relative.values())
    return {name: weight / total for name, weight in relative.items()}


def coverage(query: str, best: Iterable[tuple[Fused, str]]) -> float:
    """How well the best results answer, in [0, 1], from absolute evidence: unlike scores it compares across queries.

    `best` are the first results with their texts. For each the mean of max(0, cosine) and the share of the query's
    terms that the text holds, however identifiers are spelled; the largest counts. Without a dense list the share
    stands alone, without a term in the query the cosine does. 0 without results, and for a query without a word. On
    LoCoMo it tells questions about the conversation from questions about another one with an AUROC of .96; at .35, one
    in 25 of the first lies below and three in four of the second.
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


def _evidence(wanted: Sequence[frozenset[str]], fused: Fused, text: str) -> float:
    evidence = []
    if fused.cosine is not None:
        evidence.append(_unit(fused.cosine))
    if wanted[0]:
        there = terms(text)
        if may_spell(spaced(text), frozenset().union(*wanted) - there):
            there |= terms(" ".join(spellings(text)))
        evidence.append(max(len(asked & there) / len(asked) for asked in wanted if asked))
    return sum(evidence) / len(evidence) if evidence else 0.0


def terms(text: str) -> frozenset[str]:
    """What of a text coverage matches: folded words without the common English ones, in place of a stemmer without a
    plural s and cut to their first letters; accents, other scripts and emoji as the index counts them."""
    found: set[str] = set()
    for word in _WORD.findall(spaced(text.casefold())):
        if word not in COMMON_WORDS:
            plural = len(word) > 3 and word[-1] == "s" and word[-2] not in "su"
            found.add(word[: -1 if plural else None][:TERM_CHARS])
    return frozenset(found)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
