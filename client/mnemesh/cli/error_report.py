"""The one place that turns an error into an exit status and the words of the command line.

Done is 0. Bad usage is 2, also for a bad value that client or node refuses. Without an answer from a node it is 3. A
refusal by the node is 4.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from mnemesh import errors
from mnemesh.cli.shell import print_json, printable
from mnemesh.errors import MnemeshError
from mnemesh.exit_status import EXIT_NOT_REACHABLE, EXIT_OK, EXIT_REFUSED, EXIT_USAGE
from mnemesh.transport.connection import default_project, local_data_dir

# Commands of two words: the first names the subject.
GROUPS: Final = ("agent", "peer", "sync", "transcript", "trigger", "rule", "mine", "service", "backup", "node", "model")
# How the node says that a token comes, in the words of HTTP and gRPC.
# How a node names the field for the length of the windows of causal_chain.
WINDOW_FIELD: Final = " (window_hours sets their length)"
BEARER: Final = "send `Authorization: Bearer <token>`"
# Whose --token is that of the peer.
PEERS_OWN: Final = (("peer", "add"), ("peer", "token"))
SPACE_OPTIONS: Final = ("--space", "-s")
SECRET_REFUSED: Final = "SECRET_REFUSED"


def carried_out(command: Callable[[], None], argv: Sequence[str]) -> int:
    """The exit status of `command`, which `argv` asked for. Errors of the client and the node are reported."""
    try:
        command()
    except MnemeshError as error:
        report({**error_body(error), "message": advised(error, argv)}, wants_json(argv))
        return exit_status(error)
    except KeyboardInterrupt:
        if wants_json(argv):
            report({"code": "CANCELLED", "message": "interrupted"}, as_json=True)
        raise
    return EXIT_OK


def wants_json(argv: Sequence[str]) -> bool:
    """Whether `argv` asks for JSON."""
    return "--json" in (argv[: argv.index("--")] if "--" in argv else argv)


def exit_status(error: MnemeshError) -> int:
    """The exit status that `error` means. An error with a field comes from an answering node: a missing model is
    UNAVAILABLE too.
    """
    if isinstance(error, errors.NotReachable | errors.DeadlineExceeded) and not (error.refused and error.field):
        return EXIT_NOT_REACHABLE
    # A bad value is bad usage, wherever it is noticed. A secret is a refusal of the node.
    unusable = isinstance(error, errors.InvalidArgument) and error.details.get("reason") != SECRET_REFUSED
    return EXIT_USAGE if unusable else EXIT_REFUSED


def advised(error: MnemeshError, argv: Sequence[str]) -> str:
    """The node's message in the words of the command line: an option, where a token is given, where a space came
    from."""
    if isinstance(error, errors.NotFound):
        if argv[0] == "drill-down":
            message = error.message.replace("cluster ", "topic ", 1)
            return message.replace("recall_hierarchical", "`mnemesh recall-hierarchical`")
        return error.message.replace(" include_forgotten shows", " --include-forgotten shows")
    if isinstance(error, errors.FailedPrecondition) and error.message.startswith("too little data"):
        return f"{error.message.removesuffix(WINDOW_FIELD)} (--window-hours N sets their length)"
    if isinstance(error, errors.Unauthenticated):
        how = "MNEMESH_TOKEN" if tuple(argv[:2]) in PEERS_OWN else "--token or MNEMESH_TOKEN"
        return error.message.replace(BEARER, f"give {how}")
    if isinstance(error, errors.PermissionDenied) and argv[0] in GROUPS and not error.details.get("space"):
        # A group's command may ask for an operation of another name: `peer list` for sync_status.
        return error.message.replace(f" may not {error.details.get('action')};", f" may not {' '.join(argv[:2])};")
    named = any(word.startswith(SPACE_OPTIONS) for word in argv)
    if not isinstance(error, errors.PermissionDenied) or named or "MNEMESH_SPACE" in os.environ:
        return error.message
    here = default_project(local_data_dir(None)).space
    if not here or error.details.get("space") != errors.shorten(here):
        return error.message
    return f"{error.message}. That space is the one of this directory (.mnemesh.toml or git); --space names another"


def error_body(error: MnemeshError) -> dict[str, str]:
    """The object that --json prints under "error": code, message and the node's details."""
    return {"code": error.code, "message": error.message, **error.details}


def report(body: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json({"error": body})
    else:
        print(f"mnemesh: {printable(body['message'])}", file=sys.stderr)
