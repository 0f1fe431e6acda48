"""The command `mnemesh`: the first word decides which program runs, before anything heavy is imported.

`mcp` and `hook` have to answer within milliseconds. `up` and `doctor` become the node's own process. Only other
commands load the command line itself.
"""

from __future__ import annotations

import io
import os
import sys

from mnemesh.exit_status import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_OK, EXIT_PIPE_CLOSED, EXIT_REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, NoReturn


# A host waits for these at every prompt, or whenever it draws a line.
HOST_PROGRAMS: Final = (["hook"], ["statusline"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run `mnemesh ARGV...` and return its exit status. Ctrl-C and a closed pipe end a command quietly. Errors without
    a message get their message here.
    """
    words = [_as_utf8(word) for word in (sys.argv[1:] if argv is None else argv)]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal can show every memory
    try:
        status = _dispatch(words)
        if sys.stdout is not None:  # closed by who called
            sys.stdout.flush()
        return _leave(status) if argv is None and words[:1] in HOST_PROGRAMS else status
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


def _leave(status: int) -> NoReturn:
    """End the process at once: a host waits for the end, and taking the interpreter apart takes milliseconds."""
    import atexit

    atexit._run_exitfuncs()
    os._exit(status)


def _as_utf8(word: str) -> str:
    """A word that the locale has no letters for, as UTF-8, which terminals speak nearly everywhere."""
    return word if word.isascii() else os.fsencode(word).decode("utf-8", "surrogateescape")


def _tell(message: str, status: int, words: Sequence[str]) -> int:
    """Say what went wrong, with --json as the one object."""
    if "--json" in words:
        import json

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
    helps = words[1:2] in (["--help"], ["-h"])
    if words[:1] == ["hook"] and not helps:
        from mnemesh.hooks.shim import main as hook

        return hook(words[1:])
    if words[:1] == ["statusline"] and not helps:
        from mnemesh.hooks.statusline import main as statusline

        return statusline(words[1:])
    from mnemesh.programs import NODE_COMMANDS, OFFLINE_PROGRAMS, run_program

    if words and words[0] in ("mcp", "bench", *NODE_COMMANDS):
        return run_program(words)
    if len(words) > 1 and words[1] in OFFLINE_PROGRAMS.get(words[0], ()):
        return run_program(words)
    if words in (["--version"], ["version"]):
        from mnemesh import __version__

        print(f"mnemesh {__version__}")
        return EXIT_OK
    from mnemesh.cli.plain import run_plain

    status = run_plain(words)
    if status is not None:
        return status
    from mnemesh.cli.app import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
