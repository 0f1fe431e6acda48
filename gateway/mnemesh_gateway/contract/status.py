"""The one place that gives errors their form on each door.

An error's `code` is a gRPC status name. The gRPC status, the HTTP status and the JSON body of HTTP and MCP follow from
`code`. Rich details follow google.rpc (AIP-193): ErrorInfo always, BadRequest when a field is at fault, RetryInfo when
waiting helps. Decides nothing about errors, only their form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from mnemesh_memory.values.errors import InvalidArgument, MnemeshError

ERROR_DOMAIN: Final = "mnemesh"
DETAILS_KEY: Final = "grpc-status-details-bin"
# Keeps the trailing metadata of a refusal far below HTTP/2's usual 8 KiB of headers.
DETAIL_CHARS_MAX: Final = 300
DETAIL_FIELDS_MAX: Final = 12

HTTP_STATUS: Final = MappingProxyType(
    {
        "INVALID_ARGUMENT": 422,
        "UNAUTHENTICATED": 401,
        "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404,
        "ALREADY_EXISTS": 409,
        "ABORTED": 409,
        "FAILED_PRECONDITION": 409,
        "OUT_OF_RANGE": 410,
        "RESOURCE_EXHAUSTED": 429,
        "UNIMPLEMENTED": 405,
        "UNAVAILABLE": 503,
        "DEADLINE_EXCEEDED": 504,
        "DATA_LOSS": 500,
        "INTERNAL": 500,
    }
)


def grpc_code(error: MnemeshError) -> grpc.StatusCode:
    """The gRPC status of `error`."""
    return grpc.StatusCode[error.code]


def http_status(error: MnemeshError) -> int:
    """The HTTP status of `error`."""
    return HTTP_STATUS[error.code]


def http_headers(error: MnemeshError) -> dict[str, str]:
    """Headers that the status asks for: WWW-Authenticate (RFC 6750) with 401, Retry-After in whole
    seconds."""
    headers: dict[str, str] = {}
    if error.code == "UNAUTHENTICATED":
        headers["www-authenticate"] = 'Bearer realm="mnemesh"'
    if (wait_s := retry_after_s(error)) is not None:
        headers["retry-after"] = str(max(1, math.ceil(wait_s)))
    return headers


def error_body(error: MnemeshError) -> dict[str, dict[str, object]]:
    """The JSON object that HTTP answers and MCP puts into a tool error: {"error": {"code", "reason",
    "message", "field"?, "value"?, "limit"?, ...}}. Values are JSON values."""
    fields = {name: _plain(value) for name, value in error.fields.items()}
    return {"error": {"code": error.code, "reason": reason(error), "message": error.message, **fields}}


def rpc_status(error: MnemeshError) -> Status:
    """The google.rpc.Status that travels in `grpc-status-details-bin`."""
    status = Status(code=int(grpc_code(error).value[0]), message=error.message)
    for detail in _details(error):
        status.details.add().Pack(detail)
    return status


def reason(error: MnemeshError) -> str:
    """The class of the error in ErrorInfo's form: SecretRefused gives SECRET_REFUSED."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper()


def retry_after_s(error: MnemeshError) -> float | None:
    """Seconds after which a retry may succeed, when the error says so."""
    value = error.fields.get("retry_after_s")
    return float(value) if isinstance(value, int | float) else None


def _details(error: MnemeshError) -> list[Message]:
    names = list(error.fields)[:DETAIL_FIELDS_MAX]
    metadata = {name: str(error.fields[name])[:DETAIL_CHARS_MAX] for name in names}
    details: list[Message] = [ErrorInfo(reason=reason(error), domain=ERROR_DOMAIN, metadata=metadata)]
    if error.code == InvalidArgument.code and "field" in error.fields:
        violation = BadRequest.FieldViolation(
            field=str(error.fields["field"]), description=str(error.fields.get("limit", error.message))
        )
        details.append(BadRequest(field_violations=[violation]))
    if (wait_s := retry_after_s(error)) is not None:
        delay = Duration()
        delay.FromMilliseconds(round(wait_s * 1000))
        details.append(RetryInfo(retry_delay=delay))
    return details


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
