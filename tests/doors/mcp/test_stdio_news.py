"""Following memories through `mnemesh mcp`: hosts that start their servers as child processes hear of changes, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_mesh import FakeGate, FakeMesh
from mcp_support import Node, stored, touch
from stdio_support import Host
from test_stdio_proxy import publish


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(FakeGate(FakeMesh())) as started:
        publish(started, tmp_path)
        yield started


def host(tmp_path: Path) -> Host:
    return Host("--data", str(tmp_path), "--space", "team/tests", "--no-start")


def updates(ours: Host) -> list[str]:
    return [note["params"]["uri"] for note in ours.notes if note["method"] == "notifications/resources/updated"]


def heard(ours: Host, number: int) -> list[str]:
    """The addresses of the first `number` updates."""
    ours.read_until(lambda: len(updates(ours)) >= number)
    return updates(ours)


def test_a_host_with_a_session_is_told_of_what_it_subscribed_to(node: Node, tmp_path: Path) -> None:
    one, two = stored(node, "one"), stored(node, "two")
    with host(tmp_path) as ours:
        ours.initialize()
        ours.result("resources/subscribe", uri=f"memory://{one.id}")
        touch(node, two)
        touch(node, one)
        assert heard(ours, 1) == [f"memory://{one.id}"]
        ours.result("resources/unsubscribe", uri=f"memory://{one.id}")
        ours.result("resources/subscribe", uri=f"memory://{two.id}")
        touch(node, one)
        touch(node, two)
        assert heard(ours, 2) == [f"memory://{one.id}", f"memory://{two.id}"]
        assert ours.end() == 0


def test_after_a_restart_of_the_node_a_host_is_told_that_all_may_have_changed_and_hears_on(
    node: Node, tmp_path: Path
) -> None:
    one = stored(node, "one")
    uri = f"memory://{one.id}"
    with host(tmp_path) as ours:
        ours.initialize()
        ours.result("resources/subscribe", uri=uri)
        node.stop()
        node.gate.mesh.touches = asyncio.Queue()  # the other one belongs to the loop that has ended
        node.start()
        assert heard(ours, 1) == [uri]
        touch(node, one)
        assert heard(ours, 2) == [uri, uri]
        assert ours.end() == 0


def test_a_host_of_2026_listens_and_ends_at_once(node: Node, tmp_path: Path) -> None:
    one = stored(node, "one")
    uri = f"memory://{one.id}"
    asked: dict[str, Any] = {"resourceSubscriptions": [uri]}
    with host(tmp_path) as ours:
        ours.ask("subscriptions/listen", modern=True, notifications=asked)
        ours.read_until(lambda: bool(ours.notes))
        assert ours.notes[0]["method"] == "notifications/subscriptions/acknowledged"
        touch(node, one)
        assert heard(ours, 1) == [uri]
        began = time.monotonic()
        assert ours.end() == 0
    print(f"ended {time.monotonic() - began:.2f} s after its input")
