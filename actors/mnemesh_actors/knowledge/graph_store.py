"""The file of the knowledge graph, `derived/graph.sqlite`, and the questions to it.

    memory    a memory with its space and its time
    entity    a key; its names are those of its mentions, so nobody learns a spelling from a memory it may not read
    mention   a memory names an entity
    relation  a memory states a relation

Each question names the spaces that count. A row of another space has no influence on the answer.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mnemesh_actors.knowledge.derived_file import DerivedFile
from mnemesh_actors.knowledge.graph_audit import audit_of
from mnemesh_memory.access.grants import any_matches
from mnemesh_memory.graph.answers import PROVENANCE_MAX, GraphAnswer, GraphAudit, GraphEntity, GraphRelation
from mnemesh_memory.graph.causes import Event
from mnemesh_memory.graph.extraction import extract, kind_of
from mnemesh_memory.graph.pagerank import SparseRows, pagerank, sparse_rows
from mnemesh_memory.graph.relations import Entity, entity_key
from mnemesh_memory.values.memory_links import WIKILINK, wikilinks
from mnemesh_memory.values.model import Memory

VERSION: Final = 2
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
GRAPHS_KEPT: Final = 4  # in memory, one for each set of spaces
ROWS_A_QUESTION_MAX: Final = 2_000
RELATION_WEIGHT: Final = 2.0  # of an edge between entities, beside 1 for a mention
IDS_A_STEP: Final = 500
# A memory of one of these kinds, or with one of these relations, tells of something that happened.
EVENT_KINDS: Final = ("error", "decision", "episode", "run")
EVENT_RELATIONS: Final = (
    "caused_by",
    "fixed_by",
    "occurs_in",
    "deployed_to",
    "replaced_by",
    "has_version",
    "chosen_over",
)
# Events happen to things, and none of these is one.
NO_CAUSES: Final = ("version", "reason", "cause", "fix", "person", "team")
EVENTS_MAX: Final = 100_000  # mentions, the latest


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The graph of some spaces in memory: entities and memories are nodes."""

    rows: SparseRows
    nodes: dict[tuple[str, int], int]  # ("e" or "m", number) to node
    names: list[tuple[str, int]]


class GraphStore:
    """Every method is called by one thread at a time."""

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(Path(path), VERSION, TABLES)
        self._walks: OrderedDict[tuple[int, ...], Walk] = OrderedDict()

    def close(self) -> None:
        """Nothing more is asked."""
        self._file.close()

    def cursor(self) -> tuple[str, int]:
        """The place up to which the log is in the file."""
        return self._file.cursor()

    def keep_cursor(self, incarnation: str, seq: int) -> None:
        """Note the place."""
        self._file.keep_cursor(incarnation, seq)

    def reset(self) -> None:
        """Drop everything."""
        self._walks.clear()
        self._file.reset()

    def drop(self, why: str) -> None:
        """An empty file, until the consumer begins the log."""
        self._walks.clear()
        self._file.drop(why)

    def made(self) -> str:
        """Why the file was made anew since the start, or ""."""
        return self._file.made

    # ---- taking in ------------------------------------------------------------------------------------------

    def ended_by(self, ids: Sequence[str]) -> list[str]:
        """The memories whose statements one of `ids` ended."""
        with self._file.reading() as db:
            return [id_ for (id_,) in _in(db, "SELECT id FROM memory WHERE ended_by IN ({})", ids)]

    def take(self, memories: Sequence[Memory], ends: dict[str, int], gone: Sequence[str], erased: bool) -> None:
        """Put memories in the place of their former selves and take out `gone`. After an erasure no byte of it is left
        in the file. `ends`: when a successor ended each statement (ms)."""
        extracts = [(memory, extract(memory.content, memory.title, memory.paths)) for memory in memories]
        with self._file.changing() as db:
            _drop(db, [*gone, *(memory.id for memory in memories)])
            for memory, found in extracts:
                number = _add_memory(db, memory, ends.get(memory.id))
                known = {entity_key(entity.name) or entity.name: entity for entity in found.entities}
                numbers = {key: _entity_number(db, key) for key in known}
                db.executemany(
                    "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)",
                    [(numbers[key], number, entity.name, entity.kind) for key, entity in known.items()],
                )
                for relation in found.relations:
                    pair = [
                        _end_number(db, number, numbers, name, relation.type, end)
                        for end, name in enumerate((relation.subject, relation.object))
                    ]
                    db.execute(
                        "INSERT OR IGNORE INTO relation VALUES (?, ?, ?, ?)", (number, pair[0], relation.type, pair[1])
                    )
        self._walks.clear()
        if erased:
            self._file.fold()

    # ---- questions ------------------------------------------------------------------------------------------

    def entity(self, name: str, within: Sequence[str], limit: int, now: int, at: int | None) -> GraphAnswer | None:
        """The neighbourhood of an entity as the spaces of `within` tell it, or None when they do not name it. `at`:
        only relations that held then (ms)."""
        with self._file.reading() as db:
            spaces = _spaces(db, within)
            found = db.execute("SELECT num FROM entity WHERE key = ?", (entity_key(name) or name,)).fetchone()
            shown = _shown(db, [found[0]], spaces) if found else {}
            if not shown:
                return None
            number = int(found[0])
            sql = "SELECT {} WHERE (subject = ? OR object = ?)"
            relations, total = self._relations(db, sql, (number, number), spaces, limit, now, at)
            entities, memories = self._near(db, ("e", number), spaces, limit, now)
            entity = shown[number]
            return GraphAnswer(
                name=entity.name, kind=entity.kind, relations=relations, relations_total=total, entities=entities,
                memories=memories,
            )  # fmt: skip

    def memory(self, id_: str, within: Sequence[str], limit: int, now: int, at: int | None) -> GraphAnswer:
        """The statements of a memory and the entities around it."""
        with self._file.reading() as db:
            spaces = _spaces(db, within)
            found = db.execute("SELECT num FROM memory WHERE id = ?", (id_,)).fetchone()
            if found is None:
                return GraphAnswer(name=id_, kind="memory", id=id_)
            sql = "SELECT {} WHERE memory.num = ?"
            relations, total = self._relations(db, sql, (found[0],), spaces, limit, now, at)
            entities, memories = self._near(db, ("m", int(found[0])), spaces, limit, now)
            return GraphAnswer(
                name=id_, kind="memory", id=id_, relations=relations, relations_total=total, entities=entities,
                memories=tuple(other for other in memories if other != id_),
            )  # fmt: skip

    def alike(self, name: str, within: Sequence[str]) -> list[str]:
        """Up to five names that hold the words of `name`."""
        key = entity_key(name)
        if len(key) < 3:
            return []
        pattern = "%" + key.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        with self._file.reading() as db:
            sql = "SELECT num FROM entity WHERE key LIKE ? ESCAPE '\\' ORDER BY length(key), key LIMIT 50"
            numbers = [number for (number,) in db.execute(sql, (pattern,))]
            shown = _shown(db, numbers, _spaces(db, within))
            return [shown[number].name for number in numbers if number in shown][:5]

    def events(self, name: str, within: Sequence[str]) -> tuple[str, list[Event]]:
        """The name as most memories write it, and the events of the spaces with the names in them."""
        marks = [",".join("?" * len(values)) for values in (EVENT_KINDS, EVENT_RELATIONS, NO_CAUSES)]
        with self._file.reading() as db:
            spaces = _spaces(db, within)
            rows = db.execute(
                "SELECT coalesce(valid_from, recorded), id, entity FROM mention "
                f"JOIN memory ON memory.num = mention.memory WHERE space IN ({_list(spaces)}) AND (memory_kind IN "
                f"({marks[0]}) OR memory.num IN (SELECT memory FROM relation WHERE type IN ({marks[1]}))) "
                f"AND mention.kind NOT IN ({marks[2]}) ORDER BY 1 DESC LIMIT {EVENTS_MAX}",
                (*EVENT_KINDS, *EVENT_RELATIONS, *NO_CAUSES),
            ).fetchall()
            asked = db.execute("SELECT num FROM entity WHERE key = ?", (entity_key(name) or name,)).fetchone()
            shown = _shown(db, {entity for *_, entity in rows} | ({asked[0]} if asked else set()), spaces)
        named: dict[tuple[int, str], list[str]] = defaultdict(list)
        for at, id_, entity in rows:
            named[at, id_].append(shown[entity].name)
        events = [Event(at, id_, tuple(names)) for (at, id_), names in named.items()]
        return (shown[asked[0]].name if asked and asked[0] in shown else ""), events

    def audit(self, within: Sequence[str], limit: int) -> GraphAudit:
        """Counts and findings; see graph_audit."""
        with self._file.reading() as db:
            return audit_of(db, _spaces(db, within), limit, self._file.made)

    def _relations(
        self,
        db: sqlite3.Connection,
        sql: str,
        values: tuple[Any, ...],
        spaces: list[int],
        limit: int,
        now: int,
        at: int | None,
    ) -> tuple[tuple[GraphRelation, ...], int]:
        """The relations that `sql` finds, each once, those that hold now first and then the newest, and their count."""
        columns = (
            "subject, type, object, id, recorded, valid_from, valid_to FROM relation "
            "JOIN memory ON memory.num = relation.memory"
        )
        held = (
            ""
            if at is None
            else f" AND coalesce(valid_from, recorded) <= {at:d} AND coalesce(valid_to, {at + 1:d}) > {at:d}"
        )
        rows = db.execute(
            f"{sql.format(columns)} AND space IN ({_list(spaces)}){held} ORDER BY recorded DESC, id DESC LIMIT ?",
            (*values, ROWS_A_QUESTION_MAX),
        ).fetchall()
        grouped: dict[tuple[int, str, int], list[Any]] = defaultdict(list)
        for subject, type_, object_, *rest in rows:
            grouped[subject, type_, object_].append(rest)
        shown = _shown(db, {number for subject, _, object_ in grouped for number in (subject, object_)}, spaces)
        made = [
            _merged(shown[subject].name, type_, shown[object_].name, stated)
            for (subject, type_, object_), stated in grouped.items()
        ]
        made.sort(
            key=lambda relation: (relation.valid_to is not None and relation.valid_to <= now, -relation.memories_total)
        )
        return tuple(made[:limit]), len(made)

    # ---- nearness -------------------------------------------------------------------------------------------

    def _near(
        self, db: sqlite3.Connection, start: tuple[str, int], spaces: list[int], limit: int, now: int
    ) -> tuple[tuple[GraphEntity, ...], tuple[str, ...]]:
        """Entities and memories by personalised PageRank, the nearest first."""
        walk = self._walk(db, spaces, now)
        node = walk.nodes.get(start)
        if node is None:
            return (), ()
        shares = pagerank(walk.rows, {node: 1.0})
        leading = np.argsort(-shares, kind="stable")[: 4 * limit + 2]
        near = [(*walk.names[place], float(shares[place])) for place in leading if shares[place] > 0 and place != node]
        numbers = [(number, share) for what, number, share in near if what == "e"][:limit]
        shown = _shown(db, [number for number, _ in numbers], spaces)
        entities = tuple(
            replace(shown[number], score=round(min(1.0, share), 6)) for number, share in numbers if number in shown
        )
        ids = dict(
            _in(db, "SELECT num, id FROM memory WHERE num IN ({})", [number for what, number, _ in near if what == "m"])
        )
        return entities, tuple(ids[number] for what, number, _ in near if what == "m" and number in ids)[:limit]

    def _walk(self, db: sqlite3.Connection, spaces: list[int], now: int) -> Walk:
        key = tuple(spaces)
        if key in self._walks:
            self._walks.move_to_end(key)
            return self._walks[key]
        held = f"space IN ({_list(spaces)}) AND coalesce(valid_to, {now + 1:d}) > {now:d}"
        mentions = db.execute(
            f"SELECT entity, memory FROM mention JOIN memory ON memory.num = mention.memory WHERE {held}"
        ).fetchall()
        stated = db.execute(
            "SELECT subject, object, count(*) FROM relation JOIN memory ON memory.num = relation.memory "
            f"WHERE {held} GROUP BY subject, object"
        ).fetchall()
        names: list[tuple[str, int]] = []
        nodes: dict[tuple[str, int], int] = {}
        for what, numbers in (("e", (entity for entity, _ in mentions)), ("m", (memory for _, memory in mentions))):
            for number in dict.fromkeys(numbers):
                nodes[what, number] = len(names)
                names.append((what, number))
        edges = [(nodes["e", entity], nodes["m", memory], 1.0) for entity, memory in mentions]
        edges += [
            (nodes["e", subject], nodes["e", object_], RELATION_WEIGHT * min(4, count))
            for subject, object_, count in stated
            if subject != object_
        ]
        ends, others, weights = (
            (np.array(column) for column in zip(*edges, strict=True)) if edges else (np.zeros(0, int),) * 3
        )
        rows = sparse_rows(len(names), ends.astype(np.int64), others.astype(np.int64), weights.astype(float))
        self._walks[key] = Walk(rows, nodes, names)
        while len(self._walks) > GRAPHS_KEPT:
            self._walks.popitem(last=False)
        return self._walks[key]


# ---- rows ------------------------------------------------------------------------------------------------------------


def _merged(subject: str, type_: str, object_: str, stated: list[Any]) -> GraphRelation:
    """One relation of several memories: open as long as one of them is."""
    ends = [valid_to for *_, valid_to in stated]
    begins = [recorded if valid_from is None else valid_from for _, recorded, valid_from, _ in stated]
    return GraphRelation(
        subject=subject, type=type_, object=object_, memories=tuple(id_ for id_, *_ in stated[:PROVENANCE_MAX]),
        memories_total=len(stated), recorded_at=min(recorded for _, recorded, *_ in stated), valid_from=min(begins),
        valid_to=None if None in ends else max(ends),
    )  # fmt: skip


def _add_memory(db: sqlite3.Connection, memory: Memory, ended: int | None) -> int:
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
    links = [(link.type, link.id) for link in memory.links]
    links += [(WIKILINK, _title(title)) for title in wikilinks(memory.content)]
    db.executemany("INSERT INTO link VALUES (?, ?, ?)", [(row[0], *link) for link in links])
    return int(row[0])


def _title(text: str) -> str:
    return " ".join(text.casefold().split())


def _drop(db: sqlite3.Connection, ids: Sequence[str]) -> None:
    numbers = [number for (number,) in _in(db, "SELECT num FROM memory WHERE id IN ({})", ids)]
    touched = {number for (number,) in _in(db, "SELECT entity FROM mention WHERE memory IN ({})", numbers)}
    for table, column in (("relation", "memory"), ("mention", "memory"), ("link", "memory"), ("memory", "num")):
        for part in _parts(numbers):
            db.execute(f"DELETE FROM {table} WHERE {column} IN ({_list(part)})")
    for part in _parts(sorted(touched)):
        db.execute(
            f"DELETE FROM entity WHERE num IN ({_list(part)}) AND NOT EXISTS (SELECT 1 FROM mention WHERE entity = num)"
        )


def _entity_number(db: sqlite3.Connection, key: str) -> int:
    found = db.execute("SELECT num FROM entity WHERE key = ?", (key,)).fetchone()
    return int(
        found[0] if found else db.execute("INSERT INTO entity (key) VALUES (?) RETURNING num", (key,)).fetchone()[0]
    )


def _end_number(
    db: sqlite3.Connection, memory: int, numbers: dict[str, int], name: str, relation: str, end: int
) -> int:
    """The entity at an end of a relation. Behind the bound of entities it is a mention all the same."""
    key = entity_key(name) or name
    if key not in numbers:
        numbers[key] = _entity_number(db, key)
        entity = Entity(name, kind_of(name, relation, end))
        db.execute(
            "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)", (numbers[key], memory, entity.name, entity.kind)
        )
    return numbers[key]


def _spaces(db: sqlite3.Connection, within: Sequence[str]) -> list[int]:
    """The numbers of the spaces that the patterns cover."""
    return [
        number for number, name in db.execute("SELECT num, name FROM space ORDER BY num") if any_matches(within, name)
    ]


def _shown(db: sqlite3.Connection, numbers: Iterable[int], spaces: list[int]) -> dict[int, GraphEntity]:
    """Entities with the name and the kind that most memories of the spaces give them."""
    names: dict[int, Counter[str]] = defaultdict(Counter)
    kinds: dict[int, Counter[str]] = defaultdict(Counter)
    for part in _parts(sorted(set(numbers))):
        rows = db.execute(
            "SELECT entity, name, kind, count(*) FROM mention JOIN memory ON memory.num = mention.memory "
            f"WHERE entity IN ({_list(part)}) AND space IN ({_list(spaces)}) "
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


def _list(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:d}" for number in numbers)


def _in(db: sqlite3.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """The rows of `sql`, whose {} stands for some of the values at a time."""
    found: list[Any] = []
    for part in _parts(values):
        found += db.execute(sql.format(",".join("?" * len(part))), tuple(part)).fetchall()
    return found
