"""What becomes of a ledger's files: restarts, copies, restored backups, newer versions, damage, a full disk."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from ledger_builders import GENERATION, SPACE, Home, Pen, all_done, done, everything, read_back

from mnemesh_actors.directory import open_directory
from mnemesh_actors.ledger import actor, schema
from mnemesh_actors.ledger.actor import Ledger
from mnemesh_actors.ledger.commands import Lookup, Vectors
from mnemesh_actors.ledger.incarnation import LedgerLock
from mnemesh_memory.errors import DataLoss, FailedPrecondition, Unavailable
from mnemesh_memory.ids import fingerprint
from mnemesh_memory.model import ListQuery
from mnemesh_memory.text import content_hash, duplicate_key

PAGE_BYTES = 4096


def incarnation(home: Home) -> str:
    with home.opened() as ledger:
        return ledger.status().incarnation


def filled(home: Home, count: int = 250) -> None:
    """A ledger of `count` memories, all of it folded into the one file."""
    with home.opened() as ledger:
        all_done(
            ledger, *(home.pen.create(f"Memory number {n} says something. " * 8, title=f"T{n}") for n in range(count))
        )


# ---- restarts and status ------------------------------------------------------------------------------------------


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


def test_closing_leaves_one_file_without_a_write_ahead_log(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    assert sorted(path.name for path in home.file.parent.iterdir()) == ["0.lock", "0.sqlite"]


# ---- incarnation --------------------------------------------------------------------------------------------------


def test_a_restart_keeps_the_incarnation(home: Home, pen: Pen) -> None:
    first = incarnation(home)
    with home.opened() as ledger:
        done(ledger, pen.create("one"))
    assert incarnation(home) == first
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


def test_a_ledger_restored_from_an_older_copy_lives_a_new_life(home: Home, pen: Pen, tmp_path: Path) -> None:
    with home.opened() as ledger:
        first = ledger.status().incarnation
        done(ledger, pen.create("before the backup"))
    shutil.copy2(home.file, tmp_path / "backup.sqlite")
    with home.opened() as ledger:
        done(ledger, pen.create("after the backup"))
    shutil.copy2(tmp_path / "backup.sqlite", home.file)
    with home.opened() as ledger:
        second = ledger.status()
        assert second.incarnation != first
        assert second.seq == 1
    assert incarnation(home) == second.incarnation


def test_a_directory_restored_in_place_from_an_older_copy_lives_a_new_life(
    home: Home, pen: Pen, tmp_path: Path
) -> None:
    with home.opened() as ledger:
        first = ledger.status().incarnation
        done(ledger, pen.create("before the backup"))
    shutil.copytree(home.directory.path, tmp_path / "backup")
    with home.opened() as ledger:
        done(ledger, pen.create("after the backup"))
    shutil.copytree(tmp_path / "backup", home.directory.path, dirs_exist_ok=True)
    with home.opened() as ledger:
        second = ledger.status()
        assert (second.incarnation == first, second.seq) == (False, 1)
    assert incarnation(home) == second.incarnation


def test_a_copied_directory_lives_a_new_life_and_the_original_its_own(home: Home, pen: Pen, tmp_path: Path) -> None:
    with home.opened() as ledger:
        first = ledger.status().incarnation
        memory = done(ledger, pen.create("one")).memory
    shutil.copytree(home.directory.path, tmp_path / "copy")
    copy = Home(open_directory(tmp_path / "copy"))
    second = incarnation(copy)
    assert second != first
    assert incarnation(home) == first
    with copy.opened() as ledger:
        assert read_back(ledger, memory) == memory
        assert ledger.status().incarnation == second


@pytest.mark.parametrize("marks", ["", "{", "[]", '{"token": 1}', "null"])
def test_a_lock_file_without_marks_means_a_new_life_and_no_failure(home: Home, marks: str) -> None:
    first = incarnation(home)
    home.file.with_suffix(".lock").write_text(marks)
    assert incarnation(home) != first


def test_a_lost_lock_file_means_a_new_life(home: Home) -> None:
    first = incarnation(home)
    home.file.with_suffix(".lock").unlink()
    assert incarnation(home) != first


# ---- one ledger a file --------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actor, "LedgerLock", partial(LedgerLock, wait_s=0.1))


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
    monkeypatch.setattr("mnemesh_actors.ledger.incarnation.time.sleep", lambda _seconds: first.close())
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


# ---- newer and older formats --------------------------------------------------------------------------------------


def newer(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")


def test_a_file_of_a_newer_format_is_refused_and_left_as_it_is(home: Home) -> None:
    filled(home, 3)
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
    filled(home, 3)
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
    with home.opened() as ledger:
        assert read_back(ledger, memory).title == "seen"


# ---- damage -------------------------------------------------------------------------------------------------------


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
    filled(home)
    flip(home.file, page_of_the_log(home) * PAGE_BYTES, PAGE_BYTES)
    error = refused_as_damaged(home)
    for part in (str(home.file), "nothing was changed", "backup", ".recover", "mnemesh doctor"):
        assert part in error.message


def test_one_flipped_bit_in_a_change_stops_the_start(home: Home) -> None:
    filled(home)
    data = home.file.read_bytes()
    start = data.index(b"\x85\x6f\x4a\x83", len(data) // 3)
    with open(home.file, "r+b") as file:
        file.seek(start + 120)
        file.write(bytes([data[start + 120] ^ 1]))
    assert "change" in refused_as_damaged(home).message


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_file_that_was_cut_off_stops_the_start(home: Home, cut: float) -> None:
    filled(home)
    os.truncate(home.file, int(home.file.stat().st_size * cut))
    refused_as_damaged(home)


def test_a_file_that_is_something_else_stops_the_start(home: Home) -> None:
    home.file.write_bytes(b"This was never a database. " * 400)
    refused_as_damaged(home)


def test_damage_that_is_met_while_running_is_data_loss_and_not_an_empty_answer(home: Home, pen: Pen) -> None:
    filled(home)
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


# ---- a full disk --------------------------------------------------------------------------------------------------


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
    vectors = Vectors(generation=GENERATION, items=tuple((digest, bytes(1536)) for digest in hashes))
    with pytest.raises(Unavailable, match="full"):
        ledger.keep_vectors(vectors)
    free_disk(ledger)
    assert ledger.vectors(hashes, GENERATION) == {}
    ledger.keep_vectors(vectors)
    assert len(ledger.vectors(hashes, GENERATION)) == 200
    assert done(ledger, pen.create("after it")).action == "ADD"


# ---- activity -----------------------------------------------------------------------------------------------------


def test_uses_are_counted_and_survive_a_restart(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        one, two = (result.memory.id for result in all_done(ledger, pen.create("one"), pen.create("two")))
        ledger.touch([one, two], 10)
        ledger.touch([one], 20)
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
    with home.opened() as ledger:
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
        ledger.touch([one], 15)
        assert ledger.activity([one]) == {one: (3, 20)}
        done(ledger, pen.create("three"))
        assert ledger.activity([one]) == {one: (3, 20)}
    with home.opened() as ledger:
        assert ledger.activity([one]) == {one: (3, 20)}
        assert ledger.activity([]) == {}


def test_noting_a_use_writes_nothing_until_the_next_commit(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    before = ledger._db.total_changes
    for moment in range(100):
        ledger.touch([memory.id], moment)
        ledger.activity([memory.id])
    assert ledger._db.total_changes == before
    done(ledger, pen.create("two"))
    with home.looked_into() as db:
        assert db.execute("SELECT accesses, last_used FROM activity").fetchall() == [(100, 99)]


def test_uses_that_wait_are_bounded_and_a_duplicate_may_be_the_one_too_many(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger.touch([f"id-{number}" for number in range(actor.ACTIVITY_PENDING_MAX)], 5)
    results = all_done(ledger, pen.create("two"), pen.create("one", idempotency_key="k"), pen.create("three"))
    assert [result.action for result in results] == ["ADD", "NOOP", "ADD"]
    assert ledger.activity([memory.id, "id-0"]) == {memory.id: (1, pen.now - 1), "id-0": (1, 5)}
    ledger.touch([f"other-{number}" for number in range(actor.ACTIVITY_PENDING_MAX + 1)], 6)
    with home.looked_into() as db:
        count = db.execute("SELECT count(*) FROM activity").fetchone()[0]
    assert count == 2 * actor.ACTIVITY_PENDING_MAX + 2


# ---- looking before writing ---------------------------------------------------------------------------------------


def test_what_prepare_says_is_what_a_commit_would_say_and_writes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    known = pen.create("known", idempotency_key="k")
    first = done(ledger, known).memory

    def lookup(content: str, key: str = "", force: bool = False, space: str = SPACE) -> Lookup:
        draft = pen.create(content, idempotency_key=key, space=space, force=force).draft
        return Lookup(pen.agent, space, duplicate_key(content), key, fingerprint(draft), force, pen.now)

    before = ledger._db.total_changes
    outcomes, vectors = ledger.prepare(
        [
            lookup("new"),
            lookup("KNOWN"),
            lookup("known", key="k"),
            lookup("other", key="k"),
            lookup("known", force=True),
            lookup("known", space="team/ops"),
        ],
        [content_hash("known")],
        GENERATION,
    )
    assert ledger._db.total_changes == before
    assert vectors == {}
    new, duplicate, replayed, refused, forced, elsewhere = outcomes
    assert (new, forced, elsewhere) == (None, None, None)
    assert not isinstance(duplicate, Exception | None)
    assert not isinstance(replayed, Exception | None)
    assert (duplicate.action, duplicate.deduplicated, duplicate.memory) == ("NOOP", True, first)
    assert (replayed.action, replayed.replayed, replayed.memory) == ("ADD", True, first)
    assert type(refused).__name__ == "AlreadyExists"
