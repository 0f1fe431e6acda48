"""Counts on the command line of these programs, and the refusals of counts too small to measure with."""

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
    """Why a corpus of `held` texts does not do, "" when it does. `wanted`: the texts that each option asks for.
    `fixed`: the texts beside all options. `least`: the need with the lowest numbers."""
    needed = sum(wanted.values()) + fixed
    if held >= needed:
        return ""
    parts = [f"{count:,} for {option}" for option, count in wanted.items()] + [f"{fixed:,} in any case"]
    way = f"lower {' or '.join(wanted)}" if held >= least else f"{least:,} at the least, so take a larger --corpus"
    return f"the corpus holds {held:,} sentences, {needed:,} are needed ({', '.join(parts)}); {way}"
