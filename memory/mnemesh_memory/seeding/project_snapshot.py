"""A project as it was read, and the findings of one topic. No text of a file passes here unbounded or unmasked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.values import injection

WORDS_CHARS_MAX: Final = 240  # Quoted of one line of a file.
ITEMS_MAX: Final = 16  # Of one list.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
# Words by which a file asks to be remembered.
_ASKS: Final = re.compile(
    r"\bremember (?:this|that|the following|forever)\b"
    r"|\b(?:add|store|save)\b.{0,30}\b(?:to|in) (?:your |the )?memory\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSnapshot:
    """The `name` of a folder, `texts` of files by path, the `listing` of all paths. Of the latest commits, `subjects`
    and `authors`. `unread` has the paths of files, folders and the repository that could not be read."""

    name: str
    texts: Mapping[str, str] = field(default_factory=dict)
    listing: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()

    def named(self, *names: str) -> tuple[str, ...]:
        """The paths of read files with one of these names, whatever the case, in the order of the names."""
        folded = {path.lower(): path for path in self.texts}
        return tuple(folded[name.lower()] for name in names if name.lower() in folded)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLines:
    """The lines of one topic, and their files."""

    lines: tuple[str, ...]
    files: tuple[str, ...] = ()


def quoted(words: object, most: int = WORDS_CHARS_MAX) -> str:
    """Words of a file as one bounded line: control characters and credentials are out. "" for no text."""
    if not isinstance(words, str):
        return ""
    line = masked(" ".join(_CONTROL.sub(" ", words[: 4 * most]).split()))[0]
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def is_suspicious(text: str) -> bool:
    """Whether a text of a file holds a pattern of prompt injection."""
    return injection.is_suspicious(text) or _ASKS.search(text) is not None


def listed(items: Iterable[str], most: int = ITEMS_MAX) -> str:
    """Items with commas, and how many more there are."""
    all_ = [item for item in dict.fromkeys(items) if item]
    more = f" and {len(all_) - most} more" if len(all_) > most else ""
    return ", ".join(all_[:most]) + more
