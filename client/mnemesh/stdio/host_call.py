"""One message of the host and its answer. The message is sent again only where a repetition is harmless.

A request that never reached the node is sent again. After a lost answer a call is sent again when it only reads or
carries an idempotency key, the host's or the proxy's. Otherwise the host is told that the outcome is unknown. A session
that the node no longer knows (404) is opened again with the host's own `initialize`. Every request of the host gets
exactly one answer.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum, auto
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPResponse, RemoteDisconnected
from typing import Any

from mnemesh.stdio import rpc
from mnemesh.stdio.node_link import NodeLink, NodeUnreachable
from mnemesh.stdio.rpc import Lines, Message

# Pauses before another attempt: none after the first failure, which is mostly a connection that had gone stale. The
# later pauses suffice for a dying node to end and for a search for the next.
RETRY_PAUSES_S = (0.0, 0.1, 0.3, 1.0, 3.0)
# A stopping node refuses new calls for a while before the door closes. The next one answers them.
STOPPING_TIMEOUT_S = 15.0
STOPPING_POLL_S = 0.1
LISTEN = "subscriptions/listen"
ERROR_META = "mnemesh/error"
# Requests that change nothing on the node, whatever their parameters.
READING_METHODS = frozenset(
    {
        "initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/read",
        "resources/templates/list", "prompts/list", "prompts/get", "completion/complete",
    }
)  # fmt: skip
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
Answer = dict[str, Any]


class _End(Enum):
    """The end of one attempt: settled, refused by a stopping node, not handled for another reason, or lost and perhaps
    handled.
    """

    SETTLED = auto()
    STOPPING = auto()
    UNSENT = auto()
    LOST = auto()


class HostSession:
    """The session of a host that speaks a protocol version before 2026-07-28: its `initialize`, id and
    version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._initialize: Message | None = None
        self.id = ""
        self.version = ""

    def opened(self, message: Message, session_id: str, answer: Answer) -> None:
        """Note what the node answered to `initialize`."""
        result = answer.get("result")
        if isinstance(result, dict):
            self._initialize, self.id = message, session_id
            self.version = str(result.get("protocolVersion", ""))

    def headers(self) -> dict[str, str]:
        """Headers of a request within the session."""
        fields = {"mcp-session-id": self.id, "mcp-protocol-version": self.version}
        return {name: value for name, value in fields.items() if value}

    def renew(self, lost_id: str, link: NodeLink) -> bool:
        """Open the session again unless another thread has done so; False when the node doesn't let us."""
        with self._lock:
            if self.id != lost_id:
                return True
            if self._initialize is None:
                return False
            connection = link.connection()
            try:
                connection.request("POST", link.target.path, self._initialize.raw, link.headers())
                response = connection.getresponse()
                answers = [answer for answer in answers_of(response) if "result" in answer]
                if response.status != 200 or not answers:
                    return False
                self.opened(self._initialize, response.getheader("mcp-session-id", ""), answers[-1])
                connection.request("POST", link.target.path, INITIALIZED, link.headers() | self.headers())
                connection.getresponse().read()
            except (OSError, HTTPException):
                return True  # broken again: the next attempt of the call finds out how
            finally:
                connection.close()
            return True


@dataclass(eq=False)
class HostCall:
    """One message on its way. `may_repeat` judges calls of tools. `release` is called just before the answer, if any,
    is written. From then on the host may use the id again.
    """

    message: Message
    _link: NodeLink
    _session: HostSession
    _lines: Lines
    _may_repeat: Callable[[Message], bool]
    _release: Callable[[HostCall], None]

    def __post_init__(self) -> None:
        self._cancel = threading.Lock()
        self._cancelled = False
        self._patience_ends = time.monotonic() + STOPPING_TIMEOUT_S
        self._socket: socket.socket | None = None

    def run(self) -> Answer | None:
        """Send the message and write what comes back. The answer, when it is one and not an error of this
        proxy."""
        try:
            pauses = iter(RETRY_PAUSES_S)
            pause: float | None = 0.0
            while pause is not None:
                time.sleep(pause)
                end, answer = self._attempt()
                if end is _End.SETTLED or self._cancelled:
                    return answer
                if end is _End.LOST and self.message.wants_answer and not self._repeatable():
                    self._refuse(
                        rpc.OUTCOME_UNKNOWN,
                        "the node went away while this call ran; it may have been done or not. "
                        "Look with recall or get, then repeat it if it is missing",
                    )
                    return None
                pause = STOPPING_POLL_S if end is _End.STOPPING else next(pauses, None)
            self._refuse(rpc.NODE_UNREACHABLE, f"the node at {self._link.address()} keeps breaking connections")
        except NodeUnreachable as error:
            self._refuse(rpc.NODE_UNREACHABLE, str(error))
        return None

    def cancel(self) -> None:
        """Stop waiting for the answer, and give none: the node sees its response stream closed."""
        with self._cancel:
            self._cancelled = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    return  # closed by the node in the meantime

    def _repeatable(self) -> bool:
        return self.message.method in READING_METHODS or self._may_repeat(self.message)

    def _attempt(self) -> tuple[_End, Answer | None]:
        connection = self._link.connection()
        # After the connection, because finding the node is what tells the token.
        session_id, headers = self._session.id, self._headers()
        with self._cancel:
            if self._cancelled:
                self._link.keep(connection)
                return _End.SETTLED, None
            self._socket = connection.sock
        # A subscription is silent while nothing happens. The node's comment lines show that it lives.
        waiting = nullcontext() if self.message.method == LISTEN else self._link.watched(connection)
        try:
            with waiting:
                return self._answered(connection, session_id, headers)
        finally:
            with self._cancel:
                self._socket = None

    def _answered(
        self, connection: HTTPConnection, session_id: str, headers: dict[str, str]
    ) -> tuple[_End, Answer | None]:
        try:
            connection.request("POST", self._link.target.path, self.message.raw, headers)
        except (OSError, HTTPException):
            connection.close()
            return _End.UNSENT, None
        try:
            response = connection.getresponse()
            lost_session = response.status == 404 and "mcp-session-id" in headers
            if not lost_session and response.status != 401:
                return self._relay(connection, response)
            words = "".join(map(_words, _objects(response.read())))
            connection.close()
            if lost_session:
                again = self._session.renew(session_id, self._link)
            else:
                again = self._link.token_was_refused(headers)
            return (_End.UNSENT, None) if again else self._refused(response, words)
        except (OSError, HTTPException) as error:
            connection.close()
            # RemoteDisconnected is a BadStatusLine too, of a server that said nothing.
            if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
                raise NodeUnreachable(
                    f"{self._link.address()} doesn't speak HTTP, so it may be a node's gRPC address; "
                    "give the HTTP one with --endpoint, usually port 7434"
                ) from error
            return _End.LOST, None

    def _headers(self) -> dict[str, str]:
        message = self.message
        if message.version:
            return self._link.headers() | message.standard_headers()
        return self._link.headers() | ({} if message.method == "initialize" else self._session.headers())

    def _relay(self, connection: HTTPConnection, response: HTTPResponse) -> tuple[_End, Answer | None]:
        """Write every message of the response; the one without a method settles it."""
        settled: Answer | None = None
        words = ""
        for body in answers_of(response):
            if "method" in body:
                self._write(body)
            elif "jsonrpc" not in body:
                words = _words(body)
            elif settled is None and self.message.wants_answer:
                if _is_stopping(body) and time.monotonic() < self._patience_ends:
                    connection.close()
                    return _End.STOPPING, None
                # The node doesn't repeat the id of a request refused unread.
                settled = body | {"id": self.message.id}
                if self.message.method == "initialize":
                    self._session.opened(self.message, response.getheader("mcp-session-id", ""), settled)
                self._answer(settled)
        self._link.keep(connection)
        if settled is not None or not self.message.wants_answer:
            return _End.SETTLED, settled
        return self._refused(response, words) if response.status >= 300 else (_End.LOST, None)

    def _refused(self, response: HTTPResponse, words: str) -> tuple[_End, Answer | None]:
        address = self._link.address()
        text = f"the node at {address} answered HTTP {response.status} {response.reason}"
        if response.status == 401:
            text = f"the node at {address} refused {self._link.whose_token()} (HTTP 401); see --token and --data"
        self._refuse(rpc.NODE_REFUSED, f"{text}: {words}" if words else text)
        return _End.SETTLED, None

    def _refuse(self, code: int, text: str) -> None:
        if self.message.wants_answer:
            self._answer(rpc.error_body(self.message.id, code, text))

    def _answer(self, body: Answer) -> None:
        self._release(self)
        self._write(body)

    def _write(self, body: Answer) -> None:
        if not self._cancelled:
            self._lines.write(body)


def answers_of(response: HTTPResponse) -> Iterator[Answer]:
    """The JSON objects of a response as they arrive: one body, or the data of server-sent events."""
    if "text/event-stream" in response.getheader("content-type", ""):
        data: list[bytes] = []
        for line in response:
            text = line.rstrip(b"\r\n")
            if text.startswith(b"data:"):
                data.append(text[5:].removeprefix(b" "))
            elif not text and data:
                yield from _objects(b"\n".join(data))
                data = []
    else:
        yield from _objects(response.read())


def _objects(data: bytes) -> Iterator[Answer]:
    """The JSON object in `data`; nothing when it is none (an empty body, an error page of something else)."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(body, dict):
        yield body


def _words(body: Answer) -> str:
    """The HTTP door's form of a refusal: {"error": {"message": ...}}."""
    error = body.get("error")
    return str(error.get("message", "")) if isinstance(error, dict) else ""


def _is_stopping(answer: Answer) -> bool:
    """Whether the node itself, and not a part of it, refused to begin: nothing was done. A tool's refusal
    carries its fields in `_meta`, another method's in the error's data."""
    error, result = answer.get("error"), answer.get("result")
    fields = error.get("data") if isinstance(error, dict) else None
    if isinstance(result, dict) and isinstance(result.get("_meta"), dict):
        fields = result["_meta"].get(ERROR_META)
    return isinstance(fields, dict) and fields.get("code") == "UNAVAILABLE" and fields.get("part") == "node"
