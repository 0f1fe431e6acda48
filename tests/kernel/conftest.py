"""Fixtures of the kernel's tests: a home for a ledger, and a ledger in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ledger_builders import Home, Pen

from mnemesh_actors.ledger.actor import Ledger

# A folder in memory where the machine has one: what is proven here is logic, and a busy disk makes every sync wait.
# That an acknowledged write survives a kill is proven elsewhere, on a disk.
MEMORY = Path("/dev/shm")


@pytest.fixture
def home() -> Iterator[Home]:
    place = str(MEMORY) if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="mnemesh-", dir=place) as path:
        yield Home.at(Path(path) / "data")


@pytest.fixture
def pen(home: Home) -> Pen:
    return home.pen


@pytest.fixture
def ledger(home: Home) -> Iterator[Ledger]:
    with home.opened() as opened:
        yield opened
