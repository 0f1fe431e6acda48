"""Time zones by name, and the one that this machine is set to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from mnemesh_memory.errors import InvalidArgument

NAME_CHARS_MAX = 64


class LocalZone(tzinfo):
    """The zone of this machine with its changes of the clock, which has no name here."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """What the C library says of that wall time."""
        if dt is None:
            return timedelta(0)
        wall = dt.replace(tzinfo=None)
        return wall - datetime.fromtimestamp(wall.timestamp(), UTC).replace(tzinfo=None)

    def dst(self, dt: datetime | None) -> timedelta | None:
        """Not told apart from the offset."""
        return None

    def tzname(self, dt: datetime | None) -> str:
        """As it is shown."""
        return "local time"

    def fromutc(self, dt: datetime) -> datetime:
        """The wall time of a moment, the second one of two that are alike marked as such."""
        return datetime.fromtimestamp(dt.replace(tzinfo=UTC).timestamp()).replace(tzinfo=self)

    def __str__(self) -> str:
        return "local time"


def zone_named(field: str, name: str) -> tzinfo:
    """The zone with that IANA name, such as Europe/Berlin; for "" the machine's. Raises InvalidArgument."""
    if not name:
        return LocalZone()
    try:
        if len(name) > NAME_CHARS_MAX:
            raise ValueError
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # no such name; what is no name; a folder of names
        raise InvalidArgument(
            field, name[:NAME_CHARS_MAX], "a time zone of the IANA database, such as Europe/Berlin"
        ) from None
