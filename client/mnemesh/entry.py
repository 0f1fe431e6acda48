"""The command `mnemesh`: the first word decides which program runs, before anything heavy is imported.

`mcp` has to answer within milliseconds, and `up` and `doctor` become the node's own process; only the other commands
load the command line itself.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

EXIT_OK: Final = 0
EXIT_FAULT: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_REACHABLE: Final = 3
EXIT_REFUSED: Final = 4
EXIT_INTERRUPTED: Final = 130
EXIT_PIPE_CLOSED: Final = 141
NODE_COMMANDS: Final = ("up", "doctor")
SOURCE_TREE: Final = Path(__file__).resolve().parents[2]
# A word after `node`, `model` or `backup` that works on files while no node runs; the others of `backup` ask one.
OFFLINE_PROGRAMS: Final = {
    "backup": ("load", "verify"), "node": ("new-identity", "salvage"), "model": ("install",),
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run `mnemesh ARGV...` and return its exit status. Ctrl-C and a closed pipe end it quietly; what nothing else has
    put into words is put into words here."""
    words = [_as_utf8(word) for word in (sys.argv[1:] if argv is None else argv)]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal can show every memory
    try:
        status = _dispatch(words)
        if sys.stdout is not None:  # closed by who called
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more when it ends, into nothing this time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE_CLOSED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _tell(f"{error.strerror or 'the system refused a call'}{where}", EXIT_REFUSED, words)
    except Exception as error:  # noqa: BLE001  boundary: a person can do nothing with a traceback
        return _tell(_fault(error), EXIT_FAULT, words)


def _as_utf8(word: str) -> str:
    """A word that the locale has no letters for, as UTF-8, which terminals speak nearly everywhere."""
    return word if word.isascii() else os.fsencode(word).decode("utf-8", "surrogateescape")


def _tell(message: str, status: int, words: Sequence[str]) -> int:
    """Say what went wrong, with --json as the one object."""
    if "--json" in words:
        print(json.dumps({"error": {"code": "INTERNAL", "message": message}}))
    else:
        print(f"mnemesh: {message}", file=sys.stderr)
    return status


def _fault(error: Exception) -> str:
    """A fault of ours in words. Its details go into a file of the user alone: they may hold texts of memories."""
    import tempfile
    import traceback

    advice = "`mnemesh status` shows whether the node is well; please report this"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="mnemesh-fault-", suffix=".txt", delete=False) as file:
            traceback.print_exception(error, file=file)
    except OSError:
        return f"this command failed by a fault of its own; {advice}"
    return f"this command failed by a fault of its own; {advice}, with {file.name}"


def _dispatch(words: list[str]) -> int:
    if words and words[0] in ("mcp", "bench", *NODE_COMMANDS):
        return run_program(words)
    if len(words) > 1 and words[1] in OFFLINE_PROGRAMS.get(words[0], ()):
        return run_program(words)
    if words == ["--version"]:
        words = ["version"]
    from mnemesh.cli.app import run

    return run(words)


def run_program(words: Sequence[str]) -> int:
    """Run `mcp`, `bench`, `up`, `doctor` or a program of `backup`, `node` or `model`: programs of their own."""
    if words[0] == "bench":
        return _bench(words[1:])
    if words[0] in (*NODE_COMMANDS, *OFFLINE_PROGRAMS):
        return _become_node(words)
    from mnemesh.stdio import main as mcp

    return mcp(list(words[1:]))


def _bench(words: Sequence[str]) -> int:
    """Replace this process by `python -m bench WORDS...` of the source tree that this installation stands in; returns
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
    found = os.pathsep.join(filter(None, (str(SOURCE_TREE), os.environ.get("PYTHONPATH"))))
    return os.execve(sys.executable, [sys.executable, "-P", "-m", "bench", *words], {**os.environ, "PYTHONPATH": found})


def _become_node(words: Sequence[str]) -> int:
    """Replace this process by `python -m mnemesh_gateway WORDS...`; returns only when that can't be."""
    from mnemesh.local import missing_node_modules

    missing = missing_node_modules()
    if missing and words[0] != "doctor":
        print(
            f"mnemesh: this installation is the client only ({', '.join(missing)} not installed).\n"
            "To run a node here: pip install 'mnemesh[node]'",
            file=sys.stderr,
        )
        return EXIT_USAGE
    sys.stdout.flush()
    sys.stderr.flush()
    return os.execv(sys.executable, [sys.executable, "-P", "-m", "mnemesh_gateway", *words])


if __name__ == "__main__":
    sys.exit(main())
