"""References to files in a memory: found in its text and paths, recorded with a hash, compared later. Pure.

A reference is an attribute `ref.N` with the git blob hash and the path below the root of the space's project. So peers
get it, and every node with that project compares for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mnemesh_memory.values import limits
from mnemesh_memory.values.marks import STALE_PREFIX

REFERENCES_MAX: Final = 16  # Of one memory.
CANDIDATES_MAX: Final = 64  # Looked for on disk, of one text.
LOOKED_AT_CHARS: Final = 32 * 1024
SAME, CHANGED, GONE, RENAMED, UNCHECKED = STATES = ("same", "changed", "gone", "renamed", "not checked here")
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://\S*", re.I)
_PATH: Final = re.compile(r"(?<![\w/.@~$-])(?:\.{1,2}/|/)?[\w@+-][\w.@+-]*(?:/[\w@.+-]+)*")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_GLOB: Final = re.compile(r"[*?\[]")
_RECORD: Final = re.compile(r"([0-9a-f]{40}) (.+)")


class Reference(NamedTuple):
    """A file that a memory names, and its content as it was: the hash that git gives it."""

    path: str
    hash: str


def candidates(text: str, paths: Iterable[str]) -> tuple[str, ...]:
    """What may be the path of a file: the given paths, then names in a text that have a folder or an extension."""
    likely = dict.fromkeys(path for path in paths if not _GLOB.search(path))
    for path in _named(_URL.sub(" ", text[:LOOKED_AT_CHARS])):
        if len(likely) >= CANDIDATES_MAX:
            break
        likely.setdefault(path)
    return tuple(likely)[:CANDIDATES_MAX]


def _named(text: str) -> Iterator[str]:
    for match in _PATH.finditer(text):
        path = match.group().rstrip(".")
        if len(path) <= limits.PATH_BYTES_MAX and ("/" in path.strip("/") or _EXTENSION.search(path)):
            yield path


def below(path: str) -> str:
    """The path without `.` and `..`; "" for one that leaves its root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def recorded(attrs: Mapping[str, str]) -> tuple[Reference, ...]:
    """The references that attributes record. Another node may have sent any words, and what is no reference is none."""
    if not attrs:
        return ()
    references = []
    for number in range(1, REFERENCES_MAX + 1):
        match = _RECORD.fullmatch(attrs.get(f"{STALE_PREFIX}{number}", ""))
        if match and below(match[2]) == match[2]:
            references.append(Reference(match[2], match[1]))
    return tuple(references)


def without(attrs: Mapping[str, str]) -> dict[str, str]:
    """`attrs` without references."""
    return {name: value for name, value in attrs.items() if not name.startswith(STALE_PREFIX)}


def recording(attrs: Mapping[str, str], references: Iterable[Reference]) -> dict[str, str]:
    """`attrs` with these references in place of any before, as many as there is room for."""
    kept = without(attrs)
    room = max(0, min(REFERENCES_MAX, limits.ATTRS_MAX - len(kept)))
    records = [f"{reference.hash} {reference.path}" for reference in references][:room]
    return kept | {f"{STALE_PREFIX}{number}": value for number, value in enumerate(records, 1)}


def stale_reason(path: str, state: str, renamed_to: str = "") -> str:
    """The reason why a memory is stale that names a file in this state."""
    words = {GONE: "is gone", RENAMED: f"is now {renamed_to}"}
    return f"names {path}, which {words.get(state, 'has changed since')}"


def tells_of_gone(reasons: Iterable[str]) -> bool:
    """Whether all reasons why a memory is stale are files that are gone. A changed or renamed file is still there, and
    so may be what the memory says of it."""
    return all(reason.endswith(", which is gone") for reason in reasons)
