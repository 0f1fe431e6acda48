"""The table of links: a part of the view that says what leads to a memory. Kept with the view, read by questions.

Each link of a memory has a row, and so has each title in double brackets in its text. A title is looked up when
somebody asks, and leads to its bearer at that time. Anything that the asker may not read is absent, both text and id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from mnemesh_actors.ledger.store.reads import by_ids
from mnemesh_actors.ledger.store.row_filters import covered
from mnemesh_actors.ledger.store.rows import COLUMNS, from_row, marks
from mnemesh_memory.access.grants import any_matches
from mnemesh_memory.text.text import snippet, title_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.memory_links import (
    AMBIGUOUS,
    ATTACHED_TYPES,
    BOTH_HOLD,
    CONTRADICTS,
    DERIVED_FROM,
    IN,
    OPEN_TYPES,
    OUT,
    PART_OF,
    WIKILINK,
    Linked,
    wikilinks,
)
from mnemesh_memory.values.model import Memory

# Of a text, for its title and snippet.
BEGINNING_CHARS: Final = 2_000
# That contradict one result, looked at in a recall.
LEADING_MAX: Final = 16
# Derived memories that one question gives.
DERIVED_MAX: Final = 2_000
_FOLLOWED: Final = tuple(dict.fromkeys((*ATTACHED_TYPES, *OPEN_TYPES)))
# Whether it is a mere mark, and the ids of a pair of which nobody has decided.
OpenPair: TypeAlias = tuple[int, str, str]
# A memory and its replacement link to each other: the memory's own link is enough.
_TOLD_ONCE: Final = (
    "NOT EXISTS (SELECT 1 FROM link AS own WHERE own.source = ? AND own.target = l.source AND "
    "(own.type = 'supersedes' AND l.type = 'superseded-by' OR own.type = 'superseded-by' AND l.type = 'supersedes'))"
)
# Whole rows, so that their checksums are looked at.
_ENDS: Final = ", ".join(f"m.{name}" for name in COLUMNS.split(", "))
_SPACE, _STATE = COLUMNS.split(", ").index("space"), COLUMNS.split(", ").index("state")


def keep(db: sqlite3.Connection, memory: Memory, *, new: bool) -> None:
    """The rows of a memory, in place of those it had. `new` had none."""
    if not new:
        db.execute("DELETE FROM link WHERE source = ?", (memory.id,))
    rows = [(memory.id, link.type, link.id) for link in memory.links]
    rows += [(memory.id, WIKILINK, title) for title in wikilinks(memory.content)]
    if rows:
        db.executemany("INSERT INTO link VALUES (?, ?, ?)", rows)


def linked(
    db: sqlite3.Connection, ids: Sequence[str], within: Sequence[str]
) -> dict[str, tuple[tuple[Linked, ...], int]]:
    """Both ends of the links of each memory, and how many more lead there. `within` are patterns of the spaces that
    the asker may know of."""
    return {id_: _linked_of(db, memory, within) for id_, memory in by_ids(db, ids).items()}


def _linked_of(db: sqlite3.Connection, memory: Memory, within: Sequence[str]) -> tuple[tuple[Linked, ...], int]:
    """Both ends of the links of `memory`: first its own targets, then the first limits.LINKED_MAX sources of links to
    it. Also the count of further sources. `within` are patterns of the spaces that may be known of."""
    ends = _ends(db, [link.id for link in memory.links])
    outgoing = []
    for link in memory.links:
        end = ends.get(link.id)
        if end is None:
            outgoing.append(Linked(type=link.type, direction=OUT, id=link.id))
        elif any_matches(within, end[_SPACE]):
            outgoing.append(_linked(link.type, OUT, end))
    outgoing += [_named(db, title, memory.space) for title in wikilinks(memory.content)]
    leading, more = _leading(db, memory, within)
    return (*outgoing, *leading), more


def ties(db: sqlite3.Connection, ids: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """(memory, type, direction, other id) of the links that recall follows from `ids`: their targets, and memories that
    contradict or may replace them. The LEADING_MAX latest of each count, by id, which is in order of time."""
    asked, types, opposed = marks(ids), marks(_FOLLOWED), marks(OPEN_TYPES)
    return db.execute(
        f"SELECT source, type, '{OUT}', target FROM link WHERE source IN ({asked}) AND type IN ({types}) UNION ALL "
        f"SELECT target, type, '{IN}', source FROM (SELECT *, row_number() OVER (PARTITION BY target, type "
        f"ORDER BY source DESC) AS place FROM link WHERE target IN ({asked}) AND type IN ({opposed})) WHERE place <= ?",
        (*ids, *_FOLLOWED, *ids, *OPEN_TYPES, LEADING_MAX),
    ).fetchall()


def derived(db: sqlite3.Connection, ids: Sequence[str]) -> list[tuple[str, str]]:
    """(source, memory) for each `derived-from` link to one of `ids`, also of a forgotten memory and to an erased
    source. By id, DERIVED_MAX at most."""
    asked = marks(ids)
    return db.execute(
        f"SELECT target, source FROM link WHERE target IN ({asked}) AND type = ? ORDER BY target, source LIMIT ?",
        (*ids, DERIVED_FROM, DERIVED_MAX),
    ).fetchall()


def contradictions(
    db: sqlite3.Connection, spaces: Sequence[str], after: OpenPair, limit: int
) -> tuple[list[OpenPair], int, int]:
    """Up to `limit` pairs of active memories of a space of `spaces`, patterns, that a link of OPEN_TYPES joins and no
    link `both-hold`, from `after` on. A mark ends with a revision after both were written. Also how many there are in
    all, and how many of them are mere marks. Contradictions come first, then the order is by
    id."""
    seen, patterns = covered(spaces)
    joined = " AND ".join(f"{side}.state = 'active' AND {seen.replace('space', side + '.space')}" for side in "ab")
    pairs = (
        "SELECT min(l.type <> ?) AS likely, min(l.source, l.target) AS one, max(l.source, l.target) AS other "
        "FROM link AS l JOIN memory AS a ON a.id = l.source JOIN memory AS b ON b.id = l.target "
        f"WHERE l.type IN ({marks(OPEN_TYPES)}) AND a.id <> b.id AND a.space = b.space AND {joined} AND (l.type = ? "
        "OR max(a.updated_at, b.updated_at) <= max(a.created_at, b.created_at)) AND NOT EXISTS ("
        "SELECT 1 FROM link AS agreed WHERE agreed.type = ? AND (agreed.source = a.id AND agreed.target = b.id "
        "OR agreed.source = b.id AND agreed.target = a.id)) GROUP BY one, other"
    )
    values = (CONTRADICTS, *OPEN_TYPES, *patterns, *patterns, CONTRADICTS, BOTH_HOLD)
    counts = db.execute(f"SELECT count(*), coalesce(sum(likely), 0) FROM ({pairs})", values).fetchone()
    total, likely = map(int, counts)
    if not total:
        return [], 0, 0
    rows = db.execute(
        f"SELECT likely, one, other FROM ({pairs}) WHERE (likely, one, other) > (?, ?, ?) ORDER BY 1, 2, 3 LIMIT ?",
        (*values, *after, limit),
    )
    return rows.fetchall(), total, likely


def hidden(db: sqlite3.Connection, ids: Sequence[str], within: Sequence[str]) -> list[str]:
    """Those of `ids` that lie in other spaces than `within` covers."""
    seen, patterns = covered(within)
    rows = db.execute(f"SELECT id FROM memory WHERE id IN ({marks(ids)}) AND NOT {seen}", (*ids, *patterns))
    return [row[0] for row in rows]


def wholes(db: sqlite3.Connection, id_: str) -> set[str]:
    """The wholes of a memory, and their wholes, and so on. A circle includes the memory itself."""
    rows = db.execute(
        "WITH RECURSIVE whole (id) AS (SELECT target FROM link WHERE source = ? AND type = ? UNION "
        "SELECT target FROM link JOIN whole ON source = id WHERE type = ?) SELECT id FROM whole",
        (id_, PART_OF, PART_OF),
    )
    return {row[0] for row in rows}


def _leading(db: sqlite3.Connection, memory: Memory, within: Sequence[str]) -> tuple[list[Linked], int]:
    """The sources of links to `memory`, by id or, when no other memory bears it, by title. A forgotten memory leads
    nowhere."""
    seen, patterns = covered(within)
    seen = seen.replace("space", "m.space")
    way, values = "l.target = ? AND l.type <> ?", [memory.id, WIKILINK]
    if memory.title and _named(db, memory.title, memory.space).id == memory.id:
        way = f"({way} OR l.target = ? AND l.type = ? AND m.space = ?)"
        values += [memory.title, WIKILINK, memory.space]
    rows = db.execute(
        f"SELECT l.type, count(*) OVER (), {_ENDS} FROM link l JOIN memory m ON m.id = l.source "
        f"WHERE {way} AND m.id <> ? AND m.state <> 'forgotten' AND {seen} AND {_TOLD_ONCE} "
        "ORDER BY l.type, m.created_at, m.id LIMIT ?",
        (*values, memory.id, *patterns, memory.id, limits.LINKED_MAX),
    ).fetchall()
    return [_linked(row[0], IN, row[2:]) for row in rows], rows[0][1] - len(rows) if rows else 0


def _named(db: sqlite3.Connection, title: str, space: str) -> Linked:
    """The target of a title: the one memory of the space with that title, an active one first."""
    rows = db.execute(
        f"SELECT {_ENDS} FROM memory m WHERE m.title = ? AND m.title <> '' AND m.space = ? AND m.state <> 'forgotten' "
        "ORDER BY m.state = 'active' DESC LIMIT 2",
        (title, space),
    ).fetchall()
    if not rows:
        return Linked(type=WIKILINK, direction=OUT, id="", title=title)
    if len(rows) > 1 and rows[0][_STATE] == rows[1][_STATE]:
        return Linked(type=WIKILINK, direction=OUT, id="", title=title, space=space, state=AMBIGUOUS)
    return _linked(WIKILINK, OUT, rows[0])


def _ends(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Sequence[Any]]:
    if not ids:
        return {}
    rows = db.execute(f"SELECT {_ENDS} FROM memory m WHERE m.id IN ({marks(ids)})", tuple(ids))
    return {row[0]: row for row in rows}


def _linked(type_: str, direction: str, end: Sequence[Any]) -> Linked:
    memory = from_row(end)
    shown = replace(memory, title="", content="") if memory.state == "forgotten" else memory
    return other_end(type_, direction, shown, snippet(shown.content[:BEGINNING_CHARS], ""))


def other_end(type_: str, direction: str, end: Memory, text: str) -> Linked:
    """A link as its reader sees the other end, with `text` of that."""
    return Linked(
        type=type_,
        direction=direction,
        id=end.id,
        title=end.title or title_of(end.content[:BEGINNING_CHARS]),
        space=end.space,
        kind=end.kind,
        state=end.state,
        snippet=text,
    )
