"""The Qdrant double as a server of its own, for containers: on every interface, with a question for readiness."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler

from qdrant_double import QdrantDouble

PORT = 6333
PIECE_BYTES = 65_536


class Standin(QdrantDouble):
    """Also answers Qdrant's own question for readiness."""

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        if request.path == "/readyz":
            request.send_response(200, "OK")
            request.send_header("content-length", "0")
            request.end_headers()
        else:
            super()._answer(request)


def carry(source: socket.socket, target: socket.socket) -> None:
    """Bytes from one connection to the other until it ends."""
    try:
        while piece := source.recv(PIECE_BYTES):
            target.sendall(piece)
    except OSError:
        pass  # either side is gone; the other learns of it below
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue


def main() -> None:
    host, _, port = Standin().host.partition(":")
    with socket.create_server(("0.0.0.0", PORT)) as listener:
        while True:
            outer, _ = listener.accept()
            inner = socket.create_connection((host, int(port)))
            for pair in ((outer, inner), (inner, outer)):
                threading.Thread(target=carry, args=pair, daemon=True).start()


if __name__ == "__main__":
    main()
