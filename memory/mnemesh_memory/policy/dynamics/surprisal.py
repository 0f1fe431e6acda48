"""Surprisal: how unlikely the novelty of a text is in its space. It informs and never refuses.

    novelty    x = 1 - cosine to the nearest memory, in [0, 1]
    tail       p = (1 + sum over samples of Phi((x_i - x) / b)) / (1 + N), the share of texts at least so novel
    surprisal  s = -log2 p * (1 - D * c), in bits

Self-information: Shannon 1948. The kernel estimate with a Gaussian, and its bandwidth b: Silverman 1986. Samples are
novelties of memories of the space, a uniform choice of all by a reservoir (Vitter 1985). With N samples surprisal is at
most log2(N + 1).

Task continuity c, in [0, 1], is a cosine times a share of a window: to a near memory that the same writer wrote there,
and the share that is left since then. A text that goes on with a task is expected (predictive coding: Rao and Ballard
1999).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, NamedTuple

SAMPLES_MAX: Final = 256
SAMPLES_MIN: Final = 8
SPACES_MAX: Final = 512  # The space that was used last furthest back is forgotten beyond.
DISCOUNT: Final = 0.5
CONTINUITY_MS: Final = 30 * 60_000
BANDWIDTH_MIN: Final = 0.02
SURPRISING_BITS: Final = 3.0
USUAL_BITS: Final = 1.0
_ROOT: Final = math.sqrt(2.0)


class Surprise(NamedTuple):
    """The surprisal of a text with a reason in words."""

    bits: float
    reason: str


class NoveltySamples:
    """Samples of each space."""

    def __init__(self) -> None:
        self._spaces: OrderedDict[str, tuple[int, list[float]]] = OrderedDict()  # how many were offered, the sample

    def knows(self, space: str) -> bool:
        """Whether samples of a space were begun."""
        return space in self._spaces

    def begin(self, space: str) -> None:
        """The space has no sample yet."""
        self._spaces.setdefault(space, (0, []))
        while len(self._spaces) > SPACES_MAX:
            self._spaces.popitem(last=False)

    def note(self, space: str, novelty: float, chance: int) -> None:
        """Offer a novelty. `chance` is a random number of 32 bits or more. Spaces that were not begun take none."""
        if space not in self._spaces or not math.isfinite(novelty):
            return
        offered, samples = self._spaces[space]
        if len(samples) < SAMPLES_MAX:
            samples.append(novelty)
        elif (place := chance % (offered + 1)) < SAMPLES_MAX:
            samples[place] = novelty
        self._spaces[space] = offered + 1, samples
        self._spaces.move_to_end(space)

    def of(self, space: str) -> list[float]:
        """The samples of a space."""
        return self._spaces.get(space, (0, []))[1]


def surprise(novelty: float, samples: list[float], continuity: float = 0.0) -> Surprise | None:
    """The surprisal of a novelty among samples of its space; None with fewer than SAMPLES_MIN."""
    if len(samples) < SAMPLES_MIN or not math.isfinite(novelty):
        return None
    width = max(BANDWIDTH_MIN, 1.06 * _deviation(samples) * len(samples) ** -0.2)
    below = math.fsum(math.erfc(-((sample - novelty) / width) / _ROOT) for sample in samples)  # Twice Phi of each.
    tail = (1.0 + 0.5 * below) / (1 + len(samples))
    going_on = min(1.0, max(0.0, continuity))
    bits = max(0.0, -math.log2(min(1.0, tail))) * (1.0 - DISCOUNT * going_on)
    share = f"about {100.0 * (1.0 - tail):.0f}% of this space"
    if bits >= SURPRISING_BITS:
        words = f"surprising: more novel than {share}"
    elif bits <= USUAL_BITS:
        words = "usual for this space"
    else:
        words = f"more novel than {share}"
    return Surprise(round(bits, 3), words + (", expected after the task just before" if going_on > 0 else ""))


def continuity(near: Iterable[tuple[float, int]], now: int) -> float:
    """The continuity of a text with (cosine, time in ms) of near memories that the same writer wrote."""
    left = (max(0.0, cosine) * (1.0 - max(0, now - at) / CONTINUITY_MS) for cosine, at in near)
    return min(1.0, max(0.0, *left, 0.0))


def _deviation(samples: list[float]) -> float:
    """The standard deviation. That of the standard library is exact, at fifty times the price."""
    mean = math.fsum(samples) / len(samples)
    return math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / len(samples))
