"""Questions of a session that begins: the memories of each group of a context, and the last checkpoint.

An index of the few memories that belong to a group by kind, tier or tag spares a look at the others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from mnemesh_actors.ledger.store import reads
from mnemesh_actors.ledger.store.rows import NO_TAGS, marks
from mnemesh_actors.ledger.store.schema import OPENING
from mnemesh_memory.policy.dynamics.heat import heat
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.policy.sessions import checkpoints, preferences, requirements, session_runs
from mnemesh_memory.policy.sessions.session_context import (
    DECISIONS,
    HOT,
    PINNED,
    PREFERENCES,
    QUESTION_TAGS,
    QUESTIONS,
    RECENT,
    REQUIREMENTS,
    RUNS,
)
from mnemesh_memory.policy.sessions.session_context import RULES as WORKING_RULES
from mnemesh_memory.ranking.scores import liking
from mnemesh_memory.values.model import Memory

KIND_GROUPS: Final = {
    "preference": PREFERENCES,
    "procedure": WORKING_RULES,
    "decision": DECISIONS,
    requirements.KIND: REQUIREMENTS,
}
GROUPS_BY_KIND: Final = (PINNED, PREFERENCES, WORKING_RULES, REQUIREMENTS, QUESTIONS, DECISIONS, RUNS)
RUNS_MAX: Final = 3
RESOLVED: Final = "resolved-by"
# Of the memories used last, the warmest are hot.
USED_LAST_MAX: Final = 400
READ_AT_A_TIME: Final = 200
# The planner would rather read every memory of the space.
SPECIAL: Final = "memory INDEXED BY memory_opening"
_SPACES: Final = "space IN ({})"
_OF_SESSIONS: Final = (
    f"instr(tags, '\"{checkpoints.TAG}\"') OR kind = '{session_runs.KIND}' AND instr(tags, '\"{session_runs.TAG}\"')"
)


def opening(
    db: sqlite3.Connection, spaces: Sequence[str], limit: int, pending: Mapping[str, tuple[int, int]], now: int
) -> dict[str, list[Memory]]:
    """Up to `limit` memories of each group, the most important first. `pending` are accesses as in reads.matching."""
    by_group: dict[str, list[str]] = {name: [] for name in GROUPS_BY_KIND}
    waiting: set[str] = set()  # for an event: no part of what a session begins with
    special = _newest(db, spaces, "id, kind, tier, tags", f"{OPENING} AND tier <> 'archive'", source=SPECIAL)
    for id_, kind, tier, tagged in special:
        tags = json.loads(tagged) if tagged != NO_TAGS else ()
        if triggers.TAG in tags and tier != "pinned":
            waiting.add(id_)
            continue
        groups = [PINNED] if tier == "pinned" else []
        groups += [QUESTIONS] if any(tag in QUESTION_TAGS for tag in tags) else []
        groups += [KIND_GROUPS[kind]] if kind in KIND_GROUPS and not _ended(kind, tags) else []
        groups += [RUNS] if _is_record(kind, tags) and len(by_group[RUNS]) < RUNS_MAX else []
        for name in groups:
            if len(by_group[name]) < limit:
                by_group[name].append(id_)
    by_group[QUESTIONS] = _open(db, by_group[QUESTIONS])
    by_group[RECENT] = [id_ for id_ in _recent(db, spaces, limit) if id_ not in waiting]
    by_group[HOT] = [id_ for id_ in _hot(db, spaces, limit, pending, now) if id_ not in waiting]
    memories: dict[str, Memory] = {}
    wanted = list(dict.fromkeys(id_ for ids in by_group.values() for id_ in ids))
    for start in range(0, len(wanted), READ_AT_A_TIME):
        memories |= reads.by_ids(db, wanted[start : start + READ_AT_A_TIME])
    opened = {name: [memories[id_] for id_ in ids if id_ in memories] for name, ids in by_group.items()}
    opened[PREFERENCES].sort(key=preferences.rank)
    return opened


def _newest(
    db: sqlite3.Connection, spaces: Sequence[str], columns: str, where: str, limit: int = -1, source: str = "memory"
) -> list[Any]:
    """The newest memories of all spaces under a condition. Each space by itself is in the order of an index."""
    rows: list[Any] = []
    for space in spaces:
        rows += db.execute(
            f"SELECT created_at, {columns} FROM {source} WHERE space = ? AND {where} ORDER BY created_at DESC LIMIT ?",
            (space, limit),
        )
    rows.sort(key=lambda row: row[:2], reverse=True)
    return [row[1:] for row in (rows if limit < 0 else rows[:limit])]


def last_tagged(
    db: sqlite3.Connection, spaces: Sequence[str], tag: str, session: str | None, agent: str, kind: str = ""
) -> Memory | None:
    """The memory with a tag of an opening that was written last, of this session, agent and kind if given."""
    where, values = f"{_SPACES.format(marks(spaces))} AND {OPENING} AND tier <> 'archive'", [*spaces]
    if session is not None:
        where += " AND session = ?"
        values.append(session)
    if agent:
        where += " AND by = ?"
        values.append(agent)
    if kind:
        where += " AND kind = ?"
        values.append(kind)
    row = db.execute(
        f"SELECT id FROM {SPECIAL} WHERE {where} AND instr(tags, ?) ORDER BY updated_at DESC, id DESC LIMIT 1",
        (*values, f'"{tag}"'),
    ).fetchone()
    return reads.by_ids(db, [row[0]]).get(row[0]) if row else None


def _is_record(kind: str, tags: Collection[str]) -> bool:
    return kind == session_runs.KIND and session_runs.TAG in tags


def _ended(kind: str, tags: Collection[str]) -> bool:
    return kind == requirements.KIND and requirements.status_of(tags) != requirements.OPEN


def _open(db: sqlite3.Connection, ids: Sequence[str]) -> list[str]:
    """Those of `ids` that nothing resolves."""
    ended = db.execute(
        f"SELECT source FROM link WHERE type = '{RESOLVED}' AND source IN ({marks(ids)})", tuple(ids)
    ).fetchall()
    return [id_ for id_ in ids if (id_,) not in ended]


def _recent(db: sqlite3.Connection, spaces: Sequence[str], limit: int) -> list[str]:
    """The last checkpoint, then the newest memories that are neither a checkpoint nor the record of a session."""
    last = last_tagged(db, spaces, checkpoints.TAG, None, "")
    rows = _newest(db, spaces, "id", f"state = 'active' AND tier <> 'archive' AND NOT ({_OF_SESSIONS})", limit)
    return [*([last.id] if last else []), *(id_ for (id_,) in rows)]


def _hot(
    db: sqlite3.Connection, spaces: Sequence[str], limit: int, pending: Mapping[str, tuple[int, int]], now: int
) -> list[str]:
    """The warmest of the memories that were used last."""
    columns = (
        "memory.id, kind, tier, updated_at, json_extract(detail, '$.importance'), "
        "coalesce(json_extract(detail, '$.useful'), 0), coalesce(json_extract(detail, '$.not_useful'), 0), "
        "coalesce(accesses, 0), max(coalesce(last_used, 0), coalesce(json_extract(detail, '$.arrived_at'), 0))"
    )
    here = f"{_SPACES.format(marks(spaces))} AND state = 'active' AND tier <> 'archive'"
    used = "(SELECT * FROM activity ORDER BY last_used DESC)"
    rows = db.execute(
        f"SELECT {columns} FROM {used} AS activity CROSS JOIN memory USING (id) WHERE {here} LIMIT {USED_LAST_MAX}",
        spaces,
    ).fetchall()
    known = {row[0] for row in rows}
    fresh = [id_ for id_ in pending if id_ not in known][-USED_LAST_MAX:]
    rows += db.execute(
        f"SELECT {columns} FROM memory LEFT JOIN activity USING (id) WHERE memory.id IN ({marks(fresh)}) AND {here}",
        (*fresh, *spaces),
    ).fetchall()
    warm = []
    for id_, kind, tier, updated_at, importance, useful, against, accesses, last in rows:
        more, later = pending.get(id_, (0, 0))
        last_use = max(last, later, updated_at)
        value = heat(kind, tier, importance, last_use, accesses + more, now, liking(useful, against)).value
        warm.append((value, accesses + more, last_use, id_))
    return [id_ for *_, id_ in sorted(warm, reverse=True)[:limit]]
