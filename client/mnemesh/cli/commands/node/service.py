"""`mnemesh service`: node, mining and backups started by the user's own system. Asks no node, and starts nothing."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.cli.options import Data, Json
from mnemesh.cli.shell import print_json, printable
from mnemesh.errors import FailedPrecondition
from mnemesh.hooks.installation import services
from mnemesh.hooks.installation.installer import program
from mnemesh.hooks.installation.services import BACKUP, MINE, NODE, PROGRAMS, UNCHANGED, ServiceFile
from mnemesh.hooks.installation.settings_file import RefusedFile
from mnemesh.mining.credentials import masked
from mnemesh.transport.connection import local_data_dir

HELP: Final = "Let the system start the node, mine sessions and make backups: systemd or launchd, of this user."
# Of one call or session, not of the machine.
OF_A_CALL: Final = frozenset(
    f"MNEMESH_{name}" for name in ("DATA_DIR", "AGENT", "SPACE", "INJECT", "READS", "HOOK_DEBUG")
)
SECRETS: Final = ("TOKEN", "KEY", "SECRET", "PASSWORD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Whether only to look, and how to tell."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the difference.")] = False
    json: Json = False
    data: Data = None


def install(
    wish: Wish,
    backups: Annotated[
        bool, typer.Option("--backups", help="Also make a backup each week. Nobody deletes old ones.")
    ] = False,
) -> None:
    """Write the files for the node and for mining every 30 minutes, with the settings of your MNEMESH_ variables. Then
    say the command that starts them. A variable that holds a credential is left out and named."""
    variables, left_out = _variables(os.environ)
    names = (NODE, MINE, BACKUP) if backups else (NODE, MINE)

    def files(folder: Path) -> list[ServiceFile]:
        data_dir = Path(os.path.abspath(local_data_dir(wish.data)))
        return services.planned(folder, services.files_of(sys.platform, program(), data_dir, names, variables))

    _carry_out(wish, files, gone=False, left_out=left_out)


def uninstall(wish: Wish) -> None:
    """Remove these files. One that somebody has edited stays."""

    def files(folder: Path) -> list[ServiceFile]:
        names = services.files_of(sys.platform, "mnemesh", Path("/"), tuple(PROGRAMS))
        return services.removable(folder, tuple(names))

    _carry_out(wish, files, gone=True)


def _variables(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The settings in an environment, and the names of those that hold or may hold a credential."""
    values = {name: environ[name] for name in sorted(environ) if name.startswith("MNEMESH_") and name not in OF_A_CALL}
    left_out = [
        name
        for name, value in values.items()
        if name.endswith(SECRETS) or masked(f"{name}={value}") != f"{name}={value}"
    ]
    return {name: value for name, value in values.items() if name not in left_out}, left_out


def _carry_out(
    wish: Wish, plan: Callable[[Path], list[ServiceFile]], *, gone: bool, left_out: Sequence[str] = ()
) -> None:
    try:
        folder = services.folder_of(Path.home(), os.environ, sys.platform)
        files = plan(folder)
    except RefusedFile as error:
        raise FailedPrecondition(f"nothing was changed: {error}") from error
    if not wish.dry_run:
        services.carry_out(files)
    rows = [{"action": file.action, "path": str(file.path)} for file in files]
    commands = services.commands_of(sys.platform, folder, [file.path.name for file in files], gone=gone)
    if wish.json:
        body = {"dry_run": wish.dry_run, "files": rows, "commands": commands if files else []}
        print_json(body | ({} if gone else {"left_out": list(left_out)}))
        return
    for line in _lines(files, dry=wish.dry_run):
        print(printable(line))
    if left_out:
        print(f"left out, as a credential may be in them: {', '.join(left_out)}; see docs/settings.md for files")
    if files:
        print("to end what runs:" if gone else "to start it:")
        print(printable("\n".join(f"  {command}" for command in commands)))
    else:
        print("nothing of Mnemesh was found")


def _lines(files: Sequence[ServiceFile], *, dry: bool) -> Iterable[str]:
    for file in files:
        yield f"{'would be ' if dry and file.action != UNCHANGED else ''}{file.action}  {file.path}"
        if dry:
            before, after = (
                (data or b"").decode("utf-8", "replace").splitlines() for data in (file.before, file.after)
            )
            yield from difflib.unified_diff(before, after, str(file.path), str(file.path), lineterm="")


COMMANDS: Final = (("install", install), ("uninstall", uninstall))
