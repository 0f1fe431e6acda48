"""A Qdrant server for tests: real HTTP on loopback, the wire checked by Qdrant's own models, points in local mode.

The double stands for the wire, for faults and for restarts, not for the engine: a request beyond local mode is refused,
never pretended. Acknowledged points survive `stop` and `start`; `wipe` is a server that lost its disk.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models

HANG_S = 60.0


@dataclass(frozen=True)
class Fault:
    """The fate of the next request: an answer of that status, no answer (`hang`), or a closed connection (`cut`).

    `after` lets the request take effect first, so that only its answer is lost.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False
    after: bool = False


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Any
    key: str | None


class NotOk(Exception):
    """An answer other than 200, with Qdrant's words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class QdrantDouble:
    """One server. `start` and `stop` may follow each other; the port stays."""

    def __init__(self, api_key: str = "", version: str = "1.20.0", tls: ssl.SSLContext | None = None) -> None:
        self.api_key = api_key
        self.version = version
        self.update_status = "completed"  # the status of a change that the client waits for
        self._tls = tls
        self.asked: list[Asked] = []
        self.faults: deque[Fault | None] = deque()  # for the next requests, None for a request without
        self.lasting: Fault | None = None  # for every request while set
        self._client = QdrantClient(":memory:")
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._open: set[socket.socket] = set()
        self._indexed: dict[str, set[str]] = {}
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._released.clear()
        double = self

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                double._open.add(self.connection)

            def finish(self) -> None:
                double._open.discard(self.connection)
                with suppress(OSError):  # cut by `stop`
                    super().finish()

            def do_GET(self) -> None:
                with suppress(ConnectionError):
                    double._answer(self)

            do_PUT = do_POST = do_DELETE = do_PATCH = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        class Listening(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._http = Listening(("127.0.0.1", self._port), Answering)
        self._port = self._http.server_port
        if self._tls is not None:
            self._http.socket = self._tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="qdrant-double")
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections, and cut those that are open. A second call does nothing."""
        if self._http is None or self._thread is None:
            return
        http, self._http = self._http, None
        self._released.set()
        http.shutdown()
        self._thread.join()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        http.server_close()

    def wipe(self) -> None:
        """Lose everything."""
        with self._lock:
            self._client, old = QdrantClient(":memory:"), self._client
            self._indexed.clear()
            old.close()

    def collections(self) -> list[str]:
        with self._lock:
            return [one.name for one in self._client.get_collections().collections]

    def metadata(self, collection: str) -> dict[str, Any]:
        with self._lock:
            return self._client.get_collection(collection).config.metadata or {}

    def set_metadata(self, collection: str, metadata: dict[str, Any]) -> None:
        with self._lock:
            self._client.update_collection(collection, metadata=metadata)

    def everything(self) -> str:
        """All that is stored, as text."""
        with self._lock:
            names = [one.name for one in self._client.get_collections().collections]
            pages = [self._client.scroll(name, limit=10_000)[0] for name in names]
        return json.dumps([_plain(page) for page in pages])

    def release(self) -> None:
        """Let requests that hang end without an answer."""
        self._released.set()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("content-length") or 0)
        body = json.loads(request.rfile.read(length)) if length else None
        path = request.path.partition("?")[0]
        with self._lock:
            self.asked.append(Asked(request.command, path, body, request.headers.get("api-key")))
            fault = self.faults.popleft() if self.faults else self.lasting
        if fault is None or fault.after:
            status, answer = self._judged(request, path, body)
        if fault is None:
            _send(request, status, answer, {})
        elif fault.status:
            _send(request, fault.status, {"status": {"error": "planted"}, "time": 0.0}, fault.headers)
        else:
            if fault.hang:
                self._released.wait(HANG_S)
            request.close_connection = True

    def _judged(self, request: BaseHTTPRequestHandler, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        try:
            if self.api_key and request.headers.get("api-key") != self.api_key and path != "/":
                raise NotOk(401, "Must provide an API key or an Authorization bearer token")
            with self._lock:
                result = self._done(request.command, path, body)
        except NotOk as error:
            return error.status, {"status": {"error": str(error)}, "time": 0.0}
        except ValidationError as error:
            return 400, {"status": {"error": f"Format error in JSON body: {error}"}, "time": 0.0}
        except ValueError as error:
            status = 404 if "not found" in str(error) else 400
            return status, {"status": {"error": str(error)}, "time": 0.0}
        if path == "/":
            return 200, result
        return 200, {"result": result, "status": "ok", "time": 0.0}

    def _done(self, method: str, path: str, body: Any) -> Any:
        if path == "/":
            return {"title": "qdrant - vector search engine", "version": self.version}
        if path == "/collections":
            return _plain(self._client.get_collections())
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        if found is None:
            raise NotOk(404, f"no such path: {path}")
        name, rest = found[1], found[2] or ""
        if (method, rest) == ("GET", "/exists"):
            return {"exists": self._client.collection_exists(name)}
        if (method, rest) == ("PUT", ""):
            return self._create(name, _read(models.CreateCollection, body))
        if (method, rest) == ("DELETE", ""):
            self._indexed.pop(name, None)
            return self._client.delete_collection(name)
        if not self._client.collection_exists(name):
            raise NotOk(404, f"Not found: Collection `{name}` doesn't exist!")
        if (method, rest) == ("GET", ""):
            return _plain(self._client.get_collection(name))
        if (method, rest) == ("PATCH", ""):
            return self._client.update_collection(name, metadata=_read(models.UpdateCollection, body).metadata)
        return self._points(name, method, rest, body)

    def _create(self, name: str, asked: models.CreateCollection) -> bool:
        if self._client.collection_exists(name):
            raise NotOk(409, f"Wrong input: Collection `{name}` already exists!")
        return self._client.create_collection(
            name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors, metadata=asked.metadata
        )

    def _points(self, name: str, method: str, rest: str, body: Any) -> Any:
        client = self._client
        match method, rest:
            case "PUT", "/index":
                # Local mode has none and filters all the same.
                self._indexed.setdefault(name, set()).add(_read(models.CreateFieldIndex, body).field_name)
            case "PUT", "/points":
                listed = _read(models.PointsList, body)
                client.upsert(name, listed.points)
            case "POST", "/points/payload":
                payload = _read(models.SetPayload, body)
                client.set_payload(name, payload.payload, payload.filter)
            case "POST", "/points/delete":
                client.delete(name, _read(models.PointsSelector, body))
            case "POST", "/points/count":
                count = _read(models.CountRequest, body)
                return {"count": client.count(name, count.filter, exact=bool(count.exact)).count}
            case "POST", "/points/scroll":
                page = _read(models.ScrollRequest, body)
                records, offset = client.scroll(
                    name, page.filter, page.limit or 10, offset=page.offset,
                    with_payload=bool(page.with_payload), with_vectors=bool(page.with_vector),
                )  # fmt: skip
                return {"points": _plain(records), "next_page_offset": offset}
            case "POST", "/points/query/batch":
                searches = _read(models.QueryRequestBatch, body).searches
                # Local mode is always exact, and warns when it is told to be.
                plain = [one.model_copy(update={"params": _idf_only(one.params)}) for one in searches]
                return _plain(client.query_batch_points(name, plain))
            case _:
                if method == "PUT" and (vector := re.fullmatch(r"/vectors/([^/]+)", rest)):
                    client.create_vector_name(name, vector[1], _read(models.VectorNameConfig, body))
                else:
                    raise NotOk(404, f"the double lacks {method} {rest}")
        return {"operation_id": len(self.asked), "status": self.update_status}


@contextmanager
def qdrant_double(**fields: Any) -> Iterator[QdrantDouble]:
    """A running double, stopped afterwards."""
    double = QdrantDouble(**fields)
    try:
        yield double
    finally:
        double.stop()
        double._client.close()


def _idf_only(params: models.SearchParams | None) -> models.SearchParams | None:
    return None if params is None or params.idf is None else models.SearchParams(idf=params.idf)


def _read(kind: Any, body: Any) -> Any:
    return TypeAdapter(kind).validate_python(body)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(value, BaseModel) else value


def _send(request: BaseHTTPRequestHandler, status: int, answer: Any, headers: dict[str, str]) -> None:
    data = json.dumps(answer).encode()
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)
