"""A node's directory, its presence there, its identity, and the room on its disk."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from doubles import any_umask
from ledger_builders import Home, done, everything
from peer_builders import all_entries, hand_over

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import (
    FORMAT,
    KEY_FILE,
    MANIFEST,
    NEXT_KEY_FILE,
    check_format,
    keep_owner,
    load_key,
    open_directory,
    renew_identity,
    replace_file,
)
from mnemesh_actors.storage.disk import START_ROOM_FILE, DiskRoom, allocate, keep_start_room, take_start_room
from mnemesh_crdt.changes.envelope import node_id_of, verify
from mnemesh_gateway.__main__ import main
from mnemesh_gateway.doors.open_doors import listen
from mnemesh_gateway.node.presence import NodeLock, owner_token, withdraw
from mnemesh_gateway.node.settings import load
from mnemesh_gateway.programs.node_program import give_new_identity
from mnemesh_memory.values.errors import (
    DataLoss,
    DiskFull,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    Unavailable,
)
from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE, TOKEN_FILE, NodeAddress, read_node, write_node


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def manifest_of(path: Path, **changes: object) -> None:
    manifest = path / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changes}))


# ---- a new one ----------------------------------------------------------------------------------------------------


def test_a_new_directory_gets_an_identity_a_key_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data"
    directory = open_directory(path)
    assert directory.path == path
    assert len(bytes.fromhex(directory.node_id)) == 16
    assert json.loads((path / MANIFEST).read_text())["format"] == FORMAT
    assert directory.ledger(0).parent.is_dir()
    assert directory.index(0).parent.is_dir()
    signature = load_key(directory.key_file).sign(b"text")
    load_key(directory.key_file).public_key().verify(signature, b"text")


def test_the_key_and_the_directory_are_for_the_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    with any_umask():
        directory = open_directory(tmp_path / "data")
    assert mode(directory.key_file) == 0o600
    assert mode(directory.path) == 0o700


def test_opening_again_keeps_the_identity_and_changes_no_file(tmp_path: Path) -> None:
    first = open_directory(tmp_path / "data")
    before = everything(first.path)
    second = open_directory(tmp_path / "data")
    assert second == first
    assert everything(first.path) == before


def test_a_start_that_was_interrupted_before_the_manifest_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / KEY_FILE).write_bytes(b"half a key")
    (path / (MANIFEST + ".tmp")).write_text("{")
    directory = open_directory(path)
    load_key(directory.key_file)
    assert open_directory(path) == directory


def test_partitions_have_files_of_their_own(tmp_path: Path) -> None:
    directory = open_directory(tmp_path / "data")
    assert directory.ledger(0) != directory.ledger(1)
    assert directory.index(0) != directory.index(1)


# ---- not ours to open ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manifest", [{"node_id": "0" * 32, "more": "x"}, {"identity": {"key": "x"}}])
def test_a_newer_format_is_refused_and_every_file_stays_as_it_is(tmp_path: Path, manifest: dict[str, object]) -> None:
    path = open_directory(tmp_path / "data").path
    (path / "ledger" / "0.sqlite").write_bytes(b"of the future")
    (path / MANIFEST).write_text(json.dumps({"format": FORMAT + 1, **manifest}))
    before = everything(path)
    times = {name: (path / name).stat().st_mtime_ns for name in before}
    for refuse in (open_directory, check_format, NodeLock):
        with pytest.raises(FailedPrecondition) as caught:
            refuse(path)
        assert caught.value.fields["value"] == str(FORMAT + 1)
        assert caught.value.fields["limit"] == str(FORMAT)
        assert "nothing was changed" in caught.value.message
    assert everything(path) == before
    assert {name: (path / name).stat().st_mtime_ns for name in before} == times


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"{}",
        b'{"format": 1}',
        b'{"format": "x", "node_id": "y"}',
        bytes(40),
        b"\xff\xfe",
    ],
)
def test_a_damaged_manifest_is_data_loss_and_is_not_made_anew(tmp_path: Path, data: bytes) -> None:
    path = open_directory(tmp_path / "data").path
    (path / MANIFEST).write_bytes(data)
    before = everything(path)
    with pytest.raises(DataLoss, match="backup"):
        open_directory(path)
    assert everything(path) == before


def test_a_key_that_is_not_the_nodes_is_data_loss_whichever_of_the_two_is_wrong(tmp_path: Path) -> None:
    one, two = open_directory(tmp_path / "one"), open_directory(tmp_path / "two")
    assert one.node_id == node_id_of(load_key(one.key_file).public_key().public_bytes_raw())
    own = one.key_file.read_bytes()
    one.key_file.write_bytes(two.key_file.read_bytes())
    with pytest.raises(DataLoss, match=two.node_id) as caught:
        open_directory(one.path)
    assert one.node_id in caught.value.message
    one.key_file.write_bytes(own)
    manifest_of(one.path, node_id="0" * 32)
    with pytest.raises(DataLoss, match="backup"):
        open_directory(one.path)


def test_a_lost_manifest_of_a_directory_in_use_is_data_loss_and_the_key_is_kept(tmp_path: Path) -> None:
    path = open_directory(tmp_path / "data").path
    (path / "ledger" / "0.sqlite").write_bytes(b"memories")
    (path / MANIFEST).unlink()
    before = everything(path)
    with pytest.raises(DataLoss, match=MANIFEST):
        open_directory(path)
    assert everything(path) == before


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    for path in (tmp_path / "data", tmp_path / "data" / "below"):
        with pytest.raises(FailedPrecondition) as caught:
            open_directory(path)
        assert caught.value.fields["field"] == "data_dir"
        assert str(path) in caught.value.message


def test_a_directory_that_does_not_exist_has_no_format_to_refuse(tmp_path: Path) -> None:
    check_format(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


# ---- the key ------------------------------------------------------------------------------------------------------


def _of_another_kind() -> bytes:
    key = generate_private_key(65537, 1024)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize("data", [b"", b"no key", None, _of_another_kind()], ids=["empty", "text", "missing", "rsa"])
def test_a_key_that_cannot_be_used_is_data_loss_that_says_what_to_do(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / KEY_FILE
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(MnemeshError, match="backup") as caught:
        load_key(path)
    assert caught.value.code == "DATA_LOSS"
    assert str(path) in caught.value.message


# ---- writing a file in one step -----------------------------------------------------------------------------------


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")
    held = path.open()
    replace_file(path, "new é")
    assert path.read_text("utf-8") == "new é"
    with held:
        assert held.read() == "old", "who has the old one open keeps it whole"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_file_is_on_disk_before_it_replaces_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        steps.append("sync folder" if stat.S_ISDIR(status.st_mode) else f"sync {status.st_size} bytes")
        sync(descriptor)

    def note_replace(old: Path, new: Path) -> None:
        steps.append("replace")
        replace(old, new)

    monkeypatch.setattr("mnemesh_actors.storage.data_directory.os.fsync", note_sync)
    monkeypatch.setattr("mnemesh_actors.storage.data_directory.os.replace", note_replace)
    replace_file(tmp_path / "file.json", "new")
    assert steps == ["sync 3 bytes", "replace", "sync folder"]


def test_a_directory_whose_ledger_is_gone_is_refused_and_not_begun_anew(tmp_path: Path) -> None:
    home = tmp_path / "data"
    directory = open_directory(home)
    ledger = Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)
    ledger.close()
    directory.ledger(0).unlink()
    with pytest.raises(DataLoss, match=r"(?i)restore it from a backup"):
        Ledger(str(directory.ledger(0)), str(directory.key_file), directory.node_id)
    assert not directory.ledger(0).exists()
    shutil.rmtree(home / "ledger")
    with pytest.raises(DataLoss, match="restore it from a backup"):
        open_directory(home)


# ---- presence --------------------------------------------------------------------------------------------------------
# A node's presence in its directory: one node holds it, one token opens it, and no other user reads the token.


HOLDING = """
import sys
from pathlib import Path
from mnemesh_gateway.node.presence import NodeLock
lock = NodeLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


# ---- the lock -----------------------------------------------------------------------------------------------------


@pytest.fixture
def first(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the directory."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", HOLDING, str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as made:
        assert made.stdout.readline() == "held\n"
        yield made
        made.kill()


def test_a_second_node_on_the_directory_is_refused_with_the_pid_of_the_first(data_dir: Path, first: Any) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        NodeLock(data_dir)
    assert caught.value.fields["pid"] == str(first.pid)
    assert f"pid {first.pid}" in caught.value.message
    assert str(data_dir) in caught.value.message
    assert (data_dir / LOCK_FILE).read_text().strip() == str(first.pid)
    first.stdin.close()
    assert first.wait(30) == 0
    NodeLock(data_dir).close()


def test_a_node_that_was_killed_leaves_no_lock_behind(data_dir: Path, first: Any) -> None:
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
    with any_umask():
        NodeLock(tmp_path / "deep" / "data").close()
    assert mode(tmp_path / "deep" / "data") == 0o700


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InvalidArgument) as caught:
        NodeLock(tmp_path / "data")
    assert caught.value.fields["field"] == "data_dir"


# ---- the token ----------------------------------------------------------------------------------------------------


def test_the_token_is_made_once_for_the_owner_only(data_dir: Path) -> None:
    with any_umask():
        token = owner_token(data_dir)
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
    assert read_node(tmp_path / "moved").pid == os.getpid()


def test_a_process_that_has_ended_and_was_not_waited_for_serves_nothing(data_dir: Path) -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    write_node(data_dir, NodeAddress(pid, "127.0.0.1:7433", "127.0.0.1:7434", "0.1.0"))
    assert read_node(data_dir) is None
    os.waitpid(pid, 0)


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
    with pytest.raises(
        FailedPrecondition, match=r"Cannot assign.*; give an address of this machine, as another --http"
    ):
        listen("http", "192.0.2.1:1")


# ---- new identity ----------------------------------------------------------------------------------------------------
# `mnemesh node new-identity`: a copied directory becomes a node of its own, and what was written stays as signed.


@pytest.fixture
def copy(tmp_path: Path) -> Home:
    """A copy of a directory with two memories."""
    original = Home.at(tmp_path / "original")
    with original.opened() as ledger:
        done(ledger, original.pen.create("written by the original"))
        done(ledger, original.pen.create("so is this"))
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    copied = Home.at(tmp_path / "copy")
    copied.pen = original.pen
    return copied


def again(home: Home) -> Home:
    return Home(open_directory(home.directory.path), home.pen)


def test_the_copy_has_another_id_another_key_and_another_incarnation(copy: Home, tmp_path: Path) -> None:
    with copy.opened() as ledger:
        before = ledger.status().incarnation
    renewed = give_new_identity(copy.directory.path)
    renamed = again(copy)
    assert renewed.old_node_id == open_directory(tmp_path / "original").node_id == copy.directory.node_id
    assert renamed.directory.node_id == renewed.node_id != renewed.old_node_id
    assert node_id_of(load_key(renamed.directory.key_file).public_key().public_bytes_raw()) == renewed.node_id
    assert renewed.memories == 2
    with renamed.opened() as ledger:
        assert ledger.status().incarnation != before


def test_what_was_written_keeps_its_signatures_and_new_writes_are_signed_anew(copy: Home, tmp_path: Path) -> None:
    renewed = give_new_identity(copy.directory.path)
    renamed = again(copy)
    with renamed.opened() as ledger:
        done(ledger, renamed.pen.create("written by the copy"))
        entries = all_entries(ledger)
        keys = ledger.sync_page(0, ("*",), "", 256, 1 << 20).keys
        assert [entry.node for entry in entries] == [renewed.old_node_id] * 2 + [renewed.node_id]
        for entry in entries:
            verify(entry, keys[entry.node])
        # Its log is whole for a node that knows neither.
        other = Home.at(tmp_path / "other")
        with other.opened() as far:
            (taken,) = hand_over(ledger, far, renamed)
            assert (taken.accepted, taken.quarantined) == (3, 0)


def test_a_directory_on_which_a_node_runs_is_left_as_it_is(copy: Home) -> None:
    with closing(NodeLock(copy.directory.path)):
        before = everything(copy.directory.path)
        with pytest.raises(FailedPrecondition, match="already runs"):
            give_new_identity(copy.directory.path)
        assert everything(copy.directory.path) == before


def test_a_directory_in_which_no_node_lived_is_not_made_one(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="no node lived"):
        give_new_identity(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_the_owner_is_called_the_same_under_the_new_identity(copy: Home) -> None:
    keep_owner(copy.directory, "carol")
    renew_identity(open_directory(copy.directory.path))
    assert json.loads((copy.directory.path / MANIFEST).read_text("utf-8"))["owner"] == "carol"
    assert load({"data_dir": str(copy.directory.path)}, {}).settings.owner == "carol"


def test_a_crash_at_any_step_leaves_the_old_identity_or_the_new_one(copy: Home, tmp_path: Path) -> None:
    old, path = copy.directory.node_id, copy.directory.path
    old_manifest, old_key = (path / MANIFEST).read_bytes(), (path / KEY_FILE).read_bytes()
    (path / NEXT_KEY_FILE).write_bytes(old_key[:40])  # the next key was written half
    assert open_directory(path).node_id == old
    assert not (path / NEXT_KEY_FILE).exists()
    new = renew_identity(open_directory(path)).node_id
    new_manifest, new_key = (path / MANIFEST).read_bytes(), (path / KEY_FILE).read_bytes()
    for manifest, expected in ((old_manifest, old), (new_manifest, new)):  # before and after the manifest was written
        (path / MANIFEST).write_bytes(manifest)
        (path / KEY_FILE).write_bytes(old_key)
        (path / NEXT_KEY_FILE).write_bytes(new_key)
        assert open_directory(path).node_id == expected
        assert not (path / NEXT_KEY_FILE).exists()


def test_the_command_says_what_became_of_the_node(copy: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "new-identity", "--data", str(copy.directory.path)]) == 0
    said = capsys.readouterr().out
    assert copy.directory.node_id in said
    assert "2 memories stay" in said
    assert main(["node", "new-identity", "--data", str(copy.directory.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["old_node_id"] != copy.directory.node_id
    assert main(["node", "new-identity", "--data", str(copy.directory.path / "no")]) == 4
    assert "no node lived" in capsys.readouterr().err
    assert main(["node", "new-identity", "--data", str(copy.directory.path / "no"), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "FAILED_PRECONDITION"


@pytest.mark.parametrize("words", [["new-identity"], ["salvage", "new"]])
def test_a_path_that_is_no_directory_is_bad_usage_and_one_out_of_sight_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["node", *words, "--data", "file"]) == 2
    assert "a directory, not a file" in capsys.readouterr().err
    assert main(["node", *words, "--data", "x" * 300]) == 4
    assert "File name too long" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# ---- disk ------------------------------------------------------------------------------------------------------------
# The room on a disk: refusals below the reserve, the room kept for a start, and blocks for mapped files.


SPARSE_BYTES = 1 << 20
BEYOND_ANY_DISK = 1 << 60


def test_below_the_reserve_nothing_more_is_written_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    full = DiskRoom(tmp_path, BEYOND_ANY_DISK)
    with pytest.raises(DiskFull, match="Free space on that disk") as refused:
        full.require()
    assert refused.value.code == "RESOURCE_EXHAUSTED"
    assert refused.value.fields["field"] == "disk_reserve_bytes"
    DiskRoom(tmp_path, 1).require()
    with pytest.raises(DiskFull):
        DiskRoom(tmp_path, 1).require(BEYOND_ANY_DISK)
    DiskRoom(tmp_path, 0).require(BEYOND_ANY_DISK)


def test_the_room_for_a_start_is_kept_while_there_is_some_and_given_back_on_a_full_disk(tmp_path: Path) -> None:
    keep_start_room(DiskRoom(tmp_path, BEYOND_ANY_DISK))
    assert not (tmp_path / START_ROOM_FILE).exists()
    keep_start_room(DiskRoom(tmp_path, 1))
    assert (tmp_path / START_ROOM_FILE).exists()
    assert take_start_room(DiskRoom(tmp_path, 1)) is None
    assert (tmp_path / START_ROOM_FILE).exists()
    assert take_start_room(DiskRoom(tmp_path, BEYOND_ANY_DISK)) is not None
    assert not (tmp_path / START_ROOM_FILE).exists()


def test_files_with_holes_get_their_blocks_only_when_the_disk_is_no_more_plentiful(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    mapped = tmp_path / "deep" / "page_0.dat"
    with mapped.open("wb") as file:
        file.truncate(SPARSE_BYTES)
    allocate(tmp_path, DiskRoom(tmp_path, 1), plenty_bytes=0)
    assert mapped.stat().st_blocks * 512 < SPARSE_BYTES
    allocate(tmp_path, DiskRoom(tmp_path, BEYOND_ANY_DISK), plenty_bytes=0)
    assert mapped.stat().st_blocks * 512 < SPARSE_BYTES
    allocate(tmp_path, DiskRoom(tmp_path, 1), plenty_bytes=BEYOND_ANY_DISK)
    assert mapped.stat().st_blocks * 512 >= SPARSE_BYTES
    assert mapped.read_bytes() == bytes(SPARSE_BYTES)


def test_a_place_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="can't be found any more"):
        DiskRoom(tmp_path / "gone", 1).require()
