"""The way of a client to its node, and the headers: arguments, environment, the files of a data directory."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import grpc
import pytest
from client_support import TOKEN, RecordingNode, serving
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from mnemesh import Client, errors
from mnemesh.transport import connection, refusals
from mnemesh.transport.connection import Connection, Target, Tries
from mnemesh.transport.local_node import NodeNotStarted
from mnemesh_proto.rendezvous import TOKEN_FILE, NodeAddress, write_node


def publish(directory: Path, endpoint: str, token: str = TOKEN) -> Path:
    """The files of a running node."""
    directory.mkdir(exist_ok=True)
    write_node(directory, NodeAddress(os.getpid(), endpoint, "127.0.0.1:1", "test"))
    (directory / TOKEN_FILE).write_text(token + "\n")
    return directory


def located(environ: dict[str, str], **given: object) -> Target:
    options = {"data_dir": None, "agent": None, "space": "", "timeout_s": 1.0, "start": False, **given}
    endpoint, token = options.pop("endpoint", None), options.pop("token", None)
    return Connection(endpoint, token, environ=environ, **options).locate()  # type: ignore[arg-type]


def test_a_client_without_arguments_finds_the_node_of_this_machine(
    node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMESH_DATA_DIR", str(publish(tmp_path, node.endpoint)))
    monkeypatch.delenv("MNEMESH_ENDPOINT", raising=False)
    monkeypatch.delenv("MNEMESH_TOKEN", raising=False)
    with Client() as client:
        assert client.status().state == "ready"


def test_arguments_win_over_the_environment_and_the_environment_over_the_directory(tmp_path: Path) -> None:
    environ = {"MNEMESH_DATA_DIR": str(publish(tmp_path, "127.0.0.1:1111", "from-file"))}
    assert located(environ) == Target("127.0.0.1:1111", "from-file")
    environ |= {"MNEMESH_ENDPOINT": "127.0.0.1:2222", "MNEMESH_TOKEN": "from-env"}
    assert located(environ) == Target("127.0.0.1:2222", "from-env")
    assert located(environ, endpoint="127.0.0.1:3333", token="given") == Target("127.0.0.1:3333", "given")
    assert located(environ, endpoint="127.0.0.1:3333") == Target("127.0.0.1:3333", "from-env")


def test_a_named_data_directory_is_meant_whatever_the_environment_says(tmp_path: Path) -> None:
    directory = publish(tmp_path, "127.0.0.1:1111", "from-file")
    environ = {"MNEMESH_ENDPOINT": "127.0.0.1:2222", "MNEMESH_TOKEN": "from-env"}
    assert located(environ, data_dir=directory) == Target("127.0.0.1:1111", "from-file")


def test_the_owner_token_never_leaves_this_machine(tmp_path: Path) -> None:
    environ = {"MNEMESH_DATA_DIR": str(publish(tmp_path, "127.0.0.1:1111"))}
    for local in ("127.0.0.1:9", "localhost:9", "[::1]:9", "0.0.0.0:9"):
        assert located(environ, endpoint=local).token == TOKEN
    for remote in ("192.0.2.7:9", "node.example:9", "[2001:db8::1]:9", "localhost.example:9"):
        assert located(environ, endpoint=remote).token == ""


def test_an_address_of_all_interfaces_is_dialled_at_loopback(tmp_path: Path) -> None:
    assert located({"MNEMESH_DATA_DIR": str(publish(tmp_path, "0.0.0.0:7433"))}).endpoint == "127.0.0.1:7433"
    assert located({"MNEMESH_DATA_DIR": str(publish(tmp_path, "[::]:7433"))}).endpoint == "[::1]:7433"


@pytest.mark.parametrize("endpoint", ["nowhere", "host:", ":7433", "host:port", "host:0", "host:70000", "http://h:1"])
def test_an_endpoint_that_is_none_is_refused_before_anything_is_sent(endpoint: str) -> None:
    with pytest.raises(errors.InvalidArgument) as refused:
        Client(endpoint)
    assert refused.value.field == "endpoint"


@pytest.mark.parametrize("token", ["two\nlines", "schlüssel"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(errors.InvalidArgument) as refused:
        Client("127.0.0.1:1", token)
    assert token not in str(refused.value)


def test_where_no_node_runs_the_error_says_how_to_start_one_and_none_is_started(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "not-there"):
        with pytest.raises(errors.NotReachable, match="mnemesh up"), Client(data_dir=directory, space="") as client:
            client.status()
    assert list(tmp_path.iterdir()) == []


def test_start_asks_for_exactly_the_local_node(
    node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def ensure_node(data_dir: Path, timeout_s: float) -> NodeAddress:
        asked.append(data_dir)
        publish(data_dir, node.endpoint)
        return NodeAddress(1, node.endpoint, "127.0.0.1:1", "test")

    monkeypatch.setattr(connection, "ensure_node", ensure_node)
    with Client(data_dir=tmp_path, space="", start=True) as client:
        assert client.status().state == "ready"
        client.status()
    assert asked == [tmp_path]


def test_a_node_that_does_not_start_is_not_reachable_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ensure_node(data_dir: Path, timeout_s: float) -> NodeAddress:
        raise NodeNotStarted("the disk is full")

    monkeypatch.setattr(connection, "ensure_node", ensure_node)
    with pytest.raises(errors.NotReachable, match="the disk is full"):
        Client(data_dir=tmp_path, space="", start=True).status()


def test_a_client_follows_its_node_to_another_port(node: RecordingNode, tmp_path: Path) -> None:
    with Client(data_dir=publish(tmp_path, "127.0.0.1:9"), space="") as client:
        with serving(RecordingNode()) as first:
            publish(tmp_path, first.endpoint)
            client.status()
        publish(tmp_path, node.endpoint)
        client.status()
    assert node.requests("Status")


def test_an_http_address_is_named_as_the_mistake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as accepted:
                accepted.recv(1024)
                accepted.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

        threading.Thread(target=answer).start()
        with (
            pytest.raises(errors.InvalidArgument, match="gRPC address"),
            Client(f"127.0.0.1:{server.getsockname()[1]}", TOKEN, space="") as client,
        ):
            client.status()


def test_space_and_agent_come_from_the_environment_unless_they_are_given() -> None:
    environ = {"MNEMESH_SPACE": "team/x", "MNEMESH_AGENT": "nightly"}
    options = {"data_dir": None, "timeout_s": 1.0, "start": False, "environ": environ}
    around = Connection("127.0.0.1:1", "t", agent=None, space=None, **options)  # type: ignore[arg-type]
    headers = dict(around.metadata(around.locate()))
    assert (headers["x-mnemesh-agent"], headers["x-mnemesh-space"]) == ("nightly", "team/x")
    given = Connection("127.0.0.1:1", "t", agent="me", space="", **options)  # type: ignore[arg-type]
    headers = dict(given.metadata(given.locate()))
    assert (headers["x-mnemesh-agent"], headers.get("x-mnemesh-space")) == ("me", None)


def test_a_proxy_of_the_environment_is_not_used(node: RecordingNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Client(node.endpoint, TOKEN, space="") as client:
        assert client.status().state == "ready"


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_timeout_is_a_time(timeout_s: float) -> None:
    with pytest.raises(errors.InvalidArgument, match="timeout_s"):
        Client("127.0.0.1:1", timeout_s=timeout_s)


def test_a_text_beyond_what_a_node_takes_in_is_refused_with_both_sizes(node: RecordingNode) -> None:
    refused = pytest.raises(errors.InvalidArgument, match=r"request: '50\d+ bytes' is not allowed; at most 4194304")
    with Client(node.endpoint, TOKEN, space="") as client, refused:
        client.remember("x" * 5_000_000)


def test_pauses_between_attempts_grow_and_end_with_the_time() -> None:
    down = errors.NotReachable("down")
    tries = Tries(60.0, repeatable=True)
    pauses = [tries.pause_s(down) for _ in range(connection.ATTEMPTS_MAX - 1)]
    assert all(0 < pause <= connection.PAUSE_MAX_S for pause in pauses)
    assert pauses[-1] > pauses[0]
    with pytest.raises(errors.NotReachable):
        tries.pause_s(down)
    with pytest.raises(errors.NotReachable):
        Tries(0.01, repeatable=True).pause_s(down)


class Refused(grpc.RpcError):
    """The error of gRPC for a call that a node refused with `part` named, or that nobody answered."""

    def __init__(self, part: str) -> None:
        self._status = Status(code=14, message="it has not answered within 2 s")
        self._status.details.add().Pack(ErrorInfo(reason="UNAVAILABLE", metadata={"part": part}))
        self._part = part

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return self._status.message

    def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        return ((refusals.DETAILS_KEY, self._status.SerializeToString()),) if self._part else ()


def test_a_ledger_that_does_not_answer_is_told_from_a_node_that_does_not() -> None:
    ledger, other, nobody = (refusals.refusal(Refused(part), "HERE:1", 1.0).message for part in ("ledger-0", "ray", ""))
    assert ledger.startswith("the node at HERE:1 answers, but its ledger does not: it has not answered within 2 s. ")
    assert "restart the node" in ledger
    assert other == "it has not answered within 2 s"
    assert nobody.startswith("no node answers at HERE:1")
