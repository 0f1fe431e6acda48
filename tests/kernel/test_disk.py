"""The room on a disk: refusals below the reserve, the room kept for a start, and blocks for mapped files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemesh_actors.storage.disk import START_ROOM_FILE, DiskRoom, allocate, keep_start_room, take_start_room
from mnemesh_memory.values.errors import DiskFull, Unavailable

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
