"""How a client on this machine finds its node: part of the public contract, shared by client and gateway.

A running node keeps three files in its data directory. `owner.token` has mode 0600. `node.lock` contains the pid and is
held with flock for as long as the node lives. `node.json` has the node's addresses and the directory's inode. It is
written when HTTP is open and removed when the node stops. Knows nothing of gRPC, HTTP or the node's own parts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TOKEN_FILE = "owner.token"
NODE_FILE = "node.json"
LOCK_FILE = "node.lock"
LOG_FILE = "node.log"  # of a node in the background
DEFAULT_GRPC = "127.0.0.1:7433"
DEFAULT_HTTP = "127.0.0.1:7434"
# Metadata of gRPC and headers of HTTP: the writer, the default space, its older name, and its intended name when
# another project took the intended one.
AUTHORIZATION = "authorization"
AGENT_HEADER = "x-mnemesh-agent"
SPACE_HEADER = "x-mnemesh-space"
SPACE_ALIAS_HEADER = "x-mnemesh-space-alias"
SPACE_TAKEN_HEADER = "x-mnemesh-space-taken"
ROOT_HEADER = "x-mnemesh-root"  # The folder of the default space's project, on the machine of the client.


class NodeAddress(NamedTuple):
    """Where a running node listens; `grpc` and `http` are host:port."""

    pid: int
    grpc: str
    http: str
    version: str


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """MNEMESH_DATA_DIR, else the XDG data home's `mnemesh` (XDG Base Directory Specification)."""
    if given := environ.get("MNEMESH_DATA_DIR"):
        return Path(given).expanduser()
    base = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local" / "share")
    return Path(base) / "mnemesh"


def read_node(data_dir: Path) -> NodeAddress | None:
    """The address that a node published in `data_dir`, or None when there is none or its process is gone. An address in
    a copy of the directory belongs to the node of the original."""
    try:
        value = json.loads((data_dir / NODE_FILE).read_text("utf-8"))
        if value.get("inode", inode := data_dir.stat().st_ino) != inode:
            return None
        address = NodeAddress(int(value["pid"]), str(value["grpc"]), str(value["http"]), str(value["version"]))
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return address if _alive(address.pid) else None


def write_node(data_dir: Path, address: NodeAddress) -> None:
    """Publish `address` in one atomic step."""
    temporary = data_dir / (NODE_FILE + ".tmp")
    temporary.write_text(json.dumps({**address._asdict(), "inode": data_dir.stat().st_ino}), "utf-8")
    os.replace(temporary, data_dir / NODE_FILE)


def read_token(data_dir: Path) -> str | None:
    """The owner token, or None when this directory has none yet."""
    try:
        return (data_dir / TOKEN_FILE).read_text("utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
