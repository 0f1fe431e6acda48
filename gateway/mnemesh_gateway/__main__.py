"""`python -m mnemesh_gateway PROGRAM`: the one place that reads the environment and builds all."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemesh_gateway.node.settings import Loaded, load, table
from mnemesh_gateway.node.usage import EXIT_REFUSED, EXIT_USAGE, BadUsage, Parser, refused
from mnemesh_memory.values.errors import MnemeshError

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

EXIT_INTERRUPTED = 130
Program = Callable[[Sequence[str], Mapping[str, str]], int]
# The modules of the other programs. Each is loaded for its own command alone.
PROGRAMS = {
    "doctor": "doctor.report",
    "backup": "programs.backup_program",
    "node": "programs.node_program",
    "model": "programs.model_program",
}
# The names that the command line is known by. The setting is data_dir everywhere else.
SHORT_FLAGS = {"data_dir": ("--data", "--data-dir")}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0, 1 (doctor: findings), 2 bad usage or settings, 4 the start was refused."""
    started = time.monotonic()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words, started)
    except BadUsage as error:
        error.tell(words)
        return EXIT_USAGE
    except MnemeshError as error:
        return refused(error, in_json="--json" in words)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"mnemesh: {error.strerror or error}{where}", file=sys.stderr)
        return EXIT_REFUSED


def _run(words: list[str], started: float) -> int:
    if words and words[0] in PROGRAMS:
        program: Program = import_module(f"mnemesh_gateway.{PROGRAMS[words[0]]}").main
        return program(words[1:], os.environ)
    if words[:1] != ["up"]:
        known = "up | doctor | backup load | backup verify | node new-identity | node salvage | model install"
        print(f"usage: python -m mnemesh_gateway {known} [--help]", file=sys.stderr)
        return EXIT_USAGE
    arguments = _parser().parse_args(words[1:])
    flags = {name: value for name, value in vars(arguments).items() if value is not None and name != "config"}
    return _up(load(flags, os.environ, Path(arguments.config) if arguments.config else None), started)


def _parser() -> Parser:
    parser = Parser(prog="mnemesh up", description="Start a node in the foreground.")
    parser.add_argument("--config", help="TOML file of settings (default: settings.toml in the data directory)")
    for entry in table():
        if entry.metadata["secret"]:
            continue
        default = f" (default: {entry.default})" if entry.default not in ("", None) else ""
        unit = entry.metadata["unit"].upper().replace("HOST:PORT", "ADDRESS") or "VALUE"
        flags = SHORT_FLAGS.get(entry.name, (f"--{entry.name.replace('_', '-')}",))
        # A switch may stand alone or carry its value.
        extra: dict[str, Any] = {"nargs": "?", "const": "true"} if isinstance(entry.default, bool) else {}
        parser.add_argument(
            *flags, dest=entry.name, metavar=unit, help=entry.metadata["help"].replace("%", "%%") + default, **extra
        )
    return parser


def _up(loaded: Loaded, started: float) -> int:
    # The files of a node are its owner's alone, also in a directory that was made wider.
    os.umask(0o077)
    # gRPC reads these when it is imported. Nothing here forks without exec, so its fork handlers only make noise.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        # Heavy imports come after the flags are known to be good, so that a typo is answered at once.
        from mnemesh_gateway.node import node_log
        from mnemesh_gateway.node.node import Node
    except ModuleNotFoundError as error:
        print(f"mnemesh: a part of the node is missing: {error}\nfix: pip install 'mnemesh[node]'", file=sys.stderr)
        return EXIT_REFUSED

    tell_repeats = node_log.configure(loaded)

    def announce(gate: MeshGate) -> None:
        print(ready_block(loaded, gate.grpc, gate.http, time.monotonic() - started), flush=True)

    try:
        asyncio.run(Node(loaded, announce, tell_repeats).serve())
    finally:
        tell_repeats()
    return 0


def ready_block(loaded: Loaded, grpc: str, http: str, seconds: float) -> str:
    """The words that a person needs to go on: where the data lies, the addresses, the line for Claude Code."""
    from importlib.metadata import version

    command = Path(sys.executable).with_name("mnemesh")
    shown = str(command) if command.exists() else f"{sys.executable} -m mnemesh"
    given = "" if loaded.origins["data_dir"] == "default" else f" --data {loaded.data_dir}"
    return "\n".join(
        (
            f"Mnemesh {version('mnemesh')} is ready ({seconds:.1f} s, runtime {loaded.settings.runtime})",
            f"  data    {loaded.data_dir}",
            f"  gRPC    {grpc}",
            f"  HTTP    http://{http}   MCP at /mcp, JSON at /v1, OpenAPI at /v1/openapi.json",
            f"  token   {loaded.data_dir / 'owner.token'}",
            "  Claude Code:",
            f"    {shown} install claude-code{given}",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
