"""`mnemesh hook HOST EVENT`: the answer to one event of a host, which gives its JSON on standard input.

Never stands in the way: without an answer from the node in time nothing is printed, and the exit status is 0. Standard
library only, because a host starts this program at every prompt.
"""

from __future__ import annotations

import os
import sys
import time

from mnemesh.errors import InvalidArgument
from mnemesh.exit_status import EXIT_OK
from mnemesh.hooks import context, events, injection
from mnemesh.hooks.kept.shown_memories import ShownMemories
from mnemesh.hooks.node_http import NodeHttp, Unanswered
from mnemesh.transport.project import Project, project_of
from mnemesh.transport.space import BadSpaceFile, project_files, tree_of
from mnemesh_proto.plain_json import dumps, loads
from mnemesh_proto.rendezvous import default_data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any, Final

    from mnemesh.hooks.events import Reply
    from mnemesh.hooks.prompt_gate import GateFile
    from mnemesh.transport.space import ProjectFile

    Headers = tuple[tuple[str, str], ...]
else:
    import _signal as signal  # without the enumerations, which cost a millisecond

TIMEOUT_S: Final = 2.0
# A host ends a hook of the end of a session after 1.5 s.
SESSION_END_TIMEOUT_S: Final = 0.8
# Beyond it, for an answer that has just come.
GRACE_S: Final = 0.5
# A host must not be kept from its work by an input, a file, a node or an answer of another make.
SILENT: Final = (
    OSError, ValueError, ArithmeticError, KeyError, TypeError, AttributeError, RuntimeError,
    InvalidArgument, Unanswered,
)  # fmt: skip
INPUT_BYTES_MAX: Final = 4 * 1024 * 1024


def main(words: Sequence[str]) -> int:
    """Answer the event that `words` name on standard output."""
    host, event, *options = (*words, "", "")
    environ = dict(os.environ)
    if options[:1] == ["--data"]:  # wins over an address, as everywhere
        environ = {**environ, "MNEMESH_DATA_DIR": options[1], "MNEMESH_ENDPOINT": ""}
    if event in events.EVENTS.get(host, {}) and sys.stdin is not None:  # None: closed by the caller
        with TimeLimit(_timeout_s(host, event)):
            reply = _reply(host, event, environ)
        if reply is not None and sys.stdout is not None:
            sys.stdout.write(dumps(reply))
    elif environ.get("MNEMESH_HOOK_DEBUG"):
        _tell(host, event, "no such event of this host, or no input")
    return EXIT_OK


def _timeout_s(host: str, event: str) -> float:
    return SESSION_END_TIMEOUT_S if events.EVENTS[host][event] == events.SESSION_END else TIMEOUT_S


class TimeLimit:
    """Ends the process silently when the body waits without a limit of its own: for an open input, a name server."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer"):
            self._before = signal.signal(signal.SIGALRM, lambda *_: os._exit(EXIT_OK))
            signal.setitimer(signal.ITIMER_REAL, self._limit_s + GRACE_S)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)


def _reply(host: str, event: str, environ: Mapping[str, str]) -> Reply | None:
    until = time.monotonic() + _timeout_s(host, event)
    try:
        given = loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
        if not isinstance(given, dict):
            raise Unanswered("the input is no JSON object")
        if events.is_anothers(host, given, environ):
            raise Unanswered("the event is another host's")
        cwd = events.directory_of(given) or os.getcwd()
        files = tuple(project_files(cwd))
        mode = injection.mode_of(files, environ)
        if mode == injection.OFF and (fault := injection.fault_of(files, environ)):
            _tell(host, event, fault)
        meaning = events.EVENTS[host][event]
        if meaning == events.PERMISSION:
            reply = events.permission_reply(given.get("tool_name")) if mode != injection.OFF else None
            if reply is None or not _is_our_server(host, cwd):
                raise Unanswered("the permission is not for a tool of this server")
            return reply
        if meaning not in events.ANSWERED and mode != injection.OFF:
            _keep(host, meaning, given, cwd, files, environ, until)
            return None
        if not _wanted(meaning, mode, given, files, environ):
            raise Unanswered("settings are off for this event, or it asks nothing")
        node = NodeHttp(default_data_path(environ), environ, until)
        text, count = _context(node, host, meaning, given, cwd, files, environ, mode)
        if not text:
            raise Unanswered("nothing that is known fits")
        banner = context.banner(count) if injection.has_banner(files, environ) else ""
    except BadSpaceFile as why:
        _tell(host, event, why.message)
        return None
    except SILENT as why:
        if environ.get("MNEMESH_HOOK_DEBUG"):
            _tell(host, event, str(why) if isinstance(why, Unanswered) else f"{type(why).__name__}: {why}")
        return None
    return events.context_reply(host, event, text, banner)


def _tell(host: str, event: str, message: str) -> None:
    """Tell the person on standard error, where that is open."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"mnemesh hook {host} {event}: {message}\n")
    except OSError:  # nobody reads it
        return


def _is_our_server(host: str, cwd: str) -> bool:
    """Whether no settings of the project give the name of our server to another program. A repository brings such
    settings along, so a tool's name alone says little."""
    from pathlib import Path

    from mnemesh.hooks.installation.host_table import HOSTS
    from mnemesh.hooks.installation.installer import program
    from mnemesh.hooks.installation.registration import is_foreign
    from mnemesh.hooks.installation.settings_file import RefusedFile, read_file

    part = HOSTS[host].server
    try:
        ours = program()
        files = (folder / name for folder in (Path(cwd), *Path(cwd).parents) for name in part.project)
        return not any(is_foreign(read_file(file).text, part, ours) for file in files if file.is_file())
    except RefusedFile:
        return False


def _keep(
    host: str,
    meaning: str,
    given: Mapping[str, Any],
    cwd: str,
    files: Sequence[ProjectFile],
    environ: Mapping[str, str],
    until: float,
) -> None:
    """Keep something of an event that gets no answer. Its module is loaded here, so no prompt pays for it."""
    from mnemesh.hooks.kept.session_record import SessionRecord

    data_dir = default_data_path(environ)
    headers = _headers(host, _project(cwd, files, environ), environ)
    SessionRecord(host, meaning, given, cwd, data_dir, headers).keep(environ, until)


def _project(cwd: str, files: Sequence[ProjectFile], environ: Mapping[str, str]) -> Project:
    space = environ.get("MNEMESH_SPACE")
    return project_of(cwd, default_data_path(environ), files=files) if space is None else Project(space)


def _headers(host: str, project: Project, environ: Mapping[str, str]) -> Headers:
    """Space and agent. The agent has the name that the host gives as a client of MCP, so both write one checkpoint."""
    return project.headers(environ.get("MNEMESH_AGENT") or events.CLIENT_NAMES.get(host, host))


def _wanted(
    meaning: str, mode: str, given: Mapping[str, Any], files: Sequence[ProjectFile], environ: Mapping[str, str]
) -> bool:
    if meaning in (events.SESSION_START, events.SUBAGENT_START):
        return mode == injection.AUTO
    if mode not in context.MIN_SCORES:
        return False
    if meaning == events.READ:
        return injection.has_reads(files, environ)
    prompt = given.get("prompt")
    return meaning == events.PROMPT and isinstance(prompt, str) and not context.is_trivial(prompt)


def _context(
    node: NodeHttp,
    host: str,
    meaning: str,
    given: Mapping[str, Any],
    cwd: str,
    files: Sequence[ProjectFile],
    environ: Mapping[str, str],
    mode: str,
) -> tuple[str, int]:
    """The block and the number of its memories."""
    project = _project(cwd, files, environ)
    headers = _headers(host, project, environ)
    session = events.session_of(given)
    data_dir = default_data_path(environ)
    shown = ShownMemories(data_dir, host, session)
    if meaning == events.PROMPT and mode == injection.GATED:
        from mnemesh.hooks.prompt_gate import GateFile  # for those who want it

        gates = GateFile(data_dir, host, session)
        text, ids = _gated(node, headers, given["prompt"], session, shown, gates)
    elif meaning == events.PROMPT:
        text, ids = _prompted(node, headers, given["prompt"], mode, session, shown)
    elif meaning == events.READ:
        from mnemesh.hooks.kept.captures import paths_of  # for those who want it

        paths = paths_of(given, cwd, project.tree or tree_of(cwd))
        if not paths:
            return "", 0
        answer = node.ask(context.read_question(paths), headers)
        text, ids = context.read_block(answer, shown.ids())
    else:
        subagent = given.get("agent_id") if meaning == events.SUBAGENT_START else ""
        if isinstance(subagent, str) and subagent:
            session, shown = f"{session}/{subagent}", ShownMemories(data_dir, host, "")
        text, ids = _beginning(node, headers, meaning, given, cwd, session, shown)
    if ids:
        shown.add(ids, text)
    return text, len(ids)


def _prompted(
    node: NodeHttp, headers: Headers, prompt: str, mode: str, session: str, shown: ShownMemories
) -> tuple[str, list[str]]:
    """The block for a prompt."""
    answer = node.ask(context.prompt_question(prompt, mode, session), headers)
    triggered = context.triggered_question([answer])
    fired = node.ask(triggered, headers)["memories"] if triggered else ()
    return context.prompt_block(answer, shown.ids(), fired)


def _gated(
    node: NodeHttp, headers: Headers, prompt: str, session: str, shown: ShownMemories, file: GateFile
) -> tuple[str, list[str]]:
    """The block for a prompt that passes the gate."""
    gate = file.read()
    if not gate.opens(prompt):
        file.write(gate.closed())
        return "", []
    text, ids = _prompted(node, headers, prompt, injection.GATED, session, shown)
    file.write(gate.asked(prompt, brought=bool(ids)))
    file.sweep()
    return text, ids


def _beginning(
    node: NodeHttp,
    headers: Headers,
    meaning: str,
    given: Mapping[str, Any],
    cwd: str,
    session: str,
    shown: ShownMemories,
) -> tuple[str, list[str]]:
    """The block for the start of a session, or of a subagent, which has nothing to resume."""
    source = given.get("source")
    whole = meaning == events.SESSION_START
    anew = source in events.FORGETTING_SOURCES
    if anew:
        shown.clear()
    resumes = source in events.RESUMING_SOURCES and session
    resumed = node.ask(context.resume_question(session), headers) if resumes else None
    tokens = context.SESSION_TOKENS if whole else context.SUBAGENT_TOKENS
    answer = node.ask(context.session_question(session, cwd, anew=anew, tokens=tokens), headers)
    shown.sweep()
    return context.session_block(answer, shown.ids(), resumed, session if whole else "")
