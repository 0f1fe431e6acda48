"""`mnemesh transcript`: sessions as they were said, apart from memories. `mnemesh import-transcript` brings them in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.given import given, text_of
from mnemesh.cli.options import DASHES, Number, PageOptions, Text, Texts, Yes, argument, asks, option
from mnemesh.cli.people.memories import BOLD, DIM, GREEN, YELLOW, clip, end_of_page, paint
from mnemesh.cli.shell import Shell, count_of, json_lines, one_line, printable

Place = tuple[str, str, int]
HELP: Final = "Search, read, list and erase sessions as they were said; they are no memories."


FILE_HELP: Final = "Read the turns from a file; default: standard input."
Session = Annotated[str, argument("ReadTranscriptRequest.session", "SESSION")]


def add(
    shell: Shell,
    session: Session,
    file: Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help=FILE_HELP)] = None,
    space: Annotated[str, option("AddTranscriptRequest.space", "--space", "-s")] = "",
    part_of: Annotated[str, option("AddTranscriptRequest.part_of", "--part-of", metavar="SESSION")] = "",
    source: Annotated[str, option("AddTranscriptRequest.source", "--source", metavar="NAME")] = "",
    dir: Annotated[str, option("AddTranscriptRequest.dir", "--dir", metavar="DIR")] = "",
    title: Annotated[str, option("AddTranscriptRequest.title", "--title", "-t")] = "",
) -> None:
    """Add turns to a session: one JSON object a line, with id, role, text and perhaps at."""
    turns = [turn for _, turn in json_lines(text_of(["-"] if file is None else None, file))]
    about = {"space": space, "part_of": part_of, "source": source, "dir": dir, "title": title}
    shell.ask(lambda client: client.add_transcript(session, turns, **about), _added)


@asks("SearchTranscriptsRequest")
def search(
    shell: Shell,
    query: Annotated[list[str], argument("SearchTranscriptsRequest.query", "QUERY", DASHES)],
    space: Texts = None,
    session: Annotated[str, option("SearchTranscriptsRequest.session", "--session", metavar="SESSION")] = "",
    by: Annotated[str, option("SearchTranscriptsRequest.agent", "--by", metavar="NAME")] = "",
    role: Texts = None,
    since: Text = None,
    before: Text = None,
    limit: Number = None,
    context: Annotated[Number, option("SearchTranscriptsRequest.context", "--context", "-C")] = None,
) -> None:
    """Find turns of past sessions by their words, best first, each with the turns around it."""
    where = given(space=space, session=session, agent=by, roles=role, since=since, before=before)
    words = " ".join(query)
    shell.ask(lambda client: client.search_transcripts(words, limit=limit, context=context, **where), _found)


def read(
    shell: Shell,
    session: Session,
    space: Annotated[str, option("ReadTranscriptRequest.space", "--space", "-s")] = "",
    first: Annotated[Number, option("ReadTranscriptRequest.first", "--first", metavar="POSITION")] = None,
    count: Annotated[Number, option("ReadTranscriptRequest.count", "--count", "-n")] = None,
) -> None:
    """Read turns of a session in their order."""
    shell.ask(lambda client: client.read_transcript(session, space=space, first=first, count=count), _read)


@asks("ListTranscriptsRequest")
def list_sessions(
    shell: Shell,
    page: PageOptions,
    by: Annotated[str, option("ListTranscriptsRequest.agent", "--by", metavar="NAME")] = "",
    since: Text = None,
    before: Text = None,
) -> None:
    """List stored sessions, those with the latest turns first."""
    wanted = page.fields() | given(agent=by, since=since, before=before)
    shell.ask(lambda client: client.list_transcripts(**wanted), _listed)


def erase(
    shell: Shell,
    session: Session,
    space: Annotated[str, option("EraseTranscriptRequest.space", "--space", "-s")] = "",
    yes: Yes = False,
) -> None:
    """Erase a session and its part sessions for good."""
    if not yes:
        shell.check_can_ask()
        if not typer.confirm(f"Erase the session {printable(session)} for good?"):
            raise typer.Exit(1)
    shell.ask(lambda client: client.erase_transcript(session, space=space), _erased)


def _added(added: values.AddedTurns) -> Iterator[str]:
    stored = f"{count_of(added.stored, 'turn')}, {added.known} known"
    yield f"ADD  {one_line(added.session)} in {one_line(added.space)}: {stored}"
    for turn in added.masked:
        yield paint(f"masked  {one_line(turn.id)}  {', '.join(turn.types)}", YELLOW)


def _found(answer: values.FoundTurns) -> Iterator[str]:
    for hits, turns in _stretches(answer.results):
        for rank, hit in sorted(hits.items()):
            turn = hit.turn
            where = paint(f"{one_line(turn.session)} {turn.position}", BOLD)
            yield f"{rank:>2}  {paint(f'{hit.score:.2f}', GREEN)}  {where}  {_when(turn)}{one_line(turn.space)}"
        own = {_place(hit.turn) for hit in hits.values()}
        for place, turn in turns.items():
            mark = ">" if len(own) > 1 and place in own else " "  # of one, the colours say it
            line = f"    {mark} {turn.role:<9} {one_line(turn.text)}"
            yield line if place in own else paint(line, DIM)
    if not answer.results:
        yield "nothing found in " + ", ".join(one_line(space) for space in answer.spaces)


def _stretches(results: Iterable[values.TurnHit]) -> list[tuple[dict[int, values.TurnHit], dict[Place, values.Turn]]]:
    """Hits by rank with the turns around them in order, each once. Hits with a common turn stand together."""
    stretches: list[tuple[dict[int, values.TurnHit], dict[Place, values.Turn]]] = []
    for rank, hit in sorted(enumerate(results, 1), key=lambda ranked: _place(ranked[1].turn)):
        turns = {_place(turn): turn for turn in (*hit.before, hit.turn, *hit.after)}
        hits = {rank: hit}
        if stretches and stretches[-1][1].keys() & turns.keys():
            other_hits, before = stretches.pop()
            hits, turns = other_hits | hits, before | turns
        stretches.append((hits, turns))
    return sorted(stretches, key=lambda stretch: min(stretch[0]))


def _place(turn: values.Turn) -> Place:
    return turn.space, turn.session, turn.position


def _read(transcript: values.Transcript) -> Iterator[str]:
    yield from _session(transcript.session)
    for turn in transcript.turns:
        yield paint(f"{turn.position:>5}  {turn.role}  {_when(turn)}".rstrip(), DIM)
        yield from (f"       {printable(line)}" for line in turn.text.split("\n"))


def _listed(page: values.Sessions) -> Iterator[str]:
    for session in page.sessions:
        yield from _session(session)
    yield from end_of_page(
        len(page.sessions), page.total, page.cursor, "no sessions; `mnemesh import-transcript` brings them in"
    )


def _erased(gone: values.ErasedSessions) -> Iterator[str]:
    for session in gone.sessions:
        yield f"ERASED  {one_line(session.session)} in {one_line(session.space)}, {count_of(session.turns, 'turn')}"
    if gone.pending:
        yield paint(f"pending  {one_line(gone.pending)}", YELLOW)
    for backup in gone.backups:
        yield paint(f"a backup may still hold it: {one_line(backup)}", YELLOW)


def _session(session: values.Session) -> Iterator[str]:
    ended = session.ended_at or session.stored_at
    when = f"{rfc3339(ended)}  " if ended else ""
    whole = f", part of {one_line(session.part_of)}" if session.part_of else ""
    masked = f", {session.masked} with something masked" if session.masked else ""
    name = paint(one_line(session.session), BOLD)
    yield f"{when}{name}  {count_of(session.turns, 'turn')}{masked}{whole}  {one_line(session.space)}"
    about = "  ".join(one_line(text) for text in (session.title, session.dir) if text)
    if about:
        yield f"    {clip(about)}"


def _when(turn: values.Turn) -> str:
    return f"{rfc3339(turn.at)}  " if turn.at else ""


COMMANDS: Final = (("add", add), ("search", search), ("read", read), ("list", list_sessions), ("erase", erase))
