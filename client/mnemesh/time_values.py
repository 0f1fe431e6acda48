"""How recall read the words of time of a question, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRead:
    """How the words of time of a question were read: as a stretch from `since` up to `before`, open where None, and not
    used when both are. `event_id` is the memory whose time an event has; `inside` counts the results of that stretch;
    `told` says it in a sentence."""

    words: tuple[str, ...]
    since: datetime | None
    before: datetime | None
    zone: str
    event_id: str
    inside: int
    told: str
