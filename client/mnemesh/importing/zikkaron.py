"""The SQLite file of Zikkaron as memories. The file is opened read-only, and only its texts and their facts are read.

Vectors, heat, clusters and the mark "episodic" stay there, and this node computes its own. Rules and prospective
memories are reported, since their conditions have another form here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mnemesh.importing.items import ImportItem, Parsed, Problem, pieces
from mnemesh.importing.records import Unused, fields_of

MAGIC: Final = b"SQLite format 3\0"
TAKEN: Final = (
    "content", "original_content", "tags", "directory_context", "created_at", "importance", "is_protected",
    "provenance_agent",
)  # fmt: skip
# Tables that hold what has another form here, and how it is made here.
OTHER_FORMS: Final = {
    "memory_rules": "mnemesh rule add",
    "prospective_memories": "mnemesh trigger add",
}
BUSY_S: Final = 5.0


def parse_zikkaron(path: Path, name: str) -> Parsed:
    """The memories of the file, in the order of their numbers. A file that is not Zikkaron's is a problem."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_S)) as file:
            file.row_factory = sqlite3.Row
            columns = {str(row["name"]) for row in file.execute("PRAGMA table_info(memories)")}
            if not {"id", "content", "directory_context", "created_at"} <= columns:
                yield Problem(line=0, message="a database without Zikkaron's table of memories")
                return
            yield from _memories(file, [column for column in TAKEN if column in columns], name)
            yield from _left(file)
    except sqlite3.Error as error:
        yield Problem(line=0, message=f"the database can't be read: {error}")


def _memories(file: sqlite3.Connection, columns: list[str], name: str) -> Iterator[ImportItem | Problem]:
    unused = Unused()
    chosen = ", ".join(columns)
    for row in file.execute(f"SELECT id, {chosen} FROM memories ORDER BY id"):
        record: dict[str, Any] = {column: row[column] for column in columns}
        # Compression there replaced the text by a gist. The text itself is what a memory holds here.
        record["content"] = record.pop("original_content", None) or record["content"]
        protected = record.pop("is_protected", 0)
        # "default" is what Zikkaron writes when no agent is named.
        agent = record.pop("provenance_agent", "")
        if agent and agent != "default":
            record["agent"] = agent
        fields = fields_of({**record, "project": record.get("directory_context")}, unused)
        content = fields.pop("content", "")
        if not content:
            yield Problem(line=int(row["id"]), message=f"memory {row['id']} has no text")
        for part in pieces(content):
            given = {**fields, "content": part, "paths": [name]}
            yield ImportItem(line=int(row["id"]), fields={**given, "tier": "pinned"} if protected else given)
    yield from unused.note()


def _left(file: sqlite3.Connection) -> Iterator[Problem]:
    tables = {str(row["name"]) for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, command in OTHER_FORMS.items():
        count = file.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table in tables else 0
        if count:
            message = f"{count} rows of {table} were not imported; here they are made by: {command}"
            yield Problem(line=0, message=message, refused=False)
