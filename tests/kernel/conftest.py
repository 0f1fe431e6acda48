"""Fixtures of the kernel's tests: a home for a ledger, and a ledger in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ledger_builders import Home, Pen

from mnemesh_actors.ledger.actor import Ledger


@pytest.fixture
def home() -> Iterator[Home]:
    with Home.for_one_example() as made:
        yield made


@pytest.fixture
def pen(home: Home) -> Pen:
    return home.pen


@pytest.fixture
def ledger(home: Home) -> Iterator[Ledger]:
    with home.opened() as opened:
        yield opened
