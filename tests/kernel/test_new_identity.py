"""`mnemesh node new-identity`: a copied directory becomes a node of its own, and what was written stays as signed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ledger_builders import Home, done, everything
from peer_builders import all_entries, hand_over

from mnemesh_actors.storage.data_directory import (
    KEY_FILE,
    MANIFEST,
    NEXT_KEY_FILE,
    keep_owner,
    load_key,
    open_directory,
    renew_identity,
)
from mnemesh_crdt.changes.envelope import node_id_of, verify
from mnemesh_gateway.node.presence import NodeLock
from mnemesh_gateway.node.settings import load
from mnemesh_gateway.programs.new_identity import give_new_identity
from mnemesh_gateway.programs.node_program import main
from mnemesh_memory.values.errors import FailedPrecondition


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
    running = NodeLock(copy.directory.path)
    try:
        before = everything(copy.directory.path)
        with pytest.raises(FailedPrecondition, match="already runs"):
            give_new_identity(copy.directory.path)
        assert everything(copy.directory.path) == before
    finally:
        running.close()


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
    assert main(["new-identity", "--data", str(copy.directory.path)], {}) == 0
    said = capsys.readouterr().out
    assert copy.directory.node_id in said
    assert "2 memories stay" in said
    assert main(["new-identity", "--data", str(copy.directory.path), "--json"], {}) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["old_node_id"] != copy.directory.node_id
    assert main(["new-identity", "--data", str(copy.directory.path / "no")], {}) == 4
    assert "no node lived" in capsys.readouterr().err
    assert main(["new-identity", "--data", str(copy.directory.path / "no"), "--json"], {}) == 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "FAILED_PRECONDITION"


@pytest.mark.parametrize("words", [["new-identity"], ["salvage", "new"]])
def test_a_path_that_is_no_directory_is_bad_usage_and_one_out_of_sight_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main([*words, "--data", "file"], {}) == 2
    assert "a directory, not a file" in capsys.readouterr().err
    assert main([*words, "--data", "x" * 300], {}) == 4
    assert "File name too long" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
