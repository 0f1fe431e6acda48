"""Notices of a node for a person, in order. Outdated ones are not kept."""

from __future__ import annotations

from collections.abc import Iterator

NOTICES_MAX = 50
# The subject of what says which model the memories are embedded with.
EMBEDDED_WITH = "embedded with"


class Notice(str):
    """A text about a `subject`, which takes the place of an earlier text about it. An empty text says that nothing has
    to be told of it any more."""

    __slots__ = ("subject",)

    subject: str

    def __new__(cls, subject: str, text: str) -> Notice:
        made = super().__new__(cls, text)
        made.subject = subject
        return made


class Notices:
    """The last NOTICES_MAX that were told. A repeated text moves to the end; for each `subject` only the latest is
    kept."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def __call__(self, text: str, subject: str = "") -> None:
        subject = subject or (text.subject if isinstance(text, Notice) else "")
        self._kept.pop(key := subject or text, None)
        if not text:
            return
        self._kept[key] = text
        if len(self._kept) > NOTICES_MAX:
            del self._kept[next(iter(self._kept))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept.values())
