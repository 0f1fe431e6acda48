"""The words after `mnemesh` for separate programs: the MCP proxy, the benchmark, the node and its tools.

A program of the node replaces this process. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mnemesh.exit_status import EXIT_USAGE

NODE_COMMANDS: Final = ("up", "doctor")
SOURCE_TREE: Final = Path(__file__).resolve().parents[2]
# A word after `node`, `model` or `backup` that works on files while no node runs; the others of `backup` ask one.
OFFLINE_PROGRAMS: Final = {
    "backup": ("load", "verify"), "node": ("new-identity", "salvage"), "model": ("install",),
}  # fmt: skip


def run_program(words: Sequence[str]) -> int:
    """Run `mcp`, `bench`, `up`, `doctor` or a program of `backup`, `node` or `model`: programs of their own."""
    if words[0] == "bench":
        return _bench(words[1:])
    if words[0] in (*NODE_COMMANDS, *OFFLINE_PROGRAMS):
        return _become_node(words)
    from mnemesh.stdio.program import main as mcp

    return mcp(list(words[1:]))


def _bench(words: Sequence[str]) -> int:
    """Replace this process by `python -m bench WORDS...` of the source tree that this installation stands in. Returns
    only when there is none, because its corpora and programs are in no package."""
    if not (SOURCE_TREE / "bench" / "__main__.py").is_file():
        print(
            "mnemesh: bench needs the source tree, which this installation was not made from.\n"
            "In a clone of it: make bench",
            file=sys.stderr,
        )
        return EXIT_USAGE
    sys.stdout.flush()
    sys.stderr.flush()
    path = os.pathsep.join(filter(None, (str(SOURCE_TREE), os.environ.get("PYTHONPATH"))))
    return os.execve(sys.executable, [sys.executable, "-P", "-m", "bench", *words], {**os.environ, "PYTHONPATH": path})


def _become_node(words: Sequence[str]) -> int:
    """Replace this process by `python -m mnemesh_gateway WORDS...`; returns only when that can't be."""
    from mnemesh.transport.local_node import missing_node_modules

    missing = missing_node_modules()
    if missing and words[0] != "doctor":
        print(
            f"mnemesh: this installation is the client only ({', '.join(missing)} not installed).\n"
            "To run a node here: pip install 'mnemesh[node]'",
            file=sys.stderr,
        )
        return EXIT_USAGE
    if words[0] == "doctor":
        from mnemesh.hooks.injection import fault_here

        if fault := fault_here("", os.environ):
            print(f"mnemesh: {fault}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return os.execv(sys.executable, [sys.executable, "-P", "-m", "mnemesh_gateway", *words])
