"""Why a score is what it is: every signal with what it brings.

Worked out only when somebody asks, from what fusion was given: its own loop goes over some hundred candidates a recall
and keeps no more than the sums. A property test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mnemesh_memory.ranking import fusion
from mnemesh_memory.ranking.fusion import Candidate, Fused, Mix
from mnemesh_memory.text.traits import SUBSTANCE_WORDS, TIME_WORDS_MAX, Question, Traits

# A share is told in these parts, as a score is.
PARTS: Final = 10**fusion.SCORE_DECIMALS


class Share(NamedTuple):
    """The part of one signal in a score: `share` is `weight` times `value`, which lies in [0, 1] and was made of the
    `raw` measurement: a cosine, a BM25 score, a number of words, 1 or 0 for yes or no; None where there was nothing to
    measure. A signal of the second look has its change of the score as its value, and a weight of 1. All are told with
    SCORE_DECIMALS; the shares of a result add up to its score, unless that is 1."""

    name: str
    raw: float | None
    value: float
    weight: float
    share: float


class _Scale(NamedTuple):
    """What the candidates of one question are measured by: the lowest cosine, the best BM25 and the best of a window;
    the question; and whether windows were counted at all, which a search by keyword does not."""

    floor: float | None
    top: float
    widest: float
    question: Question
    windowed: bool


Measured = tuple[float, float | None]  # the value of a signal in [0, 1], and the raw measurement
Signal = Callable[[Candidate, _Scale], Measured]
NOTHING: Final[Measured] = (0.0, None)


def _larger(known: Measured, value: float, raw: float) -> Measured:
    return (value, raw) if value >= known[0] else known


def _of_traits(pick: Callable[[Traits, Question], Measured]) -> Signal:
    return lambda one, scale: NOTHING if one.traits is None else pick(one.traits, scale.question)


def _yes_or_no(pick: Callable[[Candidate, Traits, Question], float]) -> Signal:
    """A signal whose measurement is its value."""

    def measured(one: Candidate, scale: _Scale) -> Measured:
        value = 0.0 if one.traits is None else float(pick(one, one.traits, scale.question))
        return value, value

    return measured


def _words(one: Candidate, scale: _Scale) -> Measured:
    return (one.bm25 or 0.0) / scale.top, one.bm25


def _window(one: Candidate, scale: _Scale) -> Measured:
    """The memory alone, when that fits better than together with what was said before it."""
    words = _words(one, scale)
    if one.context is None:
        return words[0], None
    return _larger(words, one.context.window / scale.widest, one.context.window)


def _episode_words(one: Candidate, scale: _Scale) -> Measured:
    window = _window(one, scale)
    if one.context is None:
        return window
    return _larger(window, one.context.best_window / scale.widest, one.context.best_window)


def _meaning(one: Candidate, scale: _Scale) -> Measured:
    return _unit(one.dense if one.dense is not None else scale.floor or 0.0), one.dense


def _near(one: Candidate, scale: _Scale) -> Measured:
    return NOTHING if one.context is None else (_unit(one.context.near), one.context.near)


def _episode(one: Candidate, scale: _Scale) -> Measured:
    meaning = _meaning(one, scale)
    if one.context is None:
        return meaning[0], None
    return _larger(meaning, _unit(one.context.best_dense), one.context.best_dense)


# How the signals of the table in fusion are measured.
TABLE: Final[Mapping[str, Signal]] = {
    "meaning": _meaning,
    "near": _near,
    "episode": _episode,
    "words": _words,
    "window": _window,
    "episode_words": _episode_words,
    "substance": _of_traits(
        lambda traits, _: (math.log1p(traits.words) / math.log1p(SUBSTANCE_WORDS), float(traits.words))
    ),
    "states": _yes_or_no(lambda _, traits, asked: not traits.asks),
    "time": _of_traits(
        lambda traits, asked: (traits.times / TIME_WORDS_MAX if asked.when else 0.0, float(traits.times))
    ),
    "date": _yes_or_no(lambda one, traits, asked: asked.means(traits.at, one.id)),
    "speaker": _yes_or_no(lambda _, traits, asked: not asked.words.isdisjoint(traits.speakers)),
}
# Who stands in no episode, or of whose episode no words were counted, is its own: these count for what would stand
# around it, too.
OWN: Final = {"meaning": "dense", "words": "bm25"}


class Explainer:
    """Explains what `fuse` made of the same candidates, weights, question and mix."""

    def __init__(
        self,
        candidates: Iterable[Candidate],
        weights: Mapping[str, float] | None = None,
        question: Question | None = None,
        mix: Mix = fusion.DEFAULT_MIX,
    ) -> None:
        self._pool = {one.id: one for one in candidates}
        self._weights = fusion.scaled_weights(weights or {})
        self._asked = question is not None
        self._mix = mix
        pool = self._pool.values()
        windows = [max(one.context.window, one.context.best_window) for one in pool if one.context is not None]
        self._scale = _Scale(
            floor=min([one.dense for one in pool if one.dense is not None], default=None),
            top=max([one.bm25 for one in pool if one.bm25], default=1.0),
            widest=max(windows, default=0.0) or 1.0,
            question=question or Question(),
            windowed=any(windows),
        )

    def shares(self, fused: Fused) -> tuple[Share, ...]:
        """The part of each counted signal in the score, in the order of the table."""
        one = self._pool[fused.id]
        found: list[Share] = []
        for name, part in fusion.signals().items():
            weight = self._weight(name, part, one, fused)
            if weight is not None:
                value, raw = TABLE[name](one, self._scale)
                found.append(Share(name, raw, value, weight, weight * value))
        total = 0.0
        for share in found:
            total += share.share
        later = {**fused.more, **({} if fused.useful is None else {"useful": fused.useful})}
        for name, change in later.items():
            found.append(Share(name, None, change, 1.0, change))
            total += change
        if later:  # each of these was counted on top of a rounded score
            change = found[-1].share + fused.score - total
            found[-1] = found[-1]._replace(value=change, share=change)
        return _told(found, fused.score)

    def _weight(self, name: str, part: str, one: Candidate, fused: Fused) -> float | None:
        """How much a signal counts for this candidate; None when it has nothing to say."""
        mixed: float = getattr(self._mix, name)
        if part == "form":
            evidence = min(1.0, (fused.dense or 0.0) + (fused.bm25 or 0.0))
            room = (1.0 - evidence) * min(1.0, evidence / fusion.FULL_EVIDENCE)
            return mixed * room if mixed and self._asked and one.traits is not None else None
        if (fused.dense if part == "dense" else fused.bm25) is None:
            return None
        if one.context is None or (part == "bm25" and not self._scale.windowed):
            return self._weights[part] if name in OWN else None
        return self._weights[part] * mixed if mixed else None


def _told(found: Sequence[Share], score: float) -> tuple[Share, ...]:
    """`found` with SCORE_DECIMALS, its shares by the largest remainder (Hamilton's method), so that they add up."""
    exact = [share.share * PARTS for share in found]
    down = [math.floor(part) for part in exact]
    total = round(score * PARTS)
    if score == 1.0:  # where a higher sum was cut
        total = max(total, round(math.fsum(exact)))
    order = sorted(range(len(found)), key=lambda place: (down[place] - exact[place], place))
    for place in order[: total - sum(down)]:
        down[place] += 1
    return tuple(
        Share(
            share.name,
            None if share.raw is None else round(share.raw, fusion.SCORE_DECIMALS),
            round(share.value, fusion.SCORE_DECIMALS),
            round(share.weight, fusion.SCORE_DECIMALS),
            part / PARTS,
        )
        for share, part in zip(found, down, strict=True)
    )


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
