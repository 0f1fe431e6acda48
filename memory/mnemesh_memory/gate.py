"""The save guard: what a draft is worth beside its neighbours. Pure; the ledger decides races inside its commit.

Similarity alone never refuses a text: two sentences that differ in one number are near and not the same. So only an
exact duplicate (equal normalised text) is a NOOP; everything else is added, and the neighbours are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemesh_memory.model import Checked, Related

RELATED_MAX = 5
# Below this cosine similarity two texts of the same language mostly have nothing in common.
NEAR_MIN = 0.5


def novelty(related: Sequence[Related]) -> float:
    """1 - the best neighbour's cosine similarity, in [0, 1]; 1 in an empty space."""
    best = max((item.similarity for item in related), default=0.0)
    return min(1.0, max(0.0, 1.0 - best))


def near(neighbours: Iterable[Related]) -> tuple[Related, ...]:
    """The neighbours that are worth a reader's look: those of NEAR_MIN or more."""
    return tuple(item for item in neighbours if item.similarity >= NEAR_MIN)


def although(twin: str, *, forgotten: bool) -> str:
    """What is said of a text that `force` stores beside the memory with the id `twin`, which says the same."""
    return f"stored although {twin}{', which was forgotten,' if forgotten else ''} says the same"


def judge(related: Sequence[Related], supersedes: Sequence[str]) -> Checked:
    """What `remember` would do with a draft that is no exact duplicate, beside the neighbours of its space."""
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
    return Checked(
        action="ADD",
        target_id=nearest.id,
        similarity=nearest.similarity,
        novelty=fresh,
        related=shown,
        reason=f"no identical text; nearest is {nearest.id} at similarity {nearest.similarity:.2f}",
    )
