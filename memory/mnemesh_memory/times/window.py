"""Stretch of time that a question asks about, and the sentence about how its words were read. Knows no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, NamedTuple

from mnemesh_memory.times.calendar import wall_time

# Words of time raise memories of their stretch, leave out all others, or do nothing.
TIME_WORDS: Final = ("prefer", "only", "off")


# The time of an event is less sure than a date: it hangs on the memory that tells of the event. With the raise of a
# date, two of LoCoMo's 33 such questions lose their evidence. With half the raise, another question gains evidence.
BY_EVENT: Final = 0.5


class Window(NamedTuple):
    """From `since` up to `before`."""

    # In ms; None where the stretch is open.
    since: int | None
    before: int | None
    # Memories outside are left out, and not only lower.
    only: bool = False
    # How much a place inside counts: 1 for a date, BY_EVENT for an event.
    surety: float = 1.0
    # The id of the memory that tells of the event. An event is neither before nor after itself, so it lies outside.
    event: str = ""

    def holds(self, at: int, id_: str) -> bool:
        """Whether the memory with this id, which happened at `at` (ms), lies inside."""
        return (
            id_ != self.event and (self.since is None or at >= self.since) and (self.before is None or at < self.before)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRead:
    """How the words of time of a question were read."""

    words: tuple[str, ...]
    # The IANA name of the zone; "" for the zone of a machine without such a name.
    zone: str
    # In ms; None where the stretch is open. Both are None when no stretch was used.
    since: int | None = None
    before: int | None = None
    # The memory whose time the event has.
    event_id: str = ""
    # The number of results in the stretch.
    inside: int = 0
    # All of this in a sentence.
    told: str = ""


def time_sentence(read: TimeRead, zone: tzinfo, shown: int, *, lost: str, widened: bool) -> str:
    """The sentence for a person. `shown` is the number of results, `lost` an event without a memory. With `widened`,
    nothing lay inside and all times were searched."""
    parts = []
    if lost:
        parts.append(f'no memory of "{lost}" is sure enough, so it bounds nothing')
    if read.since is not None or read.before is not None:
        parts.insert(0, stretch_sentence(read, zone))
        if widened:
            parts.append("nothing that fits lies in it, so all times were searched")
        else:
            parts.append(f"{read.inside} of {shown} results lie in it" if shown else "nothing lies in it")
    return "; ".join(parts)


def stretch_sentence(read: TimeRead, zone: tzinfo) -> str:
    """The words, and the stretch as which they were read. At least one side of the stretch has an end."""
    low, high = (None if ms is None else _shown(ms, zone) for ms in (read.since, read.before))
    stretch = f"from {low} on" if high is None else f"before {high}" if low is None else f"{low} up to {high}"
    said = ", ".join(f'"{words}"' for words in read.words)
    event = f", by the time of memory {read.event_id}" if read.event_id else ""
    return f"{said} read as {stretch} ({zone}){event}"


def _shown(ms: int, zone: tzinfo) -> str:
    wall = wall_time(ms, zone)
    return wall.isoformat(" ", "minutes" if not wall.second else "seconds").removesuffix(" 00:00")
