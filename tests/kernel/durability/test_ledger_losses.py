"""Lost ends of a log, and memories lost to damage."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from ledger_builders import OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_then
from peer_builders import EVERYTHING, ID, NOW, OTHER, Node, all_entries, hand_over, outcome, taken

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.incarnation import HighWater, mark_of
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.peers.peer_log import save_cursor
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_actors.storage.index_state import IndexMeta, write_meta
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import ListQuery, Memory, Query

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


# ---- lost memory -----------------------------------------------------------------------------------------------------
# A memory damaged in the log and in the view: left out and told, restored from a peer, and in nobody's way.


MEMORIES = 5


@pytest.fixture
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Ledger]]:
    home = Home.at(tmp_path_factory.mktemp("peer"))
    with home.opened() as ledger:
        yield home, ledger


def harm(home: Home, id_: str, *sql: str) -> None:
    for one in sql:
        home.sql(one, id_)


IN_VIEW = "UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?"
UNREADABLE_IN_VIEW = "UPDATE memory SET detail = '{no json' WHERE id = ?"
IN_LOG = "UPDATE entry SET raw = x'00' WHERE doc = ?"


def several(ledger: Ledger, pen: Pen) -> list[Memory]:
    return [one.memory for one in all_done(ledger, *(pen.create(f"Memory {n}") for n in range(MEMORIES)))]


def listed(ledger: Ledger) -> set[str]:
    return {one.id for one in ledger.page(ListQuery(spaces=(SPACE,), limit=50)).memories}


def scrubbed(ledger: Ledger) -> None:
    assert ledger.scrub("", 1_000) == ""


@pytest.mark.parametrize("view", [IN_VIEW, UNREADABLE_IN_VIEW])
def test_a_lost_memory_is_left_out_of_lists_and_named(home: Home, ledger: Ledger, pen: Pen, view: str) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, view, IN_LOG)
    page = ledger.page(ListQuery(spaces=(SPACE,), limit=50))
    assert {one.id for one in page.memories} == {one.id for one in others}
    assert (page.total, page.lost) == (len(others), (lost.id,))
    assert ledger.page(ListQuery(spaces=(OTHER_SPACE,), limit=50)).lost == ()
    assert lost.id in ledger.status().alarms[0]


@pytest.mark.parametrize("view", [IN_VIEW, UNREADABLE_IN_VIEW])
def test_a_lost_memory_fails_no_read_of_others_and_is_an_error_by_its_id(
    home: Home, ledger: Ledger, pen: Pen, view: str
) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, view, IN_LOG)
    ids = [lost.id, *(one.id for one in others)]
    assert set(ledger.read(ids)) == set(ids[1:])
    assert ledger.lost(ids, [SPACE]) == [lost.id]
    error, *found = ledger.find(ids, [SPACE])
    assert isinstance(error, RowDamaged)
    assert "sync now" in str(error)
    assert found == others
    assert lost.id in ledger.matching(Query(text="", spaces=(SPACE,)), NOW)[0], "so that a recall tells of it"


def test_that_a_memory_is_lost_is_told_to_none_who_may_not_see_its_space(home: Home, ledger: Ledger, pen: Pen) -> None:
    lost, *_ = several(ledger, pen)
    harm(home, lost.id, IN_VIEW, IN_LOG)
    assert ledger.lost([lost.id], ["team/elsewhere"]) == []
    (error,) = ledger.find([lost.id], [], ["team/elsewhere"])
    assert not isinstance(error, RowDamaged)


def test_the_damaged_row_is_kept_aside_and_an_erasure_takes_it_along(home: Home, ledger: Ledger, node: Node) -> None:
    taken(ledger, node, node.says("what nobody may read any more"))
    harm(home, ID, IN_VIEW, IN_LOG)
    assert listed(ledger) == set()
    count = "SELECT count(*) FROM damaged_memory"
    assert ledger._db.execute(count).fetchone() == (1,)
    assert outcome(taken(ledger, node, node.erases())) == {"erased": 1}
    assert ledger._db.execute(count).fetchone() == (0,)
    assert ledger.lost([ID], ["*"]) == []


def test_a_memory_with_a_damaged_log_alone_is_still_served(home: Home, ledger: Ledger, pen: Pen) -> None:
    lost, *_ = several(ledger, pen)
    harm(home, lost.id, IN_LOG)
    scrubbed(ledger)
    assert ledger.read([lost.id]) == {lost.id: lost}
    assert ledger.page(ListQuery(spaces=(SPACE,))).lost == ()


def test_the_past_of_a_memory_with_a_damaged_log_is_left_out_alone(home: Home, ledger: Ledger, pen: Pen) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, IN_LOG)
    ids = [lost.id, *(one.id for one in others)]
    assert set(read_then(ledger, ids, NOW)) == set(ids[1:])
    assert ledger.lost(ids, [SPACE], True) == [lost.id]
    assert ledger.lost(ids, [OTHER_SPACE], True) == []


# ---- restored -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [(), (IN_VIEW,)])
def test_a_damaged_entry_comes_back_from_a_peer_by_a_comparison(
    home: Home, ledger: Ledger, pen: Pen, peer: tuple[Home, Ledger], view: tuple[str, ...]
) -> None:
    _, other = peer
    lost, *_ = several(ledger, pen)
    done(ledger, pen.revise(lost, content="Said anew"))
    hand_over(ledger, other, home)
    before, entries, kept = ledger.digest(SPACE), all_entries(ledger), ledger.read([lost.id])
    assert other.digest(SPACE) == before
    harm(home, lost.id, *view, IN_LOG)
    scrubbed(ledger)

    differing = [bucket for bucket, value in other.digest(SPACE).items() if ledger.digest(SPACE).get(bucket) != value]
    assert len(differing) == 1, "a comparison asks for this memory alone"
    page = other.resend(SPACE, differing, 0, 256, 1 << 20)
    batch = IncomingEntries(peer="p", origin="o", grant=EVERYTHING, entries=page.entries, keys=page.keys)
    assert ledger.take_in(batch, NOW).quarantined == 0

    assert ledger.digest(SPACE) == before
    assert all_entries(ledger) == entries
    assert ledger.read([lost.id]) == kept
    assert ledger.page(ListQuery(spaces=(SPACE,))).lost == ()
    assert "restored from what a peer sent" in ledger.status().alarms[-1]
    done(ledger, pen.revise(kept[lost.id], content="And written on"))


def test_a_forged_copy_restores_nothing(home: Home, ledger: Ledger, node: Node) -> None:
    good = node.says("what was said")
    taken(ledger, node, good)
    harm(home, ID, IN_LOG)
    scrubbed(ledger)
    other = Node("forger").says("what nobody said")
    taken(ledger, node, replace(good, raw=other.raw))
    assert ledger._db.execute("SELECT raw FROM entry").fetchone() == (b"\x00",)
    taken(ledger, node, good)
    assert ledger._db.execute("SELECT raw FROM entry").fetchone() == (good.raw,)


@pytest.mark.parametrize("known", [True, False])
def test_what_builds_on_a_damaged_entry_waits_for_it_and_holds_up_nobody(
    home: Home, ledger: Ledger, node: Node, known: bool
) -> None:
    first = node.says("what was said")
    taken(ledger, node, first)
    harm(home, ID, IN_LOG)
    if known:
        scrubbed(ledger)
    later, other = node.says("what is said now"), node.says("of another memory", id=OTHER)
    assert outcome(taken(ledger, node, later, other)) == {"held": 1, "accepted": 1}
    assert ledger.read([OTHER])[OTHER].content == "of another memory"
    restored = taken(ledger, node, first)
    assert ledger.read([ID])[ID].content == "what is said now"
    assert restored.last == ledger.status().seq, "so that the index hears of it"
    assert ledger.backlog().pending == 0
