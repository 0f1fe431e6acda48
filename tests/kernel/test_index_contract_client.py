"""The qdrant-client adapter over a wire: which answers can be cured by another try, and which cannot."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import BaseModel
from qdrant_client import QdrantClient

from mnemesh_actors.index.engine_port import Schema
from mnemesh_actors.index.engines.qdrant_client import ClientBackend
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, Unavailable

SCHEMA = Schema(dense={"dense": 4})


@contextmanager
def server(status: int) -> Iterator[str]:
    """A server that answers every request with that status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"status": {"error": "planted"}}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.mark.parametrize(
    ("status", "error"),
    [(500, Unavailable), (503, Unavailable), (429, Unavailable), (403, FailedPrecondition), (400, FailedPrecondition)],
)
def test_an_answer_of_the_server_becomes_one_of_our_errors(status: int, error: type[MnemeshError]) -> None:
    with server(status) as url:
        backend = ClientBackend(QdrantClient(url, check_compatibility=False), "points")
        with pytest.raises(error, match=str(status)):
            backend.open(SCHEMA)
        backend.close()


def test_a_server_that_is_gone_is_unavailable() -> None:
    with server(500) as url:
        pass
    backend = ClientBackend(QdrantClient(url, check_compatibility=False), "points")
    with pytest.raises(Unavailable, match="does not answer"):
        backend.open(SCHEMA)
    backend.close()


def test_payload_indexes_are_asked_for_by_field_and_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, dict[str, object]] = {}

    def note(collection: str, field: str, params: BaseModel, wait: bool) -> None:
        assert wait
        asked[field] = params.model_dump(exclude_none=True, mode="json")

    client = QdrantClient(":memory:")
    monkeypatch.setattr(client, "create_payload_index", note)
    schema = Schema(dense={"dense": 4}, tenant="space", keywords=("tags",), flags=("gone",), times=("at",))
    backend = ClientBackend(client, "points")
    assert backend.open(schema) is True
    backend.close()
    assert asked == {
        "space": {"type": "keyword", "is_tenant": True},
        "tags": {"type": "keyword", "is_tenant": False},
        "gone": {"type": "integer", "lookup": True, "range": False},
        "at": {"type": "integer", "lookup": False, "range": True},
    }
