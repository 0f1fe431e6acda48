"""A project's folder as a snapshot: few files by their names, the paths of the others, the latest commits.

The guard of paths: no symbolic link is followed, no device or pipe is opened, nothing outside of the folder is read.
Only names of a closed list are opened, so no file of credentials is. No program of the project is run.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from typing import Final

from mnemesh_memory.seeding.manifests import READERS
from mnemesh_memory.seeding.project_snapshot import ProjectSnapshot, quoted
from mnemesh_memory.seeding.seeds import REPOSITORY
from mnemesh_memory.seeding.topics import COMPOSE, MAINTAINERS, MAKEFILES, OWNER_FILES, PROSE, README

FILE_BYTES_MAX: Final = 64 * 1024  # Read of one file. The rest of a longer one is not looked at.
FILES_MAX: Final = 48
WORKFLOWS_MAX: Final = 8
PATHS_MAX: Final = 5_000
FOLDERS_MAX: Final = 1_000
DEPTH_MAX: Final = 5
COMMITS_MAX: Final = 200
GIT_S: Final = 5.0
GIT_BYTES_MAX: Final = 256 * 1024
# A folder without one of these is no project.
MARKS: Final = (".git", ".mnemesh.toml", *READERS, *MAKEFILES)
NAMES: Final = frozenset(
    name.lower()
    for name in (
        *README, *READERS, *PROSE, *OWNER_FILES, *MAINTAINERS, *COMPOSE, *MAKEFILES, "justfile", ".justfile", "tox.ini",
        "Dockerfile", ".gitlab-ci.yml", ".circleci/config.yml",
    )
)  # fmt: skip
WORKFLOWS: Final = ".github/workflows"
_NO_FILE: Final = (errno.ENOENT, errno.ELOOP, errno.ENXIO)  # Away, a link, or a pipe.
# Hidden folders that are looked into, and folders of other people's files.
SHOWN: Final = frozenset((".github", ".circleci"))
FOREIGN: Final = frozenset(
    (
        "node_modules", "vendor", "third_party", "target", "dist", "build", "out", "venv", "env", "site-packages",
        "__pycache__", "coverage", "bower_components", "Pods",
    )
)  # fmt: skip
# Settings of a repository may name programs. None of them runs here, and nothing is fetched.
_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks")
_GIT_ENVIRON: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "", "LC_ALL": "C.UTF-8"}


def is_project(folder: str) -> bool:
    """Whether something says that a project is here."""
    return os.path.isdir(folder) and any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS)


def snapshot(folder: str) -> ProjectSnapshot:
    """The project in `folder`, a real path, as far as it is read."""
    listing: list[str] = []
    texts: dict[str, str] = {}
    workflows = 0
    unread: set[str] = set()
    for path in _paths(folder, unread):
        listing.append(path)
        workflow = path.startswith(f"{WORKFLOWS}/") and path.endswith((".yml", ".yaml"))
        workflows += workflow
        if (path.lower() in NAMES or (workflow and workflows <= WORKFLOWS_MAX)) and len(texts) < FILES_MAX:
            try:
                text = _text(os.path.join(folder, path))
            except OSError:
                unread.add(path)
                continue
            if text is not None:
                texts[path] = text
    commits = _commits(folder)
    subjects, authors = commits or ((), ())
    if commits is None:
        unread.add(REPOSITORY)
    name = quoted(os.path.basename(folder), 80) or "project"
    return ProjectSnapshot(
        name=name, texts=texts, listing=tuple(listing), subjects=subjects, authors=authors, unread=frozenset(unread)
    )


def _paths(folder: str, unread: set[str]) -> Iterator[str]:
    """Plain files below the folder, those nearest to the root first. Folders that can't be read go to `unread`."""
    waiting = [""]
    folders = files = 0
    while waiting:
        deeper: list[str] = []
        for place in sorted(waiting):
            folders += 1
            if folders > FOLDERS_MAX:
                return
            entries = _entries(os.path.join(folder, place))
            if entries is None:
                unread.add(place)
            for name, is_folder in entries or ():
                path = f"{place}/{name}" if place else name
                if is_folder:
                    if path.count("/") < DEPTH_MAX and _is_own(name):
                        deeper.append(path)
                    continue
                files += 1
                if files > PATHS_MAX:
                    return
                yield path
        waiting = deeper


def _entries(place: str) -> list[tuple[str, bool]] | None:
    """Names of plain files and folders, with whether each is a folder. A link is neither. None for a folder that can't
    be read."""
    try:
        with os.scandir(place) as entries:
            kept = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []
    except OSError:
        return None
    return sorted(kept)


def _is_own(name: str) -> bool:
    return name in SHOWN if name.startswith(".") else name not in FOREIGN


def _text(path: str) -> str | None:
    """The beginning of a plain file; None for what is none. Raises OSError for a file that can't be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return file.read(FILE_BYTES_MAX).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise


def _commits(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Subjects and authors of the latest commits. None where Git says nothing, as without a repository."""
    if not os.path.lexists(os.path.join(folder, REPOSITORY)):
        return None
    command = (
        *_GIT, "-C", folder, "log", "-n", str(COMMITS_MAX), "--no-merges", "--no-show-signature",
        "--format=%aN%x00%s",
    )  # fmt: skip
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _GIT_ENVIRON
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=GIT_S, check=True, stdin=subprocess.DEVNULL, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout[:GIT_BYTES_MAX].decode("utf-8", "replace").splitlines()
    pairs = [line.split("\0", 1) for line in lines if "\0" in line]
    return tuple(subject for _, subject in pairs), tuple(author for author, _ in pairs)
