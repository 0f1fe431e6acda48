"""A memory with its score, as fusion and every later step hand it on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


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
