"""The file of the knowledge graph, `derived/graph.sqlite`, and the questions to it.

Each question names the spaces that count. A row of another space has no influence on the answer.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mnemesh_actors.knowledge.communities import communities, community_id
from mnemesh_actors.knowledge.derived_file import DerivedFile, DerivedStore
from mnemesh_actors.knowledge.graph_audit import audit_of
from mnemesh_actors.knowledge.graph_rows import (
    TABLES,
    VERSION,
    add_memory,
    drop,
    end_number,
    entity_number,
    listed,
    merged,
    rows_in,
    shown_entities,
    space_numbers,
)
from mnemesh_memory.graph.answers import GraphAnswer, GraphAudit, GraphCommunity, GraphEntity, GraphRelation
from mnemesh_memory.graph.causes import Event
from mnemesh_memory.graph.extraction import extract, names_in
from mnemesh_memory.graph.pagerank import Floats, Places, SparseRows, pagerank, sparse_rows
from mnemesh_memory.graph.relations import entity_key
from mnemesh_memory.values.model import Memory

SHARE_DECIMALS: Final = 9  # Shares that differ by less are equal.
COMMUNITY_ENTITIES: Final = 20  # shown
GRAPHS_KEPT: Final = 4  # in memory, one for each set of spaces
ROWS_A_QUESTION_MAX: Final = 2_000
RELATION_WEIGHT: Final = 2.0  # of an edge between entities, beside 1 for a mention
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
IMPORTED: Final = "import:"  # begins the session of an import
EVENTS_MAX: Final = 100_000  # mentions, the latest


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The graph of some spaces in memory: entities and memories are nodes."""

    rows: SparseRows
    nodes: dict[tuple[str, int], int]  # ("e" or "m", number) to node
    names: list[tuple[str, int]]
    edges: tuple[Places, Places, Floats]  # ends, other ends, weights
    communities: list[int] = field(default_factory=list)  # by node, once somebody asked


class GraphStore(DerivedStore):
    """Every method is called by one thread at a time."""

    def __init__(self, path: str) -> None:
        super().__init__(DerivedFile(Path(path), VERSION, TABLES))
        self._walks: OrderedDict[tuple[int, ...], Walk] = OrderedDict()

    def reset(self) -> None:
        """Drop everything."""
        self._walks.clear()
        self._file.reset()

    def drop(self, why: str) -> None:
        """An empty file, until the consumer begins the log."""
        self._walks.clear()
        self._file.drop(why)

    # ---- taking in ------------------------------------------------------------------------------------------

    def ended_by(self, ids: Sequence[str]) -> list[str]:
        """The memories whose statements one of `ids` ended."""
        with self._file.reading() as db:
            rows = rows_in(db, "SELECT id FROM memory WHERE ended_by <> '' AND ended_by IN ({})", ids)
            return [id_ for (id_,) in rows]

    def take(self, memories: Sequence[Memory], ends: dict[str, int], gone: Sequence[str], erased: bool) -> None:
        """Put memories in the place of their former selves and take out `gone`. After an erasure no byte of it is left
        in the file. `ends`: when a successor ended each statement (ms)."""
        extracts = [(memory, extract(memory.content, memory.title, _paths(memory))) for memory in memories]
        with self._file.changing() as db:
            drop(db, [*gone, *(memory.id for memory in memories)])
            for memory, extracted in extracts:
                number = add_memory(db, memory, ends.get(memory.id))
                known = {entity_key(entity.name) or entity.name: entity for entity in extracted.entities}
                numbers = {key: entity_number(db, key) for key in known}
                db.executemany(
                    "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)",
                    [(numbers[key], number, entity.name, entity.kind) for key, entity in known.items()],
                )
                for relation in extracted.relations:
                    pair = [
                        end_number(db, number, numbers, name, relation.type, end)
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
        only relations and nearness that held then (ms)."""
        with self._file.reading() as db:
            spaces = space_numbers(db, within)
            row = db.execute("SELECT num FROM entity WHERE key = ?", (entity_key(name) or name,)).fetchone()
            shown = shown_entities(db, [row[0]], spaces) if row else {}
            if not shown:
                return None
            number = int(row[0])
            sql = "SELECT {} WHERE (subject = ? OR object = ?)"
            relations, total = self._relations(db, sql, (number, number), spaces, limit, now, at)
            entities, memories = self._near(db, ("e", number), spaces, limit, now, at)
            entity = shown[number]
            return GraphAnswer(
                name=entity.name, kind=entity.kind, relations=relations, relations_total=total, entities=entities,
                memories=memories,
            )  # fmt: skip

    def memory(self, id_: str, within: Sequence[str], limit: int, now: int, at: int | None) -> GraphAnswer:
        """The statements of a memory and the entities around it."""
        with self._file.reading() as db:
            spaces = space_numbers(db, within)
            row = db.execute("SELECT num FROM memory WHERE id = ?", (id_,)).fetchone()
            if row is None:
                return GraphAnswer(name=id_, kind="memory", id=id_)
            sql = "SELECT {} WHERE memory.num = ?"
            relations, total = self._relations(db, sql, (row[0],), spaces, limit, now, at)
            entities, memories = self._near(db, ("m", int(row[0])), spaces, limit, now, at)
            return GraphAnswer(
                name=id_, kind="memory", id=id_, relations=relations, relations_total=total, entities=entities,
                memories=tuple(other for other in memories if other != id_),
            )  # fmt: skip

    def community(self, name: str, within: Sequence[str], now: int) -> GraphCommunity | None:
        """The community of an entity, or of the memory with that id, by what holds now. None when nothing names it."""
        with self._file.reading() as db:
            spaces = space_numbers(db, within)
            walk = self._walk(db, spaces, now)
            entity = db.execute("SELECT num FROM entity WHERE key = ?", (entity_key(name) or name,)).fetchone()
            memory = db.execute("SELECT num FROM memory WHERE id = ?", (name,)).fetchone()
            starts = [("e", *entity)] if entity else [("m", *memory)] if memory else []
            node = walk.nodes.get(starts[0]) if starts else None
            if node is None:
                return None
            if not walk.communities:
                walk.communities.extend(communities(len(walk.names), *walk.edges))
            inside = [place for place, number in enumerate(walk.communities) if number == walk.communities[node]]
            degrees = np.bincount(np.concatenate(walk.edges[:2]), np.tile(walk.edges[2], 2), len(walk.names))
            inside.sort(key=lambda place: -degrees[place])
            numbers = [walk.names[place][1] for place in inside if walk.names[place][0] == "e"]
            shown = shown_entities(db, numbers[:COMMUNITY_ENTITIES], spaces)
            names = tuple(shown[number].name for number in numbers[:COMMUNITY_ENTITIES] if number in shown)
            middle = entity_key(names[0]) if names else name
            return GraphCommunity(
                id=community_id(middle), entities=names, entities_total=len(numbers),
                memories_total=len(inside) - len(numbers),
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
            shown = shown_entities(db, numbers, space_numbers(db, within))
            return [shown[number].name for number in numbers if number in shown][:5]

    def nearness(self, question: str, ids: Sequence[str], within: Sequence[str], now: int) -> dict[str, float]:
        """The nearness of these memories to the entities that a question names, in [0, 1], 1 for the nearest."""
        with self._file.reading() as db:
            spaces = space_numbers(db, within)
            rows = rows_in(db, "SELECT num FROM entity WHERE key IN ({})", list(names_in(question)))
            walk = self._walk(db, spaces, now)
            seeds = {node: 1.0 for (number,) in rows if (node := walk.nodes.get(("e", number))) is not None}
            if not seeds:
                return {}
            shares = pagerank(walk.rows, seeds)
            numbers = dict(rows_in(db, "SELECT id, num FROM memory WHERE id IN ({})", ids))
            reached = {
                id_: float(shares[node])
                for id_, number in numbers.items()
                if (node := walk.nodes.get(("m", number))) is not None and shares[node] > 0
            }
            most = max(reached.values(), default=0.0)
            return {id_: share / most for id_, share in reached.items()} if most else {}

    def events(self, name: str, within: Sequence[str]) -> tuple[str, list[Event]]:
        """The name as most memories write it, and the events of the spaces with the names in them."""
        marks = [",".join("?" * len(values)) for values in (EVENT_KINDS, EVENT_RELATIONS, NO_CAUSES)]
        with self._file.reading() as db:
            spaces = space_numbers(db, within)
            rows = db.execute(
                "SELECT coalesce(valid_from, recorded), id, entity FROM mention "
                f"JOIN memory ON memory.num = mention.memory WHERE space IN ({listed(spaces)}) AND (memory_kind IN "
                f"({marks[0]}) OR memory.num IN (SELECT memory FROM relation WHERE type IN ({marks[1]}))) "
                f"AND mention.kind NOT IN ({marks[2]}) ORDER BY 1 DESC LIMIT {EVENTS_MAX}",
                (*EVENT_KINDS, *EVENT_RELATIONS, *NO_CAUSES),
            ).fetchall()
            asked = db.execute("SELECT num FROM entity WHERE key = ?", (entity_key(name) or name,)).fetchone()
            shown = shown_entities(db, {entity for *_, entity in rows} | ({asked[0]} if asked else set()), spaces)
        named: dict[tuple[int, str], list[str]] = defaultdict(list)
        for at, id_, entity in rows:
            named[at, id_].append(shown[entity].name)
        events = [Event(at, id_, tuple(names)) for (at, id_), names in named.items()]
        return (shown[asked[0]].name if asked and asked[0] in shown else ""), events

    def audit(self, within: Sequence[str], limit: int) -> GraphAudit:
        """Counts and findings; see graph_audit."""
        with self._file.reading() as db:
            return audit_of(db, space_numbers(db, within), limit, self.made())

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
        held = "" if at is None else f" AND {_held_at(at)}"
        rows = db.execute(
            f"{sql.format(columns)} AND space IN ({listed(spaces)}){held} ORDER BY recorded DESC, id DESC LIMIT ?",
            (*values, ROWS_A_QUESTION_MAX),
        ).fetchall()
        grouped: dict[tuple[int, str, int], list[Any]] = defaultdict(list)
        for subject, type_, object_, *rest in rows:
            grouped[subject, type_, object_].append(rest)
        shown = shown_entities(db, {number for subject, _, object_ in grouped for number in (subject, object_)}, spaces)
        made = [
            merged(shown[subject].name, type_, shown[object_].name, stated)
            for (subject, type_, object_), stated in grouped.items()
        ]
        made.sort(
            key=lambda relation: (relation.valid_to is not None and relation.valid_to <= now, -relation.memories_total)
        )
        return tuple(made[:limit]), len(made)

    # ---- nearness -------------------------------------------------------------------------------------------

    def _near(
        self, db: sqlite3.Connection, start: tuple[str, int], spaces: list[int], limit: int, now: int, at: int | None
    ) -> tuple[tuple[GraphEntity, ...], tuple[str, ...]]:
        """Entities and memories by personalised PageRank, the nearest first. `at`: of what held then (ms)."""
        walk = self._walk(db, spaces, now) if at is None else _walk_of(db, spaces, now, at)
        node = walk.nodes.get(start)
        if node is None:
            return (), ()
        shares = pagerank(walk.rows, {node: 1.0})
        leading = np.argsort(-shares.round(SHARE_DECIMALS), kind="stable")[: 4 * limit + 2]
        near = [(*walk.names[place], float(shares[place])) for place in leading if shares[place] > 0 and place != node]
        numbers = [(number, share) for what, number, share in near if what == "e"][:limit]
        shown = shown_entities(db, [number for number, _ in numbers], spaces)
        entities = tuple(
            replace(shown[number], score=round(min(1.0, share), 6)) for number, share in numbers if number in shown
        )
        ids = dict(
            rows_in(
                db, "SELECT num, id FROM memory WHERE num IN ({})", [number for what, number, _ in near if what == "m"]
            )
        )
        return entities, tuple(ids[number] for what, number, _ in near if what == "m" and number in ids)[:limit]

    def _walk(self, db: sqlite3.Connection, spaces: list[int], now: int) -> Walk:
        """The graph of these spaces: what holds now, in memory since the last change."""
        key = tuple(spaces)
        if key in self._walks:
            self._walks.move_to_end(key)
            return self._walks[key]
        self._walks[key] = _walk_of(db, spaces, now, None)
        while len(self._walks) > GRAPHS_KEPT:
            self._walks.popitem(last=False)
        return self._walks[key]


def _walk_of(db: sqlite3.Connection, spaces: list[int], now: int, at: int | None) -> Walk:
    """The graph of these spaces as it holds now, or as it held at `at`."""
    held = _held(spaces, now, at)
    mentions = db.execute(
        f"SELECT entity, memory FROM mention JOIN memory ON memory.num = mention.memory WHERE {held}"
    ).fetchall()
    stated = db.execute(
        "SELECT subject, object, count(*) FROM relation JOIN memory ON memory.num = relation.memory "
        f"WHERE {held} AND subject <> object GROUP BY subject, object"
    )
    linked = db.execute(
        "SELECT memory.num, other.num FROM link JOIN memory ON memory.num = link.memory "
        f"JOIN memory AS other ON other.id = link.target WHERE memory.num <> other.num AND {held} "
        f"AND {_held(spaces, now, at, 'other')}"
    )
    edges = [(("e", entity), ("m", memory), 1.0) for entity, memory in mentions]
    edges += [(("e", subject), ("e", object_), RELATION_WEIGHT * min(4, count)) for subject, object_, count in stated]
    edges += [(("m", memory), ("m", other), 1.0) for memory, other in linked]
    # In an order that no row of another space has a part in: equal shares then stand alike.
    keys = "SELECT DISTINCT num FROM entity JOIN mention ON mention.entity = num WHERE memory IN (SELECT num FROM "
    entities = db.execute(f"{keys}memory WHERE {held}) ORDER BY key")
    memories = db.execute(f"SELECT num FROM memory WHERE {held} ORDER BY id DESC")
    names = [*(("e", number) for (number,) in entities), *(("m", number) for (number,) in memories)]
    nodes = {name: place for place, name in enumerate(names)}
    edges.sort(key=lambda edge: (nodes[edge[0]], nodes[edge[1]]))
    ends = np.fromiter((nodes[one] for one, _, _ in edges), np.int64, len(edges))
    others = np.fromiter((nodes[other] for _, other, _ in edges), np.int64, len(edges))
    weights = np.fromiter((weight for *_, weight in edges), np.float64, len(edges))
    return Walk(sparse_rows(len(names), ends, others, weights), nodes, names, (ends, others, weights))


def _paths(memory: Memory) -> tuple[str, ...]:
    """The paths that a memory is about. An import sets that of the file it read."""
    return () if memory.source.session.startswith(IMPORTED) else memory.paths


def _held(spaces: list[int], now: int, at: int | None, table: str = "memory") -> str:
    """The condition that a memory lies in these spaces and holds now, or held at `at`."""
    within = f"{table}.space IN ({listed(spaces)})"
    if at is None:
        return f"{within} AND coalesce({table}.valid_to, {now + 1:d}) > {now:d}"
    return f"{within} AND {_held_at(at, table)}"


def _held_at(at: int, table: str = "memory") -> str:
    begun = f"coalesce({table}.valid_from, {table}.recorded) <= {at:d}"
    return f"{begun} AND coalesce({table}.valid_to, {at + 1:d}) > {at:d}"
