"""A ledger on another machine, and the look at its disk before one is made there. Both run on that machine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import MACHINE_FILE, node_id_in, open_directory
from mnemesh_memory.values.errors import Unavailable

DEFAULT_ROOT: Final = "~/.local/share/mnemesh-replicas"


@dataclass(frozen=True, slots=True)
class Site:
    """A place for a ledger, as found: the disk's name, the directory, and its ledger, if any."""

    disk: str
    directory: str
    taken: bool
    ledger: str = ""  # its id, when it has one already


class Scout:
    """Looks at a machine's disk. Runs there. `root` is `ray_replica_dir`, in which {ip} stands for `address`."""

    def __init__(self, root: str, address: str) -> None:
        self._root = site_root(root, address)

    def look(self, node_id: str) -> Site:
        """The site for the node on this disk. Raises Unavailable when the disk can't be written."""
        mark = self._root / MACHINE_FILE
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    file.write(secrets.token_hex(16))
            disk = mark.read_text()
        except OSError as error:
            raise Unavailable(f"ray_replica_dir: cannot write {self._root}: {error}", part="ledger") from error
        directory = self._root / node_id
        taken = directory.exists()
        return Site(disk, str(directory), taken, node_id_in(directory) if taken else "")


class ReplicaLedger(Ledger):
    """A ledger in a data directory of its own, made when new. It runs on the machine of that directory."""

    def __init__(self, directory: str, reserve_bytes: int = 0) -> None:
        home = open_directory(Path(directory), reserve_bytes)
        super().__init__(str(home.ledger(0)), str(home.key_file), home.node_id, reserve_bytes)


def site_root(root: str, address: str) -> Path:
    """The folder on a machine. Relative to its user's home where it begins with ~."""
    return Path((root or DEFAULT_ROOT).replace("{ip}", address)).expanduser()
