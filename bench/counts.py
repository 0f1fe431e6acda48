"""The numbers that a command line of these programs takes, and what is said of one that can't be measured with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

FROM_ONE: Final = "a whole number of at least 1"


def from_one(text: str) -> int:
    """As the `type` of an option: of none of a thing there is no median. Raises ArgumentTypeError."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not allowed; {FROM_ONE}")
    return number


def too_few(held: int, wanted: Mapping[str, int], fixed: int, least: int) -> str:
    """Why a corpus of `held` texts does not do, "" when it does. `wanted` has how many each option asks for, `fixed` is
    what none of them changes, `least` what is needed with the lowest numbers."""
    needed = sum(wanted.values()) + fixed
    if held >= needed:
        return ""
    parts = [f"{count:,} for {option}" for option, count in wanted.items()] + [f"{fixed:,} in any case"]
    way = f"lower {' or '.join(wanted)}" if held >= least else f"{least:,} at the least, so take a larger --corpus"
    return f"the corpus holds {held:,} sentences, {needed:,} are needed ({', '.join(parts)}); {way}"
