"""`mnemesh install` and `uninstall`: Mnemesh in the settings of agent hosts. Asks no node."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.cli.options import Data, Json, Texts, Yes
from mnemesh.cli.shell import print_json, printable
from mnemesh.errors import FailedPrecondition, InvalidArgument
from mnemesh.hooks.events import EVENTS, READ
from mnemesh.hooks.injection import fault_here
from mnemesh.hooks.installation import installer
from mnemesh.hooks.installation.host_table import HOOKS, HOSTS, INSTRUCTIONS, NAME, Host
from mnemesh.hooks.installation.installer import FileChange, HostEnvironment
from mnemesh.hooks.installation.registration import events_of, has_reads
from mnemesh.hooks.installation.settings_file import RefusedFile
from mnemesh.transport.connection import local_data_dir

Instructions = Annotated[
    bool, typer.Option("--instructions", help="Also keep a block about the memory in CLAUDE.md or AGENTS.md.")
]
Reads = Annotated[
    bool | None,
    typer.Option(
        "--reads/--no-reads", help="Also a hook that gives short facts about a file that is read. [default: as it is]"
    ),
]
Hosts = Annotated[Texts, typer.Argument(metavar="HOST", help=f"Any of {', '.join(HOSTS)}.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose settings, and whether only to look."""

    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The settings of the project in this directory.")
    ] = None
    user: Annotated[bool, typer.Option("--user", help="The user's own settings (default).")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the difference.")] = False
    json: Json = False
    data: Data = None

    @property
    def directory(self) -> Path | None:
        """The project's directory, None for the user's settings. Raises InvalidArgument."""
        if self.project is None:
            return None
        if self.user:
            raise InvalidArgument("user", "--user", "either --project or --user")
        if not self.project.is_dir():
            raise InvalidArgument("project", str(self.project), "a directory")
        return Path(os.path.abspath(self.project))

    def environment(self) -> HostEnvironment:
        """Where the hosts' files are."""
        return HostEnvironment(Path.home(), os.environ, local_data_dir(self.data))


def install(
    scope: Scope, host: Hosts = None, yes: Yes = False, instructions: Instructions = False, reads: Reads = None
) -> None:
    """Register the MCP server, and hooks where the host has them, in agent hosts. Without HOST: those that are found.
    A second time it repairs the path of a moved program.
    """
    environment, project = scope.environment(), scope.directory
    hosts = _named(host) or _found(environment, project, scope, yes)
    if reads and not any(READ in EVENTS.get(named.name, {}).values() for named in hosts):
        raise InvalidArgument("reads", "--reads", "a host that tells when it reads a file: claude-code")
    changes = _refusable(lambda: _installed(hosts, project, environment, scope, instructions, reads))
    _tell(changes, scope)
    if fault := fault_here(project or "", os.environ):
        print(printable(f"mnemesh: {fault}"), file=sys.stderr)
    if not scope.json:
        for chosen in hosts:
            wanted = chosen.confirm and not (chosen.confirms_projects and project is None)
            if wanted and any(change.host == chosen.name and change.entry for change in changes):
                print(chosen.confirm)


def uninstall(scope: Scope, host: Hosts = None) -> None:
    """Take Mnemesh out of agent hosts. A file that nobody has changed since gets its old bytes back. Without HOST: out
    of all. Without --project or --user: out of every known file.
    """
    hosts = _named(host) or list(HOSTS.values())
    project, environment = scope.directory, scope.environment()
    _tell(_refusable(lambda: installer.uninstall(hosts, project, scope.user, environment, scope.dry_run)), scope)


def _installed(
    hosts: Sequence[Host],
    project: Path | None,
    environment: HostEnvironment,
    scope: Scope,
    instructions: bool,
    reads: bool | None,
) -> list[FileChange]:
    return installer.install(
        hosts, project, installer.program(), environment, dry=scope.dry_run, instructions=instructions, reads=reads
    )


def _named(names: Sequence[str] | None) -> list[Host]:
    for name in names or ():
        if name not in HOSTS:
            raise InvalidArgument("host", name, f"one of {', '.join(HOSTS)}")
    return [HOSTS[name] for name in dict.fromkeys(names or ())]


def _found(environment: HostEnvironment, project: Path | None, scope: Scope, yes: bool) -> list[Host]:
    """The hosts of this machine, after a question."""
    hosts = [host for host in HOSTS.values() if environment.is_there(host) and (project is None or host.server.project)]
    if not hosts:
        raise FailedPrecondition(f"no agent host was found here; name one of {', '.join(HOSTS)}")
    if yes or scope.dry_run:
        return hosts
    if scope.json or not sys.stdin.isatty():
        raise InvalidArgument("yes", "not given", "--yes where nobody can be asked, or names of hosts", missing=True)
    if not typer.confirm(f"Install in {', '.join(host.title for host in hosts)}?"):
        raise typer.Abort
    return hosts


def _refusable(carry_out: Callable[[], list[FileChange]]) -> list[FileChange]:
    try:
        return carry_out()
    except RefusedFile as error:
        raise FailedPrecondition(f"nothing was changed: {error}") from error


def _tell(changes: Sequence[FileChange], scope: Scope) -> None:
    if scope.json:
        print_json({"dry_run": scope.dry_run, "files": [_row(change) for change in changes]})
        return
    for change in changes:
        hooks = f"hooks {', '.join(_events(change))}" if change.kind == HOOKS else ""
        what = hooks or ("block about the memory" if change.kind == INSTRUCTIONS else f"server {NAME}")
        reason = f": {change.reason}" if change.reason else ""
        action = f"would be {change.action}" if scope.dry_run and not change.reason else change.action
        print(printable(f"{change.host}  {action}  {change.file.path}  ({what}){reason}"))
        if scope.dry_run:
            for line in _difference(change):
                print(printable(line))
    if not changes:
        print("nothing of Mnemesh was found")


def _events(change: FileChange) -> list[str]:
    host_file = HOSTS[change.host].hooks
    assert host_file is not None
    text = (change.after or change.file.data or b"").decode("utf-8", "replace")
    return events_of(change.host, reads=has_reads(text, host_file))


def _row(change: FileChange) -> dict[str, str]:
    row = {"host": change.host, "part": change.kind, "action": change.action, "path": str(change.file.path)}
    return row | ({"reason": change.reason} if change.reason else {})


def _difference(change: FileChange) -> Iterator[str]:
    before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (change.file.data, change.after))
    return difflib.unified_diff(before, after, str(change.file.path), str(change.file.path), lineterm="")


COMMANDS: Final = (("install", install), ("uninstall", uninstall))
