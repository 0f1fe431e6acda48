"""The signals of a score, one row each. Fusion, explanations, the checks of weights and benchmarks read them, and
settings those that can be chosen. What is added after fusion has no row: soft rules, use and session coherence.

A signal of fusion is a row here and a column of `CandidateColumns`. Those of `dense` and of `bm25` share the weight of
their part and sum to 1 in each. Those of `form` make good so much of what the evidence lacks, together less than 1 for
any question: `substance` counts less for a message and `opening` less for a short question. An optional
signal is a row in a file of its own, but for two of the search, and a place in OPTIONAL. Importing this table loads no
numpy, which a client alone has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mnemesh_memory.ranking.second_look import (
    astrocyte_votes,
    completion,
    diversity,
    graph_nearness,
    latest,
    quoted_phrases,
    rerank,
    structure,
)
from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal

if TYPE_CHECKING:
    from mnemesh_memory.ranking.candidates import CandidateColumns, Column

# Weights of the two kinds of evidence, and of the rows below. Chosen on three corpora with all-MiniLM-L6-v2; `python -m
# bench.carry` says what each row brings on each of them.
DEFAULT_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({"dense": 0.67, "bm25": 0.33})
FORM: Final = "form"


class Signal(NamedTuple):
    """A signal of fusion."""

    name: str
    part: str  # The part of the score that it is counted in: dense, bm25 or form.
    weight: float
    meaning: str
    value: Callable[[CandidateColumns], Column]  # In [0, 1].
    raw: Callable[[CandidateColumns], Column] | None = (
        None  # The measurement behind the value, when that is another one.
    )


# The first row of dense and of bm25 is of the memory alone. The others are of what stands around it in its session.
_ROWS: Final = (
    Signal("meaning", "dense", 0.10, "cosine of question and memory", lambda of: of.meaning, lambda of: of.pool.dense),
    Signal("answer", "dense", 0.35, "cosine of the question and the memory with the question just before it",
        lambda of: of.answer(), lambda of: of.answer_raw()),
    Signal("near", "dense", 0.15, "cosines of the memories beside it in its session", lambda of: of.near(),
        lambda of: of.near_cosine),
    Signal("episode", "dense", 0.40, "the best cosine of its session",
        lambda of: of.episode(), lambda of: of.episode_raw()),
    Signal("words", "bm25", 0.17, "BM25 of the memory", lambda of: of.words, lambda of: of.pool.bm25),
    Signal("window", "bm25", 0.29, "BM25 of it together with the two before it in its session", lambda of: of.window,
        lambda of: of.window_raw()),
    Signal("episode_words", "bm25", 0.54, "the best BM25 of its session", lambda of: of.episode_words(),
        lambda of: of.episode_words_raw()),
    Signal("substance", FORM, 0.3, "a whole statement rather than a remark or a question", lambda of: of.substance(),
        lambda of: of.counted("words")),
    Signal("time", FORM, 0.12, "words of time, for who asks when", lambda of: of.time(),
        lambda of: of.counted("times")),
    Signal("date", FORM, 0.24, "the month, year or stretch of time that the question names",
        lambda of: of.date()),
    Signal("speaker", FORM, 0.09, "the speaker that the question names", lambda of: of.speaker()),
    Signal("person", FORM, 0.12, "the words of the person, not of the assistant", lambda of: of.person()),
    Signal("opening", FORM, 0.22, "it opens its session, the more so for a long question", lambda of: of.opening()),
)  # fmt: skip
SIGNALS: Final[Mapping[str, Signal]] = MappingProxyType({row.name: row for row in _ROWS})
# How much each signal counts.
Mix: TypeAlias = Mapping[str, float]
DEFAULT_MIX: Final[Mix] = MappingProxyType({row.name: row.weight for row in _ROWS})
# Two signals of the search, then those of a second look, in the order in which they change a score. An ablation set
# their defaults (docs/decisions/score-fusion.md), and most are off.
_OPTIONAL: Final = (
    OptionalSignal("statement", 1.0, "Above 0: a question's words are looked for in the form of a statement.",
        search=lambda weight: {"as_stated": weight > 0}),
    OptionalSignal("akin", 0.8, "Weight of words akin to those of a question, such as 'puppy' for 'dog'.",
        search=lambda weight: {"akin": weight}),
    quoted_phrases.ROW,
    structure.ROW,
    astrocyte_votes.ROW,
    graph_nearness.ROW,
    completion.ROW,
    rerank.ROW,
    diversity.ROW,
    latest.ROW,
)  # fmt: skip
OPTIONAL: Final[Mapping[str, OptionalSignal]] = MappingProxyType({row.name: row for row in _OPTIONAL})
