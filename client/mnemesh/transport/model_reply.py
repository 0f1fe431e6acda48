"""A question to a language model, and the JSON object in its reply, which may stand in a fenced block. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.S)


def question(instruction: str, data: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages that ask for what `instruction` says, about `data`."""
    return [
        {"role": "system", "content": instruction},
        {"role": "user", "content": json.dumps(data, ensure_ascii=False)},
    ]


def listed(reply: str, name: str) -> list[Any]:
    """The list `name` of the object in `reply`. Raises ValueError for a reply without an object or list."""
    fenced = _FENCE.match(reply)
    try:
        value = json.loads(fenced[1] if fenced else reply)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    items = value.get(name) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError(f'no object with a list "{name}"')
    return items
