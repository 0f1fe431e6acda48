"""`mnemesh hook HOST EVENT`: the answer to one event of a host, which gives its JSON on standard input.

Never stands in the way: without an answer from the node in time nothing is printed, and the exit status is 0. Standard
library only, because a host starts this program at every prompt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mnemesh.errors import InvalidArgument
from mnemesh.exit_status import EXIT_OK
from mnemesh.hooks import context, events, injection
from mnemesh.hooks.events import Reply
from mnemesh.hooks.node_http import NodeHttp, Unanswered
from mnemesh.hooks.shown_memories import ShownMemories
from mnemesh.transport.project import Project, project_of
from mnemesh_proto.rendezvous import default_data_dir

TIMEOUT_S: Final = 2.0
# Beyond it, for an answer that has just come.
GRACE_S: Final = 0.5
INPUT_BYTES_MAX: Final = 4 * 1024 * 1024


def main(words: Sequence[str]) -> int:
    """Answer the event that `words` name on standard output."""
    host, event, *options = (*words, "", "")
    environ = dict(os.environ)
    if options[:1] == ["--data"]:  # wins over an address, as everywhere
        environ = {**environ, "MNEMESH_DATA_DIR": options[1], "MNEMESH_ENDPOINT": ""}
    if event in events.EVENTS.get(host, {}) and sys.stdin is not None:  # None: closed by the caller
        with _time_limit():
            reply = _reply(host, event, environ)
        if reply is not None:
            sys.stdout.write(json.dumps(reply))
    return EXIT_OK


@contextmanager
def _time_limit() -> Iterator[None]:
    """Ends the process silently when the body waits without a limit of its own: for an open input, a name server."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: os._exit(EXIT_OK))
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S + GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _reply(host: str, event: str, environ: Mapping[str, str]) -> Reply | None:
    until = time.monotonic() + TIMEOUT_S
    try:
        given = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
        if not isinstance(given, dict):
            return None
        cwd = Path(events.directory_of(given) or os.getcwd())
        mode = injection.mode_here(cwd, environ)
        meaning = events.EVENTS[host][event]
        if meaning == events.PERMISSION:
            return events.permission_reply(given.get("tool_name")) if mode != injection.OFF else None
        if not _wanted(meaning, mode, given):
            return None
        node = NodeHttp(default_data_dir(environ), environ, until)
        text = _context(node, host, meaning, mode, given, cwd, environ)
    # A host must not be kept from its work by an input, a file, a node or an answer of another make.
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidArgument, Unanswered):
        return None
    return events.context_reply(host, event, text) if text else None


def _wanted(meaning: str, mode: str, given: Mapping[str, Any]) -> bool:
    if meaning == events.SESSION_START:
        return mode == injection.AUTO
    prompt = given.get("prompt")
    return mode in context.MIN_SCORES and isinstance(prompt, str) and not context.is_trivial(prompt)


def _fired(
    node: NodeHttp, answers: Iterable[Mapping[str, Any]], headers: Iterable[tuple[str, str]]
) -> Sequence[Mapping[str, Any]]:
    """The memories of the triggers that fired."""
    question = context.triggered_question(answers)
    memories: Sequence[Mapping[str, Any]] = node.ask(question, headers)["memories"] if question else ()
    return memories


def _context(
    node: NodeHttp, host: str, meaning: str, mode: str, given: Mapping[str, Any], cwd: Path, environ: Mapping[str, str]
) -> str:
    data_dir = default_data_dir(environ)
    space = environ.get("MNEMESH_SPACE")
    project = project_of(cwd, data_dir) if space is None else Project(space)
    headers = project.headers(environ.get("MNEMESH_AGENT", ""))
    shown = ShownMemories(data_dir, host, events.session_of(given))
    if meaning == events.PROMPT:
        answer = node.ask(context.prompt_question(given["prompt"], mode), headers)
        text, ids = context.prompt_block(answer, shown.ids(), _fired(node, [answer], headers))
    else:
        if given.get("source") in events.FORGETTING_SOURCES:
            shown.clear()
        answers = {name: node.ask(question, headers) for name, question in context.SESSION_QUESTIONS.items()}
        text, ids = context.session_block(answers, shown.ids(), _fired(node, answers.values(), headers))
        shown.sweep()
    if ids:
        shown.add(ids)
    return text
