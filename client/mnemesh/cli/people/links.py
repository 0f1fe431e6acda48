"""Links and ratings as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemesh.api import values
from mnemesh.cli.shell import one_line
from mnemesh.short_id import short_id


def ends(linked: Iterable[values.Linked], more: int = 0) -> Iterator[str]:
    """A line for each end of a link: the arrow says whether the memory links to it or it to the memory."""
    for end in linked:
        arrow = "->" if end.direction == "out" else "<-"
        state = "" if end.state == "active" else f"({end.state})"
        id_ = end.id if end.state == "missing" else short_id(end.id)  # unlink takes the whole id of what is gone
        yield "  ".join(filter(None, (f"{arrow} {end.type}", id_, one_line(end.title), state)))
    if more:
        yield f"and {more} more link to it"


def rated(done: values.Ratings) -> Iterator[str]:
    """A line a memory."""
    for memory in done.rated:
        kept = "" if memory.changed else ", as before"
        yield f"{short_id(memory.id)}  useful to {memory.useful}, not useful to {memory.not_useful}{kept}"
    if not done.rated:
        yield "no memory was cited that you may rate"
