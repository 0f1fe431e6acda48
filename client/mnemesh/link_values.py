"""What the client gives back of links and ratings: the messages as frozen dataclasses, as in values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What is at the other end of a link, as it is now. `type` is that of the link, or wikilink for a title in the
    text; `direction` is out or in; `state` is active, forgotten, superseded, missing or, of a title, ambiguous. `id` is
    "" for a title that leads nowhere."""

    type: str
    direction: str
    id: str
    title: str
    space: str
    kind: str
    state: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedMemory:
    """A memory after a rating: how many writers found it useful, and how many not. `changed`: the caller's own vote is
    another one now."""

    id: str
    useful: int
    not_useful: int
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The memories that one call rated."""

    rated: tuple[RatedMemory, ...]
