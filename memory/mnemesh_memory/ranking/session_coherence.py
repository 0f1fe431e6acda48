"""Session coherence: what the asking session wrote in the last hours stands above results that match equally well.

    c = max(0, 1 - age / 4 h) for a memory of the asking session, else 0. Context reinstatement: Howard and Kahana 2002.

It orders equal scores only, so its share of a score is 0.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.ranking.explanation import Share

FADES_MS: Final = 4 * 3_600_000
NAME: Final = "session"


def coherence(session: str, written_at: int, asking: str, now: int) -> float:
    """From 0 to 1, fading linearly with the age. A time ahead counts as now."""
    if not asking or session != asking:
        return 0.0
    return max(0.0, 1.0 - max(0, now - written_at) / FADES_MS)


def session_share(value: float) -> Share:
    """The row of an explanation."""
    return Share(NAME, None, value, 0.0, 0.0)
