"""`mnemesh statusline`: one line about this project's memory, for the status line of a host. Empty without a node.

Standard library only, with 50 ms for all questions to the node. The host's JSON on standard input is read where it
comes; its share of used context is shown again.
"""

from __future__ import annotations

import os
import sys
import time

from mnemesh.exit_status import EXIT_OK
from mnemesh.hooks import events
from mnemesh.hooks.context import harmless
from mnemesh.hooks.node_http import NodeHttp, Unanswered
from mnemesh.hooks.shim import INPUT_BYTES_MAX, SILENT, TimeLimit
from mnemesh.transport.project import Project, project_of
from mnemesh_proto.plain_json import loads
from mnemesh_proto.rendezvous import default_data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final

QUESTIONS_S: Final = 0.05
COUNT: Final = ("GET /v1/memories?limit=1", None)
SYNC: Final = ("GET /v1/sync", None)
SEPARATOR: Final = " \u00b7 "


def main(words: Sequence[str]) -> int:
    """Print the line."""
    environ = dict(os.environ)
    if words[:1] == ["--data"] and len(words) > 1:
        environ = {**environ, "MNEMESH_DATA_DIR": words[1], "MNEMESH_ENDPOINT": ""}
    with TimeLimit(QUESTIONS_S):
        try:
            line = _line(_given(), environ)
        except SILENT:
            line = ""
    if line and sys.stdout is not None:
        sys.stdout.write(line + "\n")
    return EXIT_OK


def _given() -> Mapping[str, Any]:
    """The host's JSON, empty for a person at a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    given = loads(sys.stdin.buffer.read(INPUT_BYTES_MAX) or b"{}")
    return given if isinstance(given, dict) else {}


def _line(given: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    data_dir = default_data_path(environ)
    space = environ.get("MNEMESH_SPACE")
    cwd = events.directory_of(given) or os.getcwd()
    project = project_of(cwd, data_dir) if space is None else Project(space)
    node = NodeHttp(data_dir, environ, time.monotonic() + QUESTIONS_S)
    headers = project.headers("")
    count = int(node.ask(COUNT, headers)["total"])
    parts = [f"mnemesh {harmless(project.space or 'private')}", f"{count:,} {'memory' if count == 1 else 'memories'}"]
    try:
        waiting = _waiting(node.ask(SYNC, headers))
    except (OSError, ValueError, KeyError, TypeError, Unanswered):  # too late, or not for this token
        waiting = 0
    if waiting:
        parts.append(f"{waiting:,} to sync")
    window = given.get("context_window")
    used = window.get("used_percentage") if isinstance(window, dict) else None
    if isinstance(used, int | float):
        parts.append(f"context {used:.0f} %")
    return SEPARATOR.join(parts)


def _waiting(status: Mapping[str, Any]) -> int:
    """Entries that peers have not taken yet, or that wait here."""
    peers = status["peers"]
    return int(status["pending"]) + sum(int(peer["pending_out"]) + int(peer["pending_in"]) for peer in peers)
