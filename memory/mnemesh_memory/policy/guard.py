"""The save guard: what a draft is worth beside its neighbours. Pure; the ledger decides races inside its commit.

Similarity alone never refuses a text: two sentences that differ in one number are near and not the same. So only an
exact duplicate (equal normalised text) is a NOOP. Every other draft is added and its neighbours are reported. Of the
nearest neighbour a hint tells the writer what to do next.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from mnemesh_memory.values.model import Checked, Related

RELATED_MAX = 5
# Below this cosine similarity two texts of the same language mostly have nothing in common.
NEAR_MIN = 0.5
# From here on two texts are mostly about one thing, and the newer one may replace the older.
REPLACES_MIN = 0.6
# Texts that differ in case, spacing and a final stop only are nearer than this; others need no comparison.
ALIKE_MIN = 0.8

_SPACED_PUNCTUATION = re.compile(r" ?([,.;:!?()\[\]{}\"'\u2018\u2019\u201c\u201d\u3001\u3002]) ?")
_FINAL_STOPS = ".\u3002\u2026"


def novelty(related: Sequence[Related]) -> float:
    """1 - the best neighbour's cosine similarity, in [0, 1]; 1 in an empty space."""
    best = max((item.similarity for item in related), default=0.0)
    return min(1.0, max(0.0, 1.0 - best))


def near(neighbours: Iterable[Related]) -> tuple[Related, ...]:
    """The neighbours that are worth a reader's look: those of NEAR_MIN or more."""
    return tuple(item for item in neighbours if item.similarity >= NEAR_MIN)


def almost_identical(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, white space, the spacing of punctuation and a final stop. Such a
    text is stored all the same: True and true, or MW and mW, differ by case alone."""
    return _loosened(one) == _loosened(other)


def _loosened(content: str) -> str:
    words = " ".join(unicodedata.normalize("NFC", content).casefold().split())
    return _SPACED_PUNCTUATION.sub(r"\1", words).rstrip(_FINAL_STOPS)


def alike(related: Iterable[Related]) -> str:
    """Which of `related` is almost identical to the draft, in words; "" for none."""
    twin = next((item.id for item in related if item.alike), "")
    return f"{twin} says the same but for case, spacing or a final stop" if twin else ""


def advice(related: Sequence[Related], stored: str = "") -> str:
    """The next step of a writer about the nearest of `related`, as the call of a tool; "" when none is near enough.
    `stored` is the id under which the new text stands, "" while nothing is written."""
    if alike(related):
        return f'if one of the two is enough, call forget(id="{stored}")' if stored else "nothing needs to be added"
    nearest = max(related, key=lambda item: item.similarity, default=None)
    if nearest is None or nearest.similarity < REPLACES_MIN:
        return ""
    return f'if this replaces {nearest.id}, call supersede(id="{nearest.id}", content=<this text>)'


def although(twin: str, *, forgotten: bool) -> str:
    """The remark on a text that `force` stores beside the memory `twin` of equal text."""
    return f"stored although {twin}{', which was forgotten,' if forgotten else ''} says the same"


def judge(related: Sequence[Related], supersedes: Sequence[str]) -> Checked:
    """The answer of `remember` to a draft that is no exact duplicate, beside the neighbours of its space."""
    fresh, shown = novelty(related), near(related)
    nearest = max(shown, key=lambda item: item.similarity, default=None)
    if supersedes:
        return Checked(
            action="SUPERSEDE",
            target_id=supersedes[0],
            reason=f"replaces {', '.join(supersedes)}",
            novelty=fresh,
            related=shown,
        )
    if nearest is None:
        return Checked(action="ADD", reason="the space holds nothing near it", novelty=fresh)
    beside = alike(shown) or f"nearest is {nearest.id} at similarity {nearest.similarity:.2f}"
    return Checked(
        action="ADD",
        target_id=nearest.id,
        similarity=nearest.similarity,
        novelty=fresh,
        related=shown,
        hint=advice(shown),
        reason=f"no identical text; {beside}",
    )
