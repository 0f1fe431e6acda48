"""Whether what listens at an address is a Mnemesh node, of whatever directory. Sends no token, asks for health alone.

Any program may listen there: each question ends within NEIGHBOUR_TIMEOUT_S, however it is answered, and little of an
answer is read.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from typing import Final

from mnemesh_proto.rendezvous import AUTHORIZATION

NEIGHBOUR_TIMEOUT_S: Final = 1.0
ANSWER_BYTES_MAX: Final = 1024
LIVE: Final = {"state": "live"}
# Health knows a service by its name, so an answer about this one tells a node from other gRPC servers.
SERVICE: Final = "mnemesh.v1.MemoryService"


def is_node(address: str) -> bool:
    """Whether a door of a Mnemesh node, ready or not, is at host:port."""
    return _speaks_http(address) or _speaks_grpc(address)


def _speaks_http(address: str) -> bool:
    status, body = fetched(address, "/health/live", NEIGHBOUR_TIMEOUT_S, bytes_max=ANSWER_BYTES_MAX)
    try:
        return status == http.client.OK and json.loads(body) == LIVE
    except (ValueError, RecursionError):
        return False


def fetched(
    address: str, path: str, within_s: float, *, token: str = "", bytes_max: int | None = None
) -> tuple[int, bytes]:
    """Status and body of a GET at host:port. Status 0 when nothing answers in time."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=within_s)
    try:
        with _ended_within(connection, within_s):
            connection.request("GET", path, headers={AUTHORIZATION: f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.read(bytes_max)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


@contextlib.contextmanager
def _ended_within(connection: http.client.HTTPConnection, seconds: float) -> Iterator[None]:
    """A connection that is opened, and cut off after so long: its own timeout begins anew with every byte. Raises
    OSError."""
    connection.connect()

    def cut_off(used: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the other side was quicker
            used.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut_off, (connection.sock,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _speaks_grpc(address: str) -> bool:
    # gRPC reads this when it is imported. Another protocol is no error here.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),)) as channel:
        try:
            request = health_pb2.HealthCheckRequest(service=SERVICE)
            check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]  # set when it is made
            answer = check(request, timeout=NEIGHBOUR_TIMEOUT_S)
        except grpc.RpcError:
            return False
    known = health_pb2.HealthCheckResponse
    return bool(answer.status in (known.SERVING, known.NOT_SERVING))
