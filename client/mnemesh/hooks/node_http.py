"""One question to the node over HTTP within a deadline.

Speaks HTTP/1.0 on a bare socket: the standard library's client costs a hook more time than all its other parts. The
module `socket` costs a third of that, so the sockets are those of its C half.
"""

from __future__ import annotations

import _socket
import time

from mnemesh.transport.address import LOOPBACK_HOSTS, split_address
from mnemesh_proto.plain_json import dumps, loads
from mnemesh_proto.rendezvous import AUTHORIZATION, read_node, read_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final

    from mnemesh.hooks.context import Question
    from mnemesh.transport.space import StrPath

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
CHUNK_BYTES: Final = 65_536


class Unanswered(Exception):
    """No node, no answer in time, or a refusal."""


class RefusedQuestion(Unanswered):
    """The node understood, and said no. Asking again changes nothing."""


class NodeHttp:
    """The node of `data_dir`, or the one that MNEMESH_ENDPOINT names. `until` is a moment of time.monotonic."""

    def __init__(self, data_dir: StrPath, environ: Mapping[str, str], until: float) -> None:
        node = read_node(data_dir)
        given = environ.get("MNEMESH_ENDPOINT", "")
        if node is None and not given:
            raise Unanswered(f"no node runs on {data_dir}")
        address = given
        if node is not None and (not given or split_address(given) == split_address(node.grpc)):
            address = node.http
        self._place = split_address(address)
        local = self._place[0] in LOOPBACK_HOSTS
        token = environ.get("MNEMESH_TOKEN") or (read_token(data_dir) if local else None)
        self._bearer = ((AUTHORIZATION, f"Bearer {token}"),) if token else ()
        self._until = until

    def ask(self, question: Question, headers: Iterable[tuple[str, str]]) -> Any:
        """The JSON of the answer. Raises Unanswered, OSError, and ValueError for an answer that is none."""
        asked, content = question
        body = b"" if content is None else dumps(content).encode()
        host, port = self._place
        fields = [
            ("host", f"[{host}]:{port}" if ":" in host else f"{host}:{port}"),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            *self._bearer,
            *headers,
        ]
        head = "".join(f"{name}: {value}\r\n" for name, value in fields)
        connection = self._connection()
        try:
            connection.sendall(f"{asked} HTTP/1.0\r\n{head}\r\n".encode("latin-1") + body)
            answer = b"".join(self._received(connection))
        finally:
            connection.close()
        status, _, rest = answer.partition(b"\r\n")
        code = status.split(b" ")[1:2]
        if code != [b"200"]:
            refused = code and code[0].startswith(b"4") and code[0] not in (b"401", b"403", b"429")
            raise (RefusedQuestion if refused else Unanswered)(status.decode("latin-1"))
        return loads(rest.partition(b"\r\n\r\n")[2])

    def _connection(self) -> _socket.socket:
        """A connection to the first of the node's addresses that takes it. Raises OSError."""
        host, port = self._place
        # A text would be looked at by the codec of international names, another costly import.
        name = host.encode() if host.isascii() else host
        refused = OSError(f"{host} has no address")
        for family, kind, protocol, _, address in _socket.getaddrinfo(name, port, 0, _socket.SOCK_STREAM):
            connection = _socket.socket(family, kind, protocol)
            try:
                connection.settimeout(self._left_s())
                connection.connect(address)
            except OSError as error:
                connection.close()
                refused = error
            else:
                return connection
        raise refused

    def _received(self, connection: _socket.socket) -> Iterable[bytes]:
        size = 0
        while size < ANSWER_BYTES_MAX:
            connection.settimeout(self._left_s())
            chunk = connection.recv(CHUNK_BYTES)
            if not chunk:
                return
            size += len(chunk)
            yield chunk
        raise Unanswered(f"the answer has more than {ANSWER_BYTES_MAX} bytes")

    def _left_s(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise Unanswered("the time is up")
        return left
