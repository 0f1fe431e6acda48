"""The stretch of time that a question asks about, and what is said of how its words were read. Knows no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, NamedTuple

from mnemesh_memory.calendar_spans import wall_time

# What words of time do: raise what lies in their stretch, leave out all else, or nothing.
TIME_WORDS: Final = ("prefer", "only", "off")


# A stretch that hangs on when a memory tells of an event is less sure than one that the words name: on LoCoMo the same
# raise as for a date costs two of 33 such questions their evidence; half of it, not for the event itself, gains one.
BY_EVENT: Final = 0.5


class Window(NamedTuple):
    """From `since` (ms) up to `before`, None where it is open. `only`: what lies outside is left out, not lower.
    `surety`: how much lying inside counts, 1 for words that name the stretch, BY_EVENT for an event, whose own memory
    `event` ("" for none) is never in it: the release was not before itself, nor after it."""

    since: int | None
    before: int | None
    only: bool = False
    surety: float = 1.0
    event: str = ""

    def holds(self, at: int, id_: str) -> bool:
        """Whether the memory with that id lies in it, which happened at that moment (ms)."""
        return (
            id_ != self.event and (self.since is None or at >= self.since) and (self.before is None or at < self.before)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRead:
    """How the words of time of a question were read: `words` of the question, the stretch in ms (open where None, both
    None when it was not used), the memory whose time an event has, how many results lie inside; `told` says it all.
    `zone` is the IANA name of the zone, "" for the machine's when that has none."""

    words: tuple[str, ...]
    zone: str
    since: int | None = None
    before: int | None = None
    event_id: str = ""
    inside: int = 0
    told: str = ""


def told(read: TimeRead, zone: tzinfo, shown: int, *, lost: str, widened: bool) -> str:
    """The sentence for a person. `shown` is how many results there are, `lost` the event of which no memory was found,
    `widened` whether all times were searched because nothing lay inside."""
    parts = []
    if lost:
        parts.append(f'no memory of "{lost}" is sure enough, so it bounds nothing')
    if read.since is not None or read.before is not None:
        parts.insert(0, stretch_told(read, zone))
        if widened:
            parts.append("nothing that fits lies in it, so all times were searched")
        else:
            parts.append(f"{read.inside} of {shown} results lie in it" if shown else "nothing lies in it")
    return "; ".join(parts)


def stretch_told(read: TimeRead, zone: tzinfo) -> str:
    """The words with the stretch that they were read as, which has an end at least on one side."""
    low, high = (None if ms is None else _shown(ms, zone) for ms in (read.since, read.before))
    stretch = f"from {low} on" if high is None else f"before {high}" if low is None else f"{low} up to {high}"
    said = ", ".join(f'"{words}"' for words in read.words)
    event = f", by the time of memory {read.event_id}" if read.event_id else ""
    return f"{said} read as {stretch} ({zone}){event}"


def _shown(ms: int, zone: tzinfo) -> str:
    wall = wall_time(ms, zone)
    return wall.isoformat(" ", "minutes" if not wall.second else "seconds").removesuffix(" 00:00")
