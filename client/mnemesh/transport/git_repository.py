"""A git repository by its own files: the path of its remote, its common directory and its name.

The files are read as gitrepository-layout(5) and git-config(5) describe them: a hook has no time for a subprocess, nor
for regular expressions. Work trees of one repository share a common directory. A remote on the local disk is followed.
"""

from __future__ import annotations

import os

from mnemesh.transport.percent import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

GIT: Final = ".git"
FILE_BYTES_MAX: Final = 256 * 1024
HOPS_MAX: Final = 3
# Segments for the doors of one host (Azure DevOps, Bitbucket Server): no part of a project's path.
AZURE_HOST: Final = "dev.azure.com"
AZURE_SSH, AZURE_HTTPS, BITBUCKET_HTTPS = "v3", "_git", "scm"


class GitProject:
    """`remote`: the segments of the remote's path, () without one. `root`: the common git directory. `folder`: the name
    of the repository's own folder."""

    __slots__ = ("folder", "remote", "root")

    def __init__(self, remote: tuple[str, ...], root: str, folder: str) -> None:
        self.remote = remote
        self.root = root
        self.folder = folder


def git_project(tree: str) -> GitProject | None:
    """The project of the work tree at `tree`, or None where no git directory can be read."""
    common = _common(tree)
    if not common:
        return None
    remote: tuple[str, ...] = ()
    root = common
    for _ in range(HOPS_MAX):
        url = _remote_url(root)
        remote = remote_path(url)
        there = "" if remote or not url else _local(url, root)
        if not there or there == root:
            break
        root = there
    return GitProject(remote, root, _folder(root, os.path.basename(tree)))


def remote_path(url: str) -> tuple[str, ...]:
    """The path of a remote as segments, without what belongs to the host or the protocol; () for a local one.

    >>> remote_path("git@example.com:acme/api.git") == remote_path("https://example.com/acme/api") == ("acme", "api")
    True
    """
    if "://" in url:
        try:
            scheme, path = _split(url)
        except ValueError:
            return ()
        if scheme == "file":
            return ()
    else:
        path = _scp_path(url)
    segments = [segment for segment in path.split("/") if segment not in ("", "~", ".", "..", AZURE_HTTPS)]
    door = AZURE_SSH if AZURE_HOST in url else BITBUCKET_HTTPS if url.startswith("http") else ""
    if segments[:1] == [door] and len(segments) > 1:
        del segments[0]
    if segments:
        segments[-1] = segments[-1].removesuffix(GIT)
    return tuple(segment for segment in segments if segment)


def _split(url: str) -> tuple[str, str]:
    """Scheme and path of a URL. Raises ValueError."""
    scheme, _, rest = url.partition("://")
    if scheme in ("https", "http", "ssh", "git") and PLAIN.issuperset(rest):
        return scheme, rest[len(rest.partition("/")[0]) :]
    from urllib.parse import unquote, urlsplit  # takes longer than all the rest of a space

    parts = urlsplit(url)
    return parts.scheme, unquote(parts.path)


def _scp_path(url: str) -> str:
    """The path of an address such as git@host:path, "" of any other."""
    user, at, rest = url.partition("@")
    if not at or not user or "/" in user or ":" in user:
        rest = url
    number, closed, path = rest.partition("]:")
    if not closed or not number.startswith("[") or "]" in number:
        host, _, path = rest.partition(":")
        if len(host) < 2 or "/" in host or "@" in host:
            return ""
    return path


def _common(tree: str) -> str:
    """The common git directory of the work tree or bare repository at `tree`, "" for none."""
    at = os.path.join(tree, GIT)
    if os.path.isdir(at):
        return os.path.realpath(at)
    if not os.path.exists(at):
        bare = os.path.isfile(os.path.join(tree, "HEAD")) and os.path.isdir(os.path.join(tree, "objects"))
        return os.path.realpath(tree) if bare else ""
    pointer = _text(at).strip()
    if not pointer.startswith("gitdir:"):
        return ""
    directory = os.path.join(tree, pointer.removeprefix("gitdir:").strip())
    shared = _text(os.path.join(directory, "commondir")).strip()
    return os.path.realpath(os.path.join(directory, shared))


def _folder(root: str, tree: str) -> str:
    above, name = os.path.split(root)
    if name == GIT:
        return os.path.basename(above)
    # The git directory of a submodule lies inside the parent's, under a hidden name.
    return tree if GIT in root.split(os.sep) else name.removesuffix(GIT)


def _remote_url(root: str) -> str:
    """The address of `origin`, else of the first remote, else ""."""
    urls: dict[str, str] = {}
    for name, url in _remotes(_text(os.path.join(root, "config"))):
        urls.setdefault(name, url)
    return urls.get("origin") or next(iter(urls.values()), "")


def _remotes(config: str) -> Iterator[tuple[str, str]]:
    """The name and address of each remote."""
    remote = ""
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            remote, line = _section(line)
        key, equals, value = line.partition("=")
        if remote and equals and key.strip().lower() == "url":
            for comment in (" #", " ;", "\t#", "\t;"):
                value = value.partition(comment)[0]
            yield remote, value.strip().strip('"').replace("\\\\", "\\")


def _section(line: str) -> tuple[str, str]:
    """The remote that a section is about, "" for none, and the rest of its line."""
    kind, quote, rest = line[1:].partition('"')
    if not quote or "]" in kind:
        return "", line.partition("]")[2]
    name, _, rest = rest.partition('"')
    return name if kind.strip().lower() == "remote" else "", rest.partition("]")[2]


def _local(url: str, root: str) -> str:
    path = os.path.expanduser(_split(url)[1] if url.startswith("file:") else url)
    above, name = os.path.split(root)
    place = os.path.join(above if name == GIT else root, path).rstrip("/") or "/"
    return _common(place) or _common(place + GIT)


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""  # as if it were not there: git itself would not work here either
