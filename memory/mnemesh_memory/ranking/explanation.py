"""Why a score is what it is: every signal with what it brings.

Worked out only when somebody asks, from what fusion was given: its own loop goes over some hundred candidates a recall
and keeps no more than the sums. A property test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from mnemesh_memory.ranking import fusion
from mnemesh_memory.ranking.fusion import Candidate, Context, Fused, Mix
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


Raw = Callable[[Candidate, _Scale], float | None]
Value = Callable[[Candidate, _Scale], float]


class _Signal(NamedTuple):
    """How a signal of the table in fusion is measured, and what becomes of it. Without `raw` the value is yes or no."""

    value: Value
    raw: Raw | None = None


def _around(name: str) -> Raw:
    pick: Callable[[Context], float] = attrgetter(name)
    return lambda one, _: None if one.context is None else pick(one.context)


def _of_traits(pick: Callable[[Traits, Question], float]) -> Value:
    return lambda one, scale: 0.0 if one.traits is None else pick(one.traits, scale.question)


def _date(one: Candidate, scale: _Scale) -> float:
    return 0.0 if one.traits is None else scale.question.means(one.traits.at, one.id)


def _words(one: Candidate, scale: _Scale) -> float:
    return (one.bm25 or 0.0) / scale.top


def _window(one: Candidate, scale: _Scale) -> float:
    return max(_words(one, scale), one.context.window / scale.widest if one.context else 0.0)


def _window_raw(one: Candidate, scale: _Scale) -> float | None:
    """Of the memory alone, when that fits better than together with what was said before it."""
    if one.context is None:
        return None
    return one.context.window if one.context.window / scale.widest >= _words(one, scale) else one.bm25


def _episode_words(one: Candidate, scale: _Scale) -> float:
    return max(_window(one, scale), one.context.best_window / scale.widest if one.context else 0.0)


def _episode_words_raw(one: Candidate, scale: _Scale) -> float | None:
    if one.context is None:
        return None
    best = one.context.best_window
    return best if best / scale.widest >= _window(one, scale) else _window_raw(one, scale)


def _meaning(one: Candidate, scale: _Scale) -> float:
    return _unit(one.dense if one.dense is not None else scale.floor or 0.0)


def _near(one: Candidate, scale: _Scale) -> float:
    return _unit(one.context.near if one.context else 0.0)


def _episode(one: Candidate, scale: _Scale) -> float:
    return max(_meaning(one, scale), _unit(one.context.best_dense if one.context else 0.0))


def _episode_raw(one: Candidate, scale: _Scale) -> float | None:
    if one.context is None:
        return None
    return one.context.best_dense if _unit(one.context.best_dense) >= _meaning(one, scale) else one.dense


TABLE: Final[Mapping[str, _Signal]] = {
    "meaning": _Signal(_meaning, lambda one, _: one.dense),
    "near": _Signal(_near, _around("near")),
    "episode": _Signal(_episode, _episode_raw),
    "words": _Signal(_words, lambda one, _: one.bm25),
    "window": _Signal(_window, _window_raw),
    "episode_words": _Signal(_episode_words, _episode_words_raw),
    "substance": _Signal(
        _of_traits(lambda traits, _: math.log1p(traits.words) / math.log1p(SUBSTANCE_WORDS)),
        lambda one, _: None if one.traits is None else float(one.traits.words),
    ),
    "states": _Signal(_of_traits(lambda traits, _: not traits.asks)),
    "time": _Signal(
        _of_traits(lambda traits, asked: traits.times / TIME_WORDS_MAX if asked.when else 0.0),
        lambda one, _: None if one.traits is None else float(one.traits.times),
    ),
    "date": _Signal(_date),
    "speaker": _Signal(_of_traits(lambda traits, asked: not asked.words.isdisjoint(traits.speakers))),
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
                value = float(TABLE[name].value(one, self._scale))
                raw = TABLE[name].raw
                found.append(Share(name, raw(one, self._scale) if raw else value, value, weight, weight * value))
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
