"""A file of derived data is always whole: damaged, deleted or of another version, it is made anew and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemesh_actors.knowledge.derived_file import DerivedFile
from mnemesh_memory.values.errors import DataLoss

TABLES = ("CREATE TABLE note (id TEXT PRIMARY KEY, text TEXT NOT NULL)",)
ROWS = [(f"m{number}", f"a text {number} " * 20) for number in range(200)]


def opened(path: Path, version: int = 1) -> DerivedFile:
    return DerivedFile(path, version, TABLES)


def filled(path: Path) -> DerivedFile:
    derived = opened(path)
    assert derived.cursor() == ("", 0)
    derived.reset()
    with derived.changing() as db:
        db.executemany("INSERT INTO note VALUES (?, ?)", ROWS)
    derived.keep_cursor("one", 7)
    return derived


def count(derived: DerivedFile) -> int:
    with derived.reading() as db:
        return int(db.execute("SELECT count(*) FROM note").fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "notes.sqlite"


def test_rows_and_cursor_are_there_at_the_next_opening(path: Path) -> None:
    filled(path).close()
    again = opened(path)
    assert (again.cursor(), count(again), again.made) == (("one", 7), len(ROWS), "")
    assert path.stat().st_mode & 0o077 == 0
    again.close()


def test_a_new_file_takes_nothing_before_its_consumer_begins_the_log(path: Path) -> None:
    derived = opened(path)
    with pytest.raises(DataLoss), derived.changing():
        pass
    with pytest.raises(DataLoss):
        derived.keep_cursor("one", 3)
    derived.reset()
    with derived.changing():
        pass
    derived.close()


def spoil_head(path: Path) -> None:
    path.write_bytes(b"no database at all" + path.read_bytes()[18:])


def spoil_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 6)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


@pytest.mark.parametrize("harm", [Path.unlink, spoil_head, spoil_pages, cut])
def test_a_file_that_came_to_harm_is_made_anew_and_says_why(path: Path, harm: object) -> None:
    filled(path).close()
    harm(path)  # type: ignore[operator]
    again = opened(path)
    assert again.cursor() == ("", 0)
    assert again.made
    assert count(again) == 0
    again.close()


def test_a_file_of_another_version_is_made_anew(path: Path) -> None:
    filled(path).close()
    newer = opened(path, version=2)
    assert newer.cursor() == ("", 0)
    assert newer.made == "its format was 1"
    newer.close()


def test_a_file_deleted_under_a_node_takes_no_page_from_the_middle(path: Path) -> None:
    derived = filled(path)
    path.unlink()
    with pytest.raises(DataLoss), derived.reading():
        pass
    with pytest.raises(DataLoss), derived.changing():
        pass
    assert derived.cursor() == ("", 0)
    derived.close()


def lose_in_the_middle(derived: DerivedFile) -> None:
    with derived.changing() as db:
        db.execute("DELETE FROM note")
        raise DataLoss("in the middle")


def test_an_error_inside_a_change_undoes_the_change(path: Path) -> None:
    derived = filled(path)
    with pytest.raises(DataLoss):
        lose_in_the_middle(derived)
    assert count(derived) == len(ROWS)
    derived.close()


def test_no_byte_of_an_erased_row_is_left_in_any_file(path: Path) -> None:
    derived = filled(path)
    with derived.changing() as db:
        db.execute("INSERT INTO note VALUES ('secret', 'a swordfish in the cellar')")
    with derived.changing() as db:
        db.execute("DELETE FROM note WHERE id = 'secret'")
    derived.fold()
    for file in path.parent.iterdir():
        assert b"swordfish" not in file.read_bytes(), file.name
    derived.close()
