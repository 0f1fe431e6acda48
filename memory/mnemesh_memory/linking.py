"""What stands beside a memory: typed links both ways, and what its text names as `[[title]]`. Values, and how they are
read out of a text; nothing here knows where memories are kept.

A link is kept as it was written. Its target may be on its way, forgotten, erased, or never have been: then the link
dangles, which is shown and not mended. Wikilinks are no links of the document: they are resolved when they are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.limits import LINKS_MAX, TITLE_BYTES_MAX

OUT: Final = "out"
IN: Final = "in"
WIKILINK: Final = "wikilink"
# States of the other end beside those of a memory.
MISSING: Final = "missing"  # not on this node, erased, or, of a title, borne by no memory of the space
AMBIGUOUS: Final = "ambiguous"  # a title that several memories of the space bear
RESOLVED_BY: Final = "resolved-by"
CONTRADICTS: Final = "contradicts"
PART_OF: Final = "part-of"
# What recall gives with a result, in this order, and how many of each.
ATTACHED_TYPES: Final = (RESOLVED_BY, CONTRADICTS)
ATTACHED_MAX: Final = 3
# As Obsidian writes them: [[title]], [[title|shown]], [[title#heading]]. A shell's [[ test ]] has blanks at its ends.
_WIKILINK: Final = re.compile(r"\[\[([^\s\[\]|#](?:[^\[\]|#\n]*[^\s\[\]|#])?)(?:[|#][^\[\]\n]*)?\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The other end of a link, as it is now. `type` is one of kinds.LINK_TYPES, or wikilink; `direction` is out for
    what the memory links to, in for what links to it; `state` is that of the other memory, missing or ambiguous.
    `id` is "" for a title that leads nowhere."""

    type: str
    direction: str
    id: str
    title: str = ""
    space: str = ""
    kind: str = ""
    state: str = MISSING
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Rated:
    """A memory after a rating: of how many writers it was useful to, and to how many not. `changed`: the caller's vote
    is another one now."""

    id: str
    useful: int
    not_useful: int
    changed: bool


def wikilinks(text: str) -> tuple[str, ...]:
    """The titles that `text` names in double brackets, in order, each once, the first limits.LINKS_MAX."""
    if "[[" not in text:
        return ()
    found = dict.fromkeys(match[1] for match in _WIKILINK.finditer(text))
    return tuple(title for title in found if len(title.encode()) <= TITLE_BYTES_MAX)[:LINKS_MAX]
