"""The file of a backup: a gzipped tar (POSIX.1-1988 headers) with a list of contents and checksums at its head.

    backup.json     format, when, which node, how far its ledger had come, and size and SHA-256 of each file below
    manifest.json, node.key, owner.token, access.sqlite, peers.json, backups.json, ledger/0.sqlite,
    transcripts/0.sqlite

Written and read in one pass. Only these names are ever taken out of one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.storage.data_directory import KEY_FILE, MANIFEST, sync_folder
from mnemesh_gateway.peers.peer_book import PEERS_FILE
from mnemesh_gateway.security.access import ACCESS_FILE
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError, Unavailable
from mnemesh_proto.rendezvous import TOKEN_FILE

FORMAT: Final = 2  # 1 had no transcripts
KIND: Final = "mnemesh-backup"
HEAD: Final = "backup.json"
LEDGER: Final = "ledger/0.sqlite"
TRANSCRIPTS: Final = "transcripts/0.sqlite"
REGISTER: Final = "backups.json"
NEEDED: Final = (MANIFEST, KEY_FILE, LEDGER)
NAMES: Final = (MANIFEST, KEY_FILE, TOKEN_FILE, ACCESS_FILE, PEERS_FILE, REGISTER, LEDGER, TRANSCRIPTS)
PIECE_BYTES: Final = 1024 * 1024
# Entries are deflated already. More effort wins a few percent of the view.
EFFORT: Final = 1
BLOCK: Final = tarfile.BLOCKSIZE


@dataclass(frozen=True, slots=True)
class BackupPart:
    """A file in a backup."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupHead:
    """The first file of a backup, which describes the others. `at` is in ms. `incarnation`, `seq`, `memories` and
    `digest` are the ledger's, as in mnemesh_actors.ledger.backup.snapshot.Held."""

    version: str
    at: int
    node_id: str
    incarnation: str
    seq: int
    memories: int
    digest: str
    files: tuple[BackupPart, ...]

    def to_json(self) -> bytes:
        """As it is written."""
        return json.dumps({"kind": KIND, "format": FORMAT, **asdict(self)}, indent=1).encode() + b"\n"


class BackupWriter:
    """Writes a backup into `path`, which must not exist (0600). `sha256` is of the whole file, once it is closed."""

    def __init__(self, path: Path, head: BackupHead) -> None:
        self._raw = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb+")
        self._at = head.at // 1000
        self._zip = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", compresslevel=EFFORT, mtime=self._at)
        data = head.to_json()
        self.begin(HEAD, len(data))
        self.write(data)
        self.end(len(data))

    def begin(self, name: str, size: int) -> None:
        """A file begins. `write` brings its bytes, `end` closes it."""
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o600, self._at
        self._zip.write(info.tobuf(tarfile.USTAR_FORMAT if size < 8 << 30 else tarfile.GNU_FORMAT))

    def write(self, data: bytes) -> None:
        """Bytes of the file that was begun."""
        self._zip.write(data)

    def end(self, size: int) -> None:
        """The file of `size` bytes is complete."""
        self._zip.write(bytes(-size % BLOCK))

    def finish(self) -> tuple[int, str]:
        """Everything on the disk: size and SHA-256 (hex) of the file."""
        self._zip.write(bytes(2 * BLOCK))
        self._zip.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.seek(0)
        written = os.fstat(self._raw.fileno()).st_size, hashlib.file_digest(self._raw, "sha256").hexdigest()
        self._raw.close()
        return written

    def abandon(self) -> None:
        """Nothing more is written. The file is no backup then."""
        self._raw.close()


class Reader:
    """Reads a backup. Raises FailedPrecondition for a file of another kind or a newer format, DataLoss for a truncated
    or damaged one. Each error names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = gzip.open(path, "rb")  # noqa: SIM115  held until close()
        except OSError as error:
            raise FailedPrecondition(
                f"{path} can not be read: {error.strerror}", field="file", value=str(path)
            ) from None
        try:
            self.head = self._read_head()
        except BaseException:  # boundary: closed, then raised again
            self._zip.close()
            raise

    def close(self) -> None:
        """Nothing more is read."""
        self._zip.close()

    def parts(self) -> Iterator[tuple[BackupPart, Iterator[bytes]]]:
        """Each file with its bytes, to be read in order and to their end. Then the file's own end is checked."""
        for part in self.head.files:
            name, size = self._member()
            if (name, size) != (part.name, part.bytes):
                raise self._damaged(f"{part.name} of {part.bytes} bytes is announced, {name!r} of {size} bytes comes")
            yield part, self._checked(part)
            self._take(-size % BLOCK)
        if any(self._take(2 * BLOCK)) or self._piece(1):
            raise self._damaged("something comes after its end")

    def _checked(self, part: BackupPart) -> Iterator[bytes]:
        left, hashed = part.bytes, hashlib.sha256()
        while left:
            piece = self._piece(min(left, PIECE_BYTES))
            if not piece:
                raise self._truncated()
            left -= len(piece)
            hashed.update(piece)
            yield piece
        if hashed.hexdigest() != part.sha256:
            raise self._damaged(f"{part.name} is not what was written: its SHA-256 differs")

    def _read_head(self) -> BackupHead:
        try:
            name, size = self._member()
        except DataLoss:
            if not self._begins_as_gzip():
                raise self._foreign() from None
            raise
        if name != HEAD or size > limits.BACKUP_HEAD_BYTES_MAX:
            raise self._foreign()
        try:
            value = json.loads(self._take(size))
            kind, format = value["kind"], int(value["format"])
        except (ValueError, KeyError, TypeError):
            raise self._foreign() from None
        self._take(-size % BLOCK)
        if kind != KIND:
            raise self._foreign()
        if format > FORMAT:
            raise FailedPrecondition(
                f"{self.path} is a backup of format {format}, this version reads up to {FORMAT}; install a newer one",
                field="file",
                value=str(format),
                limit=str(FORMAT),
            )
        return self._head(value)

    def _head(self, value: dict[str, Any]) -> BackupHead:
        try:
            files = tuple(
                BackupPart(str(part["name"]), int(part["bytes"]), str(part["sha256"])) for part in value["files"]
            )
            texts: dict[str, Any] = {name: str(value[name]) for name in ("version", "node_id", "incarnation", "digest")}
            numbers: dict[str, Any] = {name: int(value[name]) for name in ("at", "seq", "memories")}
            head = BackupHead(**texts, **numbers, files=files)
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"{HEAD}: {error!r}") from None
        names = [part.name for part in files]
        if len(set(names)) < len(names) or not set(NEEDED) <= set(names) <= set(NAMES):
            raise self._damaged(f"{HEAD} names other files than a backup has")
        return head

    def _member(self) -> tuple[str, int]:
        """Name and size of the next file."""
        block = self._take(BLOCK)
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise self._damaged(f"a header: {error}") from None
        if not info.isreg():
            raise self._damaged(f"{info.name!r} is no plain file")
        return info.name, info.size

    def _take(self, size: int) -> bytes:
        """Exactly so many bytes."""
        taken = bytearray()
        while len(taken) < size:
            piece = self._piece(size - len(taken))
            if not piece:
                raise self._truncated()
            taken += piece
        return bytes(taken)

    def _piece(self, size: int) -> bytes:
        try:
            return self._zip.read(size)
        except EOFError:
            raise self._truncated() from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._damaged(str(error)) from None
        except OSError as error:
            raise FailedPrecondition(f"{self.path}: {error}", field="file", value=str(self.path)) from None

    def _begins_as_gzip(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(2) == b"\x1f\x8b"

    def _foreign(self) -> MnemeshError:
        return FailedPrecondition(
            f"{self.path} is no backup that `mnemesh backup create` made; nothing was read from it",
            field="file",
            value=str(self.path),
        )

    def _truncated(self) -> MnemeshError:
        return DataLoss(
            f"{self.path} is truncated: the file ends before all announced bytes; take another copy of this backup",
            field="file",
            value=str(self.path),
        )

    def _damaged(self, why: str) -> MnemeshError:
        return DataLoss(
            f"{self.path} is damaged ({why}); take another copy of this backup", field="file", value=str(self.path)
        )


def verify(path: Path) -> BackupHead:
    """Read a backup to its end and check every byte. The head comes back. Raises as Reader does."""
    with closing(Reader(path)) as reader:
        for _, pieces in reader.parts():
            for _ in pieces:
                pass  # reading checks
    return reader.head


# ---- a data directory that appears whole or not at all --------------------------------------------------------------
# The new directory grows in a folder inside the empty one, and its manifest is moved last. So nobody takes a half-made
# directory for a node's.

STAGING: Final = ".loading"
# Names that a fresh volume may hold.
IGNORED: Final = frozenset({"lost+found"})


@contextmanager
def staged(data_dir: Path, what: str, undone: str) -> Iterator[Path]:
    """A folder whose content is moved into `data_dir` at the end. The directory is empty or does not exist. A failure
    leaves the directory as before. `what` is done, and `undone` after a failure, say the errors. Raises
    FailedPrecondition, Unavailable."""
    try:
        existed = data_dir.exists()
        taken = existed and (not data_dir.is_dir() or {entry.name for entry in data_dir.iterdir()} - IGNORED)
    except OSError as error:
        raise Unavailable(f"{data_dir}: {error}; {undone}", part="backup") from error
    if taken:
        raise FailedPrecondition(
            f"data_dir: {data_dir} is not empty; {what} into an empty directory only: name another one",
            field="data_dir",
            value=str(data_dir),
            limit="an empty directory",
        )
    staging = data_dir / STAGING
    try:
        data_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
        staging.mkdir(mode=0o700)
        try:
            yield staging
            _move(staging, data_dir)
        except BaseException:  # boundary: undone, then raised again
            shutil.rmtree(staging if existed else data_dir, ignore_errors=True)
            raise
    except OSError as error:
        raise Unavailable(f"{data_dir}: {error}; {undone}", part="backup") from error


def _move(staging: Path, data_dir: Path) -> None:
    for name in sorted(os.listdir(staging), key=lambda name: (name == MANIFEST, name != "ledger", name)):
        os.replace(staging / name, data_dir / name)
    staging.rmdir()
    sync_folder(data_dir)
