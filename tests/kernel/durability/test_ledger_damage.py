"""Damaged, lost or foreign files of a ledger, and full disks."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger_builders import GENERATION, SPACE, Home, Pen, all_done, done, everything, read_back

from mnemesh_actors.ledger.commands import KeptVectors
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.storage.data_directory import MACHINE_FILE
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.errors import DataLoss, Unavailable
from mnemesh_memory.values.model import ListQuery, Memory

PAGE_BYTES = 4096


# ---- damage ---------------------------------------------------------------------------------------------------------


def refused_as_damaged(home: Home) -> DataLoss:
    before = everything(home.directory.path)
    with pytest.raises(DataLoss) as caught:
        home.open()
    after = everything(home.directory.path)
    assert after["ledger/0.sqlite"] == before["ledger/0.sqlite"], "what is damaged must not be made worse"
    return caught.value


def page_of_the_log(home: Home) -> int:
    """A page that holds entries: found by a change's first bytes."""
    data = home.file.read_bytes()
    middle = data.index(b"\x85\x6f\x4a\x83", len(data) // 3)
    return middle // PAGE_BYTES


def flip(path: Path, start: int, count: int) -> None:
    with open(path, "r+b") as file:
        file.seek(start)
        data = file.read(count)
        file.seek(start)
        file.write(bytes(byte ^ 0xFF for byte in data))


def test_a_damaged_page_of_the_log_stops_the_start_with_what_to_do(home: Home) -> None:
    home.filled()
    flip(home.file, page_of_the_log(home) * PAGE_BYTES, PAGE_BYTES)
    error = refused_as_damaged(home)
    advice = f"`mnemesh node salvage NEW_DIR --data {home.directory.path}`"
    for part in ("nothing was changed", "backup", advice, "mnemesh doctor"):
        assert part in error.message
    assert "\n" not in error.message


def test_of_two_ledgers_on_ray_the_damaged_one_is_to_be_moved_away(home: Home) -> None:
    home.filled()
    (home.directory.path.parent / MACHINE_FILE).write_text("the disk's name")
    flip(home.file, page_of_the_log(home) * PAGE_BYTES, PAGE_BYTES)
    error = refused_as_damaged(home)
    assert f"move {home.directory.path} away on that machine" in error.message
    assert "salvage" not in error.message


@pytest.mark.parametrize("table", ["memory", "memory_space", "text_hash", "vector", "meta"])
def test_a_damaged_page_beside_the_log_stops_the_start_too(home: Home, table: str) -> None:
    home.filled()
    with home.looked_into() as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    flip(home.file, (page - 1) * PAGE_BYTES, 16)
    assert "backup" in refused_as_damaged(home).message


@pytest.mark.parametrize(
    "damage", ["type = 'chanfe'", "raw = 5", "hash = x'00'", "node = x'ff'", "type = 'erase', hash = zeroblob(32)"]
)
def test_an_entry_of_which_no_peer_could_send_a_copy_stops_the_start(home: Home, damage: str) -> None:
    home.filled(3)
    home.sql(f"UPDATE entry SET {damage} WHERE seq = 2")
    message = refused_as_damaged(home).message
    assert "(entry 2: its c" in message
    assert f"`mnemesh node salvage NEW_DIR --data {home.directory.path}`" in message


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_file_that_was_cut_off_stops_the_start(home: Home, cut: float) -> None:
    home.filled()
    os.truncate(home.file, int(home.file.stat().st_size * cut))
    refused_as_damaged(home)


def test_a_file_that_is_something_else_stops_the_start(home: Home) -> None:
    home.file.write_bytes(b"This was never a database. " * 400)
    refused_as_damaged(home)


# ---- a ledger of which nothing is left ------------------------------------------------------------------------------


def refused_as_lost(home: Home) -> str:
    before = everything(home.directory.path)
    with pytest.raises(DataLoss, match=r"nothing was changed\. Restore it from a backup") as caught:
        home.open()
    assert everything(home.directory.path) == before
    return caught.value.message


@pytest.mark.parametrize(
    ("left", "problem"), [(b"", "is empty"), (bytes(8192), "holds no ledger"), (b"text", "holds no ledger")]
)
def test_an_emptied_file_is_not_taken_for_a_new_ledger(home: Home, left: bytes, problem: str) -> None:
    home.filled(3)
    home.file.write_bytes(left)
    assert problem in refused_as_lost(home)


def test_the_write_ahead_log_beside_an_emptied_file_is_left(home: Home, tmp_path: Path) -> None:
    with home.opened() as ledger:
        done(ledger, home.pen.create("not folded yet"))
        log = home.file.with_name("0.sqlite-wal").read_bytes()
        assert log
    home.file.write_bytes(b"")
    home.file.with_name("0.sqlite-wal").write_bytes(log)
    assert "is empty" in refused_as_lost(home)


def test_a_database_without_tables_is_not_taken_for_a_new_ledger(home: Home) -> None:
    home.filled(3)
    home.file.unlink()
    with home.looked_into() as db:
        db.execute("VACUUM")  # writes the first page
    assert home.file.stat().st_size
    assert "holds no ledger" in refused_as_lost(home)


def test_a_new_file_without_entries_is_not_taken_for_a_ledger_that_had_some(home: Home) -> None:
    home.filled(3)
    home.incarnation()  # an opening notes how many there are
    home.file.unlink()
    schema.connect(home.file).close()
    assert "holds no entry, and 3 were written" in refused_as_lost(home)


def test_a_ledger_in_which_nothing_was_written_opens_again(home: Home) -> None:
    first = home.incarnation()
    assert home.incarnation() == first


# ---- damage that is met later ---------------------------------------------------------------------------------------


def test_damage_that_is_met_while_running_is_data_loss_and_not_an_empty_answer(home: Home, pen: Pen) -> None:
    home.filled()
    with home.opened() as ledger:
        memory = ledger.page(ListQuery(spaces=(SPACE,), limit=1)).memories[0]
    home_file = home.file.read_bytes()
    ledger = home.open()
    try:
        # All pages but the first, so that every way to the data meets it; the cache is emptied for the same reason.
        ledger._db.execute("PRAGMA shrink_memory")
        flip(home.file, PAGE_BYTES, len(home_file) - PAGE_BYTES)
        reads: list[Callable[[], object]] = [
            lambda: ledger.read([memory.id]),
            lambda: ledger.page(ListQuery(spaces=(SPACE,))),
            lambda: ledger.feed(0, 10, GENERATION),
            lambda: ledger.commit([pen.create("new")]),
            lambda: ledger.find([memory.id], (SPACE,)),
            lambda: ledger.stats((SPACE,)),
        ]
        for read in reads:
            with pytest.raises(DataLoss, match="damaged"):
                read()
    finally:
        home.file.write_bytes(home_file)
        ledger.close()


# ---- a full disk ----------------------------------------------------------------------------------------------------


def fill_disk(ledger: Ledger) -> None:
    """No more pages than now; SQLite then says what it says on a full disk."""
    pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
    ledger._db.execute(f"PRAGMA max_page_count = {pages}")


def free_disk(ledger: Ledger) -> None:
    ledger._db.execute("PRAGMA max_page_count = 1000000")


def test_a_write_to_a_full_disk_is_refused_and_leaves_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    kept = done(ledger, pen.create("before the disk was full")).memory
    fill_disk(ledger)
    large = [pen.create(f"{number} " + "x" * 30_000) for number in range(20)]
    with pytest.raises(Unavailable) as caught:
        ledger.commit(large)
    assert "full" in caught.value.message
    assert "nothing was stored" in caught.value.message
    assert (home.entries(), ledger.status().memories) == (1, 1)
    assert read_back(ledger, kept) == kept
    assert ledger.read([command.id for command in large]) == {}
    free_disk(ledger)
    assert [result.action for result in all_done(ledger, *large)] == ["ADD"] * 20


def test_uses_noted_while_the_disk_was_full_are_not_lost(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger.touch([memory.id], 7)
    fill_disk(ledger)
    with pytest.raises(Unavailable):
        ledger.commit([pen.create(f"{number} " + "x" * 30_000) for number in range(20)])
    assert ledger.activity([memory.id]) == {memory.id: (1, 7)}


def test_vectors_that_find_no_room_are_refused_and_do_not_stop_the_ledger(ledger: Ledger, pen: Pen) -> None:
    fill_disk(ledger)
    hashes = [content_hash(str(number)) for number in range(200)]
    vectors = KeptVectors(generation=GENERATION, items=tuple((digest, bytes(1536)) for digest in hashes))
    with pytest.raises(Unavailable, match="full"):
        ledger.keep_vectors(vectors)
    free_disk(ledger)
    assert ledger.vectors(hashes, GENERATION) == {}
    ledger.keep_vectors(vectors)
    assert len(ledger.vectors(hashes, GENERATION)) == 200
    assert done(ledger, pen.create("after it")).action == "ADD"


# ---- full disk -------------------------------------------------------------------------------------------------------
# A full disk: acknowledged writes stay, and an impossible step is reported and done later.


FILLER = " ".join(f"{number * 7919:x}" for number in range(4000))


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """As on a disk that is full: a write beyond `size` bytes fails, and no signal comes of it in Python."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def filled_and_folded(home: Home) -> None:
    """A file of some size, with an empty write-ahead log."""
    with home.opened() as ledger:
        all_done(ledger, *(home.pen.create(f"{number} {FILLER}") for number in range(20)))


def wal(home: Home) -> Path:
    return home.file.with_name(home.file.name + "-wal")


def erase(home: Home, ledger: Ledger, memory: Memory) -> bool:
    """Whether the write-ahead log was folded after it."""
    return ledger.erase(home.pen.erase(memory.id, as_admin=True)).folded


def test_an_erasure_is_acknowledged_on_a_full_disk_and_its_traces_go_with_a_later_write(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    filled_and_folded(home)
    with home.opened() as ledger:
        kept = done(ledger, home.pen.create(f"kept {FILLER}")).memory
        gone = done(ledger, home.pen.create(f"gone {FILLER}")).memory
        with no_file_grows_beyond(home.file.stat().st_size):
            assert not erase(home, ledger, gone)
            assert set(ledger.read([kept.id, gone.id])) == {kept.id}
            assert wal(home).stat().st_size > 0
        done(ledger, home.pen.create("there is room again"))
        assert wal(home).stat().st_size == 0
        assert set(ledger.read([kept.id, gone.id])) == {kept.id}


def test_a_ledger_that_cannot_fold_its_log_at_the_close_says_so_and_has_everything_later(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    filled_and_folded(home)
    ledger = home.open()
    kept = done(ledger, home.pen.create(f"kept {FILLER}")).memory
    with no_file_grows_beyond(home.file.stat().st_size), pytest.raises(Unavailable, match="in its write-ahead log"):
        ledger.close()
    with home.opened() as again:
        assert again.read([kept.id])[kept.id].content == kept.content
