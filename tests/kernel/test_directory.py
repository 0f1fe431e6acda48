"""A node's data directory: made once, private where it must be, refused unharmed when it is not ours to open."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from ledger_builders import everything

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.storage.data_directory import (
    FORMAT,
    KEY_FILE,
    MANIFEST,
    check_format,
    load_key,
    open_directory,
    replace_file,
)
from mnemesh_crdt.changes.envelope import node_id_of
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError


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
    before = os.umask(0)
    try:
        directory = open_directory(tmp_path / "data")
    finally:
        os.umask(before)
    assert mode(directory.key_file) == 0o600
    assert mode(directory.path) == 0o700


def test_two_directories_are_two_nodes(tmp_path: Path) -> None:
    one, two = open_directory(tmp_path / "one"), open_directory(tmp_path / "two")
    assert one.node_id != two.node_id
    assert one.key_file.read_bytes() != two.key_file.read_bytes()


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
    for refuse in (open_directory, check_format):
        with pytest.raises(FailedPrecondition) as caught:
            refuse(path)
        assert caught.value.fields["value"] == str(FORMAT + 1)
        assert caught.value.fields["limit"] == str(FORMAT)
        assert "nothing was changed" in caught.value.message
    assert everything(path) == before
    assert {name: (path / name).stat().st_mtime_ns for name in before} == times


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "7", "{}", '{"format": 1}', '{"format": "x", "node_id": "y"}', "\x00" * 40]
)
def test_a_damaged_manifest_is_data_loss_and_is_not_made_anew(tmp_path: Path, text: str) -> None:
    path = open_directory(tmp_path / "data").path
    (path / MANIFEST).write_text(text)
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


def test_a_manifest_that_is_no_text_is_data_loss(tmp_path: Path) -> None:
    path = open_directory(tmp_path / "data").path
    (path / MANIFEST).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataLoss):
        open_directory(path)


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


def test_a_file_is_on_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
