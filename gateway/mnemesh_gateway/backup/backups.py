"""The backups that this node makes, and the register of them, `backups.json` (0600) in the data directory.

A backup is in the register before its first byte is written. The entry stays when the file is moved or deleted, because
an eraser has to learn of every copy that may still hold a memory. Files are never overwritten.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from mnemesh_actors.storage.data_directory import KEY_FILE, MANIFEST, lost, replace_file, sync_folder
from mnemesh_gateway.backup.backup_file import (
    LEDGER,
    PIECE_BYTES,
    REGISTER,
    TRANSCRIPTS,
    BackupHead,
    BackupPart,
    BackupWriter,
)
from mnemesh_gateway.peers.peer_book import PEERS_FILE
from mnemesh_gateway.security.access import ACCESS_FILE
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Unavailable
from mnemesh_proto.rendezvous import TOKEN_FILE

if TYPE_CHECKING:
    from mnemesh_actors.node.mesh import Mesh
    from mnemesh_actors.node.snapshot_reader import LedgerCopy
    from mnemesh_actors.transcripts.transcript_file import FileCopy

FOLDER: Final = "backups"
SUFFIX: Final = ".mnemesh.tar.gz"
UNFINISHED: Final = ".partial"
# A memory may come from a node whose clock is ahead.
SKEW_MS: Final = limits.CLOCK_AHEAD_MS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup in the register: path, time of the beginning (ms), node, size and SHA-256. Of one that was not finished
    nothing but path and time is known."""

    path: str
    at: int
    node_id: str = ""
    incarnation: str = ""
    seq: int = 0
    memories: int = 0
    bytes: int = 0
    sha256: str = ""

    @property
    def created_at(self) -> int:
        """The time of the beginning, by the name that the contract has for it."""
        return self.at

    @property
    def state(self) -> str:
        """made, unfinished, or gone from where it was written."""
        if not self.sha256:
            return "unfinished"
        return "made" if os.path.exists(self.path) else "gone"


class Backups:
    """`clock` gives ms since the epoch. Makes one backup at a time."""

    def __init__(self, data_dir: Path, clock: Callable[[], int]) -> None:
        self._data_dir = data_dir
        self._clock = clock
        self._writing = threading.Lock()

    async def create(self, mesh: Mesh, to: str) -> Backup:
        """Write a backup into the file `to`, or into one of its own name in `backups/` of the data directory. Writes go
        on meanwhile. Raises InvalidArgument for an impossible name, FailedPrecondition for a taken one, Aborted while
        another backup is made, and Unavailable when the disk fails. No file is left then."""
        now = self._clock()
        if (full := mesh.disk_full()) is not None:
            raise full
        target = self._target(to, now)
        begun = Backup(path=str(target), at=now)
        await asyncio.to_thread(self._note, begun)
        try:
            async with mesh.ledger_copy() as copy, mesh.transcripts.copied() as transcripts:
                done = await self._write(target, begun, copy, transcripts)
        except BaseException:  # boundary: taken out of the register, then raised again
            self._drop(begun)
            raise
        await asyncio.to_thread(self._note, done)
        return done

    def all(self) -> tuple[Backup, ...]:
        """The register, the latest first. Raises DataLoss when it can not be read."""
        return tuple(reversed(read_register(self._data_dir)))

    def may_hold(self, created_at: int) -> tuple[Backup, ...]:
        """The backups that may hold a memory of the time `created_at` (ms): all but the older ones. `purge` has to name
        them."""
        return tuple(backup for backup in self.all() if backup.at >= created_at - SKEW_MS)

    async def _write(self, target: Path, begun: Backup, copy: LedgerCopy, transcripts: FileCopy | None) -> Backup:
        small = await asyncio.to_thread(small_files, self._data_dir)
        held = copy.copied.held
        head = BackupHead(
            version=version("mnemesh"),
            at=begun.at,
            node_id=str(json.loads(small[MANIFEST])["node_id"]),
            incarnation=held.incarnation,
            seq=held.seq,
            memories=held.memories,
            digest=held.digest,
            files=(
                *(BackupPart(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in small.items()),
                BackupPart(LEDGER, copy.copied.bytes, copy.copied.sha256),
                *((BackupPart(TRANSCRIPTS, transcripts.bytes, transcripts.sha256),) if transcripts else ()),
            ),
        )
        partial = target.with_name(f".{target.name}{UNFINISHED}")
        try:
            with _explained(target):
                writer = await asyncio.to_thread(BackupWriter, partial, head)
                try:
                    size, sha256 = await _fill(writer, small, copy, transcripts)
                except BaseException:  # boundary: closed, then raised again
                    writer.abandon()
                    raise
                await asyncio.to_thread(_publish, partial, target)
        except BaseException:  # boundary: deleted, then raised again
            partial.unlink(missing_ok=True)
            raise
        return replace(
            begun, node_id=head.node_id, incarnation=head.incarnation, seq=head.seq, memories=head.memories, bytes=size,
            sha256=sha256,
        )  # fmt: skip

    def _target(self, to: str, now: int) -> Path:
        name = f"{datetime.fromtimestamp(now / 1000, UTC):%Y%m%dT%H%M%S}.{now % 1000:03}Z{SUFFIX}"
        folder = self._data_dir / FOLDER
        folder.mkdir(exist_ok=True, mode=0o700)
        if not to:
            return folder / name
        path = Path(to)
        if not path.is_absolute() or "\0" in to or len(to) > limits.BACKUP_PATH_CHARS_MAX:
            limit = f"an absolute path of at most {limits.BACKUP_PATH_CHARS_MAX} characters, on the node's machine"
            raise InvalidArgument("to", to, limit)
        path = path / name if path.is_dir() else path
        if not path.parent.is_dir():
            raise InvalidArgument("to", to, f"a file in a folder of the node's machine; {path.parent} is none")
        parent = path.parent.resolve()
        home = self._data_dir.resolve()
        if parent.is_relative_to(home) and not parent.is_relative_to(home / FOLDER):
            raise InvalidArgument("to", to, f"not among the node's own files; leave it out, and it lies in {folder}")
        if os.path.lexists(path):
            raise FailedPrecondition(f"to: {path} is there already; a backup overwrites nothing", field="to", value=to)
        return path

    def _note(self, backup: Backup) -> None:
        with self._writing:
            write_register(self._data_dir, [*self._others(backup), backup])

    def _drop(self, backup: Backup) -> None:
        with self._writing:
            write_register(self._data_dir, self._others(backup))

    def _others(self, backup: Backup) -> list[Backup]:
        return [other for other in read_register(self._data_dir) if (other.path, other.at) != (backup.path, backup.at)]


async def _fill(
    writer: BackupWriter, small: Mapping[str, bytes], copy: LedgerCopy, transcripts: FileCopy | None
) -> tuple[int, str]:
    def put(name: str, data: bytes) -> None:
        writer.begin(name, len(data))
        writer.write(data)
        writer.end(len(data))

    for name, data in small.items():
        await asyncio.to_thread(put, name, data)
    await _pour(writer, BackupPart(LEDGER, copy.copied.bytes, copy.copied.sha256), copy.pieces())
    if transcripts:
        part = BackupPart(TRANSCRIPTS, transcripts.bytes, transcripts.sha256)
        await _pour(writer, part, _pieces(transcripts.path))
    return await asyncio.to_thread(writer.finish)


async def _pour(writer: BackupWriter, part: BackupPart, pieces: AsyncIterator[bytes]) -> None:
    came = hashlib.sha256()
    writer.begin(part.name, part.bytes)
    async for piece in pieces:
        came.update(piece)
        await asyncio.to_thread(writer.write, piece)
    if came.hexdigest() != part.sha256:
        raise Unavailable(
            f"the copy of {part.name} did not arrive whole; nothing was written, try again", part="backup"
        )
    writer.end(part.bytes)


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


def small_files(data_dir: Path) -> dict[str, bytes]:
    """The files of a backup beside the ledger, as they are now. Missing files are left out."""
    files = {}
    for name in (MANIFEST, KEY_FILE, TOKEN_FILE, PEERS_FILE, REGISTER):
        with contextlib.suppress(FileNotFoundError):
            files[name] = (data_dir / name).read_bytes()
    access = data_dir / ACCESS_FILE
    if access.exists():
        with (
            closing(sqlite3.connect(f"file:{quote(str(access))}?mode=ro", uri=True)) as live,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            live.backup(copy)
            files[ACCESS_FILE] = copy.serialize()
    return files


def read_register(data_dir: Path) -> list[Backup]:
    """The register, oldest first. Raises DataLoss when it is damaged."""
    path = data_dir / REGISTER
    try:
        return [Backup(**row) for row in json.loads(path.read_text("utf-8"))["backups"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        way_out = "the file only lists the backups that were made: keep a copy and delete it"
        raise lost(path, f"is damaged ({error}); {way_out}") from error


def write_register(data_dir: Path, backups: list[Backup]) -> None:
    """Replace the register, durably. The oldest beyond BACKUPS_LISTED_MAX are left out."""
    kept = backups[-limits.BACKUPS_LISTED_MAX :]
    text = json.dumps({"backups": [asdict(backup) for backup in kept]}, indent=1)
    replace_file(data_dir / REGISTER, text + "\n")


def _publish(partial: Path, target: Path) -> None:
    """Give the finished file its name, unless that is taken by now."""
    os.link(partial, target)
    partial.unlink()
    sync_folder(target.parent)


@contextlib.contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise FailedPrecondition(
            f"to: {target} is there already; a backup overwrites nothing", field="to", value=str(target)
        ) from None
    except OSError as error:
        raise Unavailable(
            f"the backup {target} could not be written: {error}; nothing is left of it", part="backup"
        ) from error
