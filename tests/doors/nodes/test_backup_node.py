"""Backups of a real node: made while four agents write, loaded into a second directory, and started there."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event

import pytest
import pytest_asyncio
from forked import MNEMESH
from node_process import NodeUnderTest, running

from mnemesh import Client
from mnemesh.errors import MnemeshError, PermissionDenied

WAIT_S = 60.0
pytestmark = pytest.mark.asyncio(loop_scope="module")
WRITERS = 4


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def node(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodeUnderTest]:
    async with running(tmp_path_factory.mktemp("backed-up")) as started:
        yield started


def client_of(node: NodeUnderTest, token: str = "") -> Client:
    return Client(node.grpc, token or node.token)


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
        made = await MNEMESH.run("backup", "create", "--data", node.data_dir, "--to", target, "--json")
        for _ in range(said.qsize()):
            said.get_nowait()
        await asyncio.wait_for(said.get(), WAIT_S)  # writes go on
    finally:
        stop.set()
    assert min(await asyncio.gather(*writing)) > 0
    assert (made.code, made.stderr) == (0, "")
    backup = made.json["backup"]
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600
    loaded = await MNEMESH.run("backup", "load", target, "--data", tmp_path / "loaded", "--json")
    assert (loaded.code, loaded.json["memories"], loaded.stderr) == (0, backup["memories"], "")
    with client_of(node) as client:
        first = client.status()
    async with running(tmp_path / "loaded") as restored:
        with client_of(restored, node.token) as client:  # the owner's token is the old one
            found, second = client.get_many(before), client.status()
            assert len(found.memories) == len(before)
            # The write waits for the index, and so for everything that was loaded.
            assert client.remember("written after the restore", space="team/load").action == "ADD"
            assert client.recall("turbines", space="team/load", limit=5).results
        assert (second.node_id, second.ledger and second.ledger.memories) == (first.node_id, backup["memories"])
        assert second.ledger is not None
        assert second.ledger.incarnation != backup["incarnation"]


async def test_a_backup_that_can_not_be_loaded_ends_with_the_reason_and_4(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("no backup")
    for word, *more in (("load", "--data", tmp_path / "new"), ("verify",)):
        ended = await MNEMESH.run("backup", word, tmp_path / "foreign", *more)
        assert (ended.code, ended.stdout) == (4, "")
        assert "no backup that `mnemesh backup create` made" in ended.stderr
    ended = await MNEMESH.run("backup", "verify", tmp_path / "none", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (4, "FAILED_PRECONDITION")
    assert not (tmp_path / "new").exists()


async def test_a_file_that_is_there_is_refused_at_the_door_by_name(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with client_of(node) as owner, pytest.raises(MnemeshError, match="overwrites nothing") as refused:
        owner.create_backup(str(tmp_path / "taken"))
    assert refused.value.details["field"] == "to"
