"""The newest of likes: a question for the latest wants the newest among results of one topic.

A topic is what the best results say about the words of the question: nearly as good a match as the best, with nearly as
many of the words. Members of the topic change places among themselves, the newest first, and nobody else moves. A
question without such words is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mnemesh_memory.ranking.coverage import share
from mnemesh_memory.ranking.second_look.optional_signal import Look, OptionalSignal, Sight, in_order
from mnemesh_memory.text.traits import happened_at

# Of the best score, and of the largest share of the question's words: at least so much is of one topic.
SCORE_OF_TOPIC: Final = 0.87
WORDS_OF_TOPIC: Final = 0.75
# "last week" names a time, "lasts" and "at last" mean something else.
_CUE: Final = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|nowadays|these days|at (?:the moment|present)"
    r"|(?<!from )(?:right )?now(?! and then)|(?:the|my|our|your|his|her|its|their|'s) last"
    r"(?! (?:\d|few|two|three|couple|night|week|weekend|month|quarter|year|spring|summer|fall|autumn|winter|(?:mon|tues"
    r"|wednes|thurs|fri|satur|sun)day|minutes?|hours?|days?)\b))\b",
    re.IGNORECASE,
)


def asks_for_latest(text: str) -> bool:
    """Whether a question wants the newest of several answers."""
    return _CUE.search(text) is not None


def newest_first(looks: Sequence[Look], sight: Sight, weight: float) -> list[Look]:
    """The same, with the scores of the topic given out anew by age, the newest the best. With a `weight` below 1 each
    score goes only so far."""
    ranked = in_order(looks)
    subject = _CUE.sub(" ", sight.query.text)
    known = [look for look in ranked if look.id in sight.memories]
    near = [look for look in known if look.score >= SCORE_OF_TOPIC * known[0].score]
    shares = {look.id: share(subject, _words_of(sight, look.id)) or 0.0 for look in near}
    most = max(shares.values(), default=0.0)
    topic = [look for look in near if shares[look.id] >= WORDS_OF_TOPIC * most]
    by_age = sorted(topic, key=lambda look: happened_at(sight.memories[look.id]), reverse=True)
    given = {newer.id: place.score for newer, place in zip(by_age, topic, strict=True)}
    return in_order(_moved(look, given.get(look.id, look.score), weight) for look in ranked)


def _words_of(sight: Sight, id_: str) -> str:
    memory = sight.memories[id_]
    return "\n".join((memory.title, memory.content, *memory.keywords, *memory.tags))


def _moved(look: Look, score: float, weight: float) -> Look:
    change = weight * (score - look.score)
    return Look(look.id, look.score + change, {**look.parts, "latest": change}) if change else look


def _change(looks: Sequence[Look], sight: Sight) -> list[Look]:
    return newest_first(looks, sight, sight.weights["latest"])


ROW: Final = OptionalSignal(
    "latest", 1.0, "How far the newest of a topic goes up, for a question for the latest.", change=_change,
    concerns=asks_for_latest,
)  # fmt: skip
