"""The session files on this machine: of Claude Code, of Codex, and in folders that a person names.

A repository may hold a file in the form of a session, and its author is not the person. So a file inside of a work tree
counts only below a folder of a host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from mnemesh.errors import InvalidArgument

MORE_FOLDERS: Final = "MNEMESH_MINE_DIRS"  # further folders, separated as in PATH
SUFFIX: Final = ".jsonl"
GIT: Final = ".git"
_UNREAD: Final = frozenset((GIT, "node_modules"))


def host_folders(home: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    """The folders in which the hosts write their session files."""
    return (
        Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(environ.get("CODEX_HOME") or home / ".codex") / "sessions",
    )


def further_folders(home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The further folders that a variable names. Raises InvalidArgument for a relative path, because a service works in
    another folder than its person."""
    named = [folder for folder in environ.get(MORE_FOLDERS, "").split(os.pathsep) if folder]
    folders = tuple(home / folder[2:] if folder.startswith("~/") else Path(folder) for folder in named)
    for folder in folders:
        if not folder.is_absolute():
            raise InvalidArgument(MORE_FOLDERS, str(folder), "absolute paths, or paths that begin with ~/")
    return folders


def host_files(home: Path, environ: Mapping[str, str], failed: dict[str, str]) -> Iterator[Path]:
    """The session files of the hosts and of further folders, the one changed last first. `failed` hears of folders that
    can't be read. Raises InvalidArgument."""
    yield from _below((*host_folders(home, environ), *further_folders(home, environ)), failed)


def named_files(paths: Iterable[Path], failed: dict[str, str]) -> Iterator[Path]:
    """The files that a person names, and the session files below each named folder. `failed` hears of folders that
    can't be read. Raises InvalidArgument for a path that leads nowhere."""
    for path in paths:
        if path.is_dir():
            yield from _below((path,), failed)
        elif os.path.lexists(path):
            yield path
        else:
            raise InvalidArgument("PATH", str(path), "a file or folder that exists")


def is_of_repository(path: Path, home: Path, environ: Mapping[str, str]) -> bool:
    """Whether a file belongs to the work tree of a repository and to no host. A home directory under git is the
    person's own."""
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(os.path.realpath(folder)) for folder in host_folders(home, environ)):
        return False
    own = Path(os.path.realpath(home))
    return any(
        folder != own and not own.is_relative_to(folder) and os.path.lexists(folder / GIT) for folder in real.parents
    )


def _below(folders: Iterable[Path], failed: dict[str, str]) -> list[Path]:
    """Hosts delete session files at any time, so what is gone by now is left out."""

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            failed[str(error.filename)] = error.strerror or type(error).__name__

    dated: list[tuple[float, Path]] = []
    for folder in folders:
        for place, folders_below, names in os.walk(folder, onerror=note):
            folders_below[:] = [name for name in folders_below if name not in _UNREAD]
            for name in names:
                path = Path(place, name)
                with suppress(FileNotFoundError):
                    if name.endswith(SUFFIX) and not path.is_symlink():
                        dated.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]
