"""The space of a directory, by a `.mnemesh.toml` or a git work tree, and the rules of a space path.

Standard library only, no subprocess: hooks and the stdio proxy pay for every millisecond.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mnemesh.errors import InvalidArgument

PROJECT_FILE: Final = ".mnemesh.toml"
# Keys for the hooks of agent hosts. A file with these alone names no space.
HOOK_KEYS: Final = frozenset({"hooks", "inject", "reads", "banner"})
ALIKE: Final = 0.7  # from here on an unknown key is a known one, misspelt. Others may be of a later version.
SPACE_BYTES_MAX: Final = 200
SPACE_SEGMENTS_MAX: Final = 8
# Characters that the node's rules for a space path forbid inside a segment.
FORBIDDEN: Final = '\\/*?"<>|@'


class BadSpaceFile(InvalidArgument):
    """A `.mnemesh.toml` that can't be read or names no space."""


def named_here(cwd: Path, home: Path | None = None) -> str:
    """Key `space` of the nearest `.mnemesh.toml` at or above `cwd` that is not about hooks alone, or "".

    The search ends at `home` (default: the user's home directory) or at the root of the file system. Raises
    BadSpaceFile, because writing to another space than the one meant would be worse.
    """
    for path, values in project_files(cwd, home):
        if "space" in values or not HOOK_KEYS & values.keys():
            return _checked_space(path, values.get("space"))
    return ""


def project_files(cwd: Path, home: Path | None = None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each `.mnemesh.toml` at or above `cwd` with its keys, the nearest first. Raises BadSpaceFile."""
    for directory in _upwards(cwd.absolute(), (home or _home()).absolute()):
        if os.path.isfile(directory / PROJECT_FILE):
            yield directory / PROJECT_FILE, _keys_of(directory / PROJECT_FILE)


def tree_of(cwd: Path, home: Path | None = None) -> Path | None:
    """The git work tree that `cwd` lies in. The search ends as in `named_here`, and a repository in the home directory
    doesn't count."""
    end = (home or _home()).absolute()
    for directory in _upwards(cwd.absolute(), end):
        if directory != end and os.path.exists(directory / ".git"):
            return directory
    return None


def segment_of(name: str) -> str:
    """`name` as one segment of a space path: forbidden characters become `-`, blanks at the ends go."""
    kept = "".join("-" if ch in FORBIDDEN or not ch.isprintable() else ch for ch in unicodedata.normalize("NFC", name))
    cut = kept.strip().encode()[:SPACE_BYTES_MAX].decode("utf-8", "ignore").strip()
    return "" if cut in (".", "..") else cut


def _keys_of(path: Path) -> dict[str, Any]:
    import tomllib  # only the few who have such a file pay for it

    try:
        keys = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSpaceFile(str(path), str(error), "a readable TOML file") from error
    known = {"space", *HOOK_KEYS}
    if unknown := keys.keys() - known:
        _refuse_misspelt(path, unknown, known)
    return keys


def _refuse_misspelt(path: Path, unknown: set[str], known: set[str]) -> None:
    from difflib import get_close_matches  # only a file with an unknown key pays for the import

    for key in sorted(unknown):
        if meant := get_close_matches(key, known, n=1, cutoff=ALIKE):
            raise BadSpaceFile(str(path), key, f"{meant[0]} is the key; all keys are {', '.join(sorted(known))}")


def _checked_space(path: Path, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadSpaceFile(f"{path}: space", value, 'a line such as space = "team/payments"')
    if not _is_path(value.strip()):
        raise BadSpaceFile(f"{path}: space", value, "a space path such as team/payments or @alice")
    return value.strip()


def _is_path(space: str) -> bool:
    """Whether a node could take the path. A refusal by the node could not name the file."""
    whole = unicodedata.normalize("NFC", space)
    segments = whole.removeprefix("@").split("/")
    if len(whole.encode()) > SPACE_BYTES_MAX or len(segments) > SPACE_SEGMENTS_MAX:
        return False
    return all(part and segment_of(part) == part for part in segments)


def _upwards(directory: Path, home: Path) -> Iterator[Path]:
    for place in (directory, *directory.parents):
        yield place
        if place == home:
            return


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no home directory is known: search up to the root
        return Path("/")
