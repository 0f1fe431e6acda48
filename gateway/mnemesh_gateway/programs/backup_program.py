"""`mnemesh backup load` and `mnemesh backup verify`: they work on a file alone, while no node runs.

Loading unpacks into a folder inside the empty directory and checks everything there, before anything is in place.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from mnemesh_actors.ledger.backup.snapshot import Held, held_by
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.ledger.store.faults import explained
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_actors.storage.file_format import format_of, refuse_newer
from mnemesh_actors.transcripts import transcript_file
from mnemesh_gateway.backup.backup_file import LEDGER, TRANSCRIPTS, BackupHead, Reader, staged, verify
from mnemesh_gateway.backup.backups import Backup, read_register, write_register
from mnemesh_gateway.node.usage import Parser
from mnemesh_memory.values.errors import DataLoss
from mnemesh_proto.rendezvous import default_data_dir


def load(file: Path, data_dir: Path) -> BackupHead:
    """Make a data directory of a backup. `data_dir` is empty or does not exist. When something fails, it is left as it
    was. Raises FailedPrecondition, DataLoss or Unavailable, each naming the file or the directory."""
    with (
        closing(Reader(file)) as reader,
        staged(data_dir, "a backup is loaded", "nothing was loaded") as staging,
    ):
        _unpack(reader, staging)
        _check(reader.head, staging)
        _remember(reader.head, file, staging)
    return reader.head


def _unpack(reader: Reader, staging: Path) -> None:
    for part, pieces in reader.parts():
        target = staging / part.name
        target.parent.mkdir(exist_ok=True, mode=0o700)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for piece in pieces:
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())


def _check(head: BackupHead, staging: Path) -> None:
    """Manifest, key and ledger belong together, and are what the backup says."""
    node_id = open_directory(staging).node_id
    ledger = staging / LEDGER
    with explained(ledger, "nothing was loaded"), closing(sqlite3.connect(ledger)) as db:
        refuse_newer(len(schema.MIGRATIONS), format_of(db), ledger)
        schema.check(db, ledger)
        held = held_by(db)
    if (staging / TRANSCRIPTS).exists():
        transcript_file.check(staging / TRANSCRIPTS)
    said = Held(incarnation=head.incarnation, seq=head.seq, memories=head.memories, digest=head.digest)
    if (node_id, held) != (head.node_id, said):
        raise DataLoss(
            f"the backup says that it holds {said} of node {head.node_id}, but it holds {held} of {node_id}; nothing "
            "was loaded",
            field="file",
        )


def _remember(head: BackupHead, file: Path, staging: Path) -> None:
    """The loaded file goes into the register: it holds what may be erased later. The register inside it was written
    before the file was finished."""
    with open(file, "rb") as whole:
        sha256 = hashlib.file_digest(whole, "sha256").hexdigest()
    loaded = Backup(
        path=str(file.resolve()), at=head.at, node_id=head.node_id, incarnation=head.incarnation, seq=head.seq,
        memories=head.memories, bytes=file.stat().st_size, sha256=sha256,
    )  # fmt: skip
    known = [replace(loaded, path=backup.path) if backup.at == head.at else backup for backup in read_register(staging)]
    write_register(staging, known if loaded in known else [*known, loaded])


# ---- the program ----------------------------------------------------------------------------------------------------


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """The exit code 0. Raises MnemeshError when it is refused."""
    arguments = _parser(environ).parse_args(argv)
    if arguments.command == "verify":
        head, lines = verify(arguments.file), ["every byte is as it was written"]
    else:
        data_dir = arguments.data.expanduser().absolute()
        head, lines = load(arguments.file, data_dir), _advice(data_dir)
    if arguments.json:
        print(json.dumps(asdict(head)))
    else:
        at = datetime.fromtimestamp(head.at / 1000, UTC).isoformat(timespec="seconds")
        print(f"{arguments.file}: node {head.node_id} at {at}, {head.memories} memories, seq {head.seq}")
        print("\n".join(f"  {line}" for line in lines))
    return 0


def _advice(data_dir: Path) -> list[str]:
    return [
        f"loaded into {data_dir}; start it: mnemesh up --data {data_dir}",
        "the node of this backup must not run any more: two nodes with one id refuse each other",
        "tokens revoked since are valid again (`mnemesh agent list`), memories erased since are back until a peer's",
        "tombstone comes; the index and the vectors are made anew at the first start",
    ]


def _parser(environ: Mapping[str, str]) -> Parser:
    parser = Parser(prog="mnemesh backup", description="Backups, while no node runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (("load", "Make a data directory of a backup."), ("verify", "Check every byte of a backup.")):
        command = commands.add_parser(name, help=words, description=words)
        command.add_argument("file", metavar="FILE", type=Path, help="what `mnemesh backup create` wrote")
        command.add_argument("--json", action="store_true", help="print exactly one JSON object")
        if name == "load":
            command.add_argument(
                "--data", metavar="DIR", type=Path, default=default_data_dir(environ),
                help="an empty directory, or one to be made (default: the user's data directory)",
            )  # fmt: skip
    return parser
