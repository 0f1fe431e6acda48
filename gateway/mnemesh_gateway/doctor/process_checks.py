"""Checks of a node as a process: presence, answers, addresses. Takes no lock and changes nothing.

A check may ask at an address where any program may listen. It sends no token there and asks for health alone. Each
question ends within NEIGHBOUR_TIMEOUT_S, however the program answers, and little of an answer is read.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_memory.values.errors import count_of
from mnemesh_proto.loopback import is_loopback
from mnemesh_proto.rendezvous import AUTHORIZATION, LOCK_FILE, NODE_FILE, TOKEN_FILE, is_stopped, read_token

HEALTH_TIMEOUT_S = 3.0
NEIGHBOUR_TIMEOUT_S: Final = 1.0
ANSWER_BYTES_MAX: Final = 1024
LIVE: Final = {"state": "live"}
# Health knows a service by its name, so an answer about this one tells a node from other gRPC servers.
SERVICE: Final = "mnemesh.v1.MemoryService"


def node_file(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    path = examined.data_dir / NODE_FILE
    if not path.exists() or examined.node is not None:
        return
    try:
        value = json.loads(path.read_text("utf-8"))
        problem = f"{path} names process {value['pid']}, which is gone: the node was killed or the machine went down"
        if value.get("inode", inode := examined.data_dir.stat().st_ino) != inode:
            problem = f"{path} is of the node of another directory, of which this one is a copy"
    except (ValueError, KeyError, TypeError):
        problem = f"{path} is damaged"
    yield DoctorFinding("node file", problem, "start the node (`mnemesh up`): it replaces the file")


def no_node(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """Without a node file nor a holder of the directory's lock, nobody serves it."""
    path = examined.data_dir
    if path.is_dir() and not (path / NODE_FILE).exists() and lock_holder(path / LOCK_FILE) is None:
        yield DoctorFinding("node", f"no node runs on {path}", f"`mnemesh up --data {path}` starts one", remark=True)


def running_node(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """A node that holds the directory has to answer."""
    node = examined.node
    if node is not None and is_stopped(node.pid):
        yield DoctorFinding(
            "running node", f"process {node.pid}, the node of {examined.data_dir}, is stopped",
            f"`kill -CONT {node.pid}` lets it go on; acknowledged writes are on disk",
        )  # fmt: skip
        return
    if node is not None and answers(examined, node.http):
        return
    holder = node.pid if node else lock_holder(examined.data_dir / LOCK_FILE)
    if holder is None or (node and not is_locked(examined.data_dir / LOCK_FILE)):
        return
    yield DoctorFinding(
        "running node",
        f"process {holder} holds {examined.data_dir} but does not answer" + (f" on {node.http}" if node else ""),
        f"wait if the node has only just started; else stop it (kill {holder}, after 30 s kill -9 {holder}) and start "
        "the node again: acknowledged writes are on disk",
    )  # fmt: skip


def lock_holder(lock: Path) -> int | None:
    """The process that keeps `lock` locked, or None when nobody does."""
    if not lock.exists() or not is_locked(lock):
        return None
    digits = re.match(r"\s*(\d+)", lock.read_text("utf-8", "replace"))
    return int(digits.group(1)) if digits else None


def is_locked(lock: Path) -> bool:
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


def degraded_node(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The report of a running node on itself and its index."""
    node = examined.node
    lives = node is not None and node.http not in examined.silent
    answer, status = ask(examined)
    if node is not None and lives and node.http in examined.silent:
        yield DoctorFinding(
            "running node", f"process {node.pid} lives but does not tell its status within {HEALTH_TIMEOUT_S:g} s",
            f"wait if the machine is busy; else look at {examined.data_dir / 'node.log'} and restart it: acknowledged "
            "writes are on disk",
        )  # fmt: skip
    if status == http.client.UNAUTHORIZED:
        yield DoctorFinding(
            "owner token", f"the node refuses the token of {examined.data_dir / TOKEN_FILE}: it was changed meanwhile",
            "restart the node (`mnemesh up`)",
        )  # fmt: skip
    if answer is None:
        return
    faults = [
        f"{part['name']} is {part['state']} ({count_of(part['lag'], 'entry')} behind the ledger)"
        for part in answer.get("index", ())
        if part["state"] != "ok"
    ]
    # The index is told above, by its shards.
    stalled = [
        f"the consumer {each['name']} is stalled ({count_of(each['lag'], 'entry')} behind the ledger): {each['state']}"
        for each in answer.get("consumers", ())
        if each["state"] != "ok" and each["name"] != "index"
    ]
    if stalled:
        yield DoctorFinding(
            "consumers", f"of the running node, {'; '.join(stalled)}",
            "the node goes on by itself once the cause is gone; if the number stands still, restart the node",
            remark=True,
        )  # fmt: skip
    if answer["state"] not in ("ready", "starting"):
        reasons = [*answer["notices"], *faults]
        yield DoctorFinding(
            "running node", f"the node is {answer['state']}: {'; '.join(reasons) or 'it says no more'}",
            f"look at {examined.data_dir / 'node.log'} or the terminal of `mnemesh up`, then restart the node",
        )  # fmt: skip
    elif faults and answer["state"] == "ready":
        # A node with a faulty index is degraded, above. This node takes in the missing entries.
        yield DoctorFinding(
            "index", f"of the running node, {'; '.join(faults)}",
            "nothing to mend while it catches up (`mnemesh status` shows how far); if the number stands still, restart "
            "the node", remark=True,
        )  # fmt: skip


def peers(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """Peers that refuse a running node, or with which it does not agree after a comparison."""
    answer, _ = ask(examined, "/v1/sync")
    for peer in (answer or {}).get("peers", ()):
        if peer.get("state") == "refused" and not peer.get("incoming"):
            yield DoctorFinding(
                "peers", f"{peer['name']} refuses this node: {peer.get('last_error') or 'it does not say why'}",
                f"if its token has ended: `mnemesh peer token {peer['name']} --token -`; else see docs/peers.md",
            )  # fmt: skip
        if count := int(peer.get("differs", 0)):
            yield DoctorFinding(
                "peers", f"{peer['name']} differs in {count_of(count, 'memory')} after a comparison",
                "look at what was refused with `mnemesh sync quarantine` on both nodes, install the same version on "
                "both, and compare again: `mnemesh sync now`",
            )  # fmt: skip


def ask(
    examined: ExaminedNode, path: str = "/v1/status", within_s: float = HEALTH_TIMEOUT_S
) -> tuple[dict[str, Any] | None, int]:
    """The answer of the node that runs here, and the HTTP status. None and 0 without an answer. The token goes to
    loopback only, whatever the node file says."""
    node, token = examined.node, read_token(examined.data_dir)
    if node is None or token is None or is_stopped(node.pid) or not is_loopback(node.http.rpartition(":")[0]):
        return None, 0
    status, body = _get(examined, node.http, path, token, within_s)
    return (json.loads(body) if status == http.client.OK else None), status


def answers(examined: ExaminedNode, address: str) -> bool:
    """Whether a node at host:port says within HEALTH_TIMEOUT_S that it lives."""
    return _get(examined, address, "/health/live")[0] == http.client.OK


def _get(
    examined: ExaminedNode, address: str, path: str, token: str = "", within_s: float = HEALTH_TIMEOUT_S
) -> tuple[int, bytes]:
    """Status and body. Status 0 when nothing answers, now or before."""
    if address in examined.silent:
        return 0, b""
    status, body = fetched(address, path, within_s, token=token)
    if not status:
        examined.silent.add(address)
    return status, body


def ports(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The configured addresses have to be free when no node of this directory runs."""
    if examined.node is not None:
        return
    for name, address in examined.addresses.items():
        host, _, port = address.rpartition(":")
        fault = _cannot_listen(host.strip("[]"), int(port))
        if fault == errno.EADDRINUSE and is_node(address):
            yield DoctorFinding(
                "ports", f"another Mnemesh node listens on {address}, where this node's {name} door should open",
                f"to run both, start this one with --{name} {host}:0 for any free port; clients find the port by "
                "themselves", remark=True,
            )  # fmt: skip
        elif fault == errno.EADDRINUSE:
            yield DoctorFinding(
                "ports", f"another program listens on {address}, where this node's {name} door should open",
                f"stop that program (`ss -ltnp 'sport = :{port}'` names it), or choose another port: --{name} {host}:0 "
                "takes any free one, and clients find the port by themselves",
            )  # fmt: skip
        elif fault:
            yield DoctorFinding(
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


def exposure(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    for name, address in examined.addresses.items():
        host = address.rpartition(":")[0]
        if not is_loopback(host):
            yield DoctorFinding(
                "exposure", f"{name} on {address} has no TLS: token and memories can be read on the network",
                f"set {name} to 127.0.0.1:PORT, and reach it from elsewhere through a tunnel (ssh -L) or a TLS proxy"
                + ("" if examined.settings.expose else "; without --expose true a node refuses that address"),
            )  # fmt: skip


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
