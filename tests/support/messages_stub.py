"""A stand-in for the API of a model, for agents that run without a model.

The stand-in asks for the tool calls of a test, one a turn, then ends. Every request is kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Json = dict[str, Any]


class MessagesStub:
    """Serves the messages API on loopback. `calls` are name and input of each tool to ask for, in their order."""

    def __init__(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
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
                self.wfile.write(stub._answer(self.path, body, streams))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="model-stub")

    @property
    def url(self) -> str:
        """Where an agent is told to find its model."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MessagesStub:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def results(self) -> list[str]:
        """The text of each tool result that an agent handed to its model, in the order of the calls."""
        return max((_results(request) for request in self.requests), key=len, default=[])

    def offered(self) -> list[Json]:
        """The tools of the first request that has any."""
        return next((request["tools"] for request in self.requests if request.get("tools")), [])

    def _answer(self, path: str, body: Json, streams: bool) -> bytes:
        if "count_tokens" in path:
            return b'{"input_tokens": 1}'
        self.requests.append(body)
        # Beside its main loop an agent asks for titles and the like, without tools.
        done = len(_results(body))
        call = self._calls[done] if body.get("tools") and done < len(self._calls) else None
        block, delta = _block(done, call)
        message = {
            "id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "model": body.get("model", ""),
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not streams:
            return json.dumps(
                message | {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
            ).encode()
        ended = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        events: list[Json] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _results(request: Json) -> list[str]:
    contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    blocks = [block for content in contents for block in content if block.get("type") == "tool_result"]
    return [_text(block["content"]) for block in blocks]


def _block(number: int, call: tuple[str, Mapping[str, Any]] | None) -> tuple[Json, Json]:
    if call is None:
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    name, given = call
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(given)}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
