"""`mnemesh backup`: copies of a whole node. `load` and `verify` need no running node and are the node's own program."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from mnemesh.api.json_form import rfc3339
from mnemesh.api.values.backups import Backup, Backups
from mnemesh.cli.options import option
from mnemesh.cli.shell import Shell, count_of, one_line

HELP: Final = "Make and list backups of the node, check one, and make a data directory of one."


def create(
    shell: Shell,
    to: Annotated[Path | None, option("CreateBackupRequest.to", "--to", metavar="FILE")] = None,
) -> None:
    """Write a backup of the running node into one file, while writes go on."""
    place = str(to.absolute()) if to is not None else ""
    shell.ask(lambda client: client.create_backup(place), lambda done: [f"BACKUP  {_line(done.backup)}"])


def list_backups(shell: Shell) -> None:
    """List the backups that the node remembers to have made, the latest first."""
    shell.ask(lambda client: client.list_backups(), _listed)


def _listed(answer: Backups) -> Iterable[str]:
    return list(map(_line, answer.backups)) or ["no backups; `mnemesh backup create` makes one"]


def _line(backup: Backup) -> str:
    at = rfc3339(backup.created_at) if backup.created_at else ""
    held = f"{count_of(backup.memories, 'memory')}, seq {backup.seq}, {backup.bytes} bytes, sha256 {backup.sha256}"
    return f"{at}  {backup.state}  {one_line(backup.path)}  {held if backup.sha256 else 'not finished'}"


COMMANDS: Final = (("create", create), ("list", list_backups))
