"""The reading of an older and a newer text by a model, weighed with the words. Pure.

The model is small and learned from some 130,000 pairs (`python -m bench.training.judge_training`). So its word and the
likelihood of the trees are added up. The limits come from pairs of hands and histories that neither had seen
(`--limits`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from math import log
from typing import Final, NamedTuple

LIMITS_FILE: Final = "words/pair_limits.json"
# So many memories are read beside a new text: a reading takes as long as embedding the text.
READINGS_MAX: Final = 2
# The part of the trees, and the most that they add or take, in units of the logarithm of odds.
TREES_SHARE: Final = 0.5
TREES_MOST: Final = 2.0
LEAST: Final = 1e-4
# From this likelihood of the trees on a link by words stands, unless the model is sure that the texts are apart. Of
# unseen pairs that words link and the model leaves open, three of four from here on are new values.
SURE_WORDS_MIN: Final = 0.84
# A pair that the model rather takes for a repeat is judged by words alone: it reads over turned roles.
REPEATS_RATHER: Final = 0.5
# From here on the model is as sure of a repeat as it ever is. Texts that share few words are one text only from here
# on. An earlier model was tried on 13,354 pairs of twelve hands, none a repeat and none seen by the model. One
# elaboration passed and no new value. From .95 on three new values passed. The vetoes were written with these pairs
# in view.
SURE_REPEAT_MIN: Final = 0.97


# From this score on a pair is kept for the questions to come. Below are 36 of 348 replaced facts of eighteen histories.
KEPT_FROM: Final = -4.0
# A question beside a pair tells what the two texts are compared by. The odds of the pair and those with the question
# are added up, these by a model of their own. From FIRST_FROM on the newer text is the answer, in a space of
# CROWD_FROM memories or fewer. Among more memories more are near by chance, so the limit rises with the logarithm of
# their number.
PAIR_SHARE: Final = 0.4
ASKED_SHARE: Final = 0.85
FIRST_FROM: Final = -3.5
# A newer result whose pair was not kept counts as a pair with this score. Its pair was read and unlikely, or not read
# yet. In a small space it comes first from a probability of .64 on.
BEHIND_SCORE: Final = -10.0
# A memory with a lower cosine to the question is not read: it does not answer. This holds for the packaged model.
ASKED_COSINE_MIN: Final = 0.125
CROWD_FROM: Final = 60
CROWD_SHARE: Final = 1.1


class Reading(NamedTuple):
    """How likely the newer text says the same, gives another value of the same thing, or does neither. Sums to 1."""

    repeats: float
    replaces: float
    apart: float
    whole: bool = False  # The model has read each word of both texts, and knows each.


class AskedReading(NamedTuple):
    """How likely the newer of two texts answers a question in the place of the older one."""

    answers: float
    whole: bool = False  # As in Reading.


class ReadingLimits(NamedTuple):
    """The scores from which on a pair that was read is judged, and the least probability of a repeat."""

    ask: float
    mark: float
    link: float
    replace: float
    repeat: float


def reading_of(row: Sequence[float]) -> Reading:
    """The reading that the numbers of a model are: three probabilities, and 1 for texts that were read whole."""
    repeats, replaces, apart, whole = row
    return Reading(repeats, replaces, apart, whole > 0)


@lru_cache(maxsize=1)
def limits() -> ReadingLimits:
    """The limits of the package."""
    stored = json.loads(files("mnemesh_memory").joinpath(LIMITS_FILE).read_text("utf-8"))
    return ReadingLimits(**{name: stored[name] for name in ReadingLimits._fields})


def score(reading: Reading, likelihood: float) -> float:
    """How much speaks for another value of the same thing: the odds of the reading and a part of those of the trees."""
    odds = _odds(likelihood)
    by_reading = log(max(reading.replaces, LEAST) / max(reading.apart, LEAST))
    return by_reading + TREES_SHARE * max(-TREES_MOST, min(TREES_MOST, odds))


def asked_text(question: str, older: str) -> str:
    """The older text as a model reads it with a question, beside the newer text."""
    return f"{question} {older}"


def asked_odds(pair: float, asked: AskedReading) -> float:
    """How much speaks for the newer text as the answer, of a pair with this score (log odds)."""
    return PAIR_SHARE * pair + ASKED_SHARE * _odds(asked.answers)


def first_from(memories: int) -> float:
    """The least `asked_odds` of a newer text that comes first, in a space of so many memories."""
    return FIRST_FROM + CROWD_SHARE * log(max(memories, CROWD_FROM) / CROWD_FROM)


def _odds(probability: float) -> float:
    return log(max(probability, LEAST) / max(1 - probability, LEAST))
