"""A node that must not start names the reason and the fix, and harms nothing. A damaged index is made anew."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from forked import Ended
from node_process import Nodes, NodeUnderTest, refused_start, stop_node
from node_reads import finds, settled
from scenario_doors import GrpcDoor

from mnemesh_proto.rendezvous import NODE_FILE

EXIT_USAGE = 2
EXIT_REFUSED = 4
SPACE = "start"
MEMORIES = 40
INDEX = Path("index", "0")
LEDGER = Path("ledger", "0.sqlite")


async def filled(nodes: Nodes, data_dir: Path) -> None:
    """A directory that a node has written to and left."""
    node = await nodes.start(data_dir)
    async with GrpcDoor(node) as door:
        items = [
            {"content": f"Lighthouse {number} stands on cliff {number}.", "space": SPACE} for number in range(MEMORIES)
        ]
        answer = await door.call("remember_batch", items=items)
        assert len(answer["results"]) == MEMORIES
    assert await stop_node(node) == 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """A directory with memories, to be copied: what is refused in the original is refused in a copy."""
    path = tmp_path_factory.mktemp("written") / "data"
    async with Nodes() as nodes:
        await filled(nodes, path)
        yield path


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "data"))


async def recalls_everything(node: NodeUnderTest) -> dict[str, Any]:
    """Assert that recall finds what was stored; the node's status."""
    async with GrpcDoor(node) as door:
        status = await settled(door)
        assert status["index"][0]["points"] == MEMORIES
        for number in (0, MEMORIES // 2, MEMORIES - 1):
            text = f"Lighthouse {number} stands on cliff {number}."
            assert await finds(door, text, SPACE)
        return status


def turned_away(ended: Ended, code: int, *words: str) -> None:
    """The start was refused with `code` and `words`, and not by a fault or in the middle of serving."""
    assert ended.code == code, ended
    assert [word for word in words if word not in ended.stderr] == [], ended.stderr
    assert "Traceback" not in ended.stderr


def files_of(path: Path) -> dict[str, bytes]:
    """Every file below `path` with its content."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


async def test_a_second_node_on_the_directory_is_refused_with_the_pid_of_the_first(
    nodes: Nodes, tmp_path: Path
) -> None:
    first = await nodes.start(tmp_path)
    published = (tmp_path / NODE_FILE).read_bytes()
    held = f"pid {first.process.pid} already runs on {tmp_path}"
    turned_away(await refused_start(tmp_path), EXIT_REFUSED, held, "--data")
    assert (tmp_path / NODE_FILE).read_bytes() == published
    async with GrpcDoor(first) as door:
        assert (await door.call("status"))["state"] == "ready"
    assert await stop_node(first) == 0


async def test_a_damaged_page_of_the_ledger_stops_the_start_with_what_to_do(copied: Path) -> None:
    ledger = copied / LEDGER
    data = ledger.read_bytes()
    middle = len(data) // 2
    before = data[:middle] + os.urandom(8192) + data[middle + 8192 :]
    ledger.write_bytes(before)
    told = (f"the ledger {ledger} is damaged", "restore the file from a backup")
    turned_away(await refused_start(copied), EXIT_REFUSED, *told)
    assert ledger.read_bytes() == before
    assert not (copied / NODE_FILE).exists()


async def test_an_index_full_of_garbage_is_made_anew_and_said_so(nodes: Nodes, copied: Path) -> None:
    spoilt = [file for file in (copied / INDEX / "points").rglob("*") if file.is_file()]
    assert spoilt
    for file in spoilt:
        file.write_bytes(os.urandom(max(64, file.stat().st_size)))
    node = await nodes.start(copied)
    status = await recalls_everything(node)
    assert [notice for notice in status["notices"] if "index rebuilt from the ledger" in notice]
    assert await stop_node(node) == 0
    whole = await nodes.start(copied)
    assert (await recalls_everything(whole))["notices"] == []
    assert await stop_node(whole) == 0


async def test_an_index_that_is_gone_in_part_or_whole_is_made_anew(nodes: Nodes, copied: Path) -> None:
    for lost in (INDEX, INDEX / "points", INDEX / "meta.json"):
        gone = copied / lost
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        node = await nodes.start(copied)
        await recalls_everything(node)
        assert await stop_node(node) == 0


@pytest.mark.parametrize("door", ["grpc", "http"])
async def test_a_port_that_another_program_holds_is_named_with_what_to_do(tmp_path: Path, door: str) -> None:
    (tmp_path / "there").mkdir()
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        new = await refused_start(tmp_path / "new", f"--{door}", address)
        ended = await refused_start(tmp_path / "there", f"--{door}", address)
    assert (new.code, new.stderr) == (ended.code, ended.stderr)
    assert not (tmp_path / "new").exists()
    turned_away(
        ended, EXIT_REFUSED, f"cannot listen on {address} (Address already in use)", f"another --{door} HOST:PORT"
    )
    assert "add_port.cc" not in ended.stderr
    assert "stopped" not in ended.stderr
    assert not (tmp_path / "there" / NODE_FILE).exists()


@pytest.mark.parametrize("door", ["grpc", "http"])
async def test_an_address_beyond_loopback_needs_expose(tmp_path: Path, door: str) -> None:
    ended = await refused_start(tmp_path / "new", f"--{door}", "0.0.0.0:0")
    turned_away(ended, EXIT_USAGE, "--expose", "0.0.0.0:0")
    assert "stopped" not in ended.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("flag", "value", "named"), [("--mcp-toolsets", "cores", "cores"), ("--model-dir", "/nowhere", "model_dir")]
)
async def test_a_setting_that_a_part_of_the_node_refuses_makes_no_directory(
    tmp_path: Path, flag: str, value: str, named: str
) -> None:
    ended = await refused_start(tmp_path / "new", flag, value)
    turned_away(ended, EXIT_USAGE, named)
    assert "stopped" not in ended.stderr
    assert not (tmp_path / "new").exists()


async def test_a_start_that_is_refused_late_leaves_no_directory_that_it_made(tmp_path: Path) -> None:
    reranker = ("--reranker-model", "nosuch/model", "--recall-weight-rerank", "0.5")
    (tmp_path / "there").mkdir()
    ended = await refused_start(tmp_path / "there" / "above" / "new", *reranker)
    assert (ended.code, "reranker_model" in ended.stderr) == (EXIT_USAGE, True)
    assert not (tmp_path / "there" / "above").exists()
    assert (await refused_start(tmp_path / "there", *reranker)).code == EXIT_USAGE
    assert (tmp_path / "there").exists(), "it was somebody's before"


async def test_one_address_is_not_for_both_doors(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for given in ((address, address), (address, address.replace("127.0.0.1", "localhost"))):
        ended = await refused_start(tmp_path / "new", "--grpc", given[0], "--http", given[1])
        assert ended.code in (EXIT_USAGE, EXIT_REFUSED)
        assert "mnemesh: http: " in ended.stderr
        assert not (tmp_path / "new").exists()


async def test_an_unknown_setting_is_refused_with_its_name(tmp_path: Path) -> None:
    by_variable = await refused_start(tmp_path, env={"MNEMESH_GRCP": "127.0.0.1:0"})
    (tmp_path / "settings.toml").write_text('htpp = "127.0.0.1:0"\n')
    by_file = await refused_start(tmp_path)
    (tmp_path / "settings.toml").unlink()
    by_flag = await refused_start(tmp_path, "--htpp", "127.0.0.1:0")
    for ended, name in ((by_variable, "MNEMESH_GRCP"), (by_file, "htpp"), (by_flag, "--htpp")):
        turned_away(ended, EXIT_USAGE, name)
    assert files_of(tmp_path) == {}
