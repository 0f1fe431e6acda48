"""The space of a directory's project, and what else is to be known of that name on this machine.

A remote's path names a project everywhere. A repository without a remote has the name of its folder. The first
repository of that name keeps it, by `projects.json` in the data directory of the local node. Earlier versions used the
folder's name alone: that name is read along as an alias.
"""

from __future__ import annotations

import os

from mnemesh.transport.percent import quoted
from mnemesh.transport.space import (
    SPACE_BYTES_MAX,
    SPACE_SEGMENTS_MAX,
    BadSpaceFile,
    named_in,
    project_files,
    segment_of,
    tree_of,
)
from mnemesh_proto.plain_json import loads
from mnemesh_proto.rendezvous import (
    AGENT_HEADER,
    ROOT_HEADER,
    SPACE_ALIAS_HEADER,
    SPACE_HEADER,
    SPACE_TAKEN_HEADER,
    default_data_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from mnemesh.transport.git_repository import GitProject
    from mnemesh.transport.space import ProjectFile, StrPath

PROJECTS_FILE: Final = "projects.json"
MANIFEST: Final = "manifest.json"
HASH_CHARS: Final = 6
# The entry of a name that only earlier versions wrote to.
RETIRED: Final = "(before)"


class Project:
    """`space`: where writes go, "" for the private space. `alias`: an older name that is read along. `taken`: the name
    that this project would have, had not the repository at `taken_by` come first. `settled`: whether the data directory
    was there to look at. `tree`: the folder that relative paths are meant in."""

    __slots__ = ("space", "alias", "taken", "taken_by", "origin", "settled", "tree")  # noqa: RUF023  as people are told

    def __init__(
        self,
        space: str = "",
        alias: str = "",
        taken: str = "",
        taken_by: str = "",
        origin: str = "nothing",
        settled: bool = True,
        tree: str = "",
    ) -> None:
        self.space = space
        self.alias = alias
        self.taken = taken
        self.taken_by = taken_by
        self.origin = origin
        self.settled = settled
        self.tree = tree

    def members(self) -> dict[str, str | bool]:
        """All of it by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def headers(self, agent: str) -> tuple[tuple[str, str], ...]:
        """The headers that name agent and space: ASCII, other characters and % as percent-encoded UTF-8."""
        names = (AGENT_HEADER, SPACE_HEADER, SPACE_ALIAS_HEADER, SPACE_TAKEN_HEADER, ROOT_HEADER)
        given = zip(names, (agent, self.space, self.alias, self.taken, self.tree), strict=True)
        return tuple((name, quoted(value, "/@:+,;=!$&'()*~ ")) for name, value in given if value)


NO_PROJECT: Final = Project()


def project_of(
    cwd: StrPath, data_dir: StrPath, home: StrPath | None = None, files: Sequence[ProjectFile] | None = None
) -> Project:
    """The project of `cwd` as it stands in `data_dir`. `files`: those of `project_files`, where they have been read.
    Raises BadSpaceFile."""
    tree = tree_of(cwd, home)
    named, path = named_in(project_files(cwd, home) if files is None else files)
    if named:
        return Project(named, origin=".mnemesh.toml", tree=tree or os.path.dirname(path))
    if not tree:
        return Project()
    project = _of_tree(tree, data_dir)
    project.tree = tree
    return project


def _of_tree(tree: str, data_dir: StrPath) -> Project:
    from mnemesh.transport.git_repository import git_project  # a project that names its space needs none of it

    git = git_project(tree)
    old = segment_of(os.path.basename(tree))
    if git is None:
        return Project(old, origin="folder")
    space = _path_of(git.remote)
    if space:
        return _with_remote(space, old, git, data_dir)
    return _without_remote(segment_of(git.folder) or old, old, git, data_dir)


def project_here(data_dir: StrPath) -> Project:
    """The project of the working directory, none when that has been removed meanwhile. Raises as `project_of`."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return Project()
    return project_of(here, data_dir)


def detect_space(cwd: StrPath, home: StrPath | None = None, data_dir: StrPath | None = None) -> str:
    """The space of `cwd`: key `space` of the nearest `.mnemesh.toml`, else the path of the git remote, else the name of
    the repository's folder. "" for none of these. `data_dir`: the data directory of the local node, by default the
    user's.

    >>> detect_space("/home/ada/src/api")  # doctest: +SKIP
    'acme/api'
    """
    return project_of(cwd, data_dir or default_data_path(os.environ), home).space


def _with_remote(space: str, old: str, git: GitProject, data_dir: StrPath) -> Project:
    names = _Names(data_dir)
    if "/" not in space:  # a repository without a remote may have that name, too: it stays, and a person is told
        holder = names.claim(space, str(git.root))
        if holder != str(git.root):
            return Project(space, taken=space, taken_by=holder, origin="git remote", settled=names.there)
    if old == space or not old:
        return Project(space, origin="git remote", settled=names.there)
    holder = names.claim(old, RETIRED)
    if holder not in (RETIRED, str(git.root)):
        return Project(space, taken=old, taken_by=holder, origin="git remote", settled=names.there)
    return Project(space, alias=old, origin="git remote", settled=names.there)


def _without_remote(name: str, old: str, git: GitProject, data_dir: StrPath) -> Project:
    names = _Names(data_dir)
    holder = names.claim(name, str(git.root))
    alias = old if old != name and names.holder(old) in ("", RETIRED, str(git.root)) else ""
    if holder == RETIRED:
        return Project(_own(name, git), alias=name, origin="git folder", settled=names.there)
    if holder != str(git.root):
        return Project(
            _own(name, git), alias=alias, taken=name, taken_by=holder, origin="git folder", settled=names.there
        )
    return Project(name, alias=alias, origin="git folder", settled=names.there)


def _own(name: str, git: GitProject) -> str:
    """The name of a repository whose first choice is taken."""
    import hashlib  # a hook pays for every import, and few repositories come here

    return f"{_cut(name)}-{hashlib.sha256(os.fsencode(git.root)).hexdigest()[:HASH_CHARS]}"


def _path_of(remote: tuple[str, ...]) -> str:
    """The space of a remote's path: its last segments, as many as a space may have."""
    segments = [part for part in map(segment_of, remote) if part][-SPACE_SEGMENTS_MAX:]
    while len("/".join(segments).encode()) > SPACE_BYTES_MAX:
        del segments[0]
    return "/".join(segments)


def _cut(name: str) -> str:
    return name.encode()[: SPACE_BYTES_MAX - HASH_CHARS - 1].decode("utf-8", "ignore").rstrip()


class _Names:
    """Which repository has which name, by `projects.json`. Without a data directory nothing is noted."""

    def __init__(self, data_dir: StrPath) -> None:
        self._file = os.path.join(data_dir, PROJECTS_FILE)
        self.there = os.path.isfile(os.path.join(data_dir, MANIFEST))
        self._roots = self._read()

    def holder(self, name: str) -> str:
        """The owner of `name`: a root, RETIRED, or "" when it is free. A root that is gone has nothing."""
        holder = self._roots.get(name, "")
        return holder if holder == RETIRED or os.path.isdir(holder) else ""

    def claim(self, name: str, root: str) -> str:
        """The owner of `name` now: `root`, or its earlier owner, found and written in one step that no other process
        crosses.
        """
        if (holder := self.holder(name)) or not self.there:
            return holder or root
        import fcntl
        import json

        stem = self._file.removesuffix(".json")
        try:
            with open(f"{stem}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._roots = self._read()
                if holder := self.holder(name):
                    return holder
                self._roots[name] = root
                with open(f"{stem}.tmp", "w", encoding="utf-8") as file:
                    file.write(json.dumps(self._roots, indent=1, sort_keys=True))
                os.replace(f"{stem}.tmp", self._file)
        except OSError as error:
            raise BadSpaceFile(self._file, str(error), "a file that can be written") from error
        return root

    def _read(self) -> dict[str, str]:
        try:
            with open(self._file, encoding="utf-8") as file:
                value = loads(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise BadSpaceFile(self._file, str(error), "readable JSON; delete it to begin anew") from error
        if not isinstance(value, dict) or not all(isinstance(root, str) for root in value.values()):
            raise BadSpaceFile(self._file, value, "names with their roots; delete it to begin anew")
        return value
