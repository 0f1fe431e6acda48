"""SQLite files of a ledger: how they are opened, checked and brought to the current schema.

Migrations are a list of SQL texts. `PRAGMA user_version` counts how many have run. A file with a higher count is
refused unharmed. Nothing here knows the meaning of a memory.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from mnemesh_actors.ledger.store import rows
from mnemesh_actors.ledger.store.faults import damaged, explained
from mnemesh_actors.storage.file_format import migrate, refuse_newer, settled

BUSY_TIMEOUT_S = 5.0
READER_TIMEOUT_S = 2.0
# In the first page of a file (https://www.sqlite.org/fileformat.html, 1.3): the magic, and user_version.
_MAGIC = b"SQLite format 3\x00"
_VERSION_BYTES = slice(60, 64)
# The columns of a refused entry or of one that waits, in the third version.
_KEPT: Final = """doc TEXT NOT NULL, space TEXT NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, raw BLOB NOT NULL,
    agent TEXT NOT NULL, node TEXT NOT NULL, signature BLOB NOT NULL, at INTEGER NOT NULL, origin TEXT NOT NULL,
    received INTEGER NOT NULL, awaited BLOB"""
_ENTRY: Final = "seq, space, doc, type, hash, actor, raw, agent, node, signature, at"
_WAITING: Final = "doc, space, type, hash, raw, agent, node, signature, at, origin, received, awaited"

# The memories that a session may begin with by kind, tier or tag. A query with these words uses the index of them.
OPENING: Final = (
    "state = 'active' AND (tier = 'pinned' OR kind IN ('preference', 'procedure', 'decision', 'requirement') "
    "OR instr(tags, 'question') OR instr(tags, '\"checkpoint\"') OR instr(tags, '\"trigger') "
    "OR instr(tags, '\"session-run\"'))"
)

_SQL: Final = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE entry (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, doc TEXT NOT NULL, type TEXT NOT NULL,
      hash BLOB NOT NULL UNIQUE, actor BLOB NOT NULL UNIQUE, raw BLOB NOT NULL, agent TEXT NOT NULL,
      node TEXT NOT NULL, signature BLOB NOT NULL, at INTEGER NOT NULL);
    CREATE INDEX entry_doc ON entry (doc, seq);
    CREATE TABLE memory (
      id TEXT PRIMARY KEY, space TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
      state TEXT NOT NULL, tier TEXT NOT NULL, by TEXT NOT NULL, created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL, seq INTEGER NOT NULL, session TEXT NOT NULL, session_seq INTEGER,
      conflicted INTEGER NOT NULL, tags TEXT NOT NULL, detail TEXT NOT NULL);
    CREATE INDEX memory_space ON memory (space, state, created_at, id);
    CREATE INDEX memory_session ON memory (session, session_seq, created_at, id) WHERE session <> '';
    CREATE INDEX memory_title ON memory (title) WHERE title <> '';
    CREATE TABLE text_hash (space TEXT, hash BLOB, doc TEXT, PRIMARY KEY (space, hash, doc)) WITHOUT ROWID;
    CREATE INDEX text_hash_doc ON text_hash (doc);
    CREATE TABLE idempotency (
      agent TEXT, key TEXT, fingerprint BLOB NOT NULL, id TEXT NOT NULL, action TEXT NOT NULL, at INTEGER NOT NULL,
      PRIMARY KEY (agent, key)) WITHOUT ROWID;
    CREATE INDEX idempotency_at ON idempotency (at);
    CREATE TABLE vector (hash BLOB, generation TEXT, data BLOB NOT NULL, PRIMARY KEY (hash, generation));
    CREATE TABLE activity (id TEXT PRIMARY KEY, accesses INTEGER NOT NULL, last_used INTEGER NOT NULL) WITHOUT ROWID
    """,
    # No count says how many memories need the vectors that are there already.
    "ALTER TABLE vector ADD COLUMN shared INTEGER NOT NULL DEFAULT 1",
    # Entries of other nodes, and the records of peers. The table of entries is made anew: an erasure has no actor, and
    # only chance keeps the actors of other nodes apart. Heads (32 bytes each, sorted) of a document's changes are part
    # of the view. An erased document has none.
    f"""
    CREATE TABLE entries (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, doc TEXT NOT NULL, type TEXT NOT NULL,
      hash BLOB NOT NULL UNIQUE, actor BLOB, raw BLOB NOT NULL, agent TEXT NOT NULL, node TEXT NOT NULL,
      signature BLOB NOT NULL, at INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT '',
      received INTEGER NOT NULL DEFAULT 0);
    INSERT INTO entries ({_ENTRY}) SELECT {_ENTRY} FROM entry ORDER BY seq;
    DROP TABLE entry;
    ALTER TABLE entries RENAME TO entry;
    CREATE INDEX entry_doc ON entry (doc, seq);
    CREATE INDEX entry_actor ON entry (actor) WHERE actor IS NOT NULL;
    CREATE TABLE document (
      doc TEXT, space TEXT, bucket INTEGER NOT NULL, heads BLOB NOT NULL, erased INTEGER NOT NULL,
      PRIMARY KEY (doc, space)) WITHOUT ROWID;
    CREATE INDEX document_bucket ON document (space, bucket);
    CREATE TABLE digest (space TEXT, bucket INTEGER, value BLOB NOT NULL, PRIMARY KEY (space, bucket)) WITHOUT ROWID;
    CREATE TABLE erased (doc TEXT, space TEXT, hashes BLOB NOT NULL, PRIMARY KEY (doc, space)) WITHOUT ROWID;
    CREATE TABLE pending (id INTEGER PRIMARY KEY, {_KEPT}, UNIQUE (doc, space, hash));
    CREATE INDEX pending_awaited ON pending (awaited);
    CREATE TABLE quarantine (
      id INTEGER PRIMARY KEY AUTOINCREMENT, {_KEPT}, reason TEXT NOT NULL, UNIQUE (doc, space, hash, signature));
    CREATE INDEX quarantine_awaited ON quarantine (awaited) WHERE awaited IS NOT NULL;
    CREATE TABLE node_key (node TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE peer_cursor (
      peer TEXT, incarnation TEXT, seq INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (peer, incarnation))
      WITHOUT ROWID
    """,
    # Few memories are in conflict, and no text has to be read to find these.
    "CREATE INDEX memory_conflicted ON memory (created_at, id) WHERE conflicted = 1",
    # `cursor_out` counts entries of the own log in that incarnation.
    """
    CREATE TABLE peer_contact (
      peer TEXT PRIMARY KEY, heard INTEGER NOT NULL, caught_up INTEGER, incarnation TEXT NOT NULL,
      cursor_out INTEGER NOT NULL, head_in INTEGER NOT NULL, target TEXT NOT NULL, direction TEXT NOT NULL,
      spaces TEXT NOT NULL, auth TEXT NOT NULL, error TEXT NOT NULL) WITHOUT ROWID
    """,
    # The sender of an entry that is put aside, and of a node's key: each has a share. Numbers of pending entries are
    # never used again.
    f"""
    CREATE TABLE waiting (
      id INTEGER PRIMARY KEY AUTOINCREMENT, {_KEPT}, sender TEXT NOT NULL DEFAULT '', UNIQUE (doc, space, hash));
    INSERT INTO waiting ({_WAITING}) SELECT {_WAITING} FROM pending ORDER BY id;
    DROP TABLE pending;
    ALTER TABLE waiting RENAME TO pending;
    CREATE INDEX pending_awaited ON pending (awaited);
    CREATE INDEX pending_sender ON pending (sender, type, id);
    ALTER TABLE quarantine ADD COLUMN sender TEXT NOT NULL DEFAULT '';
    CREATE INDEX quarantine_sender ON quarantine (sender, id);
    ALTER TABLE node_key ADD COLUMN sender TEXT NOT NULL DEFAULT '';
    CREATE INDEX node_key_sender ON node_key (sender)
    """,
    # A writer's own count orders a session, else time does. As a column, so that an index serves the order.
    """
    ALTER TABLE memory ADD COLUMN place INTEGER GENERATED ALWAYS AS (coalesce(session_seq, 0)) VIRTUAL;
    DROP INDEX memory_session;
    CREATE INDEX memory_place ON memory (session, space, place, created_at, id)
      WHERE session <> '' AND state = 'active'
    """,
    # A part of the view: from which memory a link leads where. The target of a wikilink is a title.
    """
    CREATE TABLE link (source TEXT, type TEXT, target TEXT, PRIMARY KEY (source, type, target)) WITHOUT ROWID;
    CREATE INDEX link_target ON link (target, type)
    """,
    # The node's key of an entry, if the key was refused because too many are kept. A person can still let the entry in.
    "ALTER TABLE quarantine ADD COLUMN key BLOB NOT NULL DEFAULT x''",
    # Everything that a peer brings counts from now on: entries do not name the peer.
    "CREATE TABLE brought (sender TEXT PRIMARY KEY, memories INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID",
    # The version of the rules of admission that refused a change for its operations, 0 for any other reason.
    """
    ALTER TABLE quarantine ADD COLUMN rules INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX quarantine_rules ON quarantine (rules) WHERE rules > 0
    """,
    # Of the rows as they are: the scrub compares these with the log afterwards.
    f"""
    ALTER TABLE memory ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE memory SET checksum = row_checksum({rows.COLUMNS.rpartition(", ")[0]})
    """,
    # Rows that fit no checksum and that the log can't make anew: no code reads these, a person may.
    "CREATE TABLE damaged_memory AS SELECT * FROM memory WHERE 0",
    # How far each consumer of the log has come: the entry `seq` of that incarnation.
    "CREATE TABLE consumer (name TEXT PRIMARY KEY, incarnation TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID",
    # A session begins with few memories of a space, and no text has to be read to find these.
    f"""
    CREATE INDEX memory_opening ON memory (space, created_at, id, kind, tier, tags) WHERE {OPENING};
    CREATE INDEX activity_last ON activity (last_used)
    """,
    # Requirements and records of sessions belong to these, too.
    f"""
    DROP INDEX memory_opening;
    CREATE INDEX memory_opening ON memory (space, created_at, id, kind, tier, tags) WHERE {OPENING}
    """,
    # A changed file leads to the memories that name it.
    """
    CREATE TABLE file_reference (
      space TEXT, folder TEXT, name TEXT, doc TEXT, PRIMARY KEY (space, folder, name, doc)) WITHOUT ROWID;
    CREATE INDEX file_reference_doc ON file_reference (doc, space)
    """,
    # The memories that the write guard judges at rest, each with its writer and the role of the writer.
    "CREATE TABLE postponed (doc TEXT PRIMARY KEY, agent TEXT NOT NULL, role TEXT NOT NULL) WITHOUT ROWID",
)
# The view is rebuilt from the entries when the file says another version.
VIEW_VERSION = 13


def _run(migration: str, db: sqlite3.Connection) -> None:
    db.create_function("row_checksum", -1, lambda *values: rows.checksum(values), deterministic=True)
    for statement in migration.split(";"):
        db.execute(statement)


MIGRATIONS: Final = tuple(partial(_run, migration) for migration in _SQL)
PRAGMAS: Final = (
    "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=OFF", "cache_size=-24576",
    "mmap_size=268435456", "wal_autocheckpoint=2000", "temp_store=MEMORY",
)  # fmt: skip


def connect(path: Path) -> sqlite3.Connection:
    """Open, check and migrate. Raises FailedPrecondition for a newer file, DataLoss for a damaged one, Unavailable
    when it can not be opened."""
    # Before SQLite opens the file: closing it would fold a write-ahead log of a newer version.
    refuse_newer(len(MIGRATIONS), version_of(path), path)
    with explained(path, "it can not be opened"), ExitStack() as undo:
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        undo.callback(db.close)
        _prepare(db, path)
        undo.pop_all()
    return db


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes no byte of any SQLite file at `path`. Without a write-ahead log nobody writes. Then
    `immutable` keeps SQLite from making its side files. Raises sqlite3.Error."""
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=READER_TIMEOUT_S)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    version = settled(db, path, MIGRATIONS, PRAGMAS)
    if version:
        check(db, path)
    for number in range(version, len(MIGRATIONS)):
        migrate(db, MIGRATIONS[: number + 1])
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


def check(db: sqlite3.Connection, path: Path) -> None:
    """Read every page once. Raises DataLoss naming the first fault."""
    result = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if result != "ok":
        raise damaged(path, result)
