"""`mnemesh node`: work on a data directory while no node runs on it.

`mnemesh node new-identity`: makes a copied data directory a node of its own, while no node runs on it. The log keeps
its entries, signed by the former node. From then on the node signs with a new key, under another id and in a new
incarnation.

`mnemesh node salvage`: a new data directory of the sound parts of a damaged one, which is left as it is. The new one is
the same node in a new incarnation, as after loading a backup.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from mnemesh_actors.generations.generation_file import FILE as GENERATION_FILE
from mnemesh_actors.ledger.integrity.incarnation import end_life
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.node.salvage import Lost, Salvaged, salvage
from mnemesh_actors.storage.data_directory import open_directory, renew_identity
from mnemesh_gateway.backup.backup_file import LEDGER, NAMES, staged
from mnemesh_gateway.node.presence import NodeLock, refuse_uninhabited
from mnemesh_gateway.node.settings import FILE_NAME as SETTINGS_FILE
from mnemesh_gateway.node.usage import Parser
from mnemesh_memory.values.errors import count_of
from mnemesh_proto.rendezvous import default_data_dir

# As they are: the doctor tells of damage to them. The last two are in no backup, because they are of a machine.
COPIED = (*(name for name in NAMES if name != LEDGER), SETTINGS_FILE, GENERATION_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    """The new directory, and what its ledger has and has not."""

    data_dir: str
    ledger: Salvaged

    @property
    def text(self) -> str:
        """For a person: a line for each run of entries that are missing for one reason."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.data_dir}: {count_of(self.ledger.entries, 'entry')}, {count_of(self.ledger.memories, 'memory')}"
        if self.ledger.lost:
            yield f"not in it: {count_of(len(self.ledger.lost), 'entry')}"
        for run in _runs(self.ledger.lost):
            first, last = run[0], run[-1]
            of = f" of {first.doc}" if first.doc else ""
            numbers = f"entry {first.seq}" if first is last else f"entries {first.seq} to {last.seq}"
            state = ""
            if first.doc:
                state = "; the rest of it is there" if first.left else "; nothing else of it is there"
            yield f"  {numbers}{of}: {first.why}{state}"
        for table in self.ledger.partly:
            yield f"read in part: table {table} beside the log"
        yield f"start it: mnemesh up --data {shlex.quote(self.data_dir)}"
        yield "Peers bring lost entries that they hold. Without a peer only a backup holds the lost entries."
        yield "The damaged directory is as it was. Run no node on it any more: two nodes with one id refuse each other."


def rescue(data_dir: Path, new_dir: Path, now: int) -> Rescued:
    """Make the data directory `new_dir`, which is empty or not there, of what is sound in `data_dir`, at `now` (ms).
    Raises InvalidArgument for a file, FailedPrecondition when a node runs there or none lived there, and Unavailable
    when the disk fails. Raises DataLoss when nothing can be read, or when manifest or key are damaged. Nothing is left
    of the new directory then."""
    refuse_uninhabited(data_dir)
    with closing(NodeLock(data_dir)):
        old = open_directory(data_dir)
        with staged(new_dir, "what is sound is copied", "nothing was salvaged") as staging:
            for name in COPIED:
                _copy(data_dir / name, staging / name)
            target = staging / LEDGER
            target.parent.mkdir(mode=0o700)
            salvaged = salvage(data_dir / LEDGER, target, old.key_file, old.node_id, now)
    return Rescued(data_dir=str(new_dir), ledger=salvaged)


def _runs(lost: tuple[Lost, ...]) -> Iterator[list[Lost]]:
    """Entries that follow each other and are missing for the same reason."""
    numbered = enumerate(lost)
    for _, run in groupby(numbered, lambda pair: (pair[1].seq - pair[0], pair[1].doc, pair[1].why)):
        yield [entry for _, entry in run]


def _copy(source: Path, target: Path) -> None:
    """A file and SQLite's files beside it, as they are. A missing file is passed over."""
    for beside in ("", "-journal", "-wal"):
        file = source.with_name(source.name + beside)
        if not file.is_file():
            continue
        target.parent.mkdir(exist_ok=True, mode=0o700)
        copied = os.open(target.with_name(target.name + beside), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "rb") as data, os.fdopen(copied, "wb") as out:
            shutil.copyfileobj(data, out)
            out.flush()
            os.fsync(out.fileno())


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """The exit code 0. Raises MnemeshError when it is refused."""
    given = _parser(environ).parse_args(argv)
    data_dir = given.data.expanduser().absolute()
    done: Renewed | Rescued
    if given.command == "salvage":
        done = rescue(data_dir, given.new_dir.expanduser().absolute(), time.time_ns() // 1_000_000)
    else:
        done = give_new_identity(data_dir)
    print(json.dumps(asdict(done)) if given.json else done.text)
    return 0


def _parser(environ: Mapping[str, str]) -> Parser:
    parser = Parser(prog="mnemesh node", description="Work on a data directory while no node runs.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    words = "Give a copied data directory a node id of its own. Its memories stay."
    renew = commands.add_parser("new-identity", help=words, description=words)
    words = "Copy what is sound of a damaged data directory into a new one, and list the rest."
    salvage = commands.add_parser("salvage", help=words, description=words)
    salvage.add_argument("new_dir", metavar="NEW_DIR", type=Path, help="an empty directory, or one to be made")
    for command, whose in ((renew, "the copy"), (salvage, "the damaged node, which stays as it is")):
        command.add_argument(
            "--data", metavar="DIR", type=Path, default=default_data_dir(environ),
            help=f"data directory of {whose} (default: the user's data directory)",
        )  # fmt: skip
        command.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser


@dataclass(frozen=True, slots=True)
class Renewed:
    """Ids in hex before and after, and how many memories stay."""

    data_dir: str
    old_node_id: str
    node_id: str
    memories: int

    @property
    def text(self) -> str:
        """For a person."""
        return (
            f"{self.data_dir} is node {self.node_id} now; it was {self.old_node_id}. Its {self.memories} memories "
            "stay, signed by the former node.\nPeers that call this node have to remove it and add it again."
        )


def give_new_identity(data_dir: Path) -> Renewed:
    """A new key, id and incarnation. The ledger keeps the old public key, which its entries were signed with. Raises
    InvalidArgument for a file, FailedPrecondition when no node lived there or one runs, DataLoss for a damaged
    directory."""
    refuse_uninhabited(data_dir)
    with closing(NodeLock(data_dir)):
        before = open_directory(data_dir)
        ledger = Ledger(str(before.ledger(0)), str(before.key_file), before.node_id)  # keeps the old key
        memories = ledger.status().memories
        ledger.close()
        end_life(before.ledger(0).with_suffix(".lock"))
        after = renew_identity(before)
    return Renewed(str(data_dir), before.node_id, after.node_id, memories)
