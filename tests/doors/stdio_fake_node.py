"""A stand-in for `python -m mnemesh_gateway up`: what a client sees of a node's life, and nothing else.

Takes the same flags, holds node.lock, publishes node.json when it listens, ends on SIGTERM. The first
argument tells how to misbehave: `fine`, `slow`, `dies` or `silent` (never publishes). Without flags it takes
free ports.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE, NodeAddress, write_node


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("manner")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--grpc", default="127.0.0.1:0")
    parser.add_argument("--http", default="127.0.0.1:0")
    options = parser.parse_args()
    with (options.data / "starts").open("a") as starts:
        starts.write(" ".join((str(os.getpid()), *sys.argv[4:])) + "\n")
    if options.manner == "dies":
        print("the ledger is damaged at page 7; restore it from a copy", flush=True)
        return 4
    with (options.data / LOCK_FILE).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another node holds the directory", flush=True)
            return 4
        return serve(options)


def serve(options: argparse.Namespace) -> int:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if options.manner == "slow":
        time.sleep(0.3)
    with listen(options.grpc) as grpc, listen(options.http) as http:
        if options.manner != "silent":
            address = NodeAddress(os.getpid(), name(grpc), name(http), "0")
            write_node(options.data, address)
        stop.wait()
        (options.data / NODE_FILE).unlink(missing_ok=True)
    return 0


def listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_server((host, int(port)))


def name(listener: socket.socket) -> str:
    host, port = listener.getsockname()
    return f"{host}:{port}"


if __name__ == "__main__":
    sys.exit(main())
