"""Transcripts on disk: adds turns, finds them, reads them, erases sessions. Decides nothing about who may.

The first call that needs the file opens it, so that a node starts without one and with a damaged one. A session is
erased from rows, index, freed pages and write-ahead log alike.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_actors.transcripts.transcript_file import connect, copy_file, explained, indexed
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.text.text import snippet
from mnemesh_memory.transcripts import sessions
from mnemesh_memory.transcripts.turn_ranking import Scored, asked, full_match, ranked, words
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, shorten

STEPS_BETWEEN_LOOKS: Final = 100_000  # of SQLite's machine, until a search looks at the time
DEPTH_MAX: Final = 16  # of sessions that are part of others
COLUMNS: Final = tuple(column.name for column in fields(sessions.Session))
SESSION: Final = ", ".join(f"s.{name}" for name in COLUMNS)


class TranscriptStore:
    """One file. Every method is called by one thread at a time, and raises Unavailable or DataLoss for a bad file."""

    def __init__(self, path: str, reserve_bytes: int = 0) -> None:
        self._path = Path(path)
        self._room = DiskRoom(self._path.parent.parent, reserve_bytes)  # its own folder is made with the first session
        self._opened: sqlite3.Connection | None = None
        copy_file(self._path).unlink(missing_ok=True)  # that a crash left, with what may be erased since

    def close(self) -> None:
        """Nothing more is asked."""
        if self._opened is not None:
            self._opened.close()

    def add(self, draft: sessions.TranscriptDraft, masked: Collection[str], agent: str, now: int) -> sessions.Added:
        """Append the turns that are not there yet, in their order. `masked` are the ids of turns without their
        credentials. Raises FailedPrecondition for the session of another principal, and for one that is full. DiskFull
        when the disk has no room."""
        self._room.require()
        with self._changing() as db:
            row = db.execute(
                "SELECT id, by, turns, part_of FROM session WHERE session = ? AND space = ?",
                (draft.session, draft.space),
            ).fetchone()
            if row is None:
                row = db.execute(
                    "INSERT INTO session (space, session, part_of, source, dir, title, by, turns, bytes, masked, "
                    "stored_at) VALUES (?, ?, ?, '', '', '', ?, 0, 0, 0, ?) RETURNING id, by, turns, part_of",
                    (draft.space, draft.session, draft.part_of, agent, now),
                ).fetchone()
            id_, by, turns, part_of = row
            _refuse_other(draft, agent, str(by), str(part_of))
            keys = [turn.id for turn in draft.turns]
            sql = f"SELECT key FROM turn WHERE session = {id_:d} AND key IN ({{}})"
            known = {key for (key,) in _in(db, sql, keys)}
            fresh = [turn for turn in draft.turns if turn.id not in known]
            if turns + len(fresh) > limits.TRANSCRIPT_SESSION_TURNS_MAX:
                most = f"at most {limits.TRANSCRIPT_SESSION_TURNS_MAX} turns a session"
                raise InvalidArgument("turns", f"{turns + len(fresh)} items", most)
            for position, turn in enumerate(fresh, turns + 1):
                (rowid,) = db.execute(
                    "INSERT INTO turn (session, position, key, role, at, text) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                    (id_, position, turn.id, turn.role, turn.at, turn.text),
                ).fetchone()
                db.execute("INSERT INTO words (rowid, said) VALUES (?, ?)", (rowid, indexed(turn.text)))
            _count(db, id_, draft, fresh, masked)
        return sessions.Added(
            session=draft.session, space=draft.space, stored=len(fresh), known=len(known), turns=turns + len(fresh)
        )

    def search(self, query: sessions.TranscriptQuery) -> tuple[sessions.TurnHit, ...]:
        """The turns that fit, best first. Raises DeadlineExceeded for a search that takes too long."""
        with self._reading() as db, _timed(db):
            (turns,) = db.execute("SELECT coalesce(sum(turns), 0) FROM session").fetchone()
            stems = _stems(db, query.text)
            held = dict(_in(db, "SELECT term, doc FROM temp.held WHERE term IN ({})", list(stems)))
            wanted = asked(held, turns)
            if not wanted:
                return ()
            match = " OR ".join(f'"{stems[stem]}"' for stem in wanted)
            where, values = _filters(query)
            pool = db.execute(
                "SELECT t.session, t.position, -bm25(words) FROM words JOIN turn t ON t.id = words.rowid "
                f"JOIN session s ON s.id = t.session WHERE words MATCH ? AND {where} "
                "ORDER BY bm25(words), t.id LIMIT ?",
                (match, *values, limits.TRANSCRIPT_POOL_TURNS),
            ).fetchall()
            full = full_match((held[stem] for stem in wanted), turns)
            best = ranked((Scored(*row) for row in pool), full)[: query.limit]
            return tuple(_hit(db, query, place, score) for place, score in best)

    def read(
        self, session: str, space: str, first: int, count: int
    ) -> tuple[sessions.Session, tuple[sessions.Turn, ...]]:
        """The session, and up to `count` of its turns from position `first` on. Raises NotFound."""
        with self._reading() as db:
            row = db.execute(
                f"SELECT s.id, {SESSION} FROM session s WHERE s.session = ? AND s.space = ?", (session, space)
            ).fetchone()
            if row is None:
                raise NotFound("session", session)
            return _session(row[1:]), _turns(db, row[0], first, first + count - 1)

    def page(self, query: sessions.SessionQuery) -> sessions.SessionPage:
        """One page of sessions, those with the latest turns first."""
        latest = "coalesce(s.ended_at, s.stored_at)"
        where, values = _places(query.spaces, query.agent)
        if query.since is not None:
            where, values = f"{where} AND {latest} >= ?", [*values, query.since]
        if query.before is not None:
            where, values = f"{where} AND coalesce(s.started_at, s.stored_at) < ?", [*values, query.before]
        with self._reading() as db:
            (total,) = db.execute(f"SELECT count(*) FROM session s WHERE {where}", values).fetchone()
            if query.cursor:
                where, values = f"{where} AND ({latest}, s.id) < (?, ?)", [*values, *_place(query.cursor)]
            rows = db.execute(
                f"SELECT {latest}, s.id, {SESSION} FROM session s WHERE {where} "
                f"ORDER BY {latest} DESC, s.id DESC LIMIT ?",
                (*values, query.limit + 1),
            ).fetchall()
        shown = rows[: query.limit]
        cursor = f"{shown[-1][0]}.{shown[-1][1]}" if len(rows) > len(shown) else ""
        return sessions.SessionPage(sessions=tuple(_session(row[2:]) for row in shown), cursor=cursor, total=total)

    def spaces(self) -> tuple[str, ...]:
        """The spaces in which sessions lie."""
        with self._reading() as db:
            return tuple(space for (space,) in db.execute("SELECT DISTINCT space FROM session ORDER BY space"))

    def called(self, session: str) -> tuple[sessions.Session, ...]:
        """The sessions of that name, in any space, then their parts."""
        with self._reading() as db:
            rows = db.execute(
                "WITH RECURSIVE found (id, depth) AS (SELECT id, 0 FROM session WHERE session = ? UNION "
                "SELECT part.id, depth + 1 FROM found JOIN session whole USING (id) JOIN session part "
                "ON part.part_of = whole.session AND part.part_of <> '' AND part.space = whole.space WHERE depth < ?) "
                f"SELECT {SESSION} FROM session s JOIN (SELECT id, min(depth) depth FROM found GROUP BY id) USING (id) "
                "ORDER BY depth, s.space, s.id",
                (session, DEPTH_MAX),
            )
            return tuple(_session(row) for row in rows)

    def erase(self, named: Sequence[tuple[str, str]]) -> bool:
        """Delete sessions, each by name and space, with every byte of their texts in the file. Returns False when bytes
        stay in the write-ahead log until a later write, because somebody reads the file just now."""
        with self._changing() as db:
            for session, space in named:
                row = db.execute("SELECT id FROM session WHERE session = ? AND space = ?", (session, space)).fetchone()
                if row is not None:
                    gone = db.execute("SELECT id, text FROM turn WHERE session = ?", row)
                    db.executemany(
                        "INSERT INTO words (words, rowid, said) VALUES ('delete', ?, ?)",
                        ((id_, indexed(text)) for id_, text in gone),
                    )
                    db.execute("DELETE FROM turn WHERE session = ?", row)
                    db.execute("DELETE FROM session WHERE id = ?", row)
            # Deleted turns stand in the index until its parts are merged.
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
        with explained(self._path, "the sessions are erased, and some of their bytes may be in the write-ahead log"):
            return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def status(self) -> sessions.TranscriptStatus:
        """How much is stored."""
        if self._opened is None and not self._path.exists():
            return sessions.TranscriptStatus(sessions=0, turns=0, bytes=0)
        with self._reading() as db:
            count, turns = db.execute("SELECT count(*), coalesce(sum(turns), 0) FROM session").fetchone()
            (pages,), (size,) = db.execute("PRAGMA page_count").fetchone(), db.execute("PRAGMA page_size").fetchone()
        return sessions.TranscriptStatus(sessions=count, turns=turns, bytes=pages * size)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with explained(self._path, "nothing was read"):
            if self._opened is None:
                self._path.parent.mkdir(exist_ok=True, mode=0o700)
                self._opened = connect(self._path)
            yield self._opened

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Nothing is changed when what runs inside fails."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:  # boundary: undone, then raised again
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise


def _refuse_other(draft: sessions.TranscriptDraft, agent: str, by: str, part_of: str) -> None:
    if principal_of(by) != principal_of(agent):
        raise FailedPrecondition(
            f"session: {shorten(draft.session)} in {shorten(draft.space)} was stored by {principal_of(by)}, who alone "
            "may add to it",
            field="session",
            value=shorten(draft.session),
        )
    if draft.part_of and draft.part_of != part_of:
        raise InvalidArgument("part_of", draft.part_of, f"{shorten(part_of)}, as when the session was stored first")


def _count(
    db: sqlite3.Connection,
    id_: int,
    draft: sessions.TranscriptDraft,
    fresh: Sequence[sessions.TurnDraft],
    masked: Collection[str],
) -> None:
    times = [turn.at for turn in fresh if turn.at is not None]
    db.execute(
        "UPDATE session SET turns = turns + :turns, bytes = bytes + :bytes, masked = masked + :masked, "
        "source = coalesce(nullif(:source, ''), source), dir = coalesce(nullif(:dir, ''), dir), "
        "title = coalesce(nullif(:title, ''), title), "
        "started_at = min(coalesce(started_at, :low), coalesce(:low, started_at)), "
        "ended_at = max(coalesce(ended_at, :high), coalesce(:high, ended_at)) WHERE id = :id",
        {
            "id": id_,
            "turns": len(fresh),
            "bytes": sum(len(turn.text.encode()) for turn in fresh),
            "masked": sum(turn.id in masked for turn in fresh),
            "source": draft.source,
            "dir": draft.dir,
            "title": draft.title,
            "low": min(times, default=None),
            "high": max(times, default=None),
        },
    )


def _stems(db: sqlite3.Connection, text: str) -> dict[str, str]:
    """The stems of a question in the index, each with one of its words."""
    given = list(dict.fromkeys(word.lower() for word in words(text)))
    db.execute("DELETE FROM temp.asked")
    db.executemany("INSERT INTO temp.asked (rowid, said) VALUES (?, ?)", list(enumerate(given)))
    return {stem: given[number] for stem, number in db.execute("SELECT term, doc FROM temp.stems")}


def _in(db: sqlite3.Connection, sql: str, values: Sequence[Any]) -> Iterator[Any]:
    yield from db.execute(sql.format(", ".join("?" * len(values))), values)


def _places(spaces: Sequence[str], agent: str) -> tuple[str, list[Any]]:
    """The condition for sessions of those spaces and that agent: a principal, or one of its clients."""
    where, values = f"s.space IN ({', '.join('?' * len(spaces))})", list[Any](spaces)
    if agent:
        where, values = (
            f"{where} AND (s.by = ? OR substr(s.by, 1, ?) = ?)",
            [*values, agent, len(agent) + 1, f"{agent}/"],
        )
    return where, values


def _filters(query: sessions.TranscriptQuery) -> tuple[str, list[Any]]:
    where, values = _places(query.spaces, query.agent)
    for condition, given in (
        ("(s.session = ? OR s.part_of = ?)", (query.session,) * 2 if query.session else ()),
        (f"t.role IN ({', '.join('?' * len(query.roles))})", query.roles),
        ("t.at >= ?", () if query.since is None else (query.since,)),
        ("t.at < ?", () if query.before is None else (query.before,)),
    ):
        if given:
            where, values = f"{where} AND {condition}", [*values, *given]
    return where, values


def _hit(db: sqlite3.Connection, query: sessions.TranscriptQuery, place: Scored, score: float) -> sessions.TurnHit:
    around = [
        replace(turn, text=snippet(turn.text, query.text))
        for turn in _turns(db, place.session, place.position - query.context, place.position + query.context)
    ]
    return sessions.TurnHit(
        turn=next(turn for turn in around if turn.position == place.position),
        score=score,
        before=tuple(turn for turn in around if turn.position < place.position),
        after=tuple(turn for turn in around if turn.position > place.position),
    )


def _turns(db: sqlite3.Connection, session: int, first: int, last: int) -> tuple[sessions.Turn, ...]:
    """Turns of the session with that row, from one position to another."""
    rows = db.execute(
        "SELECT s.session, s.space, t.position, t.key, t.role, t.text, t.at FROM turn t JOIN session s "
        "ON s.id = t.session WHERE t.session = ? AND t.position BETWEEN ? AND ? ORDER BY t.position",
        (session, first, last),
    )
    return tuple(
        sessions.Turn(session=name, space=space, position=position, id=key, role=role, text=text, at=at)
        for name, space, position, key, role, text, at in rows
    )


def _session(row: Sequence[Any]) -> sessions.Session:
    """Of a row of COLUMNS."""
    return sessions.Session(**dict(zip(COLUMNS, row, strict=True)))


def _place(cursor: str) -> tuple[int, int]:
    """Where a page of sessions ended. Raises InvalidArgument."""
    time_, _, id_ = cursor.partition(".")
    try:
        return int(time_), int(id_)
    except ValueError:
        raise InvalidArgument("cursor", cursor, "the cursor of the page before") from None


@contextmanager
def _timed(db: sqlite3.Connection) -> Iterator[None]:
    """The statements inside end after TRANSCRIPT_SEARCH_TIMEOUT_S at the latest."""
    deadline = time.monotonic() + limits.TRANSCRIPT_SEARCH_TIMEOUT_S
    db.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_LOOKS)
    try:
        yield
    except sqlite3.OperationalError:
        if time.monotonic() <= deadline:
            raise
        limit = limits.TRANSCRIPT_SEARCH_TIMEOUT_S
        raise DeadlineExceeded(
            f"the search took more than {limit:g} s; ask for rarer words, or in one session", part="transcripts"
        ) from None
    finally:
        db.set_progress_handler(None, 0)
