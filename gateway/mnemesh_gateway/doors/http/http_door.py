"""HTTP with JSON: the same operations for everything that has no gRPC, generated from the same table.

`/v1/...` needs a token. `/health/*` is open, because probes carry none. `/metrics` needs the token of the owner or of
an admin of all spaces, because metrics tell how busy everybody is. A setting opens the path on loopback. On loopback a
foreign Host header is refused (421), which stops DNS rebinding. There are no CORS headers at all. Every JSON answer is
one object, errors too. The MCP door brings its own routes and checks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from google.protobuf.message import Message
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemesh_gateway.contract import status
from mnemesh_gateway.contract.descriptors import descriptor_of
from mnemesh_gateway.contract.message_json import parse_body, query_object, to_json
from mnemesh_gateway.doors.http import openapi
from mnemesh_gateway.doors.http_connections import token_shown
from mnemesh_gateway.doors.metrics import CONTENT_TYPE, Metrics
from mnemesh_gateway.doors.standing_streams import EVENT_STREAM, LAST_EVENT_ID, EventStream, require_unchanged
from mnemesh_gateway.operations import operation_table
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.access import grants
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, PermissionDenied
from mnemesh_memory.values.model import Caller
from mnemesh_proto.loopback import is_loopback

if TYPE_CHECKING:
    from mnemesh_gateway.doors.mcp.mcp_door import McpDoor
    from mnemesh_gateway.operations.gate import MeshGate

Endpoint = Callable[[Request], Awaitable[Response]]
QUERY_FIELDS_MAX: Final = 1000
CLIENT_CLOSED: Final = 499
HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def build_app(
    gate: MeshGate,
    authenticator: Authenticator,
    metrics: Metrics,
    mcp: McpDoor | None = None,
    *,
    metrics_open: bool = False,
) -> ASGIApp:
    """The whole HTTP side as one ASGI application. Whether it is bound to loopback only is read from the
    gate's address of HTTP, which is known by then."""
    loopback = is_loopback(_host_name(gate.describe().http))
    door = _HttpDoor(gate, authenticator, metrics, loopback=loopback, metrics_open=metrics_open)
    app = Starlette(
        routes=[*door.routes(), *(mcp.routes if mcp else ())],
        lifespan=mcp.lifespan if mcp else None,
        exception_handlers={HTTPException: _no_such_path, Exception: _bug},
    )
    # A trailing slash is another path, not a redirect that drops the body of a POST.
    app.router.redirect_slashes = False
    return _Front(app, loopback=loopback)


class _Front:
    """Before the router: the Host check, and paths in their encoded form, so that an id may hold `/`."""

    def __init__(self, app: ASGIApp, *, loopback: bool) -> None:
        self._app = app
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if self._loopback and not is_loopback(_host_name(_host(scope))):
                message = "Host: only localhost and loopback addresses are served here"
                await _error_answer("INVALID_ARGUMENT", message, 421)(scope, receive, send)
                return
            encoded: bytes = scope["raw_path"]
            if encoded.startswith(b"/v1/"):
                scope = {**scope, "path": encoded.partition(b"?")[0].decode("ascii", "replace")}
        await self._app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _HttpDoor:
    """The endpoints."""

    gate: MeshGate
    authenticator: Authenticator
    metrics: Metrics
    loopback: bool
    metrics_open: bool = False

    def routes(self) -> list[Route]:
        """One route a path. It answers 405 with all methods of the path."""
        by_path: dict[str, dict[str, Endpoint]] = defaultdict(dict)
        for operation in OPERATIONS:
            for form in operation.forms:
                by_path[form.path][form.method] = self._endpoint(operation, form)
        fixed = {
            "/v1/openapi.json": self._openapi,
            "/health/live": self._live,
            "/health/ready": self._ready,
            "/metrics": self._scrape,
        }
        for path in openapi.FIXED_PATHS:
            by_path[path.path]["GET"] = fixed[path.path]
        return [Route(path, _by_method(methods), methods=list(methods)) for path, methods in by_path.items()]

    def _endpoint(self, operation: Operation, form: operation_table.Route) -> Endpoint:
        async def answer(request: Request) -> Response:
            try:
                with self.metrics.call("http", operation.name, _outcome):
                    caller = self.authenticator.authenticate(request.headers)
                    token_shown(request.scope)
                    message = operation.read_json(await _fields(request, operation, form))
                    if operation.standing:
                        return await self._standing(operation, caller, message, request)
                    if operation.streaming:
                        return await self._stream(operation, caller, message, dict(request.headers))
                    return json_answer(to_json(await operation.run(self.gate, caller, message)))
            except MnemeshError as error:
                return error_answer(error)
            except ClientDisconnect:
                return Response(status_code=CLIENT_CLOSED)

        return answer

    async def _stream(
        self, operation: Operation, caller: Caller, message: Message, headers: Mapping[str, str]
    ) -> Response:
        """One JSON object a line. A failure before the first line has a status of its own. Later, the last line is the
        error."""
        items = operation.run(self.gate, caller, message)
        first = await anext(items, None)

        async def lines() -> AsyncIterator[bytes]:
            async with aclosing(items):
                try:
                    item = first
                    while item is not None:
                        require_unchanged(self.authenticator, headers, caller)
                        yield _dump(to_json(item)) + b"\n"
                        item = await anext(items, None)
                except MnemeshError as error:
                    yield _dump(status.error_body(error)) + b"\n"

        return StreamingResponse(lines(), media_type=openapi.NDJSON, headers=HEADERS)

    async def _standing(self, operation: Operation, caller: Caller, message: Any, request: Request) -> Response:
        """Server-sent events. The header of a client that reconnects knows more than its address."""
        if resume := request.headers.get(LAST_EVENT_ID):
            message.cursor, message.from_start = resume, False
        items = operation.run(self.gate, caller, message)
        first = await anext(items)
        if request.method == "HEAD":
            await items.aclose()
            return Response(media_type=EVENT_STREAM, headers=HEADERS)
        headers = dict(request.headers)
        return EventStream(first, items, lambda: require_unchanged(self.authenticator, headers, caller), HEADERS)

    async def _openapi(self, request: Request) -> Response:
        if not self.loopback:  # it says what any client of this version knows
            try:
                self.authenticator.authenticate(request.headers)
            except MnemeshError as error:
                return error_answer(error)
        return json_answer(openapi.describe(self.gate.describe().version))

    async def _live(self, request: Request) -> Response:
        return json_answer({"state": "live"})

    async def _ready(self, request: Request) -> Response:
        state = self.gate.describe().state
        reason = await self.gate.unready()
        if not reason:
            mesh = self.gate.mesh_now()
            full = mesh.disk_full() if mesh is not None else None
            return json_answer({"ready": True, "state": state, **({"read_only": full.message} if full else {})})
        return json_answer({"ready": False, "state": state, "reason": reason}, 503)

    async def _scrape(self, request: Request) -> Response:
        if not (self.loopback and self.metrics_open):
            try:
                caller = self.authenticator.authenticate(request.headers)
                grants.require(caller, grants.ADMINISTER, "read the metrics", "admin")
                if not grants.sees_the_node(caller):
                    raise PermissionDenied(caller.principal, "read the metrics of all spaces", grants.granted(caller))
            except MnemeshError as error:
                return error_answer(error)
        return Response(await self.metrics.scrape(self.gate), headers=HEADERS | {"content-type": CONTENT_TYPE})


def _outcome(error: BaseException) -> str:
    return "CANCELLED" if isinstance(error, ClientDisconnect) else "UNKNOWN"


def json_answer(value: Mapping[str, Any], status_code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """One JSON object, with a line end for readers in a shell."""
    return Response(_dump(value) + b"\n", status_code, {**HEADERS, **(headers or {})}, "application/json")


def error_answer(error: MnemeshError) -> Response:
    """The answer that refuses with `error`."""
    return json_answer(status.error_body(error), status.http_status(error), status.http_headers(error))


async def _fields(request: Request, operation: Operation, form: operation_table.Route) -> dict[str, Any]:
    """The request's JSON object: query string or body, and the id of the path."""
    if form.method in openapi.QUERY_METHODS:
        await _refuse_body(request, form.method)
        value = query_object(operation.request, _query_pairs(request))
    elif request.url.query:
        raise InvalidArgument("query string", request.url.query, f"fields of a {form.method} in the JSON body")
    else:
        value = parse_body(await _body(request))
    if form.key:
        key = _path_id(request.path_params["id"])
        given = [key] if descriptor_of(operation.request).fields_by_name[form.key].is_repeated else key
        if value.setdefault(form.key, given) != given:
            raise InvalidArgument(form.key, value[form.key], "the id in the path, or not given")
    return value


def _query_pairs(request: Request) -> list[tuple[str, str]]:
    try:
        return parse_qsl(request.url.query, keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        limit = f"at most {QUERY_FIELDS_MAX} fields of percent-encoded UTF-8"
        raise InvalidArgument("query string", request.url.query, limit) from None


def _path_id(encoded: str) -> str:
    try:
        return unquote_to_bytes(encoded).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument("id", encoded, "percent-encoded UTF-8") from None


async def _refuse_body(request: Request, method: str) -> None:
    """A field that stands where nobody looks for it would be passed over."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return
    if body := await _body(request):
        raise InvalidArgument(
            "body", f"{len(body)} bytes", f"no body; the fields of a {method} are in the query string"
        )


async def _body(request: Request) -> bytes:
    """The body, refused as soon as it is too long. How long it may take is the connection's to say."""
    too_long = InvalidArgument(
        "body", f"more than {limits.HTTP_BODY_BYTES_MAX} bytes", f"at most {limits.HTTP_BODY_BYTES_MAX} bytes"
    )
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.HTTP_BODY_BYTES_MAX:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.HTTP_BODY_BYTES_MAX:
            raise too_long
    return bytes(body)


def _by_method(methods: Mapping[str, Endpoint]) -> Endpoint:
    async def dispatch(request: Request) -> Response:
        # Starlette lets HEAD through wherever GET is. Its body is cut by the server.
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return dispatch


def _host(scope: Scope) -> str:
    """The Host header. Empty without one."""
    value: bytes = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return value.decode("latin-1")


def _host_name(address: str) -> str:
    """`host:port` without its port. IPv6 without its brackets."""
    if address.startswith("["):
        return address.partition("]")[0][1:]
    return address.rpartition(":")[0] or address


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _error_answer(code: str, message: str, status_code: int, headers: Mapping[str, str] | None = None) -> Response:
    return json_answer({"error": {"code": code, "reason": code, "message": message}}, status_code, headers)


async def _no_such_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        message = f"{request.method} is not a method of this path"
        return _error_answer("UNIMPLEMENTED", message, 405, error.headers)
    return _error_answer("NOT_FOUND", "no such path; /v1/openapi.json lists all", error.status_code, error.headers)


async def _bug(request: Request, error: Exception) -> Response:
    """A client's view of a bug. Starlette raises the error again afterwards, so that the server logs it."""
    return _error_answer("INTERNAL", "a bug in the node; its log has the traceback", 500)
