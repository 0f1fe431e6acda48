"""How a client on this machine finds its node: part of the public contract, shared by client and gateway.

A running node keeps three files in its data directory. `owner.token` has mode 0600. `node.lock` contains the pid and is
held with flock for as long as the node lives. `node.json` has the node's addresses and the directory's inode. It is
written when HTTP is open and removed when the node stops. Knows nothing of gRPC, HTTP or the node's own parts.
A hook reads these files at every prompt: `typing` and `pathlib` would cost more time than the reading.
"""

from __future__ import annotations

import os

from mnemesh_proto.plain_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    StrPath = str | os.PathLike[str]

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


class NodeAddress:
    """Where a running node listens; `grpc` and `http` are host:port."""

    __slots__ = ("grpc", "http", "pid", "version")

    def __init__(self, pid: int, grpc: str, http: str, version: str) -> None:
        self.pid = pid
        self.grpc = grpc
        self.http = http
        self.version = version

    def members(self) -> dict[str, int | str]:
        """The members of the node's file."""
        return {"pid": self.pid, "grpc": self.grpc, "http": self.http, "version": self.version}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeAddress) and self.members() == other.members()

    def __hash__(self) -> int:
        return hash((self.pid, self.grpc, self.http, self.version))


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """MNEMESH_DATA_DIR, else the XDG data home's `mnemesh` (XDG Base Directory Specification)."""
    from pathlib import Path

    return Path(default_data_path(environ))


def default_data_path(environ: Mapping[str, str]) -> str:
    """The same as a text."""
    if given := environ.get("MNEMESH_DATA_DIR"):
        return _with_home(given)
    base = environ.get("XDG_DATA_HOME") or os.path.join(_with_home(environ.get("HOME", "~")), ".local", "share")
    return os.path.join(base, "mnemesh")


def _with_home(path: str) -> str:
    whole = os.path.expanduser(path)
    if whole.startswith("~"):
        raise RuntimeError(f"no home directory is known for {path!r}")
    return whole


def read_node(data_dir: StrPath) -> NodeAddress | None:
    """The address that a node published in `data_dir`, or None when there is none or its process is gone. An address in
    a copy of the directory belongs to the node of the original."""
    try:
        value = loads(_text(data_dir, NODE_FILE))
        if value.get("inode", inode := os.stat(data_dir).st_ino) != inode:
            return None
        address = NodeAddress(int(value["pid"]), str(value["grpc"]), str(value["http"]), str(value["version"]))
    except (FileNotFoundError, NotADirectoryError, ValueError, OverflowError, KeyError, TypeError, AttributeError):
        return None
    return address if _alive(address.pid) else None


def write_node(data_dir: StrPath, address: NodeAddress) -> None:
    """Publish `address` in one atomic step."""
    published = os.path.join(data_dir, NODE_FILE)
    with open(f"{published}.tmp", "w", encoding="utf-8") as file:
        file.write(dumps({**address.members(), "inode": os.stat(data_dir).st_ino}))
    os.replace(f"{published}.tmp", published)


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped that process; False where the system can't tell."""
    return process_fields(pid)[:1] == ["T"]


def process_fields(pid: int) -> list[str]:
    """Of proc(5), /proc/PID/stat: what follows the name, which may hold anything. Empty where the system can't tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def read_token(data_dir: StrPath) -> str | None:
    """The owner token, or None when this directory has none yet."""
    try:
        return _text(data_dir, TOKEN_FILE).strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def _text(data_dir: StrPath, name: str) -> str:
    with open(os.path.join(data_dir, name), encoding="utf-8") as file:
        return file.read()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process_fields(pid)[:1] not in (["Z"], ["X"])  # one that has ended and was not waited for
