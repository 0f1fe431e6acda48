"""`mnemesh node`: work on a data directory while no node runs on it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from mnemesh_gateway.node.usage import Parser, refused
from mnemesh_gateway.programs.new_identity import Renewed, give_new_identity
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
