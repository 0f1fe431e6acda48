"""The project of a git work tree: the path of its remote, else its common git directory.

Reads the files of git themselves (gitrepository-layout(5), git-config(5)): a hook has no time for a subprocess. Work
trees of one repository share a common directory, and so a project. A remote on the local disk is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

GIT: Final = ".git"
FILE_BYTES_MAX: Final = 256 * 1024
HOPS_MAX: Final = 3
# Segments for the doors of one host (Azure DevOps, Bitbucket Server): no part of a project's path.
AZURE_HOST: Final = "dev.azure.com"
AZURE_SSH, AZURE_HTTPS, BITBUCKET_HTTPS = "v3", "_git", "scm"
_SECTION: Final = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_URL_LINE: Final = re.compile(r"\s*url\s*=\s*(.*?)\s*(?:\s[#;].*)?$", re.I)
_SCP: Final = re.compile(r"(?:[^@/:]+@)?(?:\[[^\]]+\]|[^@/:]{2,}):(?!//)(.+)")


class GitProject(NamedTuple):
    """`remote`: the segments of the remote's path, () without one. `root`: the common git directory. `folder`: the name
    of the repository's own folder. `tree`: the name of this work tree's folder."""

    remote: tuple[str, ...]
    root: Path
    folder: str
    tree: str


def git_project(tree: Path) -> GitProject | None:
    """The project of the work tree at `tree`, or None where no git directory can be read."""
    common = _common(tree)
    if common is None:
        return None
    remote: tuple[str, ...] = ()
    root = common
    for _ in range(HOPS_MAX):
        url = _remote_url(root)
        remote = remote_path(url)
        there = None if remote or not url else _local(url, root)
        if there is None or there == root:
            break
        root = there
    return GitProject(remote, root, _folder(root, tree.name), tree.name)


def remote_path(url: str) -> tuple[str, ...]:
    """The path of a remote as segments, without what belongs to the host or the protocol; () for a local one.

    >>> remote_path("git@example.com:acme/api.git") == remote_path("https://example.com/acme/api") == ("acme", "api")
    True
    """
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:
            return ()
        path = "" if parts.scheme == "file" else unquote(parts.path)
    else:
        scp = _SCP.fullmatch(url)
        path = scp[1] if scp else ""
    segments = [segment for segment in path.split("/") if segment not in ("", "~", ".", "..", AZURE_HTTPS)]
    door = AZURE_SSH if AZURE_HOST in url else BITBUCKET_HTTPS if url.startswith("http") else ""
    if segments[:1] == [door] and len(segments) > 1:
        del segments[0]
    if segments:
        segments[-1] = segments[-1].removesuffix(GIT)
    return tuple(segment for segment in segments if segment)


def _common(tree: Path) -> Path | None:
    """The common git directory of the work tree or bare repository at `tree`."""
    at = tree / GIT
    if at.is_dir():
        return _real(at)
    if not at.exists():
        return _real(tree) if (tree / "HEAD").is_file() and (tree / "objects").is_dir() else None
    pointer = _text(at).strip()
    if not pointer.startswith("gitdir:"):
        return None
    directory = tree / pointer.removeprefix("gitdir:").strip()
    shared = _text(directory / "commondir").strip()
    return _real(directory / shared if shared else directory)


def _folder(root: Path, tree: str) -> str:
    if root.name == GIT:
        return root.parent.name
    # The git directory of a submodule lies inside the parent's, under a hidden name.
    return tree if GIT in root.parts else root.name.removesuffix(GIT)


def _remote_url(root: Path) -> str:
    """The address of `origin`, else of the first remote, else ""."""
    urls: dict[str, str] = {}
    for name, url in _remotes(_text(root / "config")):
        urls.setdefault(name, url)
    return urls.get("origin") or next(iter(urls.values()), "")


def _remotes(config: str) -> Iterator[tuple[str, str]]:
    remote = ""
    for line in config.splitlines():
        if section := _SECTION.match(line):
            remote = (section[2] or "") if section[1].lower() == "remote" else ""
            line = section[3]
        if remote and (url := _URL_LINE.match(line)):
            yield remote, url[1].strip().strip('"').replace("\\\\", "\\")


def _local(url: str, root: Path) -> Path | None:
    path = Path(os.path.expanduser(unquote(urlsplit(url).path) if url.startswith("file:") else url))
    place = path if path.is_absolute() else (root.parent if root.name == GIT else root) / path
    return _common(place) or _common(place.with_name(place.name + GIT))


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""  # as if it were not there: git itself would not work here either


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
