"""What a node has to tell a person, in the order in which it was told. What no longer holds is not kept."""

from __future__ import annotations

from collections.abc import Iterator

NOTICES_MAX = 50
# The subject of what says which model the memories are embedded with.
EMBEDDED_WITH = "embedded with"


class Notices:
    """The last NOTICES_MAX that were told. What is told again moves to the end; one with a `subject`, of which only
    the latest is true, takes the place of the earlier one with it."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def __call__(self, text: str, subject: str = "") -> None:
        self._kept.pop(key := subject or text, None)
        self._kept[key] = text
        if len(self._kept) > NOTICES_MAX:
            del self._kept[next(iter(self._kept))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept.values())
