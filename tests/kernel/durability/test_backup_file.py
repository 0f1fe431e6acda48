"""A copy of a ledger is of one moment. A backup comes back whole, or names the fault."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import stat
import tarfile
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ledger_builders import AGENT, GENERATION, SPACE, Home, Pen, all_done, done
from peer_builders import NOW
from stored_transcripts import operations

from mnemesh_actors.ledger.backup.snapshot import copy_file, held_by
from mnemesh_actors.ledger.commands import KeptVectors
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.node.snapshot_reader import LedgerCopy, ledger_copy
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_gateway.backup.backup_file import FORMAT, verify
from mnemesh_gateway.backup.backups import Backup, Backups
from mnemesh_gateway.programs.backup_program import load
from mnemesh_memory.transcripts.sessions import SessionQuery, TranscriptDraft, TurnDraft
from mnemesh_memory.values.errors import Aborted, DataLoss, FailedPrecondition, InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Caller

OWNER = Caller(agent="owner", principal="owner", role="owner")


@dataclass
class LedgerOnly:
    """The part of a mesh that a backup needs: its ledger, behind a handle of the local runtime."""

    home: Home
    runtime: LocalRuntime = field(default_factory=LocalRuntime)
    ledger: Any = None

    def disk_full(self) -> None:
        """There is room."""

    def __post_init__(self) -> None:
        self.transcripts = operations(self.home.directory.transcripts)

    async def open(self) -> LedgerOnly:
        directory = self.home.directory
        self.ledger = await self.runtime.spawn(
            "ledger-0", Ledger, str(self.home.file), str(directory.key_file), directory.node_id
        )
        return self

    @asynccontextmanager
    async def ledger_copy(self) -> AsyncIterator[LedgerCopy]:
        async with ledger_copy(self.ledger) as copy:
            yield copy


@pytest.fixture
async def node(home: Home) -> AsyncIterator[LedgerOnly]:
    opened = await LedgerOnly(home).open()
    yield opened
    await opened.runtime.close()


def backups_of(home: Home) -> Backups:
    return Backups(home.directory.path, lambda: NOW)


async def made(node: LedgerOnly, to: str = "") -> Backup:
    return await backups_of(node.home).create(node, to)  # type: ignore[arg-type]


def finished(ledger: Ledger) -> Any:
    """The copy that was begun, once it is done."""
    while (copied := ledger.copied()) is None:
        wait((ledger._copying._done,), 1)  # type: ignore[union-attr]
    return copied


def opened(path: Path) -> Home:
    return Home(open_directory(path), Pen(agent="owner/later", now=NOW))


# ---- copying --------------------------------------------------------------------------------------------------------


def test_writes_go_on_while_the_ledger_is_copied_and_the_copy_is_of_one_moment(home: Home, ledger: Ledger) -> None:
    moments = {}
    for n in range(20):
        all_done(ledger, *(home.pen.create(f"{n} {m}") for m in range(20)))
        with home.looked_into() as db:
            held = held_by(db)
        moments[held.seq] = held
        if n == 5:
            ledger.copy_start()
    held = finished(ledger).held
    assert held.seq >= 120
    assert moments[held.seq] == held


def test_vectors_and_marks_stay_out_of_a_copy(home: Home, ledger: Ledger) -> None:
    vectors = KeptVectors(generation=GENERATION, items=(("a" * 64, bytes(1536)),))
    done(ledger, home.pen.create("with a vector", vectors=vectors))
    ledger.copy_start()
    finished(ledger)
    db = sqlite3.connect(copy_file(home.file))
    assert db.execute("SELECT count(*) FROM vector").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM entry").fetchone() == (1,)
    assert {key for (key,) in db.execute("SELECT key FROM meta")}.isdisjoint({"token", "place"})
    db.close()


def test_nothing_of_an_erased_memory_is_in_a_copy_that_comes_later(home: Home, ledger: Ledger) -> None:
    secret = "the phrase that has to go"
    memory = done(ledger, home.pen.create(secret)).memory
    ledger.erase(Erase(agent=AGENT, at=NOW, actor=b"e" * 16, id=memory.id, as_admin=True))
    ledger.copy_start()
    copied = finished(ledger)
    assert secret.encode() not in ledger.copy_read(0, copied.bytes)


def test_a_second_copy_is_refused_while_one_is_made_and_a_finished_one_makes_room(home: Home, ledger: Ledger) -> None:
    done(ledger, home.pen.create("something"))
    ledger.copy_start()
    held = ledger._copying
    finished(ledger)
    ledger.copy_start()
    assert held is not None
    assert not held.running
    held._done = Future()
    ledger._copying, other = held, ledger._copying
    with pytest.raises(Aborted, match="another copy"):
        ledger.copy_start()
    ledger._copying = other


def test_a_copy_that_a_crash_left_is_deleted_at_the_next_start(home: Home) -> None:
    with home.opened() as ledger:
        done(ledger, home.pen.create("something"))
    copy_file(home.file).write_bytes(b"texts of memories")
    with home.opened():
        assert not copy_file(home.file).exists()


async def test_a_backup_brings_the_transcripts_along_and_nothing_that_was_erased(
    node: LedgerOnly, home: Home, tmp_path: Path
) -> None:
    def said(session: str, text: str) -> TranscriptDraft:
        return TranscriptDraft(session=session, turns=(TurnDraft(id="u", role="user", text=text),))

    await node.transcripts.add(OWNER, said("stays", "the release is on friday"))
    await node.transcripts.add(OWNER, said("goes", "a quixotic zebra"))
    await node.transcripts.erase(OWNER, "goes")
    backup = await made(node)
    load(Path(backup.path), tmp_path / "loaded")
    loaded = operations(opened(tmp_path / "loaded").directory.transcripts)
    page = await loaded.page(OWNER, SessionQuery())
    assert [(one.session, one.turns) for one in page.sessions] == [("stays", 1)]
    assert b"quixotic" not in (tmp_path / "loaded" / "transcripts" / "0.sqlite").read_bytes()
    assert list((home.directory.path / "transcripts").glob("*.copy")) == []


# ---- making ---------------------------------------------------------------------------------------------------------


async def test_a_loaded_backup_has_equal_digests_another_incarnation_and_takes_writes(
    node: LedgerOnly, tmp_path: Path
) -> None:
    pen = node.home.pen
    for n in range(5):
        await node.ledger.commit([pen.create(f"statement {n}"), pen.create(f"other {n}", space="team/ops")])
    digests, status = await node.ledger.digests(["*"]), await node.ledger.status()
    (node.home.directory.path / "owner.token").write_text("the token\n")
    backup = await made(node)
    head = load(Path(backup.path), tmp_path / "restored")
    assert (head.seq, head.memories) == (10, 10)
    assert (tmp_path / "restored" / "owner.token").read_text() == "the token\n"
    restored = opened(tmp_path / "restored")
    assert restored.directory.node_id == node.home.directory.node_id
    with restored.opened() as ledger:
        assert ledger.digests(["*"]) == digests
        assert ledger.status().incarnation != status.incarnation
        assert done(ledger, restored.pen.create("after it was loaded")).action == "ADD"


# ---- where it may lie -----------------------------------------------------------------------------------------------


async def test_a_backup_overwrites_nothing_and_a_folder_gets_its_own_name(node: LedgerOnly, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(FailedPrecondition, match="there already"):
        await made(node, str(taken))
    assert taken.read_text() == "mine"
    assert Path((await made(node, str(tmp_path))).path).parent == tmp_path
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


@pytest.mark.parametrize("to", ["relative.tar.gz", "/nowhere/at/all/b.tar.gz", "/tmp/a\0b"])
async def test_a_place_that_can_not_be_is_refused_by_name(node: LedgerOnly, to: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await made(node, to)
    assert refused.value.fields["field"] == "to"
    assert backups_of(node.home).all() == ()


async def test_nobody_writes_a_backup_among_the_nodes_own_files(node: LedgerOnly) -> None:
    with pytest.raises(InvalidArgument, match="own files"):
        await made(node, str(node.home.directory.path / "ledger" / "b.tar.gz"))


async def test_a_backup_for_which_no_place_is_named_lies_in_the_data_directory(node: LedgerOnly) -> None:
    backup = await made(node)
    assert Path(backup.path).parent == node.home.directory.path / "backups"


# ---- the register ---------------------------------------------------------------------------------------------------


async def test_the_register_knows_what_may_hold_a_memory_also_after_the_file_was_moved(node: LedgerOnly) -> None:
    backup = await made(node)
    book = backups_of(node.home)
    assert [one.state for one in book.all()] == ["made"]
    os.unlink(backup.path)
    assert [one.state for one in book.may_hold(NOW - 1000)] == ["gone"]
    assert book.may_hold(NOW + 3_600_000) == ()


async def test_a_failed_backup_leaves_neither_file_nor_entry(node: LedgerOnly, tmp_path: Path) -> None:
    (node.home.directory.path / "manifest.json").unlink()
    with pytest.raises(KeyError):
        await made(node, str(tmp_path / "b.tar.gz"))
    assert not (tmp_path / "b.tar.gz").exists()
    assert backups_of(node.home).all() == ()


async def test_a_loaded_directory_remembers_the_file_that_it_came_from(node: LedgerOnly, tmp_path: Path) -> None:
    backup = await made(node, str(tmp_path / "b.tar.gz"))
    load(Path(backup.path), tmp_path / "restored")
    (known,) = Backups(tmp_path / "restored", lambda: NOW).may_hold(NOW)
    assert (known.path, known.sha256, known.state) == (backup.path, backup.sha256, "made")


# ---- what is wrong with a file --------------------------------------------------------------------------------------


@pytest.fixture
async def whole(node: LedgerOnly, tmp_path: Path) -> Path:
    await node.ledger.commit([node.home.pen.create(f"statement {n}", space=SPACE) for n in range(20)])
    return Path((await made(node, str(tmp_path / "whole.tar.gz"))).path)


def refused(file: Path, data_dir: Path) -> MnemeshError:
    """Why `file` is not loaded; nothing may be left behind."""
    with pytest.raises(MnemeshError) as caught:
        load(file, data_dir)
    assert not data_dir.exists()
    assert str(file) in caught.value.message or "backup says" in caught.value.message
    return caught.value


def test_a_whole_backup_is_verified_and_is_a_plain_tar_of_known_names(whole: Path) -> None:
    assert verify(whole).memories == 20
    with tarfile.open(whole) as archive:
        names = archive.getnames()
    assert names[0] == "backup.json"
    assert set(names[1:]) == {"manifest.json", "node.key", "backups.json", "ledger/0.sqlite"}


def test_a_truncated_backup_is_refused_wherever_it_ends(whole: Path, tmp_path: Path) -> None:
    data = whole.read_bytes()
    cut = tmp_path / "cut.tar.gz"
    for size in (1, 9, 40, 300, len(data) // 2, len(data) - 9, len(data) - 8, len(data) - 1):
        cut.write_bytes(data[:size])
        error = refused(cut, tmp_path / "target")
        assert isinstance(error, DataLoss if size > 1 else FailedPrecondition), size
        assert "truncated" in error.message or "no backup" in error.message


def test_every_flipped_bit_that_changes_what_is_read_is_found(whole: Path, tmp_path: Path) -> None:
    data, bad, found = whole.read_bytes(), tmp_path / "bad.tar.gz", 0
    for place in range(10, len(data), max(1, len(data) // 40)):
        bad.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        if content(bad) != content(whole):
            found += 1
            assert refused(bad, tmp_path / "target").code in ("DATA_LOSS", "FAILED_PRECONDITION")
    assert found > 30


def content(file: Path) -> bytes | None:
    """The packed content of a file, None when gzip itself finds a fault. Some bits of gzip mean nothing."""
    try:
        return gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def rewritten(whole: Path, target: Path, change: Any) -> Path:
    """The backup with another head, its checksums as valid as before."""
    with gzip.open(whole) as file:
        tar = file.read()
    size = int(tar[124:135], 8)
    head = json.loads(tar[512 : 512 + size])
    change(head)
    data = json.dumps(head).encode()
    info = tarfile.TarInfo("backup.json")
    info.size = len(data)
    rest = tar[512 + size + -size % 512 :]
    target.write_bytes(gzip.compress(info.tobuf() + data + bytes(-len(data) % 512) + rest))
    return target


def test_a_backup_of_a_newer_format_says_so(whole: Path, tmp_path: Path) -> None:
    newer = rewritten(whole, tmp_path / "newer.tar.gz", lambda head: head.update(format=FORMAT + 1))
    error = refused(newer, tmp_path / "target")
    assert isinstance(error, FailedPrecondition)
    assert (error.fields["value"], error.fields["limit"]) == (str(FORMAT + 1), str(FORMAT))


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.update(seq=head["seq"] + 1),
        lambda head: head.update(digest="0" * 64),
        lambda head: head.update(node_id="ab" * 16),
        lambda head: head["files"].append({"name": "../outside", "bytes": 1, "sha256": "0"}),
        lambda head: head["files"].pop(),
        lambda head: head["files"][0].update(sha256="0" * 64),
        lambda head: head["files"][0].update(bytes=1),
        lambda head: head.pop("seq"),
    ],
)
def test_a_head_that_does_not_fit_what_follows_is_damage(whole: Path, tmp_path: Path, change: Any) -> None:
    assert isinstance(refused(rewritten(whole, tmp_path / "b.tar.gz", change), tmp_path / "target"), DataLoss)


def test_a_file_of_somebody_else_is_no_backup(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    for data in (b"plain text", b"", gzip.compress(b"short"), gzip.compress(bytes(4096)), gzip.compress(b"x" * 4096)):
        foreign.write_bytes(data)
        with pytest.raises(MnemeshError, match=r"no backup|truncated|damaged"):
            load(foreign, tmp_path / "target")
    with pytest.raises(FailedPrecondition, match="No such file"):
        verify(tmp_path / "missing")


def test_a_directory_that_holds_anything_is_left_alone(whole: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine").write_text("mine")
    with pytest.raises(FailedPrecondition, match="not empty"):
        load(whole, target)
    assert [path.name for path in target.iterdir()] == ["mine"]


def test_a_directory_that_loading_makes_is_its_owners_alone(whole: Path, tmp_path: Path) -> None:
    load(whole, tmp_path / "target")
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o700


def test_a_fresh_volume_is_empty_enough(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "volume" / "lost+found").mkdir(parents=True)
    load(whole, tmp_path / "volume")
    assert {path.name for path in (tmp_path / "volume").iterdir()} == {
        "lost+found", "manifest.json", "node.key", "backups.json", "ledger", "index",
    }  # fmt: skip
