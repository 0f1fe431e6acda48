"""`mnemesh mcp`: a proxy from MCP over standard input and output to the node's HTTP door.

Standard library only and nothing decided here: the node answers, the proxy carries. The proxy starts a node when none
runs, reconnects after a restart, and reports events on standard error. Standard output holds JSON-RPC and nothing else.
It ends when its input ends, after the calls in flight have been answered.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mnemesh.errors import InvalidArgument, NotReachable
from mnemesh.exit_status import EXIT_NOT_REACHABLE
from mnemesh.stdio.host_call import LISTEN, HostCall, HostSession
from mnemesh.stdio.news import StandingStream
from mnemesh.stdio.node_link import NodeLink, NodeTarget, NodeUnreachable
from mnemesh.stdio.rpc import BUSY, LINE_BYTES_MAX, Lines, MalformedLine, Message, error_body, parse
from mnemesh.transport.address import split_address
from mnemesh.transport.local_node import check_directory
from mnemesh.transport.project import Project, project_here
from mnemesh.transport.reading_tools import READING_TOOLS
from mnemesh_proto.rendezvous import default_data_dir

CALLS_IN_FLIGHT_MAX = 128
ANSWERS_UNREAD_MAX = 128
SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"
DRAIN_TIMEOUT_S = 5.0
GOODBYE_TIMEOUT_S = 1.0
# Tools that take an idempotency key. A call without a key gets one, as in CLI and Python, so a repetition is harmless.
KEYED_TOOLS = frozenset({"remember", "update", "supersede"})
KEY = "idempotency_key"


class Proxy:
    """Carries messages between a host and a node. `serve` returns when the host's input has ended."""

    def __init__(self, link: NodeLink, lines: Lines) -> None:
        self._link = link
        self._lines = lines
        self._session = HostSession()
        # A link of its own, which starts no node.
        quiet = NodeLink(replace(link.target, start=False), lambda text: None)
        self._standing = StandingStream(quiet, self._session, lines)
        self._lock = threading.Lock()
        # Calls without an answer yet by their ids, and all whose thread has not ended.
        self._calls: dict[str, HostCall] = {}
        self._running: dict[HostCall, threading.Thread] = {}
        # A call of these is sent again after a lost answer, also for a host that never asked for the list of tools.
        self._reading_tools = READING_TOOLS

    def serve(self, source: BinaryIO) -> None:
        """Answer every line of `source` until it ends."""
        try:
            for line in _lines(source):
                try:
                    self._take(parse(line))
                except MalformedLine as error:
                    self._lines.write(error_body(error.identity, error.code, str(error)))
                if self._lines.closed:
                    return
            self._drain()
        finally:
            self._standing.close()
            self._say_goodbye()

    def _take(self, message: Message) -> None:
        """Hand a message to the node. This thread carries the messages that must arrive before later
        ones."""
        if message.method == "notifications/cancelled":
            self._cancel(message)
        elif message.method == "initialize" or message.method.startswith("notifications/"):
            self._call(message).run()
        else:
            self._start(message)

    def _call(self, message: Message) -> HostCall:
        return HostCall(_with_key(message), self._link, self._session, self._lines, self._may_repeat, self._release)

    def _start(self, message: Message) -> None:
        call, slot = self._call(message), _slot(message)
        thread = threading.Thread(target=self._run, args=(call,), name="call", daemon=True)
        with self._lock:
            refusal = ""
            if slot in self._calls:
                refusal = f"the id {slot} is in use by a call in flight"
            elif len(self._calls) >= CALLS_IN_FLIGHT_MAX:
                refusal = f"{CALLS_IN_FLIGHT_MAX} calls are in flight; wait for an answer first"
            elif len(self._running) >= CALLS_IN_FLIGHT_MAX + ANSWERS_UNREAD_MAX:
                refusal = f"{ANSWERS_UNREAD_MAX} answers have not been read; read them first"
            else:
                self._calls[slot], self._running[call] = call, thread
                thread.start()
        if refusal and message.wants_answer:
            self._lines.write(error_body(message.id, BUSY, refusal))
        elif refusal:
            say(f"{message.method or 'reply'} dropped: {refusal}")

    def _run(self, call: HostCall) -> None:
        answer: dict[str, Any] | None = None
        message = call.message
        in_session = bool(self._session.id) and not message.version
        try:
            if in_session and message.method == SUBSCRIBE:
                self._standing.open()
            answer = call.run()
        finally:
            self._release(call)
            with self._lock:
                del self._running[call]
        if in_session and answer is not None and "result" in answer:
            if message.method == SUBSCRIBE:
                self._standing.subscribed(message)
            elif message.method == UNSUBSCRIBE:
                self._standing.unsubscribed(message)
        if call.message.method == "tools/list" and answer is not None:
            self._learn(answer)

    def _release(self, call: HostCall) -> None:
        """Free the id of a call that is answered. By then the id may be the next call's."""
        slot = _slot(call.message)
        with self._lock:
            if self._calls.get(slot) is call:
                del self._calls[slot]

    def _learn(self, answer: dict[str, Any]) -> None:
        """Note which tools a newer node says that change nothing, too."""
        result = answer.get("result")
        tools = result.get("tools", []) if isinstance(result, dict) else []
        self._reading_tools |= {tool["name"] for tool in tools if (tool.get("annotations") or {}).get("readOnlyHint")}

    def _may_repeat(self, message: Message) -> bool:
        return bool(message.arguments.get(KEY)) or message.tool in self._reading_tools

    def _cancel(self, message: Message) -> None:
        """Drop the call. A node with a session is told, another node sees the closed connection."""
        slot = _slot(Message(b"", {"id": message.params.get("requestId"), "method": "cancelled"}))
        with self._lock:
            call = self._calls.get(slot)
        if call is None:
            return
        call.cancel()
        if self._session.id and not call.message.version:
            self._start(message)

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        with self._lock:
            calls = list(self._running.items())
        for call, _ in calls:
            if call.message.method == LISTEN:  # has no end of its own
                call.cancel()
        for call, thread in calls:
            thread.join(max(0.0, deadline - time.monotonic()))
            call.cancel()

    def _say_goodbye(self) -> None:
        """End the session on the node at once, before its time runs out."""
        if not self._session.id:
            return
        try:
            connection = self._link.connection()
            connection.sock.settimeout(GOODBYE_TIMEOUT_S)
            connection.request("DELETE", self._link.target.path, headers=self._link.headers() | self._session.headers())
            connection.getresponse().read()
            connection.close()
        except (NodeUnreachable, OSError, HTTPException) as error:
            say(f"the session could not be ended: {error}")


def _with_key(message: Message) -> Message:
    """The call with an idempotency key of its own, where the tool takes one and the host gives none."""
    if message.tool not in KEYED_TOOLS or message.arguments.get(KEY) not in (None, ""):
        return message
    arguments = message.arguments | {KEY: f"call-{uuid.uuid4()}"}
    keyed = message.body | {"params": message.params | {"arguments": arguments}}
    raw = json.dumps(keyed, separators=(",", ":")).encode()
    return Message(raw, keyed) if len(raw) <= LINE_BYTES_MAX else message


def _slot(message: Message) -> str:
    """The key of a message in flight: its id, with 1 and "1" apart. Notifications and replies have none."""
    return json.dumps(message.id) if message.wants_answer else f"#{id(message)}"


def say(text: str) -> None:
    """One line of diagnostics."""
    print(f"mnemesh mcp: {text}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the proxy on this process's standard input and output; the exit status."""
    try:
        target = _target(parser().parse_args(argv))
    except NotReachable as error:
        say(error.message)
        return EXIT_NOT_REACHABLE
    lines = Lines(sys.stdout.buffer)
    sys.stdout = sys.stderr  # whatever else prints must not reach the host
    signal.signal(signal.SIGTERM, _terminated)
    try:
        Proxy(NodeLink(target, say), lines).serve(sys.stdin.buffer)
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of `mnemesh mcp`."""
    options = argparse.ArgumentParser(
        prog="mnemesh mcp",
        description="MCP over standard input and output, for agents that start their servers as child "
        "processes. Starts the local node in the background when none runs.",
    )
    options.add_argument(
        "--endpoint", default="", metavar="HOST:PORT",
        help="HTTP address of a node (the local node's gRPC address is understood); default: the local one, unless "
        "MNEMESH_ENDPOINT names another and --data is not given",
    )  # fmt: skip
    options.add_argument(
        "--token", default="", help="bearer token; default: MNEMESH_TOKEN, else the local node's owner token"
    )
    options.add_argument(
        "--data", type=Path, metavar="DIR", help="data directory of the local node; default: MNEMESH_DATA_DIR"
    )
    options.add_argument(
        "--toolsets", default="", metavar="LIST", help="comma-separated toolsets; default: the node's setting"
    )
    options.add_argument("--space", help="default space; default: MNEMESH_SPACE, else what `mnemesh space` says here")
    options.add_argument(
        "--agent", default="", help="name that signs writes; default: MNEMESH_AGENT, else the host's own"
    )
    options.add_argument("--no-start", action="store_true", help="never start a node")
    return options


def _target(options: argparse.Namespace) -> NodeTarget:
    data_dir = options.data or default_data_dir(os.environ)
    endpoint = options.endpoint or (os.environ.get("MNEMESH_ENDPOINT", "") if options.data is None else "")
    if options.space is not None and not options.space.strip():
        # Mostly an empty variable of a host's configuration: neither the private space nor the default is sure.
        rule = "give a path such as team/payments, or leave the option out for the default"
        parser().error(f"argument --space: {options.space!r} is no space; {rule}")
    try:
        if endpoint:
            split_address(endpoint)
        if options.data is not None or not endpoint:
            check_directory(data_dir)
        space = os.environ.get("MNEMESH_SPACE") if options.space is None else options.space
        project = project_here(data_dir) if space is None else Project(space)
    except (ValueError, InvalidArgument) as error:
        parser().error(str(error))
    return NodeTarget(
        data_dir=data_dir,
        endpoint=endpoint,
        token=options.token or os.environ.get("MNEMESH_TOKEN", ""),
        toolsets=options.toolsets,
        project=project,
        agent=options.agent or os.environ.get("MNEMESH_AGENT", ""),
        start=not options.no_start,
    )


def _terminated(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Lines that hold something. Of a line that is too long, just more than the limit is kept."""
    while line := source.readline(LINE_BYTES_MAX + 1):
        end = line
        while len(end) > LINE_BYTES_MAX and not end.endswith(b"\n"):
            end = source.readline(LINE_BYTES_MAX + 1)
        if line.strip():
            yield line


if __name__ == "__main__":
    sys.exit(main())
