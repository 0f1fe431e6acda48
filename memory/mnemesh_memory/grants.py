"""What a token or a peer may read and write: roles and patterns of spaces. One table for every door and every stream.

A pattern is a space, `prefix/*` for everything below a prefix, or `*` for every shared space. The private space of a
principal, `@name`, is matched by its own name alone: no wildcard reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.validate import space_path

ROLES: Final = ("reader", "writer", "admin")
EVERY_SHARED: Final = "*"
BELOW: Final = "/*"
PATTERNS_MAX: Final = 100


def check_pattern(field: str, pattern: str) -> str:
    """The pattern, normalised as a space is. Raises InvalidArgument naming `field`."""
    if pattern == EVERY_SHARED:
        return pattern
    below = pattern.endswith(BELOW)
    path = space_path(field, pattern[: -len(BELOW)] if below else pattern)
    if below and path.startswith("@"):
        raise InvalidArgument(field, pattern, "a private space is named in full: @name")
    return path + BELOW if below else path


def space_matches(pattern: str, space: str) -> bool:
    """Whether a checked pattern covers a space."""
    if space.startswith("@"):
        return pattern == space
    if pattern == EVERY_SHARED:
        return True
    if pattern.endswith(BELOW):
        return space.startswith(pattern[:-1])
    return pattern == space


def any_matches(patterns: Iterable[str], space: str) -> bool:
    """Whether one of the patterns covers the space."""
    return any(space_matches(pattern, space) for pattern in patterns)


def principal_of(agent: str) -> str:
    """The principal that an agent's name begins with: `ana` of `ana/claude-code`."""
    return agent.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGrant:
    """What the other side of a stream may do: take entries of `read` spaces, bring entries of `write` spaces, written
    by agents of `principal` alone unless it may `relay` those of others."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    principal: str
    relay: bool = False

    def may_speak_for(self, agent: str) -> bool:
        """Whether an entry by `agent` may come over this stream."""
        return self.relay or principal_of(agent) == self.principal
