"""The caller and the grants of a token, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.people.memories import BOLD, YELLOW, paint
from mnemesh.cli.shell import one_line


def identity(who: values.Identity) -> Iterator[str]:
    """The caller, the grants and their end, and a note when the default space is not granted."""
    default = who.default_space or who.private_space
    yield f"{paint(one_line(who.agent), BOLD)}  role {who.role}"
    along = f" (its older name {one_line(who.alias_space)} is read along)" if who.alias_space else ""
    yield f"private space {one_line(who.private_space)}, default space {one_line(default)}{along}"
    until = f"; until {rfc3339(who.expires_at)}" if who.expires_at else ""
    yield f"grants {granted(who.spaces, who.private_space, who.toolsets)}{until}"
    if not any(covers(pattern, default) for pattern in (*who.spaces, who.private_space)):
        told = f"the default space {one_line(default)} is none of these: name another with --space, MNEMESH_SPACE"
        yield paint(f"{told} or a .mnemesh.toml", YELLOW)


def granted(spaces: Iterable[str], private_space: str, toolsets: Iterable[str]) -> str:
    """The grants of a token, for people."""
    shared = ", ".join(map(one_line, spaces))
    only = ", ".join(toolsets)
    return f"{shared + ', ' if shared else ''}{one_line(private_space)}" + (f"; toolsets {only}" if only else "")


def covers(pattern: str, space: str) -> bool:
    """Whether a pattern of a token covers a space: the node's own rule (docs/access.md), only to tell people."""
    if space.startswith("@"):
        return space == pattern or space.startswith(pattern + "/")
    return pattern in ("*", space) or (pattern.endswith("/*") and space.startswith(pattern[:-1]))
