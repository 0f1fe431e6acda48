"""JSON-RPC lines of the MCP proxy: reading from the host, and writing to the host.

Nothing but JSON-RPC goes to standard output, one message a line, whole lines only. Knows nothing of HTTP or
the node.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from typing import Any, BinaryIO

from mnemesh_proto.json_text import NotJson, read_json

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
# Implementation-defined server errors (JSON-RPC 2.0, section 5.1).
NODE_UNREACHABLE = -32000
NODE_REFUSED = -32001
OUTCOME_UNKNOWN = -32002
BUSY = -32003

# The largest body of the node's HTTP door (limits.HTTP_BODY_BYTES_MAX there).
LINE_BYTES_MAX = 1536 * 1024

PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion"
# Parameter that the header mcp-name mirrors (MCP 2026-07-28, streamable HTTP, standard headers).
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN_HEADER = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENCODED_HEADER = re.compile(r"=\?base64\?.*\?=")


class MalformedLine(Exception):
    """A line that is no single JSON-RPC message. `code` is its JSON-RPC error code, `identity` its id or None."""

    def __init__(self, code: int, message: str, identity: str | int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.identity = identity


class Message:
    """One JSON-RPC message of the host: `raw` is the line, `body` its JSON value, the rest is for the proxy. `tool` is
    "" and `arguments` empty unless it calls a tool.
    """

    def __init__(self, raw: bytes, body: dict[str, Any]) -> None:
        self.raw = raw
        self.body = body
        self.method: str = body.get("method", "")
        self.params: dict[str, Any] = body["params"] if isinstance(body.get("params"), dict) else {}
        self.wants_answer = "id" in body and bool(self.method)
        self.id: Any = body.get("id")
        name, arguments = self.params.get("name"), self.params.get("arguments")
        self.tool: str = name if self.method == "tools/call" and isinstance(name, str) else ""
        self.arguments: dict[str, Any] = arguments if self.tool and isinstance(arguments, dict) else {}
        meta = self.params.get("_meta")
        version = meta.get(PROTOCOL_VERSION_META) if isinstance(meta, dict) else None
        # Requests since protocol version 2026-07-28 carry their version and know no session.
        self.version: str = version if isinstance(version, str) else ""

    def standard_headers(self) -> dict[str, str]:
        """The headers that mirror the body of a request since protocol version 2026-07-28."""
        fields = {"mcp-protocol-version": self.version, "mcp-method": header_value(self.method)}
        name = self.params.get(NAMED_BY.get(self.method, ""))
        return fields | ({"mcp-name": header_value(name)} if isinstance(name, str) else {})


def parse(line: bytes) -> Message:
    """The message in `line`. Raises MalformedLine."""
    if len(line) > LINE_BYTES_MAX:
        raise MalformedLine(INVALID_REQUEST, f"the message is longer than {LINE_BYTES_MAX} bytes")
    try:
        body = read_json(line.decode().rstrip())
    except UnicodeDecodeError as error:
        raise MalformedLine(PARSE_ERROR, f"the line is not UTF-8: {error.reason} at byte {error.start}") from error
    except NotJson as error:
        raise MalformedLine(PARSE_ERROR, f"the line is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise MalformedLine(INVALID_REQUEST, "the line is not one JSON-RPC object")
    is_reply = "method" not in body and "id" in body and ("result" in body or "error" in body)
    identity = body.get("id") if isinstance(body.get("id"), str | int) and not isinstance(body["id"], bool) else None
    fault = ""
    if not is_reply and not isinstance(body.get("method"), str):
        fault = "the message has no method"
    elif body.get("jsonrpc") != "2.0":
        fault = 'jsonrpc is not "2.0"'
    elif "id" in body and identity is None and not is_reply:
        fault = "the id is neither text nor a whole number"
    elif not isinstance(body.get("params"), dict | None):
        fault = "params is no object"
    if fault:
        raise MalformedLine(INVALID_REQUEST, fault, identity)
    return Message(line.strip(), body)


def error_body(identity: Any, code: int, message: str) -> dict[str, Any]:
    """A JSON-RPC error answer; `identity` None when the id of the request is not known."""
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def header_value(value: str) -> str:
    """`value` as a header field carries it: plain when it survives, else base64 (MCP 2026-07-28, value
    encoding)."""
    if _PLAIN_HEADER.fullmatch(value) and not _ENCODED_HEADER.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


class Lines:
    """Standard output: whole lines from any thread. `closed` once the host no longer reads."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self.closed = False

    def write(self, body: dict[str, Any]) -> None:
        """Write one message."""
        line = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            if self.closed:
                return
            try:
                self._out.write(line)
                self._out.flush()
            except BrokenPipeError:
                self.closed = True
                # The rest of the buffer is flushed once more when the interpreter ends: into nothing.
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
