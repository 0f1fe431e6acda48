"""Time zones by name, and the one that this machine is set to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from mnemesh_memory.values.errors import InvalidArgument

NAME_CHARS_MAX = 64
# Most machines keep their zone as a link to its file in the database.
LOCALTIME: Final = Path("/etc/localtime")
# Times at which that zone is compared with the C library, which an environment may have set to another zone.
_COMPARED: Final = tuple(
    datetime(year, month, 1, tzinfo=UTC).timestamp() for year in range(2000, 2038) for month in range(1, 13)
)


class LocalZone(tzinfo):
    """The zone of this machine with its changes of the clock, which has no name here."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """The C library's offset of that wall time."""
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
        return machine_zone()
    try:
        if len(name) > NAME_CHARS_MAX:
            raise ValueError
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # no such name; what is no name; a folder of names
        raise InvalidArgument(
            field, name[:NAME_CHARS_MAX], "a time zone of the IANA database, such as Europe/Berlin"
        ) from None


def machine_zone(localtime: Path = LOCALTIME) -> tzinfo:
    """The zone of this machine, by its IANA name where there is one."""
    try:
        zone = ZoneInfo(str(localtime.resolve()).rpartition("/zoneinfo/")[2])
    except (ValueError, KeyError, OSError):  # a copy of the file, or none
        return LocalZone()
    same = all(datetime.fromtimestamp(at, zone).replace(tzinfo=None) == datetime.fromtimestamp(at) for at in _COMPARED)
    return zone if same else LocalZone()


def name_of(zone: tzinfo) -> str:
    """The IANA name of the zone; "" for a machine's zone without a name."""
    return zone.key if isinstance(zone, ZoneInfo) else ""
