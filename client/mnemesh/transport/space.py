"""The space of a directory, by a `.mnemesh.toml` or a git work tree, and the rules of a space path.

Standard library only, no subprocess: hooks and the stdio proxy pay for every millisecond.
"""

from __future__ import annotations

import os

from mnemesh.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Final

    StrPath = str | os.PathLike[str]
    # A `.mnemesh.toml` and its keys.
    ProjectFile = tuple[str, dict[str, Any]]
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


def named_in(files: Iterable[ProjectFile]) -> tuple[str, str]:
    """Key `space` of the nearest `.mnemesh.toml` that is not about hooks alone, and that file, or "" twice. No file
    beyond it is read. Raises BadSpaceFile, because writing to another space than the one meant would be worse.
    """
    for path, values in files:
        if "space" in values or not HOOK_KEYS & values.keys():
            return _checked_space(path, values.get("space")), path
    return "", ""


def project_files(cwd: StrPath, home: StrPath | None = None) -> Iterator[ProjectFile]:
    """Each `.mnemesh.toml` at or above `cwd` with its keys, the nearest first. The search ends at `home` (default: the
    user's home directory) or at the root of the file system. Raises BadSpaceFile."""
    for directory in _upwards(cwd, _end(home)):
        path = os.path.join(directory, PROJECT_FILE)
        if os.path.isfile(path):
            yield path, _keys_of(path)


def tree_of(cwd: StrPath, home: StrPath | None = None) -> str:
    """The git work tree that `cwd` lies in, "" for none. The search ends as in `project_files`, and a repository in the
    home directory doesn't count."""
    end = _end(home)
    for directory in _upwards(cwd, end):
        if directory != end and os.path.exists(os.path.join(directory, ".git")):
            return directory
    return ""


def segment_of(name: str) -> str:
    """`name` as one segment of a space path: forbidden characters become `-`, blanks at the ends go."""
    kept = "".join("-" if ch in FORBIDDEN or not ch.isprintable() else ch for ch in _composed(name))
    cut = kept.strip().encode()[:SPACE_BYTES_MAX].decode("utf-8", "ignore").strip()
    return "" if cut in (".", "..") else cut


def _composed(name: str) -> str:
    if name.isascii():
        return name
    import unicodedata  # a large library in some builds of Python

    return unicodedata.normalize("NFC", name)


def _keys_of(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        keys = plain_keys(text)
        if keys is None:
            import tomllib  # takes a hook as long as all its other imports

            keys = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise BadSpaceFile(path, str(error), "a readable TOML file") from error
    known = {"space", *HOOK_KEYS}
    if unknown := keys.keys() - known:
        _refuse_misspelt(path, unknown, known)
    return keys


def plain_keys(text: str) -> dict[str, Any] | None:
    """The keys of a TOML text whose lines are comments, flags and plain strings, None for any other text."""
    keys: dict[str, Any] = {}
    for line in text.split("\n"):
        name, _, value = (part.strip(" \t") for part in line.partition("="))
        if not name.isprintable() or not value.isprintable():
            return None
        if not line.strip(" \t") or name.startswith("#"):
            continue
        inner = value[1:-1]
        if not name.isascii() or not name.isidentifier() or name in keys:
            return None
        if value in ("true", "false"):
            keys[name] = value == "true"
        elif value == f'"{inner}"' and '"' not in inner and "\\" not in inner:
            keys[name] = inner
        else:
            return None
    return keys


def _refuse_misspelt(path: str, unknown: set[str], known: set[str]) -> None:
    from difflib import get_close_matches  # only a file with an unknown key pays for the import

    for key in sorted(unknown):
        if meant := get_close_matches(key, known, n=1, cutoff=ALIKE):
            raise BadSpaceFile(path, key, f"{meant[0]} is the key; all keys are {', '.join(sorted(known))}")


def _checked_space(path: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadSpaceFile(f"{path}: space", value, 'a line such as space = "team/payments"')
    if not _is_path(value.strip()):
        raise BadSpaceFile(f"{path}: space", value, "a space path such as team/payments or @alice")
    return value.strip()


def _is_path(space: str) -> bool:
    """Whether a node could take the path. A refusal by the node could not name the file."""
    whole = _composed(space)
    segments = whole.removeprefix("@").split("/")
    if len(whole.encode()) > SPACE_BYTES_MAX or len(segments) > SPACE_SEGMENTS_MAX:
        return False
    return all(part and segment_of(part) == part for part in segments)


def _upwards(cwd: StrPath, end: str) -> Iterator[str]:
    place, inner = _absolute(cwd), ""
    while place != inner:
        yield place
        if place == end:
            return
        place, inner = os.path.dirname(place), place


def _end(home: StrPath | None) -> str:
    """The last directory of a search."""
    end = os.path.expanduser("~") if home is None else home
    return "/" if end == "~" else _absolute(end)  # no home directory is known: search up to the root


def _absolute(path: StrPath) -> str:
    """The path as `pathlib` has it: one name for a place, so two can be compared. `..` stays, because the name before
    it may be a link."""
    whole = os.fspath(path)
    if not os.path.isabs(whole):
        whole = os.path.join(os.getcwd(), whole)
    return "/" + "/".join(part for part in whole.split("/") if part not in ("", "."))
