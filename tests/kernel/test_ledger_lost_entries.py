"""A ledger that lost its end: noticed at the next start, told until acknowledged, and followed by a new incarnation."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from ledger_builders import Home, Pen, all_done, done

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.high_water import HighWater, mark_of
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.peer_log import save_cursor
from mnemesh_actors.storage.index_state import IndexMeta, write_meta
from mnemesh_memory.values.errors import DataLoss

SEED = 20_261_123


def killed(home: Home, pen: Pen, count: int = 60) -> Path:
    """A directory as a kill leaves it after `count` writes, each committed alone: the log lies beside the file."""
    with home.opened() as ledger:
        done(ledger, pen.create("folded into the file"))
    ledger = home.open()
    for number in range(count):
        done(ledger, pen.create(f"memory number {number} says something"))
    left = home.directory.path.with_name("left")
    shutil.copytree(home.directory.path / "ledger", left)
    ledger.close()
    shutil.rmtree(home.directory.path / "ledger")
    shutil.copytree(left, home.directory.path / "ledger")
    return home.directory.path / "ledger"


def flip_wal(folder: Path) -> None:
    chance = random.Random(SEED)
    print("seed", SEED)
    wal = folder / "0.sqlite-wal"
    data = bytearray(wal.read_bytes())
    data[len(data) // 2 + chance.randrange(64)] ^= 1 << chance.randrange(8)
    wal.write_bytes(data)


def delete_wal(folder: Path) -> None:
    (folder / "0.sqlite-wal").unlink()


@pytest.mark.parametrize("damage", [flip_wal, delete_wal])
def test_a_log_that_lost_its_end_begins_a_new_life_and_raises_an_alarm(
    home: Home, pen: Pen, damage: Callable[[Path], None]
) -> None:
    folder = killed(home, pen)
    before, reached = mark_of((folder / "0.head").read_bytes())
    damage(folder)
    with home.opened() as ledger:
        status = ledger.status()
        assert status.seq < reached == 61
        assert status.incarnation != before
        (alarm,) = status.alarms
        assert f"{reached - status.seq} entries of the ledger are lost" in alarm
        assert "mnemesh doctor --acknowledge" in alarm
        done(ledger, pen.create("written after the loss"))
    with home.opened() as ledger:
        again = ledger.status()
        assert (again.incarnation, again.alarms) == (status.incarnation, status.alarms), "told until acknowledged"
    assert alarms.acknowledge(folder) == 1
    with home.opened() as ledger:
        assert ledger.status().alarms == ()


def test_an_older_copy_of_the_file_alone_raises_an_alarm(home: Home, pen: Pen, tmp_path: Path) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    shutil.copy(home.file, tmp_path / "older")
    with home.opened() as ledger:
        all_done(ledger, pen.create("two"), pen.create("three"))
    shutil.copy(tmp_path / "older", home.file)
    with home.opened() as ledger:
        (alarm,) = ledger.status().alarms
    assert "2 entries of the ledger are lost" in alarm


def test_an_index_that_is_ahead_shows_the_loss_where_no_mark_was_kept(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
        life = ledger.status().incarnation
    (home.file.with_suffix(".head")).unlink()
    index = home.directory.path / "index/0"
    index.mkdir(parents=True)
    write_meta(index / "meta.json", IndexMeta("model", 8, life, seq=31, key="k"))
    with home.opened() as ledger:
        status = ledger.status()
    assert status.incarnation != life
    assert "30 entries of the ledger are lost" in status.alarms[0]


def test_the_index_of_another_life_raises_no_alarm(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
        life = ledger.status().incarnation
    index = home.directory.path / "index/0"
    index.mkdir(parents=True)
    write_meta(index / "meta.json", IndexMeta("model", 8, "another", seq=31, key="k"))
    with home.opened() as ledger:
        assert (ledger.status().incarnation, ledger.status().alarms) == (life, ())


def test_after_a_loss_the_feeds_of_peers_are_read_from_their_beginning(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    with closing(sqlite3.connect(home.file)) as db:
        save_cursor(db, "peer", "feed", 7, 1)
        db.commit()
    with home.opened() as ledger:
        assert ledger.cursors("peer") == {"feed": 7}
        mark = HighWater(home.file.with_suffix(".head"))
        mark.write(ledger.status().incarnation, 5)
        mark.close()
    with home.opened() as ledger:
        assert ledger.status().alarms
        assert ledger.cursors("peer") == {}


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x00" * 52])
def test_a_damaged_mark_raises_no_alarm_and_is_written_anew(home: Home, pen: Pen, content: bytes) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    home.file.with_suffix(".head").write_bytes(content)
    with home.opened() as ledger:
        status = ledger.status()
        done(ledger, pen.create("two"))
    assert status.alarms == ()
    assert mark_of(home.file.with_suffix(".head").read_bytes()) == (status.incarnation, 2)


def test_damaged_alarms_are_told_and_not_passed_over(tmp_path: Path) -> None:
    alarms.add(tmp_path, "first")
    alarms.add(tmp_path, "second")
    alarms.add(tmp_path, "first")
    assert alarms.read(tmp_path) == ("second", "first")
    (tmp_path / alarms.FILE).write_text("{", "utf-8")
    assert "can't be read" in alarms.read(tmp_path)[0]
    (tmp_path / alarms.FILE).write_text(json.dumps({"no": "list"}), "utf-8")
    assert "holds no list" in alarms.read(tmp_path)[0]


# ---- files that go away while the node runs -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["0.sqlite", "0.sqlite-wal"])
def test_a_renamed_file_stops_writes_until_it_is_back(home: Home, pen: Pen, name: str) -> None:
    ledger = home.open()
    kept = done(ledger, pen.create("one")).memory
    file = home.file.with_name(name)
    away = file.with_name("away")
    file.rename(away)
    with pytest.raises(DataLoss, match="renamed, deleted or replaced") as caught:
        ledger.commit([pen.create("two")])
    assert "nothing was stored" in caught.value.message
    assert ledger.read([kept.id])[kept.id].content == "one", "reads go on"
    away.rename(file)
    assert done(ledger, pen.create("three")).seq == 2
    ledger.close()


def test_a_file_that_was_replaced_by_its_copy_stops_writes(home: Home, ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("one"))
    copy = home.file.with_name("copy")
    shutil.copy(home.file, copy)
    kept = home.file.with_name("kept")
    home.file.rename(kept)
    copy.rename(home.file)
    with pytest.raises(DataLoss, match="renamed, deleted or replaced"):
        ledger.commit([pen.create("two")])
    kept.replace(home.file)
