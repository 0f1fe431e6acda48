"""Links of a memory: typed links both ways, and wikilinks, the titles that its text names as `[[title]]`. Values, and
how to read them from a text; nothing here knows where memories are kept.

A link is kept as it was written. Its target may be on its way, forgotten, erased, or never have existed. Then the link
dangles: a reader sees it and nothing is mended. Wikilinks are no links of the document: a read resolves them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.values.limits import LINKS_MAX, TITLE_BYTES_MAX

OUT: Final = "out"
IN: Final = "in"
WIKILINK: Final = "wikilink"
# States of the other end beside those of a memory.
MISSING: Final = "missing"  # Not on this node, erased, or a title without a memory in the space.
AMBIGUOUS: Final = "ambiguous"  # A title of several memories of the space.
RESOLVED_BY: Final = "resolved-by"
CONTRADICTS: Final = "contradicts"
MAY_REPLACE: Final = "may-replace"  # On middling evidence: nobody has decided yet.
BOTH_HOLD: Final = "both-hold"  # Decided: the two do not contradict each other.
PART_OF: Final = "part-of"
SUPERSEDES: Final = "supersedes"
DERIVED_FROM: Final = "derived-from"
SEE_ALSO: Final = "see-also"
# Two memories that may not both hold, surest first. A link `both-hold` ends each.
OPEN_TYPES: Final = (CONTRADICTS, MAY_REPLACE)
# Types of links that recall gives with a result, in this order, and how many of each.
ATTACHED_TYPES: Final = (RESOLVED_BY, CONTRADICTS)
ATTACHED_MAX: Final = 3
# As Obsidian writes them: [[title]], [[title|shown]], [[title#heading]]. A shell's [[ test ]] has blanks at its ends.
_WIKILINK: Final = re.compile(r"\[\[([^\s\[\]|#](?:[^\[\]|#\n]*[^\s\[\]|#])?)(?:[|#][^\[\]\n]*)?\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The other end of a link, as it is now."""

    type: str  # One of kinds.LINK_TYPES, or wikilink.
    direction: str  # `out`: the memory links to the other end. `in`: the other end links to the memory.
    id: str  # "" for a title that leads nowhere.
    title: str = ""
    space: str = ""
    kind: str = ""
    state: str = MISSING  # State of the other memory, or missing or ambiguous.
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
    titles = dict.fromkeys(match[1] for match in _WIKILINK.finditer(text))
    return tuple(title for title in titles if len(title.encode()) <= TITLE_BYTES_MAX)[:LINKS_MAX]
