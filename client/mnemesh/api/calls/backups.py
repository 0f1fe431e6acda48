"""The operations on backups: each builds the Call that asks for it. They need the owner's token or an admin's."""

from __future__ import annotations

from typing import Final

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import backup_pb2

TIMEOUT_S: Final = 600.0


def create_backup(to: str = "") -> Call[values.MadeBackup]:
    """Write a backup of the node into one file on the node's machine, while writes go on. `to` is an absolute path
    there, a file or a folder, and only the owner may name one. Without it the backup lies in `backups` of the data
    directory. Raises Aborted while another backup is made.

    >>> client.create_backup("/srv/backups").backup.path
    '/srv/backups/20260501T120000.000Z.mnemesh.tar.gz'
    """
    return ask(backup_pb2, "CreateBackup", {"to": to}, values.MadeBackup, repeatable=False, timeout_s=TIMEOUT_S)


def list_backups() -> Call[values.Backups]:
    """The backups in the node's register, the latest first, also the moved ones.

    >>> [backup.path for backup in client.list_backups().backups if backup.state == "made"]
    """
    return ask(backup_pb2, "ListBackups", {}, values.Backups, repeatable=True)
