"""The standing stream of a session: what a node says unasked, such as that a resource has changed.

Opened when the host first subscribes to a resource, and opened again when it breaks. A new session knows no
subscriptions. The proxy subscribes again, and tells the host that each resource may have changed. Never starts a node:
a host that only listens must not revive a stopped node.
"""

from __future__ import annotations

import threading
from http.client import HTTPException

from mnemesh.stdio.host_call import HostSession, answers_of
from mnemesh.stdio.node_link import NodeLink, NodeUnreachable
from mnemesh.stdio.rpc import Lines, Message

UPDATED = "notifications/resources/updated"
OPEN_TIMEOUT_S = 5.0
PAUSE_FIRST_S = 0.2
PAUSE_MAX_S = 30.0


class StandingStream:
    """`link` is this stream's own. Safe for any number of threads."""

    def __init__(self, link: NodeLink, session: HostSession, lines: Lines) -> None:
        self._link = link
        self._session = session
        self._lines = lines
        self._lock = threading.Lock()
        self._subscribed: dict[str, Message] = {}
        self._session_id = ""  # that knows the subscriptions
        self._thread: threading.Thread | None = None
        self._opened = threading.Event()
        self._closed = threading.Event()

    def open(self) -> None:
        """Begin to listen, if nobody does; returns once the node listens too, or after OPEN_TIMEOUT_S."""
        with self._lock:
            if self._thread is None:
                self._session_id = self._session.id
                self._thread = threading.Thread(target=self._listen, name="standing-stream", daemon=True)
                self._thread.start()
        self._opened.wait(OPEN_TIMEOUT_S)

    def subscribed(self, message: Message) -> None:
        """The node has granted this subscription."""
        with self._lock:
            self._subscribed[str(message.params.get("uri", ""))] = message

    def unsubscribed(self, message: Message) -> None:
        """The host has given this subscription up."""
        with self._lock:
            self._subscribed.pop(str(message.params.get("uri", "")), None)

    def close(self) -> None:
        """Open the stream no more. The end of the session ends an open one."""
        self._closed.set()

    def _listen(self) -> None:
        pause_s = PAUSE_FIRST_S
        while not self._closed.is_set():
            try:
                if self._hear():
                    pause_s = PAUSE_FIRST_S
            except (NodeUnreachable, OSError, HTTPException):
                self._opened.clear()
            self._closed.wait(pause_s)
            pause_s = min(PAUSE_MAX_S, pause_s * 2)

    def _hear(self) -> bool:
        """Carry one stream to its end. Whether there was one."""
        connection = self._link.connection()
        try:
            session_id = self._session.id
            headers = self._link.headers() | self._session.headers() | {"accept": "text/event-stream"}
            connection.request("GET", self._link.target.path, headers=headers)
            response = connection.getresponse()
            if response.status == 404:
                self._session.renew(session_id, self._link)
            if response.status != 200:
                response.read()
                return False
            self._opened.set()
            if session_id != self._session_id:
                self._subscribe_again(session_id)
            for body in answers_of(response):
                if "method" in body:
                    self._lines.write(body)
            return True
        finally:
            self._opened.clear()
            connection.close()

    def _subscribe_again(self, session_id: str) -> None:
        with self._lock:
            messages = dict(self._subscribed)
        for uri, message in messages.items():
            connection = self._link.connection()
            try:
                headers = self._link.headers() | self._session.headers()
                connection.request("POST", self._link.target.path, message.raw, headers)
                connection.getresponse().read()
            finally:
                connection.close()
            self._lines.write({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri}})
        self._session_id = session_id
