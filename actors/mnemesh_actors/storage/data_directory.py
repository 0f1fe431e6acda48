"""A node's data directory: its files, its opening, and the node's identity.

    manifest.json         format, node id, number of ledger partitions, the owner's name if it is another than `owner`
    node.key              ed25519 private key that signs this node's entries (0600); the node's id is its hash
    ledger/0.sqlite       log and view
    ledger/0.lock         lock, and marks of incarnations
    ledger/0.head         the last sequence number
    ledger/alarms.json    alarms that a person has to acknowledge
    embedding.json        the model in use, and the one that takes over
    index/0/              retrieval index, rebuildable
    index/0-SLOT/         the same of a model that took over
    derived/              graph.sqlite and pairs.sqlite, made from the log, and access.sqlite, counts of memories used
                          together
    transcripts/0.sqlite  sessions as they were said, once there are any
    sleep.sqlite          runs of consolidation, and how far each space was read; rebuildable but for `undo`

The files by which clients find the node (owner.token, node.json, node.lock) and the tokens of agents (access.sqlite)
belong to the gateway.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_actors.storage.file_format import refuse_newer
from mnemesh_crdt.changes.envelope import node_id_of
from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError

FORMAT = 1
MANIFEST = "manifest.json"
KEY_FILE = "node.key"
NEXT_KEY_FILE = "node.key.next"
# Names the disk of a machine of a Ray cluster, beside the directories of the ledgers that are kept there.
MACHINE_FILE = "machine"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """An opened data directory of this format. `reserve_bytes` of its disk stay free."""

    path: Path
    node_id: str
    reserve_bytes: int = 0

    @property
    def room(self) -> DiskRoom:
        """The room on its disk."""
        return DiskRoom(self.path, self.reserve_bytes)

    @property
    def key_file(self) -> Path:
        return self.path / KEY_FILE

    def ledger(self, partition: int) -> Path:
        """The SQLite file of a partition."""
        return self.path / "ledger" / f"{partition}.sqlite"

    @property
    def transcripts(self) -> Path:
        """The SQLite file of the transcripts, made when the first is stored."""
        return self.path / "transcripts" / "0.sqlite"

    def derived(self, name: str) -> Path:
        """A file that the node does without: derived from the log, or counts of reads."""
        return self.path / "derived" / name

    def index(self, shard: int) -> Path:
        """The folder of a shard."""
        return self.path / "index" / str(shard)


def lost(path: Path, why: str) -> DataLoss:
    """The error for a file or folder of a data directory."""
    return DataLoss(f"{path} {why}", field="data_dir", value=str(path))


def check_format(path: Path) -> None:
    """Refuse a directory of a newer format, reading only."""
    if (path / MANIFEST).is_file():
        _read(path / MANIFEST)


def node_id_in(path: Path) -> str:
    """The node that lives there, reading only. "" where nobody does, or the manifest can't be read."""
    try:
        return _read(path / MANIFEST)
    except (OSError, MnemeshError):
        return ""


def open_directory(path: Path, reserve_bytes: int = 0) -> DataDirectory:
    """Open `path`, making it when it is new. A newer format is refused before anything is written."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        said = f"data_dir: cannot make {path}: {error.strerror}"
        raise FailedPrecondition(said, field="data_dir", value=str(path)) from error
    manifest = path / MANIFEST
    if manifest.exists():
        node_id = _read(manifest)
        _finish_new_identity(path, node_id)
        _check_key(path / KEY_FILE, node_id)
        if not (path / "ledger").is_dir():
            why = "is missing, though a node lived here; restore it from a backup, or start with another data directory"
            raise lost(path / "ledger", why)
    elif any((path / "ledger").glob("*")):
        raise lost(manifest, "is missing, but memories lie beside it; restore it from a backup: it holds the node's id")
    else:
        for folder in ("ledger", "index"):
            (path / folder).mkdir(exist_ok=True, mode=0o700)
        node_id = _new_key(path / KEY_FILE)
        _write_manifest(path, node_id)
    (path / "index").mkdir(exist_ok=True)
    for folder in ("ledger", "index"):
        (path / folder).chmod(0o700)
    return DataDirectory(path, node_id, reserve_bytes)


def check_directory(path: Path) -> None:
    """Raise what `open_directory` would raise of the id and the key of a directory in which a node lived. Writes
    nothing."""
    node_id, following = _read(path / MANIFEST), path / NEXT_KEY_FILE
    changed = following.exists() and _id_of(load_key(path / KEY_FILE)) != node_id
    _check_key(following if changed else path / KEY_FILE, node_id)


def renew_identity(directory: DataDirectory) -> DataDirectory:
    """Give an opened directory a new key and with it another node id. A crash leaves the old identity or the new one
    whole. The new key is written first, the manifest says which key counts, and the next opening moves the key."""
    node_id = _new_key(directory.path / NEXT_KEY_FILE)
    _write_manifest(directory.path, node_id, _owner(directory.path))
    _finish_new_identity(directory.path, node_id)
    return DataDirectory(directory.path, node_id)


def keep_owner(directory: DataDirectory, name: str) -> None:
    """Note the owner's name, for starts that do not give one. The signature of the node and its private space must not
    depend on the person who starts it."""
    if name != (_owner(directory.path) or OWNER):
        _write_manifest(directory.path, directory.node_id, name)


def _owner(path: Path) -> str:
    return str(json.loads((path / MANIFEST).read_text("utf-8")).get("owner", ""))


def _finish_new_identity(path: Path, node_id: str) -> None:
    following = path / NEXT_KEY_FILE
    if not following.exists():
        return
    if _id_of(load_key(path / KEY_FILE)) == node_id:  # the change was not made. Its key may be written half
        following.unlink()
    elif _id_of(load_key(following)) == node_id:
        os.replace(following, path / KEY_FILE)
        sync_folder(path)


def _new_key(path: Path) -> str:
    key = Ed25519PrivateKey.generate()
    _write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return _id_of(key)


def _write_manifest(path: Path, node_id: str, owner: str = "") -> None:
    called = {"owner": owner} if owner else {}
    text = json.dumps({"format": FORMAT, "node_id": node_id, "partitions": 1, **called})
    replace_file(path / MANIFEST, text + "\n")


def _read(manifest: Path) -> str:
    try:
        value = json.loads(manifest.read_text("utf-8"))
        version = int(value["format"])
        # Only the number is known of a newer format.
        node_id = str(value["node_id"]) if version <= FORMAT else ""
    except (ValueError, KeyError, TypeError) as error:
        held = "restore it from a backup: it holds the node's id and format"
        raise lost(manifest, f"is damaged ({error!r}); {held}") from error
    refuse_newer(FORMAT, version, manifest.parent)
    return node_id


def load_key(path: Path) -> Ed25519PrivateKey:
    """The node's signing key. Raises DataLoss when it is missing or not a key."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise lost(path, f"is missing or damaged ({error}); restore it from a backup") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise lost(path, "is not an ed25519 key; restore it from a backup")
    return key


def _id_of(key: Ed25519PrivateKey) -> str:
    return node_id_of(key.public_key().public_bytes_raw())


def _check_key(path: Path, node_id: str) -> None:
    """Other nodes know this one by its key alone, so both must belong together. Raises DataLoss."""
    known_as = _id_of(load_key(path))
    if known_as != node_id:
        raise lost(
            path,
            f"is the key of node {known_as}, but {MANIFEST} says {node_id}; restore both from one backup. A directory "
            "of a version that gave nodes random ids can not be taken over: export its memories with that version, and "
            "import them here",
        )


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, text: str) -> None:
    """Write `text` to `path` in one atomic, durable step, for the owner alone."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    _write_private(temporary, text.encode())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
