"""Backups of a real node: made while four agents write, loaded into a second directory, and started there."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event

import pytest
import pytest_asyncio
from node_process import NodeUnderTest, start_node, stop_node

from mnemesh import Client
from mnemesh.errors import MnemeshError, PermissionDenied

WAIT_S = 60.0
pytestmark = pytest.mark.asyncio(loop_scope="module")
WRITERS = 4


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def node(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodeUnderTest]:
    started = await start_node(tmp_path_factory.mktemp("backed-up"))
    yield started
    await stop_node(started)


def client_of(node: NodeUnderTest, token: str = "") -> Client:
    return Client(node.grpc, token or node.token)


async def command(*words: str) -> tuple[int, str, str]:
    """Exit status, output and errors of `mnemesh WORDS`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mnemesh.entry", *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), WAIT_S)
    return process.returncode or 0, out.decode(), err.decode()


async def test_who_erases_a_memory_is_told_which_backups_may_still_hold_it(node: NodeUnderTest, tmp_path: Path) -> None:
    with client_of(node) as owner:
        mine = owner.remember("a thing to be erased", space="team/ops").memory
        made = owner.create_backup(str(tmp_path)).backup
        later = owner.remember("a later thing", space="team/ops").memory
        told = owner.bulk_forget(space="team/ops", purge=True)
        assert (told.dry_run, told.backups, told.pending) == (True, (made.path,), ())
        assert owner.purge(mine.id).backups == (made.path,)
        assert [one.state for one in owner.list_backups().backups] == ["made"]
        token = owner.add_agent("ana", role="writer", spaces=["team/*"]).token
        with client_of(node, token) as ana:
            counted = ana.purge(ana.remember("her own thing", space="team/ops").memory.id).backups
            assert len(counted) == 1
            assert made.path not in counted[0]
            with pytest.raises(PermissionDenied):
                ana.create_backup()
        assert owner.get(later.id).id == later.id


async def test_a_backup_made_while_four_write_becomes_a_node_that_knows_what_was_acknowledged_before(
    node: NodeUnderTest, tmp_path: Path
) -> None:
    stop, said, loop = Event(), asyncio.Queue[str](), asyncio.get_running_loop()

    def write(number: int) -> int:
        done = 0
        with client_of(node) as client:
            while not stop.is_set():
                text = f"writer {number} said {done} about turbines"
                id_ = client.remember(text, space="team/load", wait="durable").memory.id
                loop.call_soon_threadsafe(said.put_nowait, id_)
                done += 1
        return done

    writing = [asyncio.create_task(asyncio.to_thread(write, number)) for number in range(WRITERS)]
    try:
        before = [await asyncio.wait_for(said.get(), WAIT_S) for _ in range(3 * WRITERS)]
        target = tmp_path / "node.tar.gz"
        code, out, err = await command("backup", "create", "--data", str(node.data_dir), "--to", str(target), "--json")
        for _ in range(said.qsize()):
            said.get_nowait()
        await asyncio.wait_for(said.get(), WAIT_S)  # writes go on
    finally:
        stop.set()
    assert min(await asyncio.gather(*writing)) > 0
    assert (code, err) == (0, "")
    backup = json.loads(out)["backup"]
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600
    code, out, err = await command("backup", "load", str(target), "--data", str(tmp_path / "loaded"), "--json")
    assert (code, json.loads(out)["memories"], err) == (0, backup["memories"], "")
    with client_of(node) as client:
        first = client.status()
    restored = await start_node(tmp_path / "loaded")
    try:
        with client_of(restored, node.token) as client:  # the owner's token is the old one
            found, second = client.get_many(before), client.status()
            assert len(found.memories) == len(before)
            # Waits until recall sees it, and so until the index has taken in all that was loaded before it.
            assert client.remember("written after the restore", space="team/load").action == "ADD"
            assert client.recall("turbines", space="team/load", limit=5).results
        assert (second.node_id, second.ledger and second.ledger.memories) == (first.node_id, backup["memories"])
        assert second.ledger is not None
        assert second.ledger.incarnation != backup["incarnation"]
    finally:
        await stop_node(restored)


async def test_a_backup_that_can_not_be_loaded_ends_with_the_reason_and_4(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("no backup")
    for words in (("load", "--data", str(tmp_path / "new")), ("verify",)):
        code, out, err = await command("backup", words[0], str(tmp_path / "foreign"), *words[1:])
        assert (code, out) == (4, "")
        assert "no backup that `mnemesh backup create` made" in err
    code, out, _ = await command("backup", "verify", str(tmp_path / "none"), "--json")
    assert (code, json.loads(out)["error"]["code"]) == (4, "FAILED_PRECONDITION")
    assert not (tmp_path / "new").exists()


async def test_a_file_that_is_there_is_refused_at_the_door_by_name(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with client_of(node) as owner, pytest.raises(MnemeshError, match="overwrites nothing") as refused:
        owner.create_backup(str(tmp_path / "taken"))
    assert refused.value.details["field"] == "to"
