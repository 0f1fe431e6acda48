"""A node between start and end: log, rights of the files, and early stops."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from node_process import running

from mnemesh_gateway.node.node import Node
from mnemesh_gateway.node.settings import load
from mnemesh_memory.values.errors import Unavailable
from mnemesh_proto.rendezvous import NODE_FILE, read_node, read_token

PATIENCE_S = 60.0
LOGS_A_FAULT = """
import structlog
from pathlib import Path
from mnemesh_gateway.node.node_log import configure
from mnemesh_gateway.node.settings import load
configure(load({"data_dir": "/nowhere", "log_format": "FORMAT"}, {}))
def remember(content):
    raise ValueError("a fault")
try:
    remember("the text of " + "a memory")
except ValueError:
    structlog.get_logger("t").exception("failed")
"""


def logged(program: str, form: str) -> str:
    """The log of a program that logs in that form."""
    command = [sys.executable, "-c", program.replace("FORMAT", form)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_logged_fault_names_its_place_and_shows_no_text_that_was_in_hand(form: str) -> None:
    told = logged(LOGS_A_FAULT, form)
    assert "ValueError: a fault" in told
    assert "in remember" in told
    assert "the text of a memory" not in told


LIBRARIES_LOG = r"""
import logging, warnings
from mnemesh_gateway.node.node_log import configure
from mnemesh_gateway.node.settings import load
configure(load({"data_dir": "/nowhere", "log_format": "FORMAT"}, {}))
logging.getLogger("uvicorn.error").warning("Invalid HTTP %s received.", "request")
logging.getLogger("uvicorn.error").info("not said")
def served(content):
    raise ValueError("a fault")
try:
    served("the text of " + "a memory")
except ValueError:
    logging.getLogger("asyncio").exception("failed\nbadly")
warnings.warn("an old way")
"""


@pytest.mark.parametrize("form", ["console", "json"])
def test_what_libraries_log_has_the_form_of_all_the_rest(form: str) -> None:
    told = logged(LIBRARIES_LOG, form)
    assert "in served" in told
    assert "the text of a memory" not in told
    assert "not said" not in told
    if form == "json":
        first, second, third = map(json.loads, told.splitlines())
        assert (first["level"], first["logger"]) == ("warning", "uvicorn.error")
        assert first["event"] == "Invalid HTTP request received."
        assert first["timestamp"]
        assert (second["level"], second["event"]) == ("error", "failed\nbadly")
        assert "ValueError: a fault" in second["exception"]
        assert (third["logger"], "an old way" in third["event"]) == ("py.warnings", True)
    else:
        assert "Invalid HTTP request received." in told.splitlines()[0]


async def test_what_a_node_writes_is_its_owners_alone_even_in_a_wide_directory(tmp_path: Path) -> None:
    home = tmp_path / "wide"
    home.mkdir(mode=0o755)
    async with running(home):
        inside = [path for path in home.rglob("*") if path.is_file()]
        assert {path.name for path in inside} >= {"0.sqlite", "owner.token", "node.key"}
        assert [path for path in inside if path.stat().st_mode & 0o077] == []


def _node(home: Path) -> Node:
    return Node(load({"data_dir": str(home), "grpc": "127.0.0.1:0", "http": "127.0.0.1:0"}, {}), lambda gate: None)


async def _published(home: Path) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while (address := read_node(home)) is None:  # noqa: ASYNC110  a file tells nobody that it was written
            await asyncio.sleep(0)
    return address.http


async def test_a_node_that_is_told_to_stop_while_it_starts_stops_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Node, directory: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Node, "_build", never)
    node = _node(tmp_path)
    serving = asyncio.create_task(node.serve())
    await _published(tmp_path)
    node.stop()
    await asyncio.wait_for(serving, PATIENCE_S)
    assert not (tmp_path / NODE_FILE).exists()


async def test_a_call_that_waits_for_a_start_that_fails_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = asyncio.Event()

    async def fails(self: Node, directory: Any) -> None:
        await failing.wait()
        raise Unavailable("no embedding model was found; install one", part="embedder")

    monkeypatch.setattr(Node, "_build", fails)
    serving = asyncio.create_task(_node(tmp_path).serve())
    http = await _published(tmp_path)
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {read_token(tmp_path)}"}) as client:
        call = asyncio.create_task(client.post(f"http://{http}/v1/recall", json={"query": "x"}))
        ready = await client.get(f"http://{http}/health/ready")
        assert ready.status_code == 503
        failing.set()
        answer = await asyncio.wait_for(call, PATIENCE_S)
    assert answer.status_code == 503
    assert "no embedding model was found" in answer.json()["error"]["message"]
    with pytest.raises(Unavailable):
        await asyncio.wait_for(serving, PATIENCE_S)
