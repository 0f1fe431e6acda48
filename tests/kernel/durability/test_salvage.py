"""`mnemesh node salvage`: what is sound of a damaged directory, in a new one, and a list of the rest."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest
from bit_rot import flip_change
from ledger_builders import SPACE, Home, done, everything
from peer_builders import NOW, Node, all_entries, hand_over, outcome, taken

from mnemesh_actors.ledger.integrity import salvage_reader
from mnemesh_actors.storage.data_directory import MANIFEST, open_directory
from mnemesh_gateway.__main__ import main
from mnemesh_gateway.node.presence import NodeLock
from mnemesh_gateway.programs.node_program import Rescued, rescue
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition
from mnemesh_memory.values.model import ListQuery

PAGE_BYTES = 4096


def salvaged(home: Home, to: Path) -> tuple[Home, Rescued]:
    before = everything(home.directory.path)
    done = rescue(home.directory.path, to, NOW)
    after = everything(home.directory.path)
    after.pop("node.lock")
    before.pop("node.lock", None)
    assert after == before, "the damaged directory stays as it is"
    return Home(open_directory(to), home.pen), done


def contents(home: Home) -> dict[str, str]:
    with home.opened() as ledger:
        return {memory.id: memory.content for memory in ledger.page(ListQuery(spaces=(SPACE,), limit=500)).memories}


def test_of_a_sound_directory_everything_is_copied_and_lives_a_new_life(home: Home, tmp_path: Path) -> None:
    home.filled(5)
    (home.directory.path / "settings.toml").write_text("drain_s = 3\n", "utf-8")
    with home.opened() as ledger:
        entries, life = all_entries(ledger), ledger.status().incarnation
    new, told = salvaged(home, tmp_path / "new")
    assert (told.ledger.entries, told.ledger.memories, told.ledger.lost, told.ledger.partly) == (5, 5, (), ())
    assert new.directory.node_id == home.directory.node_id
    assert (tmp_path / "new/settings.toml").read_text("utf-8") == "drain_s = 3\n"
    with new.opened() as ledger:
        assert all_entries(ledger) == entries
        assert ledger.status().incarnation != life
        assert done(ledger, new.pen.create("and it goes on")).seq == 6


def test_one_flipped_bit_costs_one_entry(home: Home, tmp_path: Path) -> None:
    memories = home.filled(30)
    flip_change(home.file, 17)
    new, told = salvaged(home, tmp_path / "new")
    (lost,) = told.ledger.lost
    assert (lost.seq, lost.doc, lost.left) == (17, memories[16].id, False)
    assert "wrong checksum" in lost.why
    assert f"entry 17 of {memories[16].id}: these bytes are not a change" in told.text
    assert contents(new) == {one.id: one.content for one in memories if one is not memories[16]}


def test_what_builds_on_a_lost_change_waits_and_comes_with_a_peer(home: Home, tmp_path: Path) -> None:
    """The memory is as it was before, until the lost change is brought; nothing of it is skipped then."""
    (memory,) = home.filled(1)
    with home.opened() as ledger:
        second = done(ledger, home.pen.revise(memory, content="the second text")).memory
        third = done(ledger, home.pen.revise(second, content="the third text")).memory
        done(ledger, home.pen.create("another memory"))
        peer = Home.at(tmp_path / "peer")
        with peer.opened() as far:
            hand_over(ledger, far, home)
    flip_change(home.file, 2)
    new, told = salvaged(home, tmp_path / "new")
    assert [(one.seq, one.doc, one.left) for one in told.ledger.lost] == [(2, memory.id, True), (3, memory.id, True)]
    assert "waits for a peer" in told.ledger.lost[1].why
    assert contents(new)[memory.id] == memory.content
    with new.opened() as ledger, peer.opened() as far:
        hand_over(far, ledger, peer)
        assert ledger.read([memory.id])[memory.id] == third
        assert ledger.backlog().pending == 0
        assert ledger.digest(SPACE) == far.digest(SPACE)
        # The new incarnation makes the peer read the log from the beginning. The peer has everything it did not bring
        # itself.
        again = hand_over(ledger, far, new)
        assert sum(one.duplicates for one in again) == 3
        assert sum(one.accepted for one in again) == 0


def test_entries_of_other_nodes_keep_whom_they_came_from_and_when(home: Home, tmp_path: Path) -> None:
    node = Node()
    with home.opened() as ledger:
        taken(ledger, node, node.says("said far away"))
    asked = "SELECT hash, origin, received FROM entry"
    before = home.sql(asked)
    assert before[0][2] == NOW
    assert rescue(home.directory.path, tmp_path / "new", NOW + 1000).ledger.lost == ()
    new = Home(open_directory(tmp_path / "new"), home.pen)
    with new.opened() as ledger, new.looked_into() as db:
        assert db.execute(asked).fetchall() == before
        assert ledger.cursors(node.id) == {}, "peers are read from the beginning, so that they bring what is lost"


def test_an_erased_memory_stays_erased_even_when_its_own_entry_is_lost(home: Home, tmp_path: Path) -> None:
    one, other = home.filled(2)
    with home.opened() as ledger:
        entries = all_entries(ledger)
        for memory in (one, other):
            ledger.erase(home.pen.erase(memory.id))
    with home.looked_into() as db:
        db.execute("UPDATE entry SET hash = zeroblob(32) WHERE seq = 4")
        digest = db.execute("SELECT * FROM digest").fetchall()
        erased = db.execute("SELECT * FROM erased ORDER BY doc").fetchall()
    new, told = salvaged(home, tmp_path / "new")
    assert [(lost.seq, lost.doc, lost.left) for lost in told.ledger.lost] == [(4, other.id, False)]
    with new.opened() as ledger, new.looked_into() as db:
        assert db.execute("SELECT * FROM digest").fetchall() == digest
        assert db.execute("SELECT * FROM erased ORDER BY doc").fetchall() == erased
        node = Node()
        late = taken(ledger, node, *entries, keys={home.directory.node_id: ledger.identity().key})
        assert outcome(late) == {"dropped": 2}


def test_idempotency_keys_and_uses_go_along(home: Home, tmp_path: Path) -> None:
    with home.opened() as ledger:
        first = home.pen.create("said once", idempotency_key="k")
        memory = done(ledger, first).memory
        ledger.touch([memory.id], 7)
        used = ledger.activity([memory.id])
    new, _ = salvaged(home, tmp_path / "new")
    with new.opened() as ledger:
        again = done(ledger, home.pen.create("said once", idempotency_key="k"))
        assert (again.memory.id, again.replayed) == (memory.id, True)
        assert ledger.activity([memory.id]) == used != {}


def test_who_wrote_what_is_lost_may_write_it_again_with_the_same_key(home: Home, tmp_path: Path) -> None:
    with home.opened() as ledger:
        lost, kept = (done(ledger, home.pen.create(text, idempotency_key=text)).memory for text in ("lost", "kept"))
    flip_change(home.file, 1)
    new, _ = salvaged(home, tmp_path / "new")
    with new.opened() as ledger:
        assert done(ledger, home.pen.create("kept", idempotency_key="kept")).memory.id == kept.id
        again = done(ledger, home.pen.create("lost", idempotency_key="lost"))
        assert (again.action, again.replayed, again.memory.content) == ("ADD", False, lost.content)


def test_an_entry_whose_signature_does_not_fit_is_left_out(home: Home, tmp_path: Path) -> None:
    home.filled(3)
    home.sql("UPDATE entry SET space = 'team/elsewhere' WHERE seq = 2")
    _, told = salvaged(home, tmp_path / "new")
    (lost,) = told.ledger.lost
    assert lost.seq == 2
    assert "signature" in lost.why


# ---- files that SQLite can not make sense of ------------------------------------------------------------------------


def leaves(home: Home) -> list[int]:
    """Pages that hold entries, by the first bytes of their changes."""
    data = home.file.read_bytes()
    with home.looked_into() as db:
        raws = [raw for (raw,) in db.execute("SELECT raw FROM entry ORDER BY seq")]
    return sorted({data.index(raw) // PAGE_BYTES for raw in raws})


@pytest.mark.parametrize("damage", [bytes(PAGE_BYTES), b"\xff" * PAGE_BYTES, b"\x0d" * PAGE_BYTES])
def test_around_a_damaged_page_every_entry_is_read(home: Home, tmp_path: Path, damage: bytes) -> None:
    memories = home.filled(250)
    page = leaves(home)[7]
    with home.file.open("r+b") as file:
        file.seek(page * PAGE_BYTES)
        file.write(damage)
    with pytest.raises(DataLoss):
        home.open()
    new, told = salvaged(home, tmp_path / "new")
    lost = [one.seq for one in told.ledger.lost]
    assert 1 <= len(lost) <= 20
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert {one.doc for one in told.ledger.lost} == {memories[seq - 1].id for seq in lost}
    kept = [memory for number, memory in enumerate(memories, 1) if number not in lost]
    assert contents(new) == {memory.id: memory.content for memory in kept}


def test_without_the_index_that_names_the_entries_they_are_looked_for_one_by_one(home: Home, tmp_path: Path) -> None:
    home.filled(250)
    with home.looked_into() as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entry_doc'").fetchone()
    page = leaves(home)[7]
    with home.file.open("r+b") as file:
        for number in (root - 1, page):
            file.seek(number * PAGE_BYTES)
            file.write(b"\xff" * PAGE_BYTES)
    _, told = salvaged(home, tmp_path / "new")
    assert 1 <= len(told.ledger.lost) <= 20
    assert told.ledger.entries + len(told.ledger.lost) == 250
    assert {one.doc for one in told.ledger.lost} == {""}


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_of_a_file_that_was_cut_off_what_is_before_the_cut_is_read(home: Home, tmp_path: Path, share: float) -> None:
    memories = home.filled(250)
    os.truncate(home.file, int(home.file.stat().st_size * share))
    new, told = salvaged(home, tmp_path / "new")
    assert 0 < told.ledger.entries < 250
    assert told.ledger.entries + len(told.ledger.lost) == 250
    assert contents(new).items() <= {memory.id: memory.content for memory in memories}.items()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_page_is_damaged_the_rest_is_read_or_nothing_is_made(home: Home, tmp_path: Path, seed: int) -> None:
    """Every entry of the new ledger is an entry of the old ledger, and every missing entry is named."""
    memories = {memory.id: memory.content for memory in home.filled(120)}
    data = bytearray(home.file.read_bytes())
    page = seed * (len(data) // PAGE_BYTES) // 12
    data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(b ^ 0x5A for b in data[page * PAGE_BYTES :][:PAGE_BYTES])
    home.file.write_bytes(data)
    if page == 0:
        with pytest.raises(DataLoss, match="nothing can be read"):
            rescue(home.directory.path, tmp_path / "new", NOW)
        assert not (tmp_path / "new").exists()
        return
    new, told = salvaged(home, tmp_path / "new")
    assert contents(new).items() <= memories.items()
    assert told.ledger.entries + len(told.ledger.lost) == 120


def test_pages_that_lead_in_a_circle_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.filled(2)

    class Circle:
        """A connection whose scan of the entries never ends."""

        def __init__(self, db: sqlite3.Connection) -> None:
            self._db = db

        def execute(self, sql: str, *values: Sequence[object]) -> Iterable[object]:
            found = self._db.execute(sql, *values)
            return cycle(found.fetchall()) if sql.endswith("FROM entry ORDER BY seq") else found

    with salvage_reader.opened(home.file) as opened:
        monkeypatch.setattr(opened, "_db", Circle(opened._db))
        assert [one.seq for one in opened.entries()] == [1, 2]


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_an_emptied_ledger_leaves_no_new_directory(home: Home, tmp_path: Path) -> None:
    home.filled(2)
    home.file.write_bytes(b"")
    with pytest.raises(DataLoss, match=r"nothing can be read .* restore it from a backup"):
        rescue(home.directory.path, tmp_path / "new", NOW)
    assert not (tmp_path / "new").exists()


def test_a_directory_that_holds_anything_is_left_as_it_is(home: Home, tmp_path: Path) -> None:
    home.filled(2)
    (tmp_path / "new").mkdir()
    (tmp_path / "new/mine").write_text("x", "utf-8")
    with pytest.raises(FailedPrecondition, match="not empty"):
        rescue(home.directory.path, tmp_path / "new", NOW)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine"]


def test_a_directory_on_which_a_node_runs_is_not_read(home: Home, tmp_path: Path) -> None:
    with closing(NodeLock(home.directory.path)), pytest.raises(FailedPrecondition, match="already runs"):
        rescue(home.directory.path, tmp_path / "new", NOW)


def test_the_command_lists_what_is_lost(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memories = home.filled(3)
    flip_change(home.file, 2)
    data = str(home.directory.path)
    assert main(["node", "salvage", str(tmp_path / "one"), "--data", data]) == 0
    said = capsys.readouterr().out
    assert "2 entries, 2 memories" in said
    assert f"entry 2 of {memories[1].id}: " in said
    assert f"mnemesh up --data {tmp_path / 'one'}" in said
    assert main(["node", "salvage", str(tmp_path / "two"), "--data", data, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [lost["seq"] for lost in told["ledger"]["lost"]] == [2]
    assert main(["node", "salvage", str(tmp_path / "two"), "--data", data]) == 4
    assert "not empty" in capsys.readouterr().err
    (home.directory.path / MANIFEST).unlink()
    assert main(["node", "salvage", str(tmp_path / "three"), "--data", data]) == 4
    assert "no node lived" in capsys.readouterr().err
