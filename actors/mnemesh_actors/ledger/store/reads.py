"""Questions to the view. Each takes a connection and changes nothing."""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from mnemesh_actors.ledger.store.row_filters import HAPPENED, KNOWLEDGE, conditions, covered, time_of
from mnemesh_actors.ledger.store.rows import COLUMNS, from_row, from_rows, marks
from mnemesh_crdt.document.revisions import SUPERSEDED_BY
from mnemesh_memory.access.grants import EVERY_SPACE
from mnemesh_memory.policy.dynamics.heat import VALENCE_MOST, HeatRow, columns_of, heat_of_columns
from mnemesh_memory.policy.validity import SUPERSEDES
from mnemesh_memory.ranking.scores import liking
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import any_holds, in_place
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import WIKILINK
from mnemesh_memory.values.model import ListQuery, Memory, Page, Query, Stats
from mnemesh_memory.values.rules import Ruled

FACETS_MAX = 200
EVERYTHING = ListQuery()
# Filters that a recall and a listing have in common.
_SHARED = (
    *("spaces", "kinds", "tags_any", "tags_all", "tags_none", "since", "before", "valid_at"),
    *("agent", "session", "window", "hidden", "knowledge", "trusted"),
)
# Whether a link begins or ends there: most memories have none, and are then not asked about again.
TIED = (
    f"EXISTS (SELECT 1 FROM link WHERE source = memory.id AND type <> '{WIKILINK}') "
    "OR EXISTS (SELECT 1 FROM link WHERE target = memory.id)"
)
HEX = set("0123456789abcdef-")


def by_ids(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Memory]:
    """Memories by id. Unknown ids are absent."""
    rows = db.execute(f"SELECT {COLUMNS}, {TIED} FROM memory WHERE id IN ({marks(ids)})", tuple(ids)).fetchall()
    return {row[0]: from_row(row[:-1], tied=bool(row[-1])) for row in rows}


def tagged(db: sqlite3.Connection, ids: Sequence[str], tag: str) -> list[Memory]:
    """Those of the memories that have the tag. The others are not even read."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memory WHERE id IN ({marks(ids)}) AND instr(tags, ?) "
        "AND EXISTS (SELECT 1 FROM json_each(memory.tags) WHERE value = ?)",
        (*ids, tag, tag),
    ).fetchall()
    return from_rows(rows)


def from_peers(db: sqlite3.Connection, ids: Sequence[str], node: str) -> list[str]:
    """Those of the memories whose first entry is of another node."""
    rows = db.execute(
        f"SELECT doc FROM entry WHERE seq IN (SELECT min(seq) FROM entry WHERE doc IN ({marks(ids)}) GROUP BY doc) "
        "AND node <> ?",
        (*ids, node),
    )
    return [str(id_) for (id_,) in rows]


def resolve(db: sqlite3.Connection, key: str, spaces: Sequence[str], within: Sequence[str] | None = None) -> str:
    """The id for an id, a unique prefix, or a title that one memory of `spaces` bears. Active memories go first. With
    `within`, patterns of spaces, nothing else is there at all.

    Raises NotFound, or InvalidArgument when a prefix or title fits several.
    """
    seen, patterns = covered(within)
    lowered = key.strip().lower()
    if lowered and len(lowered) >= limits.ID_PREFIX_CHARS_MIN and set(lowered) <= HEX:
        rows = db.execute(
            f"SELECT id FROM memory WHERE id >= ? AND id < ? AND {seen} ORDER BY id LIMIT 4",
            (lowered, lowered + "g", *patterns),
        ).fetchall()
        if len(rows) == 1:
            return str(rows[0][0])
        if rows:
            shown = ", ".join(str(row[0]) for row in rows[:3])
            raise InvalidArgument("id", key, f"a prefix that fits one memory only; this fits {shown}, ...")
    if spaces and key:
        titled = db.execute(
            f"SELECT id, state = 'active' FROM memory WHERE title = ? AND space IN ({marks(spaces)}) AND {seen} "
            "ORDER BY state = 'active' DESC, updated_at DESC, id LIMIT 4",
            (key, *spaces, *patterns),
        ).fetchall()
        # The title of an active memory does not mean a forgotten or superseded one.
        same = [str(id_) for id_, active in titled if active == titled[0][1]]
        if len(same) == 1:
            return same[0]
        if same:
            raise InvalidArgument("id", key, f"the title of one memory only; this is the title of {', '.join(same)}")
    raise NotFound("memory", key, "give a whole id, a unique prefix of 6 characters or more, or a title")


def page(db: sqlite3.Connection, query: ListQuery) -> Page:
    """One page of a listing, by time and id."""
    where, values = conditions(query)
    time = time_of(query.window)
    total = int(db.execute(f"SELECT count(*) FROM memory WHERE {where}", values).fetchone()[0])
    order, compare = ("DESC", "<") if query.order == "newest" else ("ASC", ">")
    if query.cursor:
        at, last = cursor_in(query.cursor)
        where += f" AND ({time}, id) {compare} (?, ?)"
        values = [*values, at, last]
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memory WHERE {where} ORDER BY {time} {order}, id {order} LIMIT ?",
        [*values, query.limit + 1],
    ).fetchall()
    memories = from_rows(rows[: query.limit])
    more = len(rows) > query.limit
    if not more:
        return Page(memories=tuple(memories), cursor="", total=total)
    last_at = happened_at(memories[-1]) if time == HAPPENED else memories[-1].created_at
    return Page(memories=tuple(memories), cursor=cursor_out(last_at, memories[-1].id), total=total)


def changed(db: sqlite3.Connection, query: ListQuery, at: int) -> list[str]:
    """Ids of the memories under `query` that were changed after `at` (ms), or are in conflict. The last change comes
    first, up to one more than its limit."""
    where, values = conditions(query)
    rows = db.execute(
        f"SELECT id FROM memory WHERE {where} AND (updated_at > ? OR conflicted = 1) "
        "ORDER BY updated_at DESC, id LIMIT ?",
        [*values, at, query.limit + 1],
    )
    return [str(id_) for (id_,) in rows]


def changed_of(db: sqlite3.Connection, ids: Sequence[str], at: int) -> set[str]:
    """Those of `ids` with a change after `at` (ms), whichever of their revisions stands now."""
    rows = db.execute(
        f"SELECT DISTINCT doc FROM entry WHERE doc IN ({marks(ids)}) AND type = 'change' AND at > ?", [*ids, at]
    )
    return {str(id_) for (id_,) in rows}


def matching(
    db: sqlite3.Connection, query: Query, pending: Mapping[str, tuple[int, int]], now: int
) -> tuple[list[str], list[str]]:
    """Ids of the memories that pass the filters of a recall, newest first. When superseded memories lead to successors,
    also ids of those with a successor among the first. `pending` are the accesses not yet written: (number, last)."""
    state = "all" if query.include_superseded else "active"
    where, values = conditions(ListQuery(state=state, **{name: getattr(query, name) for name in _SHARED}))
    where += " AND state <> 'forgotten'" + ("" if query.include_archive else " AND tier <> 'archive'")
    ids: list[str] = []
    warmth: list[HeatRow] = []
    late = [rule for rule in query.hidden if not rule.indexed]
    for space, by, tags, id_, kind, tier, *rest in db.execute(
        "SELECT space, by, tags, memory.id, kind, tier, updated_at, json_extract(detail, '$.importance'), "
        "coalesce(json_extract(detail, '$.useful'), 0), coalesce(json_extract(detail, '$.not_useful'), 0), "
        "json_extract(detail, '$.dir'), json_extract(detail, '$.paths'), coalesce(accesses, 0), "
        "coalesce(last_used, 0), coalesce(json_extract(detail, '$.arrived_at'), 0) "
        f"FROM memory LEFT JOIN activity USING (id) WHERE {where} "
        f"ORDER BY {time_of(query.window)} DESC, memory.id DESC",
        values,
    ):
        updated_at, importance, useful, against, folder, paths, accesses, last, arrived_at = rest
        about = tuple(json.loads(paths or "[]"))
        if not in_place(query, about, folder or ""):
            continue
        if late:
            facts = Ruled(
                space=space, kind=kind, tags=tuple(json.loads(tags)), by=by, tier=tier, importance=importance,
                paths=about, folder=folder or "",
            )  # fmt: skip
            if any_holds(late, facts):
                continue
        ids.append(id_)
        if query.min_heat > 0:
            more, later = pending.get(id_, (0, 0))
            used, liked = max(last, later, updated_at, arrived_at), liking(useful, against)
            warmth.append((kind, tier, importance, used, accesses + more, liked, VALENCE_MOST))
    if warmth:
        warm = heat_of_columns(columns_of(warmth), now) >= query.min_heat
        ids = list(compress(ids, warm))
    if query.include_superseded:
        return ids, []
    own = set(ids)
    return ids, [id_ for id_ in _replaced_by(db, query, ids) if id_ not in own]


def _replaced_by(db: sqlite3.Connection, query: Query, ids: Sequence[str]) -> list[str]:
    """Superseded memories of the spaces of `query` with a successor, near or far, among `ids`."""
    before: dict[str, list[str]] = {}
    # With valid_at a chain goes on past what is forgotten, as in holding.successors.
    states = "state = 'superseded'" if query.valid_at is None else "state <> 'active'"
    for id_, successor in db.execute(
        "SELECT id, json_extract(detail, '$.superseded_by') FROM memory "
        f"WHERE space IN ({marks(query.spaces)}) AND {states}",
        query.spaces,
    ):
        before.setdefault(successor, []).append(id_)
    replaced: list[str] = []
    todo = list(ids)
    while todo:
        older = before.pop(todo.pop(), [])
        replaced += older
        todo += older
    return replaced


def chains(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Memory]:
    """These memories, all their successors, and the predecessors of each."""
    rows = db.execute(
        "WITH RECURSIVE chain(id) AS (SELECT value FROM json_each(?) UNION "
        "SELECT json_extract(one.detail, '$.superseded_by') FROM chain JOIN memory AS one ON one.id = chain.id) "
        f"SELECT {COLUMNS}, {TIED} FROM memory WHERE id IN (SELECT id FROM chain UNION "
        f"SELECT link.target FROM chain JOIN link ON link.source = chain.id WHERE link.type = '{SUPERSEDES}')",
        (json.dumps(list(ids)),),
    )
    return {row[0]: from_row(row[:-1], tied=bool(row[-1])) for row in rows}


def chain_ends(ids: Sequence[str], successor_of: Callable[[str], str]) -> dict[str, str]:
    """For each id the end of its chain of successors. In a circle, one of its members. `successor_of` gives "" at the
    end of a chain."""
    ends: dict[str, str] = {}
    for first in ids:
        walked: dict[str, None] = {}
        here = first
        while here not in ends and here not in walked:
            walked[here] = None
            here = successor_of(here) or here
        ends.update(dict.fromkeys(walked, ends.get(here, here)))
    return {first: ends[first] for first in ids}


def successor(db: sqlite3.Connection, id_: str) -> str:
    """The memory that replaced a superseded one, or ""."""
    row = db.execute(
        "SELECT json_extract(detail, '$.superseded_by') FROM memory WHERE id = ? AND state = 'superseded'", (id_,)
    ).fetchone()
    return str(row[0] or "") if row else ""


def behind(db: sqlite3.Connection, id_: str, space: str) -> list[str]:
    """Ids of the newest BEHIND_MAX memories of a space that stay, although they stepped back for a memory: it replaced
    them, or they repeat it. That memory may be erased."""
    rows = db.execute(
        "SELECT memory.id FROM link JOIN memory ON memory.id = link.source WHERE link.target = ? AND link.type = ? "
        "AND memory.space = ? AND memory.state IN ('superseded', 'forgotten') ORDER BY memory.id DESC LIMIT ?",
        (id_, SUPERSEDED_BY, space, limits.BEHIND_MAX),
    )
    return [str(row[0]) for row in rows]


def timeline(db: sqlite3.Connection, middle: Memory, before: int, after: int) -> tuple[list[Memory], int]:
    """Active neighbours in time of `middle`, no rules, of its session or else of its space, and its position."""
    if middle.source.session:
        scope, key = "session <> '' AND session = ?", middle.source.session
        order: tuple[str, ...] = ("place", "created_at", "id")
        here: tuple[Any, ...] = (middle.source.seq or 0, middle.created_at, middle.id)
    else:
        scope, key, order = "space = ?", middle.space, ("created_at", "id")
        here = (middle.created_at, middle.id)
    select = f"SELECT {COLUMNS} FROM memory WHERE {scope} AND space = ? AND state = 'active' "
    select += f"AND {KNOWLEDGE} AND ({', '.join(order)})"

    def side(compare: str, direction: str, limit: int) -> list[Any]:
        by = ", ".join(f"{column} {direction}" for column in order)
        sql = f"{select} {compare} ({marks(here)}) ORDER BY {by} LIMIT ?"
        return db.execute(sql, (key, middle.space, *here, limit)).fetchall()

    earlier, later = side("<", "DESC", before), side(">", "ASC", after)
    return [*from_rows(reversed(earlier)), middle, *from_rows(later)], len(earlier)


def stats(db: sqlite3.Connection, spaces: Sequence[str]) -> Stats:
    """Counts over `spaces`, which may be patterns, or over all when empty."""
    where, values = covered(spaces or None)
    states = dict(db.execute(f"SELECT state, count(*) FROM memory WHERE {where} GROUP BY state", values))
    conflicted = db.execute(f"SELECT count(*) FROM memory WHERE conflicted = 1 AND {where}", values).fetchone()[0]

    def facet(column: str, table: str = "memory") -> tuple[dict[str, int], int]:
        """The most frequent, and how many there are in all."""
        rows = db.execute(
            f"SELECT {column}, count(*) AS n, count(*) OVER () FROM {table} WHERE state = 'active' AND {where} "
            f"GROUP BY 1 ORDER BY n DESC, 1 LIMIT {FACETS_MAX}",
            values,
        ).fetchall()
        return {name: count for name, count, _ in rows}, rows[0][2] if rows else 0

    kinds, _ = facet("kind")
    tags, tags_total = facet("value", "memory, json_each(memory.tags)")
    within, spaces_total = facet("space")
    agents, agents_total = facet("by")
    return Stats(
        memories=states.get("active", 0),
        forgotten=states.get("forgotten", 0),
        superseded=states.get("superseded", 0),
        conflicted=conflicted,
        kinds=kinds,
        tags=tags,
        spaces=within,
        agents=agents,
        tags_total=tags_total,
        spaces_total=spaces_total,
        agents_total=agents_total,
    )


def export_page(
    db: sqlite3.Connection,
    spaces: Sequence[str],
    states: Sequence[str],
    after: tuple[int, str],
    limit: int,
    only: ListQuery = EVERYTHING,
) -> list[Memory]:
    """Memories after (created_at, id), oldest first. Of `spaces`, which may be patterns, or of all when empty, under
    the other filters of `only`."""
    where, values = conditions(replace(only, within=tuple(spaces) or (EVERY_SPACE,), state="all"))
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memory WHERE {where} AND state IN ({marks(states)}) "
        "AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?",
        (*values, *states, *after, limit),
    )
    return from_rows(rows)


def cursor_out(at: int, id_: str) -> str:
    """The token of the page after the memory with that time (ms) and id."""
    return base64.urlsafe_b64encode(json.dumps([at, id_]).encode()).decode()


def cursor_in(token: str) -> tuple[int, str]:
    """The meaning of a token. Raises InvalidArgument."""
    try:
        # A token that is cut off decodes to nothing valid. The cut bounds the depth of its JSON.
        at, last = json.loads(base64.urlsafe_b64decode(token[: limits.CURSOR_CHARS_MAX].encode()))
        if isinstance(at, int) and isinstance(last, str) and limits.TIME_MS_MIN <= at <= limits.TIME_MS_MAX:
            return at, field_checks.memory_id("cursor", last)
        raise ValueError("not made by cursor_out")
    except (ValueError, TypeError, binascii.Error, InvalidArgument):
        raise InvalidArgument("cursor", token, "the cursor of the page before, unchanged") from None
