"""The ledger alone under many writers, and how fast the index comes back from vectors that are kept."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from bench.nodes.client import Host
from bench.report import Row, median_row

from mnemesh_actors.ledger.commands import Command, Committed, Create
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.runtime.batch import Batcher
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values import limits
from mnemesh_memory.values.ids import fresh_id
from mnemesh_memory.values.model import Draft

WRITERS = 16
WRITES_A_WRITER = 150
LEDGER_ROUNDS = 4
WRITES_A_S_MIN = 2000.0
REBUILD_ROUNDS = 3
REBUILD_S_MAX = 5.0
COMMIT_COMMANDS_MAX = 256
FLOOR_COMMITS = 300


def ledger_rate(folder: Path) -> Row:
    """Acknowledged writes a second from 16 writers who each wait for their own answer, without embedding or index."""
    rounds = [asyncio.run(_write(folder / str(number))) for number in range(LEDGER_ROUNDS)]
    floor = f"one row a commit, SQLite alone: {_bare_commits(folder):.0f}/s"
    return median_row(f"ledger alone, {WRITERS} writers", rounds, "writes/s", at_least=WRITES_A_S_MIN, floor=floor)


async def _write(folder: Path) -> float:
    directory = open_directory(folder)
    runtime = LocalRuntime()
    ledger = await runtime.spawn(
        "ledger-0",
        Ledger,
        str(directory.ledger(0)),
        str(directory.key_file),
        directory.node_id,
    )
    commits: Batcher[Command, Committed] = Batcher(
        "ledger", ledger.commit, COMMIT_COMMANDS_MAX, limits.INBOX_MESSAGES_MAX
    )

    async def writer(number: int) -> None:
        for turn in range(WRITES_A_WRITER):
            await commits.submit(create_command(f"Writer {number} notes in turn {turn} what it has seen of the build."))

    began = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    seconds = time.perf_counter() - began
    await runtime.close()
    return WRITERS * WRITES_A_WRITER / seconds


def create_command(content: str) -> Create:
    at = time.time_ns() // 1_000_000
    key = duplicate_key(content)
    actor = secrets.token_bytes(16)
    id_ = fresh_id(at, "bench/ledger", "owner", actor)
    return Create(
        agent="owner/bench",
        at=at,
        actor=actor,
        draft=Draft(content=content, kind="fact", space="bench/ledger"),
        id=id_,
        spare_id=id_,
        duplicate_key=key,
        fingerprint=bytes.fromhex(key),
    )


def _bare_commits(folder: Path) -> float:
    """Commits a second of one small row each on this disk, with the ledger's own pragmas."""
    with closing(sqlite3.connect(folder / "floor.sqlite", isolation_level=None)) as db:
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("CREATE TABLE entry (seq INTEGER PRIMARY KEY, raw BLOB)")
        began = time.perf_counter()
        for _ in range(FLOOR_COMMITS):
            db.execute("INSERT INTO entry (raw) VALUES (?)", (b"x" * 600,))
        return FLOOR_COMMITS / (time.perf_counter() - began)


def rebuild(data_dir: Path) -> Row:
    """Seconds until an index that was deleted is whole again, with every vector in the ledger's cache."""
    rounds, points = [], 0
    for _ in range(REBUILD_ROUNDS):
        shutil.rmtree(data_dir / "index" / "0")
        with Host(data_dir) as host:
            rounds.append(host.caught_up_s)
            points = host.points
    return median_row(
        "rebuild of the index from kept vectors",
        [seconds * 10_000 / points for seconds in rounds],
        "s",
        at_most=REBUILD_S_MAX,
        floor=f"for 10,000 points; {points:,} took {sorted(rounds)[len(rounds) // 2]:.2f} s",
    )
