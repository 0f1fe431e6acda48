"""The JSON object in a reply of a language model, which may stand in a fenced block. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.S)


def listed(reply: str, name: str) -> list[Any]:
    """The list `name` of the object in `reply`. Raises ValueError for a reply without an object or list."""
    fenced = _FENCE.match(reply)
    try:
        value = json.loads(fenced[1] if fenced else reply)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError(f'no object with a list "{name}"')
    return found
