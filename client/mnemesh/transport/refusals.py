"""The single place of the client where a gRPC status becomes an error of mnemesh.errors.

The node puts field, value, limit and a retry time into the rich details of its status (google.rpc.ErrorInfo,
BadRequest, RetryInfo; AIP-193). A status without them comes from gRPC itself, mostly because nobody answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import grpc

from mnemesh.errors import DeadlineExceeded, InvalidArgument, MnemeshError, NotReachable, from_node
from mnemesh_proto.rendezvous import AGENT_HEADER, SPACE_ALIAS_HEADER, SPACE_HEADER, SPACE_TAKEN_HEADER

DETAILS_KEY: Final = "grpc-status-details-bin"
# The message of gRPC for a server whose answer is not HTTP/2.
NOT_HTTP2: Final = "parsing HTTP/2"
# The message of gRPC for a request that is larger than the node takes in.
TOO_LARGE: Final = re.compile(r"SERVER: Received message larger than max \((\d+) vs\. (\d+)\)")
# The part of a node without which it can do nothing.
LEDGER: Final = "ledger"
# Headers, and the arguments of a client that they come from.
ARGUMENTS: Final = {
    SPACE_HEADER: "space", SPACE_ALIAS_HEADER: "space", SPACE_TAKEN_HEADER: "space", AGENT_HEADER: "agent",
}  # fmt: skip


def refusal(error: grpc.RpcError, endpoint: str, timeout_s: float | None) -> MnemeshError:
    """The error that a failed call means. `endpoint` and `timeout_s` say where it went and how long it waited."""
    call: Any = error  # what both runtimes raise has code(), details() and trailing_metadata()
    code: str = call.code().name
    details = _details(call.trailing_metadata() or ())
    message: str = call.details() or code
    if not details and (sizes := TOO_LARGE.search(message)):
        return InvalidArgument("request", f"{sizes[1]} bytes", f"at most {sizes[2]} bytes; send less at once")
    if not details and code == NotReachable.code and NOT_HTTP2 in message:
        return InvalidArgument("endpoint", endpoint, "the gRPC address of a node, usually port 7433; this is no gRPC")
    if not details and code == NotReachable.code:
        return NotReachable(f"no node answers at {endpoint} ({_reason(message)}); start one with `mnemesh up`")
    if not details and code == DeadlineExceeded.code:
        return DeadlineExceeded(
            f"no answer from {endpoint} within {timeout_s or 0:.3g} s; a write may have been stored all the same: "
            "the same idempotency_key tells, and never writes twice"
        )
    if code in (NotReachable.code, DeadlineExceeded.code) and details.get("part", "").startswith(LEDGER):
        message = (
            f"the node at {endpoint} answers, but its ledger does not: {message}. Its log says why; restart the "
            "node if that lasts"
        )
    if (argument := ARGUMENTS.get(details.get("field", ""))) is not None:
        message = message.replace(details["field"], argument, 1)
        details = details | {"field": argument}
    return from_node(code, message, details)


def broken_stream(error: grpc.RpcError, endpoint: str) -> MnemeshError:
    """The error that a stream without an end ended with. A message of gRPC itself (a reset, a dead peer) means
    that the node can't be reached now."""
    refused = refusal(error, endpoint, None)
    if isinstance(refused, NotReachable) or refused.details or refused.code not in ("CANCELLED", "UNKNOWN", "INTERNAL"):
        return refused
    return NotReachable(f"the stream from {endpoint} broke ({refused.message})")


def _details(metadata: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    for key, value in metadata:
        if key == DETAILS_KEY and isinstance(value, bytes):
            return _unpacked(value)
    return {}


def _unpacked(data: bytes) -> dict[str, str]:
    # Loaded here because a client that is never refused has no need of it.
    from google.protobuf.message import DecodeError
    from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
    from google.rpc.status_pb2 import Status

    details: dict[str, str] = {}
    try:
        for packed in Status.FromString(data).details:
            info, bad, retry = ErrorInfo(), BadRequest(), RetryInfo()
            if packed.Unpack(info):
                details |= {"reason": info.reason, **info.metadata}
            elif packed.Unpack(bad) and bad.field_violations:
                details = {
                    "field": bad.field_violations[0].field,
                    "limit": bad.field_violations[0].description,
                } | details
            elif packed.Unpack(retry):
                details.setdefault("retry_after_s", f"{retry.retry_delay.ToTimedelta().total_seconds():g}")
    except DecodeError:
        return details
    return details


def _reason(message: str) -> str:
    """The last cause in gRPC's chain of them, such as `Connection refused`."""
    return message.rpartition("last error: ")[2].rpartition(": ")[2].split(";")[0].strip(" }") or message
