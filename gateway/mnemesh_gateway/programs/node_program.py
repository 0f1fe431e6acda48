"""`mnemesh node`: work on a data directory while no node runs on it.

`mnemesh node new-identity`: makes a copied data directory a node of its own, while no node runs on it. The log keeps
its entries, signed by the former node. From then on the node signs with a new key, under another id and in a new
incarnation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from mnemesh_actors.ledger.integrity.incarnation import end_life
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import open_directory, renew_identity
from mnemesh_gateway.node.presence import NodeLock, refuse_uninhabited
from mnemesh_gateway.node.usage import Parser, refused
from mnemesh_gateway.programs.salvage_program import Rescued, rescue
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_proto.rendezvous import default_data_dir


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Exit codes: 0, 2 bad usage, 4 refused."""
    given = _parser(environ).parse_args(argv)
    data_dir = given.data.expanduser().absolute()
    try:
        done: Renewed | Rescued
        if given.command == "salvage":
            done = rescue(data_dir, given.new_dir.expanduser().absolute(), time.time_ns() // 1_000_000)
        else:
            done = give_new_identity(data_dir)
    except MnemeshError as error:
        return refused(error, in_json=given.json)
    print(json.dumps(asdict(done)) if given.json else done.text)
    return 0


def _parser(environ: Mapping[str, str]) -> Parser:
    parser = Parser(prog="mnemesh node", description="Work on a data directory while no node runs.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    words = "Give a copied data directory a node id of its own; what was written in it stays."
    renew = commands.add_parser("new-identity", help=words, description=words)
    words = "Copy what is sound of a damaged data directory into a new one, and list the rest."
    salvage = commands.add_parser("salvage", help=words, description=words)
    salvage.add_argument("new_dir", metavar="NEW_DIR", type=Path, help="an empty directory, or one to be made")
    for command, whose in ((renew, "the copy"), (salvage, "what is damaged; it stays as it is")):
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
            "stay, signed by the node that it was.\nPeers that call it have to remove it and add it again."
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
