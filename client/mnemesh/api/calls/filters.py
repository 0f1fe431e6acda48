"""The arguments that several reading operations share.

Wherever spaces are asked for, `space` and `spaces` mean the same: each takes one path or several, and both together
all of them. Without any the node takes the client's space and the caller's private space. Wherever a time is asked for,
an aware datetime, an RFC 3339 text, or a date, which means its start in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mnemesh.api.wire import listed

Words = str | Iterable[str]
Time = datetime | str


def places(space: Words | None, spaces: Words | None, path: str = "") -> list[object] | None:
    """The values of `space` and of `spaces`, in one list. Raises InvalidArgument that names the field after
    `path`."""
    given = {name: value for name, value in (("space", space), ("spaces", spaces)) if value is not None}
    return [place for name, value in given.items() for place in listed(path + name, value)] if given else None
