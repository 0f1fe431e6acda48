"""The OpenAPI 3.1 description of the HTTP door, generated from the table of operations and the .proto
comments.

Says nothing that the table, the descriptors or FIXED_PATHS don't say. A test holds it against the routes of
the app.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import Descriptor

from mnemesh_gateway.contract.descriptors import TIMESTAMP, descriptor_of, fields_of, inner_message, is_map, is_message
from mnemesh_gateway.contract.request_rules import REQUIRED
from mnemesh_gateway.contract.schema import Schema, field_schema, request_schema, response_schema
from mnemesh_gateway.contract.status import HTTP_STATUS
from mnemesh_gateway.doors.http.openapi_rules import OF_PAGES, field_precise, precise, space_header, with_key
from mnemesh_gateway.doors.standing_streams import EVENT_STREAM
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation, Route
from mnemesh_proto.rendezvous import AGENT_HEADER, SPACE_HEADER

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ERROR: Final = {"$ref": "#/components/schemas/Error"}
QUERY_METHODS: Final = ("GET", "DELETE")
# Rules that a request without a body breaks.
NEEDING: Final = frozenset(("oneOf", "anyOf", "minProperties"))


@dataclass(frozen=True, slots=True)
class FixedPath:
    """A path that is no operation."""

    path: str
    summary: str
    content_type: str
    statuses: tuple[int, ...]
    token: bool = False


FIXED_PATHS: Final = (
    FixedPath(
        "/v1/openapi.json", "This description. Needs a token unless bound to loopback.", JSON, (200, 401), token=True
    ),
    FixedPath("/health/live", "The process answers. Touches nothing.", JSON, (200,)),
    FixedPath("/health/ready", "Whether requests are answered; 503 with the reason until then.", JSON, (200, 503)),
    FixedPath(
        "/metrics",
        "Counters for Prometheus, for the owner and admins of every space.",
        "text/plain",
        (200,),
        token=True,
    ),
)


def describe(version: str) -> dict[str, Any]:
    """The whole document. `version` is the node's."""
    components: dict[str, Schema] = {}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        for form in operation.forms:
            entry = _operation(operation, form, components)
            paths.setdefault(form.path, {})[form.method.lower()] = entry
    for fixed in FIXED_PATHS:
        paths[fixed.path] = {"get": _fixed(fixed)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mnemesh",
            "version": version,
            "summary": "One memory for all your agents.",
            "description": "The operations of mnemesh.v1 (see the .proto files) as JSON over HTTP. An unknown "
            "field is refused. Every error is one object with code, message and, where it applies, the field.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Content of owner.token."}
            },
            "parameters": _headers(),
            "schemas": {**components, "Error": _error_schema()},
        },
    }


def _operation(operation: Operation, form: Route, components: dict[str, Schema]) -> dict[str, Any]:
    request = descriptor_of(operation.request)
    entry: dict[str, Any] = {
        "operationId": _operation_id(operation, form),
        "summary": operation.description,
        "tags": [operation.service.removeprefix("mnemesh.v1.")],
        "parameters": [{"$ref": "#/components/parameters/agent"}, {"$ref": "#/components/parameters/space"}],
    }
    if form.key:
        schema = field_precise({"type": "string"}, request.name, form.key)
        schema["description"] = "Id, unique id prefix or title, percent-encoded."
        entry["parameters"].append({"name": "id", "in": "path", "required": True, "schema": schema})
    if form.method in QUERY_METHODS:
        entry["parameters"] += _query_parameters(request, form.key)
    else:
        body = precise(request_schema(request, operation.flatten), request.name)
        body = with_key(body, form.key) if form.key else body
        required = [name for name in body.pop("required", ()) if name != form.key]
        body |= {"required": required} if required else {}
        needed = bool(required) or not NEEDING.isdisjoint(body)
        entry["requestBody"] = {"required": needed, "content": {JSON: {"schema": body}}}
    answer = _reference(descriptor_of(operation.response), components)
    entry["responses"] = {
        "200": {
            "description": _streamed(operation) if operation.streaming else "Done.",
            "content": {
                _content_type(operation): {"schema": {"anyOf": [answer, ERROR]} if operation.streaming else answer}
            },
        },
        "default": {
            "description": f"Refused: {', '.join(str(code) for code in sorted(set(HTTP_STATUS.values())))}.",
            "content": {JSON: {"schema": ERROR}},
        },
    }
    return entry


def _content_type(operation: Operation) -> str:
    if operation.standing:
        return EVENT_STREAM
    return NDJSON if operation.streaming else JSON


def _streamed(operation: Operation) -> str:
    if operation.standing:
        return (
            "Server-sent events: `event` is the type, `id` the cursor, `data` one object. A reconnect with "
            "Last-Event-ID resumes. The last event may be `error`."
        )
    return "One object a line; the last one may be an error."


def _operation_id(operation: Operation, form: Route) -> str:
    if form == operation.routes[0]:
        return operation.name
    if form in operation.routes:
        by_method = f"{operation.name}_by_{form.method.lower()}"
        is_first = form == next(route for route in operation.routes[1:] if route.method == form.method)
        return by_method if is_first else f"{by_method}_as_{form.path.rpartition('/')[2]}"
    return f"{operation.name}_as_{form.path.rpartition('/')[2]}"


def _query_parameters(request: Descriptor, key: str) -> list[dict[str, Any]]:
    parameters = []
    one, page = OF_PAGES.get(request.name, ("", ()))
    apart = page if key else (one,)
    for field in fields_of(request):
        nested = is_map(field) or (is_message(field) and inner_message(field).full_name != TIMESTAMP)
        if field.name == key or field.name in apart or nested:
            continue
        schema = field_precise(field_schema(field, request_schema), request.name, field.name)
        parameter: dict[str, Any] = {"name": field.name, "in": "query", "schema": schema}
        if text := schema.pop("description", ""):
            parameter["description"] = text
        if field.name in REQUIRED.get(request.name, ()):
            parameter["required"] = True
        parameters.append(parameter)
    return parameters


def _reference(message: Descriptor, components: dict[str, Schema]) -> Schema:
    if message.name not in components:
        components[message.name] = {}  # Taken before its fields are read, so that each is written once.
        components[message.name] = response_schema(message, lambda inner: _reference(inner, components))
    return {"$ref": f"#/components/schemas/{message.name}"}


def _fixed(fixed: FixedPath) -> dict[str, Any]:
    schema = {"type": "object"} if fixed.content_type == JSON else {"type": "string"}
    answers = {
        str(code): {"description": "Answer.", "content": {fixed.content_type: {"schema": schema}}}
        for code in fixed.statuses
    }
    name = fixed.path.strip("/").replace("/", "_").replace(".", "_")
    entry = {"operationId": name, "summary": fixed.summary, "tags": ["Node"], "responses": answers}
    return {**entry, "security": [{"token": []}, {}] if fixed.token else []}


def _headers() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "agent": {
            "name": AGENT_HEADER, "in": "header", "schema": {**text, "format": "agent-name"},
            "description": "Name of the agent that writes; ASCII, other characters percent-encoded.",
        },
        "space": {
            "name": SPACE_HEADER, "in": "header", "schema": space_header(),
            "description": "Space used when a request names none; ASCII, other characters percent-encoded.",
        },
    }  # fmt: skip


def _error_schema() -> Schema:
    text = {"type": "string"}
    error = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": sorted(HTTP_STATUS)},
            "reason": text,
            "message": text,
            "field": text,
            "value": text,
        },
        "required": ["code", "message"],
    }
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}
