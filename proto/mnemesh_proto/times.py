"""A time in a request as text, in the words of every door: RFC 3339 with a zone, or a date, which means its start in
UTC. Part of the public contract, shared by client and gateway."""

from __future__ import annotations

import re
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

TIME_RULE: Final = "an RFC 3339 time with zone, such as 2026-05-01T12:00:00Z, or a date, such as 2026-05-01"
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_START: Final = "T00:00:00Z"


def set_time(target: Timestamp, text: str) -> None:
    """Set `target` to the time that `text` says. Raises ValueError or OverflowError for one that is none."""
    # RFC 3339 takes t and z for T and Z; protobuf does not.
    target.FromJsonString(text + _DAY_START if _DATE.fullmatch(text) else text.upper())
