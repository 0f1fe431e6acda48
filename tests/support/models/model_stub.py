"""A language model's endpoint on this machine, for tests: one that answers, fails, stalls and lies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STALL_S = 30.0


class ModelStub:
    """An endpoint on this machine. `reply` makes the text of the model from the question. `status`, `raw` and `stalls`
    make it a bad one."""

    def __init__(self) -> None:
        self.reply: Callable[[Any], object] = lambda part: {}
        self.status = 200
        self.raw: bytes | None = None
        self.stalls = False
        self.part = "pairs"  # of the question, for `reply`
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.ended = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stub.asked.append(body)
                stub.keys.append(self.headers.get("authorization", ""))
                answer = stub.reply(json.loads(body["messages"][1]["content"])[stub.part])
                text = answer if isinstance(answer, str) else json.dumps(answer)
                whole = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
                self.send_response(stub.status)
                self.send_header("content-length", str(len(stub.raw or whole)))
                self.end_headers()
                if stub.stalls:
                    self.wfile.write(whole[:3])
                    self.wfile.flush()
                    stub.ended.wait(STALL_S)
                    return
                self.wfile.write(stub.raw or whole)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
