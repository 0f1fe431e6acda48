"""Installs Mnemesh in hosts and takes it out again: plans for all files first, then the writing.

A plan that is refused leaves every file as it was.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mnemesh.hooks.installation import registration
from mnemesh.hooks.installation.host_table import HOOKS, HOSTS, NAME, Host, HostFile, SettingsPlace
from mnemesh.hooks.installation.register import Register, RegisterEntry, digest, held_register
from mnemesh.hooks.installation.registration import ForeignSettings
from mnemesh.hooks.installation.settings_file import RefusedFile, SettingsFile, check_writable, read_file, write_file
from mnemesh.hooks.installation.settings_json import BadSettings
from mnemesh_proto.rendezvous import default_data_dir

UNCHANGED = "unchanged"
WRITTEN = "written"
REMOVED = "removed"
LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """Where the hosts' files are: the home directory and the variables that move folders."""

    home: Path
    environ: Mapping[str, str]
    data_dir: Path

    @property
    def other_data(self) -> str:
        """The data directory as a host has to be told it, "" for the default."""
        default = default_data_dir({**self.environ, "MNEMESH_DATA_DIR": ""})
        return "" if self.data_dir == default else os.path.abspath(self.data_dir)

    def folder(self, place: SettingsPlace) -> Path:
        """The folder of a user's settings file."""
        on_mac = place.mac_folder if sys.platform == "darwin" else ""
        if not on_mac and (moved := self.environ.get(place.variable, "")):
            return Path(moved)
        return Path((on_mac or place.folder).replace("~", str(self.home), 1))

    def file(self, host_file: HostFile, project: Path | None) -> Path | None:
        """The path of a host's file, None where the host has none for a project."""
        if project is None:
            return self.users_file(host_file)
        return _existing([project / name for name in host_file.project]) if host_file.project else None

    def users_file(self, host_file: HostFile) -> Path:
        """The path of a host's file of the user's own."""
        return _existing([self.folder(host_file.user) / name for name in host_file.user.names])

    def is_there(self, host: Host) -> bool:
        """Whether the host shows on this machine."""
        if any(shutil.which(program, path=self.environ.get("PATH")) for program in host.programs):
            return True
        files = [self.users_file(host_file) for host_file in host.files]
        return any(path.exists() or (path.parent != self.home and path.parent.exists()) for path in files)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after, and what became of it."""

    host: str
    kind: str
    file: SettingsFile
    # None for no file.
    after: bytes | None
    entry: RegisterEntry | None
    original: bytes | None = None
    # Why nothing is changed in this file.
    reason: str = ""

    @property
    def action(self) -> str:
        """In a word."""
        if self.reason:
            return LEFT_OUT
        if self.after == self.file.data:
            return UNCHANGED
        return REMOVED if self.after is None else WRITTEN


def install(
    hosts: Sequence[Host],
    project: Path | None,
    command: str,
    environment: HostEnvironment,
    *,
    dry: bool = False,
    instructions: bool = False,
    reads: bool | None = None,
) -> list[FileChange]:
    """Install in `hosts`, for one project or for the user, with `instructions` also in the file of instructions.
    `reads`: whether a hook for files that are read is written, None for as it is. Raises RefusedFile."""
    with held_register(environment.data_dir, only_read=dry) as register:
        changes = [
            _installed(host, host_file, project, command, environment, register, reads)
            for host in hosts
            for host_file in (host.all_files if instructions else host.files)
        ]
        changes = _once_a_file(changes)
        if not dry:
            for change in changes:
                if change.entry is not None:
                    made = _write(change, register)
                    if made:
                        entry = replace(change.entry, folders=[*made, *change.entry.folders])
                        register.add(str(change.file.path), entry, change.original)
    return changes


def uninstall(
    hosts: Sequence[Host], project: Path | None, user: bool, environment: HostEnvironment, dry: bool
) -> list[FileChange]:
    """Take our own out of the files of `hosts`: of `project`, of the user, or of all known files without either. Raises
    RefusedFile."""
    names = {host.name for host in hosts}
    with held_register(environment.data_dir, only_read=dry) as register:
        places: dict[str, tuple[Host, str]] = {}
        for path, entry in register.entries.items():
            if entry.host in names and _is_meant(entry.project, project, user):
                places[path] = HOSTS[entry.host], entry.kind
        for host in hosts:
            for host_file in host.all_files:
                if (file := environment.file(host_file, project)) is not None:
                    places.setdefault(str(file), (host, host_file.kind))
        changes = _once_a_file(
            [_uninstalled(host, kind, Path(path), register) for path, (host, kind) in places.items()]
        )
        if not dry:
            made: list[str] = []
            for change in changes:
                path = str(change.file.path)
                if change.after != change.file.data:
                    write_file(change.file, change.after)
                if path in register.entries:
                    made += register.entries[path].folders
                    register.remove(path)
            _remove_empty(sorted(made, key=len, reverse=True))
    return [change for change in changes if change.action != UNCHANGED]


def _once_a_file(changes: Iterable[FileChange]) -> list[FileChange]:
    """The changes, of which two paths of one file make the same change once. Raises RefusedFile for two changes of one
    file that differ, before any file is written."""
    first: dict[Path, FileChange] = {}
    kept = []
    for change in changes:
        if change.after != change.file.data:
            other = first.setdefault(change.file.real, change)
            if other is not change:
                if other.after != change.after:
                    raise RefusedFile(f"{other.file.path} and {change.file.path} are one file; install one at a time")
                change = replace(change, after=change.file.data, entry=None, reason=f"it is {other.file.path}")
        kept.append(change)
    return kept


def program() -> str:
    """The path of the program `mnemesh` of this installation. Raises RefusedFile."""
    here = Path(sys.argv[0])
    if here.name == NAME and (path := shutil.which(sys.argv[0])):
        return os.path.abspath(path)
    beside = Path(sys.executable).parent / NAME
    if beside.exists():
        return str(beside)
    raise RefusedFile(f"no program {NAME} lies beside {sys.executable}; install the package with its command")


def _existing(paths: Sequence[Path]) -> Path:
    """The first that exists, else the first."""
    return next((path for path in paths if path.exists()), paths[0])


def _is_meant(of: str, project: Path | None, user: bool) -> bool:
    if project is not None:
        return of == str(project)
    return not of if user else True


def _installed(
    host: Host,
    host_file: HostFile,
    project: Path | None,
    command: str,
    environment: HostEnvironment,
    register: Register,
    reads: bool | None,
) -> FileChange:
    path = environment.file(host_file, project)
    if path is None:
        raise RefusedFile(f"{host.title} has no settings of a project's own; use --user")
    if project is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project)):
        raise RefusedFile(f"{path} leads out of the project; remove that link or use --user")
    file = read_file(path)
    known = register.entries.get(str(path))
    try:
        other = environment.users_file(host_file)
        if host_file.kind == HOOKS and other != path and registration.has_ours(read_file(other).text, host_file):
            reason = f"the hooks of {other} fire here too, and would fire twice"
            return FileChange(host.name, host_file.kind, file, file.data, None, reason=reason)
        wanted = registration.has_reads(file.text, host_file) if reads is None else reads
        original, base = file.data, file.text
        if known is not None and file.data is not None:
            kept = register.original(str(path))
            if digest(file.data) == known.installed:
                original, base = kept, (kept or b"").decode()
            else:  # edited since
                base = registration.uninstalled(file.text, host, host_file, (kept or b"").decode())
                original = base.encode()
        elif registration.has_ours(base, host_file):  # by another register
            base = registration.uninstalled(base, host, host_file)
            original = base.encode()
        after = registration.installed(base, host, host_file, command, environment.other_data, wanted).encode()
    except (BadSettings, ForeignSettings) as error:
        raise RefusedFile(f"{path} was left as it is: {error}") from None
    if after == file.data:
        return FileChange(host.name, host_file.kind, file, after, None)
    check_writable(file)
    of = "" if project is None else str(project)
    folders = known.folders if known else []
    entry = RegisterEntry(host.name, host_file.kind, of, digest(after), original is not None, folders)
    return FileChange(host.name, host_file.kind, file, after, entry, original)


def _uninstalled(host: Host, kind: str, path: Path, register: Register) -> FileChange:
    file = read_file(path)
    host_file = next(host_file for host_file in host.all_files if host_file.kind == kind)
    entry = register.entries.get(str(path))
    after = file.data
    if file.data is not None:
        kept = register.original(str(path)) if entry else file.data
        if entry and digest(file.data) == entry.installed:
            after = kept
        else:
            try:
                text = registration.uninstalled(file.text, host, host_file, (kept or b"").decode())
                gone = entry and not entry.existed and registration.is_bare(text, host_file)
            except BadSettings as error:
                raise RefusedFile(f"{path} was left as it is: {error}") from None
            after = None if gone else text.encode()
    if after != file.data:
        check_writable(file)
    return FileChange(host.name, kind, file, after, None)


def _write(change: FileChange, register: Register) -> list[str]:
    assert change.entry is not None
    register.add(str(change.file.path), change.entry, change.original)
    return write_file(change.file, change.after)


def _remove_empty(folders: Iterable[str]) -> None:
    for folder in folders:
        with suppress(OSError):  # something else lies in it by now
            os.rmdir(folder)
