"""Values as JSON, with the names and forms of the HTTP door. Knows nothing of gRPC."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mnemesh.api.values.recall import Result


def as_json(value: object) -> Any:
    """`value` as JSON values, with the names and forms of the HTTP door: times in RFC 3339, what is None left out.

    The memory of a recall result does not repeat the content that stands above it.
    """
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): as_json(value[key]) for key in sorted(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if not dataclasses.is_dataclass(value):
        return value
    pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    body = {name: as_json(item) for name, item in pairs if item is not None}
    if isinstance(value, Result):
        del body["memory"]["content"]
    return body


def rfc3339(time: datetime) -> str:
    """`time` in UTC, with milliseconds where it has any, as 2026-05-01T12:00:00Z."""
    utc = time.astimezone(UTC)
    spec = "microseconds" if utc.microsecond % 1000 else ("milliseconds" if utc.microsecond else "seconds")
    return utc.replace(tzinfo=None).isoformat(timespec=spec) + "Z"
