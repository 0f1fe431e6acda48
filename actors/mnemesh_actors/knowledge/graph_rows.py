"""The rows of the file of the knowledge graph: tables, writing a memory's share, reading names.

memory    a memory with its space and its time
entity    a key, named by its mentions, so no reader learns a spelling from a hidden memory
mention   a memory names an entity
relation  a memory states a relation
link      a memory links to another, or names a title
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from mnemesh_memory.access.grants import any_matches
from mnemesh_memory.graph.answers import PROVENANCE_MAX, GraphEntity, GraphRelation
from mnemesh_memory.graph.extraction import kind_of
from mnemesh_memory.graph.relations import Entity, entity_key
from mnemesh_memory.values.memory_links import MAY_REPLACE, WIKILINK, wikilinks
from mnemesh_memory.values.model import Memory

VERSION: Final = 3
TABLES: Final = (
    "CREATE TABLE space (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE memory (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, space INTEGER NOT NULL,
         recorded INTEGER NOT NULL, valid_from INTEGER, valid_to INTEGER, ended_by TEXT NOT NULL,
         title TEXT NOT NULL, memory_kind TEXT NOT NULL)""",
    "CREATE INDEX memory_ended ON memory (ended_by) WHERE ended_by <> ''",
    "CREATE TABLE entity (num INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    """CREATE TABLE mention (entity INTEGER NOT NULL, memory INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
         PRIMARY KEY (entity, memory)) WITHOUT ROWID""",
    "CREATE INDEX mention_memory ON mention (memory)",
    """CREATE TABLE relation (memory INTEGER NOT NULL, subject INTEGER NOT NULL, type TEXT NOT NULL,
         object INTEGER NOT NULL, PRIMARY KEY (memory, subject, type, object)) WITHOUT ROWID""",
    "CREATE INDEX relation_subject ON relation (subject)",
    "CREATE INDEX relation_object ON relation (object)",
    "CREATE TABLE link (memory INTEGER NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL)",
    "CREATE INDEX link_memory ON link (memory)",
)
IDS_A_STEP: Final = 500


def merged(subject: str, type_: str, object_: str, stated: list[Any]) -> GraphRelation:
    """One relation of several memories: open as long as one of them is."""
    ends = [valid_to for *_, valid_to in stated]
    begins = [recorded if valid_from is None else valid_from for _, recorded, valid_from, _ in stated]
    return GraphRelation(
        subject=subject, type=type_, object=object_, memories=tuple(id_ for id_, *_ in stated[:PROVENANCE_MAX]),
        memories_total=len(stated), recorded_at=min(recorded for _, recorded, *_ in stated), valid_from=min(begins),
        valid_to=None if None in ends else max(ends),
    )  # fmt: skip


def add_memory(db: sqlite3.Connection, memory: Memory, ended: int | None) -> int:
    db.execute("INSERT OR IGNORE INTO space (name) VALUES (?)", (memory.space,))
    ends = [end for end in (memory.valid_to, ended) if end is not None]
    end = min(ends) if ends else None
    row = db.execute(
        "INSERT INTO memory (id, space, recorded, valid_from, valid_to, ended_by, title, memory_kind) "
        "VALUES (?, (SELECT num FROM space WHERE name = ?), ?, ?, ?, ?, ?, ?) RETURNING num",
        (
            memory.id,
            memory.space,
            memory.created_at,
            memory.valid_from,
            end,
            memory.superseded_by,
            _title(memory.title),
            memory.kind,
        ),
    ).fetchone()
    links = [(link.type, link.id) for link in memory.links if link.type != MAY_REPLACE]  # that one nobody stated
    links += [(WIKILINK, _title(title)) for title in wikilinks(memory.content)]
    db.executemany("INSERT INTO link VALUES (?, ?, ?)", [(row[0], *link) for link in links])
    return int(row[0])


def _title(text: str) -> str:
    return " ".join(text.casefold().split())


def drop(db: sqlite3.Connection, ids: Sequence[str]) -> None:
    numbers = [number for (number,) in rows_in(db, "SELECT num FROM memory WHERE id IN ({})", ids)]
    touched = {number for (number,) in rows_in(db, "SELECT entity FROM mention WHERE memory IN ({})", numbers)}
    for table, column in (("relation", "memory"), ("mention", "memory"), ("link", "memory"), ("memory", "num")):
        for part in _parts(numbers):
            db.execute(f"DELETE FROM {table} WHERE {column} IN ({listed(part)})")
    for part in _parts(sorted(touched)):
        db.execute(
            f"DELETE FROM entity WHERE num IN ({listed(part)}) "
            "AND NOT EXISTS (SELECT 1 FROM mention WHERE entity = num)"
        )


def entity_number(db: sqlite3.Connection, key: str) -> int:
    row = db.execute("SELECT num FROM entity WHERE key = ?", (key,)).fetchone()
    return int(row[0] if row else db.execute("INSERT INTO entity (key) VALUES (?) RETURNING num", (key,)).fetchone()[0])


def end_number(db: sqlite3.Connection, memory: int, numbers: dict[str, int], name: str, relation: str, end: int) -> int:
    """The entity at an end of a relation. Behind the bound of entities it is a mention all the same."""
    key = entity_key(name) or name
    if key not in numbers:
        numbers[key] = entity_number(db, key)
        entity = Entity(name, kind_of(name, relation, end))
        db.execute(
            "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)", (numbers[key], memory, entity.name, entity.kind)
        )
    return numbers[key]


def space_numbers(db: sqlite3.Connection, within: Sequence[str]) -> list[int]:
    """The numbers of the spaces that the patterns cover."""
    return [
        number for number, name in db.execute("SELECT num, name FROM space ORDER BY num") if any_matches(within, name)
    ]


def shown_entities(db: sqlite3.Connection, numbers: Iterable[int], spaces: list[int]) -> dict[int, GraphEntity]:
    """Entities with the name and the kind that most memories of the spaces give them."""
    names: dict[int, Counter[str]] = defaultdict(Counter)
    kinds: dict[int, Counter[str]] = defaultdict(Counter)
    for part in _parts(sorted(set(numbers))):
        rows = db.execute(
            "SELECT entity, name, kind, count(*) FROM mention JOIN memory ON memory.num = mention.memory "
            f"WHERE entity IN ({listed(part)}) AND space IN ({listed(spaces)}) "
            "GROUP BY entity, name, kind ORDER BY name, kind"
        )
        for entity, name, kind, count in rows:
            names[entity][name] += count
            if kind:
                kinds[entity][kind] += count
    return {
        number: GraphEntity(
            name=counted.most_common(1)[0][0],
            kind=kinds[number].most_common(1)[0][0] if kinds[number] else "",
            memories=sum(counted.values()),
        )
        for number, counted in names.items()
    }


def _parts(numbers: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (numbers[start : start + IDS_A_STEP] for start in range(0, len(numbers), IDS_A_STEP))


def listed(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:d}" for number in numbers)


def rows_in(db: sqlite3.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """The rows of `sql`, whose {} stands for some of the values at a time."""
    rows: list[Any] = []
    for part in _parts(values):
        rows += db.execute(sql.format(",".join("?" * len(part))), tuple(part)).fetchall()
    return rows
