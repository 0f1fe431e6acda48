"""The fate of a ledger's files: restarts, copies, restored backups, other versions."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from ledger_builders import SPACE, Home, Pen, all_done, done, everything, read_back

from mnemesh_actors.ledger.integrity import incarnation
from mnemesh_actors.ledger.integrity.incarnation import LedgerLock
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import rows, schema
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, Unavailable
from mnemesh_memory.values.model import ListQuery

# ---- restarts and status --------------------------------------------------------------------------------------------


def test_status_tells_where_the_log_stands(home: Home, ledger: Ledger, pen: Pen) -> None:
    empty = ledger.status()
    assert (empty.seq, empty.memories) == (0, 0)
    one, _ = all_done(ledger, pen.create("one"), pen.create("two"))
    done(ledger, pen.forget(one.memory))
    status = ledger.status()
    assert (status.seq, status.memories, status.incarnation) == (3, 1, empty.incarnation)
    assert status.bytes >= home.file.stat().st_size > 0


def test_sequence_numbers_go_on_after_a_restart(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        assert done(ledger, pen.create("one")).seq == 1
    with home.opened() as ledger:
        assert ledger.status().seq == 1
        assert done(ledger, pen.create("two")).seq == 2


def test_closing_leaves_the_ledger_and_its_marks_without_a_write_ahead_log(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    assert sorted(path.name for path in home.file.parent.iterdir()) == ["0.head", "0.lock", "0.sqlite"]


# ---- incarnation ----------------------------------------------------------------------------------------------------


def test_a_restart_keeps_the_incarnation(home: Home, pen: Pen) -> None:
    first = home.incarnation()
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    assert home.incarnation() == first
    assert len(first) == 32


CRASHING = """
import os, sys
from pathlib import Path
from ledger_builders import Home, done
home = Home.at(Path(sys.argv[1]))
ledger = home.open()
done(ledger, home.pen.create("written before the crash"))
print(ledger.status().incarnation, flush=True)
os._exit(1)
"""


def test_a_crash_loses_no_acknowledged_write_and_keeps_the_incarnation(home: Home) -> None:
    """Another process writes, says so, and ends without closing anything."""
    command = [sys.executable, "-c", CRASHING, str(home.directory.path)]
    places = os.pathsep.join(path for path in sys.path if path)
    crashed = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": places}
    )
    assert crashed.returncode == 1, crashed.stderr
    with home.opened() as ledger:
        assert ledger.status().incarnation == crashed.stdout.strip()
        assert [memory.content for memory in ledger.page(ListQuery(spaces=(SPACE,))).memories] == [
            "written before the crash"
        ]


@pytest.mark.parametrize("whole", [False, True], ids=["the file", "the directory"])
def test_a_ledger_restored_from_an_older_copy_lives_a_new_life(
    home: Home, pen: Pen, tmp_path: Path, whole: bool
) -> None:
    ours, backup = home.directory.path if whole else home.file, tmp_path / "backup"
    copy = partial(shutil.copytree, dirs_exist_ok=True) if whole else shutil.copy2
    with home.opened() as ledger:
        first = ledger.status().incarnation
        done(ledger, pen.create("before the backup"))
    copy(ours, backup)
    with home.opened() as ledger:
        done(ledger, pen.create("after the backup"))
    copy(backup, ours)
    with home.opened() as ledger:
        second = ledger.status()
        assert second.incarnation != first
        assert second.seq == 1
    assert home.incarnation() == second.incarnation


def test_a_copied_directory_lives_a_new_life_and_the_original_its_own(home: Home, pen: Pen, tmp_path: Path) -> None:
    with home.opened() as ledger:
        first = ledger.status().incarnation
        memory = done(ledger, pen.create("one")).memory
    shutil.copytree(home.directory.path, tmp_path / "copy")
    copy = Home(open_directory(tmp_path / "copy"))
    second = copy.incarnation()
    assert second != first
    assert home.incarnation() == first
    with copy.opened() as ledger:
        assert read_back(ledger, memory) == memory
        assert ledger.status().incarnation == second


@pytest.mark.parametrize("marks", ["", "{", "[]", '{"token": 1}', "null"])
def test_a_lock_file_without_marks_means_a_new_life_and_no_failure(home: Home, marks: str) -> None:
    first = home.incarnation()
    home.file.with_suffix(".lock").write_text(marks)
    assert home.incarnation() != first


def test_a_lost_lock_file_means_a_new_life(home: Home) -> None:
    first = home.incarnation()
    home.file.with_suffix(".lock").unlink()
    assert home.incarnation() != first


# ---- one ledger a file ----------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incarnation, "LedgerLock", partial(LedgerLock, wait_s=0.1))


@pytest.mark.usefixtures("impatient")
def test_a_second_ledger_on_the_same_file_is_refused_and_harms_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    with pytest.raises(FailedPrecondition, match="locked by another process"):
        home.open()
    assert done(ledger, pen.create("two")).seq == 2
    assert read_back(ledger, memory) == memory


def test_a_ledger_waits_for_a_dying_predecessor(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is freed while the second one waits: at its first sleep."""
    first = home.open()
    monkeypatch.setattr("mnemesh_actors.ledger.integrity.incarnation.time.sleep", lambda _seconds: first.close())
    home.open().close()


@pytest.mark.usefixtures("impatient")
def test_a_start_that_fails_frees_the_file(home: Home, pen: Pen) -> None:
    key = home.directory.key_file
    good = key.read_bytes()
    key.write_text("no key")
    with pytest.raises(DataLoss, match="restore it from a backup"):
        home.open()
    key.write_bytes(good)
    with home.opened() as ledger:
        done(ledger, pen.create("one"))


def test_a_place_that_holds_no_file_is_unavailable_and_not_called_damaged(home: Home) -> None:
    home.file.mkdir()
    with pytest.raises(Unavailable, match="unable to open"):
        home.open()


# ---- newer and older formats ----------------------------------------------------------------------------------------


def newer(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")


def test_a_file_of_a_newer_format_is_refused_and_left_as_it_is(home: Home) -> None:
    home.filled(3)
    with home.looked_into() as db:
        newer(db)
    before = everything(home.directory.path)
    with pytest.raises(FailedPrecondition) as caught:
        home.open()
    assert everything(home.directory.path) == before
    assert caught.value.fields["value"] == str(len(schema.MIGRATIONS) + 1)
    assert caught.value.fields["limit"] == str(len(schema.MIGRATIONS))
    assert "nothing was changed" in caught.value.message
    assert "newer mnemesh" in caught.value.message


def test_what_a_crashed_newer_version_left_is_refused_and_left_as_it_is(home: Home, tmp_path: Path) -> None:
    home.filled(3)
    db = sqlite3.connect(home.file, isolation_level=None)
    newer(db)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("CREATE TABLE of_the_future (x)")
    db.execute("INSERT INTO of_the_future VALUES (1)")
    crashed = tmp_path / "crashed"
    shutil.copytree(home.directory.path, crashed)  # as it lies on disk while the newer one still runs
    db.close()
    for shared in crashed.rglob("*-shm"):
        shared.unlink()
    before = everything(crashed)
    assert any(name.endswith("-wal") and data for name, data in before.items())
    with pytest.raises(FailedPrecondition):
        Home(open_directory(crashed)).open()
    assert everything(crashed) == before


def test_a_newer_version_that_only_the_write_ahead_log_knows_is_refused_too(home: Home, tmp_path: Path) -> None:
    home.filled(3)
    db = sqlite3.connect(home.file, isolation_level=None)
    newer(db)
    shutil.copytree(home.directory.path, tmp_path / "crashed")
    db.close()
    with pytest.raises(FailedPrecondition, match="nothing was changed"):
        Home(open_directory(tmp_path / "crashed")).open()


def test_the_version_is_in_the_file_itself_as_soon_as_the_ledger_is_open(home: Home, ledger: Ledger) -> None:
    """Where an older version of the code looks for it, even when this one crashes at once."""
    assert int.from_bytes(home.file.read_bytes()[60:64]) == len(schema.MIGRATIONS)
    assert ledger.status().seq == 0


def test_a_view_of_another_version_is_made_anew_from_the_log(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create("We deploy on Friday.", tags=("a",))).memory
    with home.looked_into() as db:
        db.execute("UPDATE meta SET value = 'old' WHERE key = 'view_version'")
        db.execute("UPDATE memory SET content = 'a view that lies'")
        db.execute("DELETE FROM text_hash")
    with home.opened() as ledger:
        assert read_back(ledger, memory) == memory
        assert done(ledger, pen.create("We deploy on Friday.")).deduplicated
    with home.looked_into() as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'view_version'").fetchall() == [
            (str(schema.VIEW_VERSION),)
        ]


def test_a_view_of_this_version_is_not_made_anew(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create("We deploy on Friday.")).memory
    with home.looked_into() as db:
        db.execute("UPDATE memory SET title = 'seen'")
        db.create_function("row_checksum", -1, lambda *values: rows.checksum(values))
        db.execute(f"UPDATE memory SET checksum = row_checksum({rows.COLUMNS.rpartition(', ')[0]})")
    with home.opened() as ledger:
        assert read_back(ledger, memory).title == "seen"
