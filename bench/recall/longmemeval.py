"""`python -m bench.recall.longmemeval FILE`: recall of a running node on LongMemEval, by the measure of its authors.

FILE is longmemeval_s.json, _m.json or _oracle.json, which are no part of this repository. As in the authors' scorer,
the user's turns are stored and searched, by turns or by whole sessions, one fresh space a question. Questions without
an answer (ids with the end _abs) have no score, nor have those without evidence in a user turn. From turns the sessions
are scored, too: turns with evidence count for their session, the rest of it as a session of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.counts import from_one
from bench.node import fresh_node
from bench.recall.ranking import Found, found_at, places_of
from bench.report import machine, means, show_means
from bench.texts.documents import BadFile, Document, member, of_kind, read_json, remember
from rich.console import Console
from rich.progress import track

from mnemesh import Client

RESULTS: Final = Path(__file__).resolve().parents[1] / "results"
GRANULARITIES: Final = ("turn", "session")
DEPTH: Final = 50
TURN_KS: Final = (1, 5, 10, 50)
SESSION_KS: Final = (1, 5, 10)
DATE_FORMAT: Final = "%Y/%m/%d (%a) %H:%M"
SHOWN: Final = tuple(f"{name}@{k}" for k in (5, 10) for name in ("recall_any", "recall_all", "ndcg_any"))
TABLE_CHARS: Final = 150


class Turn(NamedTuple):
    """A text of the user or the assistant; whether the answer is in it."""

    role: str
    text: str
    evidence: bool


class Session(NamedTuple):
    """A conversation of one sitting. `evidence`: it is named as holding the answer."""

    id: str
    when: datetime
    evidence: bool
    turns: tuple[Turn, ...]


class Entry(NamedTuple):
    """A question with all that was said before it."""

    id: str
    kind: str
    question: str
    sessions: tuple[Session, ...]

    @property
    def abstains(self) -> bool:
        """Whether it has no answer."""
        return self.id.endswith("_abs")


class Corpus(NamedTuple):
    """The stored corpus of a question: documents, the evidence among them, and the session of each for the score."""

    documents: tuple[Document, ...]
    wanted: frozenset[str]
    session_of: dict[str, str]


def load(path: Path) -> list[Entry]:
    """The questions of a file. Raises BadFile that names the entry and the field."""
    entries = of_kind(read_json(path), list, str(path))
    return [_entry(one, f"{path}: entry {number}") for number, one in enumerate(entries)]


def _entry(one: Any, where: str) -> Entry:
    name = member(one, "question_id", str, where)
    where = f"{where} ({name})"
    ids, dates, haystack = (
        member(one, f"haystack_{part}", list, where) for part in ("session_ids", "dates", "sessions")
    )
    if not len(ids) == len(dates) == len(haystack):
        raise BadFile(f"{where}: {len(ids)} haystack_session_ids, {len(dates)} dates, {len(haystack)} sessions")
    answers = member(one, "answer_session_ids", list, where)
    named = {of_kind(id_, str, f"{where}: answer_session_ids") for id_ in answers}
    if missing := named.difference(ids):
        raise BadFile(f"{where}: answer_session_ids names {min(missing)}, which is not in haystack_session_ids")
    sessions = []
    for number, (id_, date, turns) in enumerate(zip(ids, dates, haystack, strict=True)):
        at = f"{where}: session {number}"
        id_ = of_kind(id_, str, f"{at}: id")
        said = tuple(_turn(turn, f"{at}: turn {place}") for place, turn in enumerate(of_kind(turns, list, at)))
        sessions.append(Session(id_, _date(date, at), id_ in named, said))
    if len(set(ids)) != len(ids):
        raise BadFile(f"{where}: haystack_session_ids names a session twice")
    question = member(one, "question", str, where)
    return Entry(name, member(one, "question_type", str, where), question, tuple(sessions))


def _turn(turn: Any, where: str) -> Turn:
    role = member(turn, "role", str, where)
    if role not in ("user", "assistant"):
        raise BadFile(f"{where}: role is user or assistant, not {role!r}")
    evidence = of_kind(turn.get("has_answer", False), bool, f"{where}: has_answer")
    return Turn(role, member(turn, "content", str, where), evidence)


def _date(date: Any, where: str) -> datetime:
    text = of_kind(date, str, f"{where}: date")
    try:
        return datetime.strptime(text, DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise BadFile(f"{where}: date {text!r} is not like 2023/05/20 (Sat) 02:21") from None


def corpus_of(entry: Entry, granularity: str) -> Corpus:
    """The documents of an entry: one a user turn, or one a session of all turns of the user."""
    documents, wanted, session_of = [], set(), {}
    for session in entry.sessions:
        said = [(number, turn) for number, turn in enumerate(session.turns, 1) if turn.role == "user"]
        parts = [(f"{session.id}_{number}", turn.text, turn.evidence) for number, turn in said]
        if granularity == "session":
            text = " ".join(turn.text for _, turn in said)
            parts = [(session.id, text, any(turn.evidence for _, turn in said))]
        for number, (id_, text, evidence) in enumerate(parts):
            right = session.evidence and evidence
            documents.append(Document(id_, text, session.id, number, session.when))
            session_of[id_] = session.id if right or not session.evidence else f"{session.id} without evidence"
            if right:
                wanted.add(id_)
    return Corpus(tuple(documents), frozenset(wanted), session_of)


def scores(ranked: Sequence[str], corpus: Corpus, granularity: str) -> dict[str, float]:
    """Every figure of one question, from the documents that were found, best first. Raises ValueError for one without
    evidence."""
    if granularity == "session":
        return _figures("session", {k: found_at(ranked, corpus.wanted, k) for k in SESSION_KS})
    figures = _figures("turn", {k: found_at(ranked, corpus.wanted, k) for k in TURN_KS})
    sessions = [corpus.session_of[id_] for id_ in ranked]
    wanted = {corpus.session_of[id_] for id_ in corpus.wanted}
    places = {k: places_of(sessions, k) for k in SESSION_KS}
    folded = {k: found_at(sessions, wanted, place, len(corpus.wanted)) for k, place in places.items()}
    return figures | _figures("session", folded)


def _figures(level: str, found: dict[int, Found]) -> dict[str, float]:
    return {
        f"{level} {name}@{k}": value
        for k, one in found.items()
        for name, value in (("recall_any", one.any), ("recall_all", one.all), ("ndcg_any", one.ndcg))
    }


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall.longmemeval", description="Measure recall on LongMemEval."
    )
    parser.add_argument("file", type=Path, help="longmemeval_s.json, _m.json or _oracle.json")
    parser.add_argument("--granularity", choices=GRANULARITIES, default="turn", help="what one memory holds")
    parser.add_argument("--first", type=from_one, help="only so many questions")
    given = parser.parse_args(argv)
    try:
        entries = load(given.file)
    except BadFile as error:
        print(error, file=sys.stderr)
        return 2
    asked = [(one, corpus_of(one, given.granularity)) for one in entries if not one.abstains]
    asked = list(islice((pair for pair in asked if pair[1].wanted), given.first))
    if not asked:
        print(f"{given.file}: no question with evidence in a user turn", file=sys.stderr)
        return 2
    with fresh_node() as client:
        rows, refused = measured(client, asked, given.granularity)
    console = Console(width=None if sys.stdout.isatty() else TABLE_CHARS)
    table = means(rows)
    for level in ("turn", "session"):
        if shown := [f"{level} {name}" for name in SHOWN if f"{level} {name}" in table["all"]]:
            show_means(table, "question type", shown, console)
    console.print(f"{len(asked)} of {len(entries)} questions were scored; the node refused {refused} texts")
    facts = {"machine": machine(), "file": given.file.name, "granularity": given.granularity, "refused": refused}
    path = RESULTS / f"longmemeval_{given.granularity}.json"
    path.write_text(json.dumps({**facts, "rows": table}, indent=1) + "\n", "utf-8")
    return 0


def measured(
    client: Client, asked: Sequence[tuple[Entry, Corpus]], granularity: str
) -> tuple[dict[str, list[dict[str, float]]], int]:
    """The figures of every question by its type, and how many texts the node refused."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    refused = 0
    for number, (entry, corpus) in enumerate(track(asked, "questions", transient=True)):
        space = f"longmemeval/{number}"
        stored, left = remember(client, corpus.documents, space)
        refused += len(left)
        answer = client.recall(entry.question, space=space, limit=DEPTH, snippets_only=True)
        ranked = [stored[result.id] for result in answer.results]
        rows[entry.kind].append(scores(ranked, corpus, granularity))
    return rows, refused


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
