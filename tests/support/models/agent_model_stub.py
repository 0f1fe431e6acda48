"""A stand-in for the API of a model, for agents that run without a model: what is common to every form of the API.

The stand-in asks for the tool calls of a test, one a turn, then ends. Every request is kept.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]
# Name and input of a tool to ask for.
Call = tuple[str, Mapping[str, Any]]


class AgentModelStub(ABC):
    """Serves one form of the API on loopback, and asks for `calls` in their order."""

    def __init__(self, calls: Sequence[Call] = ()) -> None:
        self.requests: list[Json] = []
        self._calls = list(calls)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                return

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                streams = bool(body.get("stream"))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streams else "application/json")
                self.end_headers()
                self.wfile.write(stub.answer(self.path, body, streams))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="model-stub")

    @property
    def url(self) -> str:
        """Where an agent is told to find its model."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def offered(self) -> list[Json]:
        """The tools of the first request that has any."""
        return next((request["tools"] for request in self.requests if request.get("tools")), [])

    def results(self) -> list[str]:
        """The text of each tool result that an agent handed to its model, in the order of the calls."""
        return max((self.results_of(request) for request in self.requests), key=len, default=[])

    def next_call(self, body: Json) -> tuple[int, Call | None]:
        """How many results a request has, and the call to ask for next."""
        done = len(self.results_of(body))
        # Beside its main loop an agent asks for titles and the like, without tools.
        return done, self._calls[done] if body.get("tools") and done < len(self._calls) else None

    @abstractmethod
    def answer(self, path: str, body: Json, streams: bool) -> bytes:
        """The body of the answer to one request."""

    @staticmethod
    @abstractmethod
    def results_of(request: Json) -> list[str]:
        """The text of each tool result in a request."""


def events(sent: Iterable[Json]) -> bytes:
    """Server-sent events, each named by its type."""
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in sent).encode()


def texts_of(value: Any) -> list[str]:
    """Every text inside a request."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in texts_of(item)]


def text_of(content: Any) -> str:
    """The text of a content that is a string or a list of blocks."""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
