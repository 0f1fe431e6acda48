"""The operations on backups: each builds the Call that asks for it. They need the owner's token or an admin's."""

from __future__ import annotations

from typing import Final

from mnemesh import backup_values as values
from mnemesh.call import Call, reading
from mnemesh.wire import to_message
from mnemesh_proto.v1 import backup_pb2

BACKUP: Final = "/mnemesh.v1.BackupService/"
TIMEOUT_S: Final = 600.0


def create_backup(to: str = "") -> Call[values.MadeBackup]:
    """Write a backup of the node into one file on the node's machine, while writes go on. `to` is an absolute path
    there, a file or a folder, and only the owner may name one; without it the backup lies in `backups` of the data
    directory. Raises Aborted while another backup is made.

    >>> client.create_backup("/srv/backups").backup.path
    '/srv/backups/20260501T120000.000Z.mnemesh.tar.gz'
    """
    return Call(
        rpc=BACKUP + "CreateBackup",
        request=to_message(backup_pb2.CreateBackupRequest, {"to": to}),
        response=backup_pb2.CreateBackupResponse,
        read=reading(values.MadeBackup),
        repeatable=False,
        timeout_s=TIMEOUT_S,
    )


def list_backups() -> Call[values.Backups]:
    """The backups that the node remembers to have made, the latest first, also those that were moved since.

    >>> [backup.path for backup in client.list_backups().backups if backup.state == "made"]
    """
    return Call(
        rpc=BACKUP + "ListBackups",
        request=backup_pb2.ListBackupsRequest(),
        response=backup_pb2.ListBackupsResponse,
        read=reading(values.Backups),
        repeatable=True,
    )
