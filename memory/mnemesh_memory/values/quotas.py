"""How much a principal or a peer may write: how many memories and bytes in all, and how fast.

A bucket holds BURST_S seconds of the rate. A write passes while the bucket is not empty, however large the write is.
The next one waits until the debt is paid, so no batch is too large for any rate.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument

BURST_S: Final = 30.0
NO_LIMIT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Limits on the writes of a principal or a peer. NO_LIMIT is none, None is the default of the node."""

    max_memories: int | None = None
    max_bytes: int | None = None  # of entries in the log, which are deflated when they are large
    writes_per_second: float | None = None

    def over(self, defaults: Quota) -> Quota:
        """With the defaults where nothing is said."""
        own = {limit.name: getattr(self, limit.name) for limit in fields(self)}
        return Quota(**{name: getattr(defaults, name) if value is None else value for name, value in own.items()})

    def checked(self) -> Quota:
        """Itself. Raises InvalidArgument."""
        for name, most in MOST.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value <= most:
                raise InvalidArgument(name, value, f"0 to {most:,}; 0 is no limit")
        return self

    def beyond(self, own: Quota) -> str:
        """The first field that gives more than `own`, or ""; of both every field is known."""
        for limit in fields(self):
            asked, had = getattr(self, limit.name), getattr(own, limit.name)
            if had != NO_LIMIT and (asked == NO_LIMIT or asked > had):
                return limit.name
        return ""


MOST: Final = {
    "max_memories": limits.QUOTA_MEMORIES_MAX,
    "max_bytes": limits.QUOTA_BYTES_MAX,
    "writes_per_second": limits.QUOTA_WRITES_PER_SECOND_MAX,
}
NO_OWN: Final = Quota()
UNLIMITED: Final = Quota(max_memories=NO_LIMIT, max_bytes=NO_LIMIT, writes_per_second=NO_LIMIT)
DEFAULT: Final = Quota(
    max_memories=limits.QUOTA_MEMORIES,
    max_bytes=limits.QUOTA_BYTES,
    writes_per_second=limits.QUOTA_WRITES_PER_SECOND,
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The log's share of a principal or of a peer: the memories it began, and the bytes of its entries."""

    memories: int = 0
    bytes: int = 0

    def and_also(self, memories: int, bytes_: int) -> Usage:
        """With so many more."""
        return Usage(self.memories + memories, self.bytes + bytes_)

    def exceeds(self, quota: Quota) -> tuple[str, int, int] | None:
        """The first total that goes beyond `quota`, as name, value and limit."""
        for name, used, most in (
            ("max_memories", self.memories, quota.max_memories),
            ("max_bytes", self.bytes, quota.max_bytes),
        ):
            if most and used > most:
                return name, used, most
        return None


NOTHING: Final = Usage()


class Bucket:
    """The rate of one writer; times are seconds of any clock that does not go back."""

    def __init__(self, now: float) -> None:
        self._at = now
        self._spent = 0.0

    def wait_s(self, rate: float, now: float) -> float:
        """How long the next write has to wait, 0 for not at all."""
        self._spent = max(0.0, self._spent - (now - self._at) * rate)
        self._at = now
        over = self._spent - rate * BURST_S
        return max(0.0, over / rate) if over > 0 else 0.0

    def take(self, cost: float) -> None:
        """Something was written."""
        self._spent += cost
