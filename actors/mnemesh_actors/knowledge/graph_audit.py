"""A look at the whole graph of some spaces: orphans, dead links, hubs and titles that lead nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from mnemesh_memory.graph.answers import (
    DEAD_LINK,
    HUB,
    HUB_MEMORIES_MIN,
    HUB_SHARE_MIN,
    ORPHAN,
    UNRESOLVED,
    GraphAudit,
    GraphFinding,
)
from mnemesh_memory.values.memory_links import WIKILINK

# The memories and mentions of the asked spaces, by name in the questions below.
_VIEWS: Final = (
    "CREATE TEMP VIEW seen AS SELECT * FROM main.memory WHERE space IN ({spaces})",
    "CREATE TEMP VIEW named AS SELECT entity, memory, name FROM main.mention WHERE memory IN (SELECT num FROM seen)",
)
_ORPHANS: Final = (
    "SELECT id, title, '' FROM seen WHERE NOT EXISTS (SELECT 1 FROM main.relation "
    "WHERE memory = seen.num) AND NOT EXISTS (SELECT 1 FROM named AS own JOIN named AS other "
    "ON other.entity = own.entity AND other.memory <> own.memory WHERE own.memory = seen.num) ORDER BY id DESC"
)
# A memory of another space is there, so a link to it is not dead.
_DEAD: Final = (
    "SELECT seen.id, link.target, link.type FROM seen JOIN main.link AS link ON link.memory = seen.num "
    "WHERE link.type <> 'wikilink' AND NOT EXISTS (SELECT 1 FROM main.memory AS other WHERE other.id = link.target) "
    "ORDER BY seen.id DESC"
)
_HUBS: Final = (
    "SELECT min(name), count(*), '' FROM named GROUP BY entity HAVING count(*) >= max({least}, "
    "{share} * (SELECT count(*) FROM seen)) ORDER BY count(*) DESC"
)
_UNRESOLVED: Final = (
    "SELECT seen.id, link.target, '' FROM seen JOIN main.link AS link ON link.memory = seen.num "
    "WHERE link.type = 'wikilink' AND NOT EXISTS (SELECT 1 FROM main.memory AS other WHERE other.title = link.target "
    "AND other.space = seen.space) ORDER BY seen.id DESC"
)


def audit_of(db: sqlite3.Connection, spaces: list[int], limit: int, made: str) -> GraphAudit:
    """Counts, and up to `limit` findings of each type."""
    listed = ",".join(f"{number:d}" for number in spaces)
    for view in _VIEWS:
        db.execute(view.format(spaces=listed))
    try:
        findings = {
            ORPHAN: [GraphFinding(type=ORPHAN, name=id_, detail=title, memories=(id_,))
                     for id_, title, _ in db.execute(_ORPHANS)],
            DEAD_LINK: [GraphFinding(type=DEAD_LINK, name=target, detail=type_, memories=(id_,))
                        for id_, target, type_ in db.execute(_DEAD)],
            HUB: [GraphFinding(type=HUB, name=name, detail=f"{count} memories name it")
                  for name, count, _ in db.execute(_HUBS.format(least=HUB_MEMORIES_MIN, share=HUB_SHARE_MIN))],
            UNRESOLVED: [GraphFinding(type=UNRESOLVED, name=target, detail=WIKILINK, memories=(id_,))
                         for id_, target, _ in db.execute(_UNRESOLVED)],
        }  # fmt: skip
        memories, entities, relations = (db.execute(sql).fetchone()[0] for sql in _COUNTS)
    finally:
        for view in ("named", "seen"):
            db.execute(f"DROP VIEW temp.{view}")
    return GraphAudit(
        memories=memories,
        entities=entities,
        relations=relations,
        counts={type_: len(group) for type_, group in findings.items()},
        findings=tuple(_first(findings, limit)),
        made=made,
    )


_COUNTS: Final = (
    "SELECT count(*) FROM seen",
    "SELECT count(DISTINCT entity) FROM named",
    "SELECT count(*) FROM (SELECT DISTINCT subject, type, object FROM main.relation "
    "WHERE memory IN (SELECT num FROM seen))",
)


def _first(findings: dict[str, list[GraphFinding]], limit: int) -> Iterator[GraphFinding]:
    for group in findings.values():
        yield from group[:limit]
