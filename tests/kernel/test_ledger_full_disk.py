"""A full disk: acknowledged writes stay, and an impossible step is reported and done later."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger_builders import Home, all_done, done

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Memory

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


def filled(home: Home) -> None:
    """A file of some size, with an empty write-ahead log."""
    with home.opened() as ledger:
        all_done(ledger, *(home.pen.create(f"{number} {FILLER}") for number in range(20)))


def wal(home: Home) -> Path:
    return home.file.with_name(home.file.name + "-wal")


def erase(home: Home, ledger: Ledger, memory: Memory) -> bool:
    """Whether the write-ahead log was folded after it."""
    return ledger.erase(Erase(**home.pen._next(), id=memory.id, as_admin=True)).folded


def test_an_erasure_is_acknowledged_when_the_file_has_no_room_and_its_traces_go_with_a_later_write(
    tmp_path: Path,
) -> None:
    home = Home.at(tmp_path)
    filled(home)
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


def test_a_ledger_that_cannot_fold_its_log_when_it_closes_says_so_and_has_everything_when_it_opens(
    tmp_path: Path,
) -> None:
    home = Home.at(tmp_path)
    filled(home)
    ledger = home.open()
    kept = done(ledger, home.pen.create(f"kept {FILLER}")).memory
    with no_file_grows_beyond(home.file.stat().st_size), pytest.raises(Unavailable, match="in its write-ahead log"):
        ledger.close()
    with home.opened() as again:
        assert again.read([kept.id])[kept.id].content == kept.content
