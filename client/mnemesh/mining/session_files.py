"""The session files on this machine: of Claude Code, of Codex, and in folders that a person names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

MORE_FOLDERS: Final = "MNEMESH_MINE_DIRS"  # further folders, separated as in PATH
SUFFIX: Final = ".jsonl"


def host_files(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The session files of the hosts and of further folders, the one changed last first."""
    folders = (
        Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        *(Path(folder) for folder in environ.get(MORE_FOLDERS, "").split(os.pathsep) if folder),
    )
    yield from _below(folders)


def named_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that a person names, and the session files below each named folder."""
    for path in paths:
        if path.is_dir():
            yield from _below((path,))
        else:
            yield path


def _below(folders: Iterable[Path]) -> list[Path]:
    found: list[tuple[float, Path]] = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                if name.endswith(SUFFIX) and not path.is_symlink():
                    found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]
