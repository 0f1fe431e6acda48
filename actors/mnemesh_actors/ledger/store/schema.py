"""SQLite files of a ledger: how they are opened, checked and brought to the current schema.

Migrations are a list of functions; `PRAGMA user_version` counts how many have run. A file with a higher count is
refused unharmed. Nothing here knows what a memory means.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from mnemesh_actors.ledger.integrity.faults import damaged, explained
from mnemesh_actors.ledger.store import rows
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError

BUSY_TIMEOUT_S = 5.0
READER_TIMEOUT_S = 2.0
# In the first page of a file (https://www.sqlite.org/fileformat.html, 1.3): the magic, and user_version.
_MAGIC = b"SQLite format 3\x00"
_VERSION_BYTES = slice(60, 64)


def _first(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE entry (
             seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, doc TEXT NOT NULL, type TEXT NOT NULL,
             hash BLOB NOT NULL UNIQUE, actor BLOB NOT NULL UNIQUE, raw BLOB NOT NULL, agent TEXT NOT NULL,
             node TEXT NOT NULL, signature BLOB NOT NULL, at INTEGER NOT NULL)"""
    )
    db.execute("CREATE INDEX entry_doc ON entry (doc, seq)")
    db.execute(
        """CREATE TABLE memory (
             id TEXT PRIMARY KEY, space TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
             state TEXT NOT NULL, tier TEXT NOT NULL, by TEXT NOT NULL, created_at INTEGER NOT NULL,
             updated_at INTEGER NOT NULL, seq INTEGER NOT NULL, session TEXT NOT NULL, session_seq INTEGER,
             conflicted INTEGER NOT NULL, tags TEXT NOT NULL, detail TEXT NOT NULL)"""
    )
    db.execute("CREATE INDEX memory_space ON memory (space, state, created_at, id)")
    db.execute("CREATE INDEX memory_session ON memory (session, session_seq, created_at, id) WHERE session <> ''")
    db.execute("CREATE INDEX memory_title ON memory (title) WHERE title <> ''")
    db.execute("CREATE TABLE text_hash (space TEXT, hash BLOB, doc TEXT, PRIMARY KEY (space, hash, doc)) WITHOUT ROWID")
    db.execute("CREATE INDEX text_hash_doc ON text_hash (doc)")
    db.execute(
        """CREATE TABLE idempotency (
             agent TEXT, key TEXT, fingerprint BLOB NOT NULL, id TEXT NOT NULL, action TEXT NOT NULL,
             at INTEGER NOT NULL, PRIMARY KEY (agent, key)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX idempotency_at ON idempotency (at)")
    db.execute("CREATE TABLE vector (hash BLOB, generation TEXT, data BLOB NOT NULL, PRIMARY KEY (hash, generation))")
    db.execute(
        "CREATE TABLE activity "
        "(id TEXT PRIMARY KEY, accesses INTEGER NOT NULL, last_used INTEGER NOT NULL) WITHOUT ROWID"
    )


def _shared_vectors(db: sqlite3.Connection) -> None:
    # Nobody knows of the vectors that are there already how many memories need them.
    db.execute("ALTER TABLE vector ADD COLUMN shared INTEGER NOT NULL DEFAULT 1")


def _mesh(db: sqlite3.Connection) -> None:
    """Entries of other nodes, and what is kept of peers. The table of entries is made anew: an erasure has no actor,
    and only chance keeps the actors of other nodes apart."""
    db.execute(
        """CREATE TABLE entries (
             seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, doc TEXT NOT NULL, type TEXT NOT NULL,
             hash BLOB NOT NULL UNIQUE, actor BLOB, raw BLOB NOT NULL, agent TEXT NOT NULL, node TEXT NOT NULL,
             signature BLOB NOT NULL, at INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT '',
             received INTEGER NOT NULL DEFAULT 0)"""
    )
    columns = "seq, space, doc, type, hash, actor, raw, agent, node, signature, at"
    db.execute(f"INSERT INTO entries ({columns}) SELECT {columns} FROM entry ORDER BY seq")
    db.execute("DROP TABLE entry")
    db.execute("ALTER TABLE entries RENAME TO entry")
    db.execute("CREATE INDEX entry_doc ON entry (doc, seq)")
    db.execute("CREATE INDEX entry_actor ON entry (actor) WHERE actor IS NOT NULL")
    # Heads (32 bytes each, sorted) of a document's changes, or none when it is erased; part of the view.
    db.execute(
        """CREATE TABLE document (
             doc TEXT, space TEXT, bucket INTEGER NOT NULL, heads BLOB NOT NULL, erased INTEGER NOT NULL,
             PRIMARY KEY (doc, space)) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX document_bucket ON document (space, bucket)")
    db.execute(
        "CREATE TABLE digest "
        "(space TEXT, bucket INTEGER, value BLOB NOT NULL, PRIMARY KEY (space, bucket)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE erased (doc TEXT, space TEXT, hashes BLOB NOT NULL, PRIMARY KEY (doc, space)) WITHOUT ROWID"
    )
    kept = (
        "doc TEXT NOT NULL, space TEXT NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, raw BLOB NOT NULL, "
        "agent TEXT NOT NULL, node TEXT NOT NULL, signature BLOB NOT NULL, at INTEGER NOT NULL, origin TEXT NOT NULL, "
        "received INTEGER NOT NULL, awaited BLOB"
    )
    db.execute(f"CREATE TABLE pending (id INTEGER PRIMARY KEY, {kept}, UNIQUE (doc, space, hash))")
    db.execute("CREATE INDEX pending_awaited ON pending (awaited)")
    db.execute(
        f"CREATE TABLE quarantine (id INTEGER PRIMARY KEY AUTOINCREMENT, {kept}, reason TEXT NOT NULL, "
        "UNIQUE (doc, space, hash, signature))"
    )
    db.execute("CREATE INDEX quarantine_awaited ON quarantine (awaited) WHERE awaited IS NOT NULL")
    db.execute("CREATE TABLE node_key (node TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE peer_cursor (
             peer TEXT, incarnation TEXT, seq INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (peer, incarnation))
             WITHOUT ROWID"""
    )


def _conflicts(db: sqlite3.Connection) -> None:
    # Few memories are in conflict, and to find them no text has to be read.
    db.execute("CREATE INDEX memory_conflicted ON memory (created_at, id) WHERE conflicted = 1")


def _contacts(db: sqlite3.Connection) -> None:
    # `cursor_out` counts entries of the own log in that incarnation.
    db.execute(
        """CREATE TABLE peer_contact (
             peer TEXT PRIMARY KEY, heard INTEGER NOT NULL, caught_up INTEGER, incarnation TEXT NOT NULL,
             cursor_out INTEGER NOT NULL, head_in INTEGER NOT NULL, target TEXT NOT NULL, direction TEXT NOT NULL,
             spaces TEXT NOT NULL, auth TEXT NOT NULL, error TEXT NOT NULL) WITHOUT ROWID"""
    )


def _senders(db: sqlite3.Connection) -> None:
    """Who brought what is put aside, and a node's key: each has a share. Numbers of what waits are never used again."""
    kept = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited"
    db.execute(
        """CREATE TABLE waiting (
             id INTEGER PRIMARY KEY AUTOINCREMENT, doc TEXT NOT NULL, space TEXT NOT NULL, type TEXT NOT NULL,
             hash BLOB NOT NULL, raw BLOB NOT NULL, agent TEXT NOT NULL, node TEXT NOT NULL, signature BLOB NOT NULL,
             at INTEGER NOT NULL, origin TEXT NOT NULL, received INTEGER NOT NULL, awaited BLOB,
             sender TEXT NOT NULL DEFAULT '', UNIQUE (doc, space, hash))"""
    )
    db.execute(f"INSERT INTO waiting ({kept}) SELECT {kept} FROM pending ORDER BY id")
    db.execute("DROP TABLE pending")
    db.execute("ALTER TABLE waiting RENAME TO pending")
    db.execute("CREATE INDEX pending_awaited ON pending (awaited)")
    db.execute("CREATE INDEX pending_sender ON pending (sender, type, id)")
    db.execute("ALTER TABLE quarantine ADD COLUMN sender TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE INDEX quarantine_sender ON quarantine (sender, id)")
    db.execute("ALTER TABLE node_key ADD COLUMN sender TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE INDEX node_key_sender ON node_key (sender)")


def _places(db: sqlite3.Connection) -> None:
    # A writer's own count orders a session; without one, time does. As a column, so that an index serves the order.
    db.execute("ALTER TABLE memory ADD COLUMN place INTEGER GENERATED ALWAYS AS (coalesce(session_seq, 0)) VIRTUAL")
    db.execute("DROP INDEX memory_session")
    db.execute(
        "CREATE INDEX memory_place ON memory (session, space, place, created_at, id) "
        "WHERE session <> '' AND state = 'active'"
    )


def _links(db: sqlite3.Connection) -> None:
    # Part of the view: from which memory a link leads where. The target of a wikilink is a title.
    db.execute(
        "CREATE TABLE link (source TEXT, type TEXT, target TEXT, PRIMARY KEY (source, type, target)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX link_target ON link (target, type)")


def _refused_keys(db: sqlite3.Connection) -> None:
    # Of an entry whose node's key was not kept because too many are: so that a person can still let it in.
    db.execute("ALTER TABLE quarantine ADD COLUMN key BLOB NOT NULL DEFAULT x''")


def _brought(db: sqlite3.Connection) -> None:
    # What peers bring counts from now on: entries do not say who brought them.
    db.execute(
        "CREATE TABLE brought "
        "(sender TEXT PRIMARY KEY, memories INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID"
    )


def _refusing_rules(db: sqlite3.Connection) -> None:
    # The version of the rules of admission that refused a change for what it does; 0 for any other reason.
    db.execute("ALTER TABLE quarantine ADD COLUMN rules INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE INDEX quarantine_rules ON quarantine (rules) WHERE rules > 0")


def _checksums(db: sqlite3.Connection) -> None:
    # Of the rows as they are: the scrub compares them with the log afterwards.
    db.execute("ALTER TABLE memory ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    columns = rows.COLUMNS.rpartition(", ")[0]
    count = len(columns.split(", "))
    db.create_function("row_checksum", count, lambda *values: rows.checksum(values), deterministic=True)
    db.execute(f"UPDATE memory SET checksum = row_checksum({columns})")


def _damaged_rows(db: sqlite3.Connection) -> None:
    # Rows that do not fit their checksums and that the log can't make anew: nobody reads them, a person may.
    db.execute("CREATE TABLE damaged_memory AS SELECT * FROM memory WHERE 0")


def _consumers(db: sqlite3.Connection) -> None:
    # How far each consumer of the log has come: the entry `seq` of that incarnation.
    db.execute(
        "CREATE TABLE consumer (name TEXT PRIMARY KEY, incarnation TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID"
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _first,
    _shared_vectors,
    _mesh,
    _conflicts,
    _contacts,
    _senders,
    _places,
    _links,
    _refused_keys,
    _brought,
    _refusing_rules,
    _checksums,
    _damaged_rows,
    _consumers,
)
# The view is rebuilt from the entries when this differs from what the file says.
VIEW_VERSION = 11


def connect(path: Path) -> sqlite3.Connection:
    """Open, check and migrate. Raises FailedPrecondition for a newer file, DataLoss for a damaged one, Unavailable
    when it can not be opened."""
    # Before SQLite opens it: closing it again would fold a write-ahead log that a newer version left.
    refuse_newer(version_of(path), path)
    with explained(path, "it can not be opened"):
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        with explained(path, "it can not be opened"):
            _prepare(db, path)
    except MnemeshError:
        db.close()
        raise
    return db


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes no byte of any SQLite file at `path`. Without a write-ahead log nobody writes; then
    `immutable` keeps SQLite from making its side files. Raises sqlite3.Error."""
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=READER_TIMEOUT_S)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    refuse_newer(version, path)
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "secure_delete=ON",
        "foreign_keys=OFF",
        "cache_size=-32768",
        "mmap_size=268435456",
        "wal_autocheckpoint=2000",
        "temp_store=MEMORY",
    ):
        db.execute(f"PRAGMA {pragma}")
    if version:
        check(db, path)
    for number, migrate in enumerate(MIGRATIONS[version:], version + 1):
        db.execute("BEGIN IMMEDIATE")
        migrate(db)
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
        # Into the file itself, where an older version looks for it.
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def version_of(path: Path) -> int:
    """The version in the file's own first page, 0 for a new one or for what is no SQLite file."""
    try:
        with open(path, "rb") as file:
            head = file.read(_VERSION_BYTES.stop)
    except OSError:
        return 0
    return int.from_bytes(head[_VERSION_BYTES]) if head.startswith(_MAGIC) else 0


def refuse_newer(version: int, path: Path) -> None:
    """Raise FailedPrecondition for a version that this code does not know."""
    if version > len(MIGRATIONS):
        raise FailedPrecondition(
            f"{path} has format {version}, this version reads up to {len(MIGRATIONS)}; nothing was changed. "
            "Install a newer mnemesh, or start with another data directory",
            field="data_dir",
            value=str(version),
            limit=str(len(MIGRATIONS)),
        )


def check(db: sqlite3.Connection, path: Path) -> None:
    """Read every page once; raises DataLoss naming the first fault."""
    result = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if result != "ok":
        raise damaged(path, result)
