"""Entities, relations and their limits. An entity is known by its key: the name without case, articles and quotes.

A text is the word of its writer alone, so the share of one text in the graph is bounded: see the limits below.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.graph.words import CALENDAR, DETERMINERS, STOP_WORDS

# The closed list of relations, and what their two ends mostly are. "" says nothing about an end.
RELATIONS: Final[dict[str, tuple[str, str]]] = {
    "imports": ("file", "package"),
    "defines": ("file", "symbol"),
    "located_in": ("", "place"),
    "part_of": ("", ""),
    "has_version": ("software", "version"),
    "depends_on": ("", ""),
    "uses": ("", ""),
    "runs_on": ("software", ""),
    "deployed_to": ("software", "place"),
    "connects_to": ("", ""),
    "chosen_over": ("", ""),
    "chosen_because": ("", "reason"),
    "replaced_by": ("", ""),
    "caused_by": ("event", "cause"),
    "fixed_by": ("error", "fix"),
    "occurs_in": ("error", ""),
    "owns": ("person", ""),
    "works_on": ("person", ""),
    "member_of": ("person", "team"),
    "reports_to": ("person", "person"),
    "created": ("person", ""),
}
DOMAINS: Final = ("code", "decisions", "errors", "dependencies", "people")
TEXT_CHARS_READ: Final = 16_384  # of one memory
SENTENCE_CHARS_MAX: Final = 600
NAME_CHARS_MAX: Final = 80
CLAUSE_CHARS_MAX: Final = 160  # of a reason, a cause or a fix
RELATIONS_A_TEXT_MAX: Final = 64
ENTITIES_A_TEXT_MAX: Final = 64
# So often one entity of one text may stand at the same end of the same relation.
FAN_A_TEXT_MAX: Final = 12

_QUOTES: Final = re.compile(r"[`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb*]+")
_ARTICLES: Final = re.compile(r"\b(?:the|an?)\b ?", re.IGNORECASE)
_LETTER: Final = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement of a text: `subject` and `object` are names as the text writes them."""

    subject: str
    type: str
    object: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a text, and what it names: file, package, symbol, error, person, team, version and so on, or ""."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Extract:
    """Everything that the graph takes from one text."""

    relations: tuple[Relation, ...] = ()
    entities: tuple[Entity, ...] = ()


def entity_key(name: str) -> str:
    """Equal for names of one entity. "" for a name that is none: stop words, numbers, marks."""
    plain = unicodedata.normalize("NFKC", name)
    plain = _QUOTES.sub("", _ARTICLES.sub("", plain))
    key = " ".join(plain.casefold().split()).strip(" .,;:!?()[]{}<>")
    words = key.split()
    if not _LETTER.search(key) or all(word in STOP_WORDS or word in DETERMINERS for word in words):
        return ""
    return "" if all(word in CALENDAR for word in words) else key


def version_key(text: str) -> str:
    """A version without its v."""
    return text.strip().removeprefix("v").removeprefix("V").rstrip(".")
