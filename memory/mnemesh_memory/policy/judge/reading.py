"""What a model that has read an older and a newer text side by side says of the two. The guard decides. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

# So many memories are read beside a new text: a reading takes as long as embedding the text.
READINGS_MAX: Final = 4


class Reading(NamedTuple):
    """How likely the newer text says the same, gives another value of the same thing, or does neither. Sums to 1."""

    repeats: float
    replaces: float
    apart: float
