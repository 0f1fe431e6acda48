"""`mnemesh node new-identity`: makes a copied data directory a node of its own, while no node runs on it.

What is in its log stays, signed by the node that it was; from then on it signs with a key of its own, under another id
and in a new incarnation.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mnemesh_actors.directory import MANIFEST, open_directory, renew_identity
from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.incarnation import end_life
from mnemesh_gateway.presence import NodeLock
from mnemesh_memory.errors import FailedPrecondition, MnemeshError
from mnemesh_proto.rendezvous import default_data_dir

EXIT_REFUSED: Final = 4


@dataclass(frozen=True, slots=True)
class Renewed:
    """Ids in hex before and after, and how many memories stay."""

    data_dir: str
    old_node_id: str
    node_id: str
    memories: int


def give_new_identity(data_dir: Path) -> Renewed:
    """A new key, id and incarnation. The ledger keeps the old public key, which its entries were signed with. Raises
    FailedPrecondition when no node lived there or one runs, DataLoss for a damaged directory."""
    if not (data_dir / MANIFEST).is_file():
        raise FailedPrecondition(
            f"data_dir: no node lived in {data_dir}; name one with --data", field="data_dir", value=str(data_dir)
        )
    lock = NodeLock(data_dir)
    try:
        before = open_directory(data_dir)
        ledger = Ledger(str(before.ledger(0)), str(before.key_file), before.node_id)  # keeps the old key
        memories = ledger.status().memories
        ledger.close()
        end_life(before.ledger(0).with_suffix(".lock"))
        after = renew_identity(before)
    finally:
        lock.close()
    return Renewed(str(data_dir), before.node_id, after.node_id, memories)


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Exit codes: 0, 2 bad usage, 4 refused."""
    parser = argparse.ArgumentParser(prog="mnemesh node", description="Work on a data directory while no node runs.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    words = "Give a copied data directory a node id of its own; what was written in it stays."
    renew = commands.add_parser("new-identity", help=words, description=words)
    renew.add_argument(
        "--data", metavar="DIR", type=Path, default=default_data_dir(environ),
        help="data directory of the copy (default: the user's data directory)",
    )  # fmt: skip
    renew.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args(argv)
    data_dir = given.data.expanduser().absolute()
    try:
        done = give_new_identity(data_dir)
    except MnemeshError as error:
        if given.json:
            print(json.dumps({"error": {"code": error.code, "message": error.message, **error.fields}}))
        else:
            print(f"mnemesh: {error.message}", file=sys.stderr)
        return EXIT_REFUSED
    if given.json:
        print(json.dumps(asdict(done)))
    else:
        print(
            f"{done.data_dir} is node {done.node_id} now; it was {done.old_node_id}. Its {done.memories} memories "
            "stay, signed by the node that it was.\nPeers that call it have to remove it and add it again."
        )
    return 0
