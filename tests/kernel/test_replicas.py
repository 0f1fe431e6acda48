"""Where the ledgers of a node on several machines are looked for, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemesh_actors.ledger.replica_ledger import Scout, site_root
from mnemesh_actors.replication.replica_record import REPLICAS_FILE, read_record, refuse_elsewhere
from mnemesh_actors.runtime.bell import News
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_crdt.changes.envelope import node_id_of
from mnemesh_crdt.sync.handshake import Me, StreamRefused, check_hello, hello_of
from mnemesh_crdt.sync.proof import NONCE_BYTES
from mnemesh_memory.access.grants import EVERY_SPACE, PeerGrant, any_matches, check_pattern
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument

ALL = PeerGrant(read=(EVERY_SPACE,), write=(EVERY_SPACE,), principal="", relay=True)
ORDINARY = PeerGrant(read=("*",), write=("*",), principal="ana", relay=True)


def me(name: str) -> Me:
    key = name.encode().ljust(32, b".")
    return Me(node_id=node_id_of(key), key=key, incarnation=name, life=name)


def test_every_space_is_between_the_ledgers_of_a_node_and_nobody_can_be_granted_it() -> None:
    with pytest.raises(InvalidArgument):
        check_pattern("spaces", EVERY_SPACE)
    assert any_matches((EVERY_SPACE,), "@owner/notes")
    hello = hello_of(me("far"), ALL, {}, bytes(NONCE_BYTES))
    check_hello(hello, me("near"), "", ALL)
    with pytest.raises(StreamRefused):
        check_hello(hello, me("near"), "", ORDINARY)


def test_a_machine_tells_its_disk_and_whether_the_node_has_a_ledger_there(tmp_path: Path) -> None:
    root = str(tmp_path / "{ip}")
    first = Scout(root, "10.0.0.1").look("node")
    assert (first.taken, first.directory) == (False, str(tmp_path / "10.0.0.1" / "node"))
    Path(first.directory).mkdir()
    again = Scout(root, "10.0.0.1").look("node")
    assert (again.taken, again.disk) == (True, first.disk)
    assert Scout(root, "10.0.0.2").look("node").disk != first.disk


def test_without_a_setting_ledgers_lie_in_the_home_of_rays_user() -> None:
    assert site_root("", "10.0.0.1") == Path.home() / ".local/share/mnemesh-replicas"


def test_a_node_whose_memories_lie_on_other_machines_is_not_started_without_them(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    refuse_elsewhere(directory)
    replica = {"node_id": "a", "address": "10.0.0.1", "directory": "/srv/a"}
    (tmp_path / REPLICAS_FILE).write_text(json.dumps({"primary": "a", "replicas": [replica]}))
    with pytest.raises(FailedPrecondition, match=r"/srv/a on 10\.0\.0\.1"):
        refuse_elsewhere(directory)
    (tmp_path / REPLICAS_FILE).write_text("{")
    with pytest.raises(FailedPrecondition, match="is damaged"):
        read_record(tmp_path)


async def test_who_waits_for_news_is_woken_when_the_numbers_begin_anew() -> None:
    news = News(10)
    waiting = news.after(10)
    news.restart(3)
    with pytest.raises(StopIteration):  # returns at once: nothing is left to wait for
        news.after(2).send(None)
    waiting.close()
    assert (news.head, news.epoch) == (3, 1)
