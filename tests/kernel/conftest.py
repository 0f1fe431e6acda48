"""Fixtures of the kernel's tests: a home for a ledger, a ledger in it, a follower of it, and a mesh."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from follower_scene import idle as idle
from follower_scene import scene as scene
from ledger_builders import OTHER_SPACE, Home, Pen, all_done, done
from peer_builders import Node
from recall_scene import here as here
from recall_scene import mesh as mesh

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.values.model import Source


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test in a mesh that its module shares runs in the loop of that mesh."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("asyncio"):
        meshes = item._fixtureinfo.name2fixturedefs.get("mesh", ())
        if any(mesh.scope == "module" for mesh in meshes):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


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


@pytest.fixture
def varied(ledger: Ledger, pen: Pen) -> Ledger:
    """Six memories that differ in what a listing can filter by."""
    other = Pen(agent="owner/other", now=pen.now + 100)
    results = all_done(
        ledger,
        pen.create("a", tags=("x",), kind="fact"),
        pen.create("b", tags=("x", "y"), kind="decision", source=Source("s1", "", 2)),
        pen.create("c", tags=("z",), kind="decision", source=Source("s1", "", 1)),
        pen.create("d", space=OTHER_SPACE),
        other.create("e", tags=("y", 'odd "tag"')),
        other.create("f"),
    )
    done(ledger, other.forget(results[5].memory))
    done(ledger, other.create("g", supersedes=(results[0].memory.id,)))
    return ledger


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache of models for the tests of one file."""
    return str(tmp_path_factory.mktemp("models"))


@pytest.fixture
def node() -> Node:
    """Another node, of ana's."""
    return Node()
