"""A clock that a test sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Time = TypeVar("Time", int, float)


@dataclass
class Clock(Generic[Time]):
    """It shows `now`, in the unit of the test: milliseconds or seconds."""

    now: Time

    def __call__(self) -> Time:
        return self.now
