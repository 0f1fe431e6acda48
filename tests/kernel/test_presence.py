"""A node's presence in its directory: one node holds it, one token opens it, and no other user reads the token."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from ledger_builders import everything

from mnemesh_actors.storage.data_directory import FORMAT, MANIFEST, open_directory
from mnemesh_gateway.node.addresses import listen
from mnemesh_gateway.node.presence import NodeLock, owner_token, withdraw
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE, TOKEN_FILE, NodeAddress, read_node, write_node

HOLDING = """
import sys
from pathlib import Path
from mnemesh_gateway.node.presence import NodeLock
lock = NodeLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


# ---- the lock -----------------------------------------------------------------------------------------------------


def test_a_second_node_on_the_directory_is_refused_with_the_pid_of_the_first(data_dir: Path) -> None:
    places = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", HOLDING, str(data_dir)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": places}
    ) as first:
        assert first.stdout is not None
        assert first.stdin is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(FailedPrecondition) as caught:
            NodeLock(data_dir)
        assert caught.value.fields["pid"] == str(first.pid)
        assert f"pid {first.pid}" in caught.value.message
        assert str(data_dir) in caught.value.message
        assert (data_dir / LOCK_FILE).read_text().strip() == str(first.pid)
        first.stdin.close()
        assert first.wait(30) == 0
    NodeLock(data_dir).close()


def test_a_node_that_was_killed_leaves_no_lock_behind(data_dir: Path) -> None:
    places = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", HOLDING, str(data_dir)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": places}
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        first.kill()
        first.wait(30)
    lock = NodeLock(data_dir)
    assert (data_dir / LOCK_FILE).read_text().strip() == str(os.getpid())
    lock.close()


def test_the_lock_tells_the_pid_and_is_free_after_closing(data_dir: Path) -> None:
    (data_dir / LOCK_FILE).write_text("a much longer text of an earlier holder")
    lock = NodeLock(data_dir)
    assert (data_dir / LOCK_FILE).read_text().strip() == str(os.getpid())
    with pytest.raises(FailedPrecondition):
        NodeLock(data_dir)
    lock.close()
    NodeLock(data_dir).close()


def test_the_lock_makes_a_directory_that_only_the_owner_can_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        NodeLock(tmp_path / "deep" / "data").close()
    finally:
        os.umask(before)
    assert mode(tmp_path / "deep" / "data") == 0o700


def test_a_directory_of_a_newer_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = open_directory(tmp_path / "data").path
    (path / MANIFEST).write_text(f'{{"format": {FORMAT + 1}, "node_id": "x"}}')
    before = everything(path)
    with pytest.raises(FailedPrecondition, match="nothing was changed"):
        NodeLock(path)
    assert everything(path) == before


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InvalidArgument) as caught:
        NodeLock(tmp_path / "data")
    assert caught.value.fields["field"] == "data_dir"


# ---- the token ----------------------------------------------------------------------------------------------------


def test_the_token_is_made_once_for_the_owner_only(data_dir: Path) -> None:
    before = os.umask(0)
    try:
        token = owner_token(data_dir)
    finally:
        os.umask(before)
    assert mode(data_dir / TOKEN_FILE) == 0o600
    assert len(token) >= 43, "32 random bytes"
    assert token == token.strip()
    assert owner_token(data_dir) == token
    assert (data_dir / TOKEN_FILE).read_text() == token + "\n"


def test_two_nodes_have_two_tokens(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    assert owner_token(one) != owner_token(two)


@pytest.mark.parametrize("open_to", [0o640, 0o604, 0o644, 0o620, 0o601, 0o777])
def test_a_token_that_others_can_use_is_refused_with_what_to_do(data_dir: Path, open_to: int) -> None:
    token = owner_token(data_dir)
    path = data_dir / TOKEN_FILE
    path.chmod(open_to)
    with pytest.raises(FailedPrecondition) as caught:
        owner_token(data_dir)
    assert f"chmod 600 {path}" in caught.value.message
    assert token not in repr(caught.value.fields) + caught.value.message
    path.chmod(0o600)
    assert owner_token(data_dir) == token


@pytest.mark.parametrize("text", ["", "\n", "  \n"])
def test_an_empty_token_opens_nothing_and_is_refused(data_dir: Path, text: str) -> None:
    owner_token(data_dir)
    (data_dir / TOKEN_FILE).write_text(text)
    with pytest.raises(FailedPrecondition, match="is empty"):
        owner_token(data_dir)


def test_a_token_that_the_owner_chose_is_used(data_dir: Path) -> None:
    (data_dir / TOKEN_FILE).write_text("chosen-by-hand\n")
    (data_dir / TOKEN_FILE).chmod(0o600)
    assert owner_token(data_dir) == "chosen-by-hand"


# ---- the published address ----------------------------------------------------------------------------------------


def test_a_published_address_can_be_taken_back_and_that_twice(data_dir: Path) -> None:
    address = NodeAddress(os.getpid(), "127.0.0.1:7433", "127.0.0.1:7434", "0.1.0")
    write_node(data_dir, address)
    assert read_node(data_dir) == address
    withdraw(data_dir)
    assert read_node(data_dir) is None
    assert not (data_dir / NODE_FILE).exists()
    withdraw(data_dir)


def test_a_copy_of_a_directory_has_no_node_though_that_of_the_original_runs(data_dir: Path, tmp_path: Path) -> None:
    write_node(data_dir, NodeAddress(os.getpid(), "127.0.0.1:7433", "127.0.0.1:7434", "0.1.0"))
    shutil.copytree(data_dir, tmp_path / "copy")
    assert read_node(tmp_path / "copy") is None
    data_dir.rename(tmp_path / "moved")
    moved = read_node(tmp_path / "moved")
    assert moved is not None
    assert moved.pid == os.getpid()


@pytest.mark.parametrize("text", ["{", "[]", "null", "5", '"x"', "{}", '{"pid": "x"}', '{"pid": null}'])
def test_a_damaged_address_is_none(data_dir: Path, text: str) -> None:
    (data_dir / NODE_FILE).write_text(text, "utf-8")
    assert read_node(data_dir) is None


def test_only_a_port_that_is_taken_is_said_to_be_another_programs() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(FailedPrecondition, match="another program holds the port"),
    ):
        listen("http", f"127.0.0.1:{other.getsockname()[1]}")
    with pytest.raises(FailedPrecondition, match=r"Errno 99.*; give an address of this machine, as another --http"):
        listen("http", "192.0.2.1:1")
