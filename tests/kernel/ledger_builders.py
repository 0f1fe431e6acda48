"""Shared by the tests of the ledger: a home directory, and short ways to ask.

Nothing is random and no clock is read: a `Pen` counts its operations and its milliseconds, so a failing test replays.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mnemesh_actors.ledger.commands import (
    Command,
    Committed,
    Create,
    Forget,
    KeptVectors,
    Rate,
    Restore,
    Revise,
    Tie,
)
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.storage.data_directory import DataDirectory, open_directory
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values.ids import derived_id, fingerprint, fresh_id, key_mark
from mnemesh_memory.values.model import Draft, Link, Memory, Patch, Source

SPACE = "team/payments"
OTHER_SPACE = "team/ops"
AGENT = "owner/test"
START = 1_700_000_000_000
DAY = 86_400_000
GENERATION = "all-minilm-l6-v2.fp32"
# A folder in memory where the machine has one: what is proven here is logic, and a busy disk makes every sync wait.
# That an acknowledged write survives a kill is proven elsewhere, on a disk.
MEMORY = "/dev/shm"

# A draft with every field set, none of them to its default.
FULL: dict[str, Any] = {
    "title": "Order of duties",
    "kind": "decision",
    "tags": ("durability", "ledger"),
    "importance": 0.0,
    "paths": ("actors/ledger.py", "a.py"),
    "source": Source("session-7", "/home/alice", 0),
    "valid_from": 0,
    "valid_to": 4_102_444_800_000,
    "keywords": ("wal", "fsync"),
    "attrs": {"empty": "", "ticket": "PAY-12"},
    "links": (Link("see-also", "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"),),
    "tier": "pinned",
}


@dataclass
class Pen:
    """Writes commands. Every command has its own operation id and comes a millisecond after the previous command."""

    agent: str = AGENT
    now: int = START
    count: int = 0

    def _next(self) -> dict[str, Any]:
        self.count += 1
        self.now += 1
        return {"agent": self.agent, "at": self.now, "actor": self.noise(16)}

    def noise(self, size: int) -> bytes:
        return hashlib.sha512(f"{self.agent} {self.count}".encode()).digest()[:size]

    def create(self, content: str, *, vectors: KeptVectors | None = None, **fields: Any) -> Create:
        common = self._next()
        draft = Draft(**{"content": content, "space": SPACE, "kind": "fact", **fields})
        principal, key = principal_of(self.agent), draft.idempotency_key
        fresh = fresh_id(common["at"], draft.space, principal, common["actor"])
        mark = key_mark(self.agent, key) if key else ""
        return Create(
            **common,
            draft=draft,
            id=derived_id(draft.space, principal, mark) if key else fresh,
            spare_id=fresh,
            duplicate_key=duplicate_key(draft.content),
            fingerprint=fingerprint(draft),
            vectors=vectors or KeptVectors(),
            visible=("*",),
            mark=mark,
        )

    def revise(self, memory: Memory, **changes: Any) -> Revise:
        patch = Patch(**changes)
        return Revise(
            **self._next(),
            id=memory.id,
            patch=patch,
            duplicate_key="" if patch.content is None else duplicate_key(patch.content),
            fingerprint=fingerprint(patch, memory.id),
        )

    def forget(self, memory: Memory) -> Forget:
        return Forget(**self._next(), id=memory.id)

    def erase(self, id: str, agent: str = "", *, as_admin: bool = False) -> Erase:
        common = self._next()
        return Erase(**{**common, "agent": agent or self.agent}, id=id, as_admin=as_admin)

    def restore(self, memory: Memory) -> Restore:
        return Restore(**self._next(), id=memory.id)

    def link(self, memory: Memory, type: str, to: Memory | str, *, put: bool = True) -> Tie:
        id_ = to if isinstance(to, str) else to.id
        return Tie(**self._next(), id=memory.id, link=Link(type, id_), put=put)

    def unlink(self, memory: Memory, type: str, to: Memory | str) -> Tie:
        return self.link(memory, type, to, put=False)

    def rate(self, memory: Memory, useful: bool, *, cited: bool = False) -> Rate:
        return Rate(**self._next(), id=memory.id, useful=useful, cited=cited)


@dataclass
class Home:
    """A data directory of a node, whose ledger can be opened, closed and looked into."""

    directory: DataDirectory
    pen: Pen = field(default_factory=Pen)

    @classmethod
    def at(cls, path: Path) -> Home:
        return cls(open_directory(path))

    @classmethod
    @contextmanager
    def for_one_example(cls) -> Iterator[Home]:
        """A home that a property test throws away after each example."""
        with TemporaryDirectory(prefix="mnemesh-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as path:
            yield cls.at(Path(path) / "data")

    @property
    def file(self) -> Path:
        return self.directory.ledger(0)

    def open(self) -> Ledger:
        return Ledger(str(self.file), str(self.directory.key_file), self.directory.node_id)

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        with closing(self.open()) as ledger:
            yield ledger

    @contextmanager
    def looked_into(self) -> Iterator[sqlite3.Connection]:
        """Another connection to the file, to see what is really on disk."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
            yield db

    def sql(self, statement: str, *values: object) -> list[Any]:
        """Run in the file, beside any open ledger."""
        with self.looked_into() as db:
            return db.execute(statement, values).fetchall()

    def incarnation(self) -> str:
        with self.opened() as ledger:
            return ledger.status().incarnation

    def filled(self, count: int = 250) -> list[Memory]:
        """`count` memories, all of them folded into the one file."""
        with self.opened() as ledger:
            commands = [self.pen.create(f"Memory number {n} says something. " * 8, title=f"T{n}") for n in range(count)]
            return [result.memory for result in all_done(ledger, *commands)]

    def rewrite_in_format(self, version: int) -> None:
        """The file as the code of that format left it, with the present rows in the tables and columns of that time."""
        old = self.file.with_suffix(".older")
        db = sqlite3.connect(old, isolation_level=None)
        for migrate in schema.MIGRATIONS[:version]:
            migrate(db)
        db.execute("ATTACH ? AS now", (str(self.file),))
        for (table,) in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            if not table.startswith("sqlite_"):
                columns = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
                db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}")
        db.execute("UPDATE meta SET value = '0' WHERE key = 'view_version'")
        db.execute(f"PRAGMA user_version = {version}")
        db.close()
        os.replace(old, self.file)

    def entries(self) -> int:
        with self.looked_into() as db:
            return int(db.execute("SELECT count(*) FROM entry").fetchone()[0])


def done(ledger: Ledger, command: Command) -> Committed:
    """The outcome of one command; a refusal is raised."""
    (result,) = ledger.commit([command])
    if isinstance(result, Exception):
        raise result
    return result


def all_done(ledger: Ledger, *commands: Command) -> list[Committed]:
    """The outcomes of commands in one group commit, none of which is refused."""
    results = []
    for result in ledger.commit(commands):
        if isinstance(result, Exception):
            raise result
        results.append(result)
    return results


def read_then(ledger: Ledger, ids: Sequence[str], at: int, clock: int | None = None) -> dict[str, Memory]:
    """The memories as recorded at `at`, however long that takes."""
    return ledger.read_some_as_of(ids, at, math.inf, clock)[0]


def read_back(ledger: Ledger, memory: Memory) -> Memory:
    return ledger.read([memory.id])[memory.id]


def names(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


def everything(directory: Path) -> dict[str, bytes]:
    """Every file below `directory` with its bytes."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }
