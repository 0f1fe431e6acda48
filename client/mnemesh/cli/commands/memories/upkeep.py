"""The commands of a person who looks after a space: anchor, validate, duplicates, hygiene, tidy, consolidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.cli.given import given
from mnemesh.cli.options import Number, PageOptions, Space, Text, Texts, Wait, argument, option
from mnemesh.cli.people import hygiene as people_hygiene
from mnemesh.cli.people import memories as people
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, clip, paint
from mnemesh.cli.shell import Shell, count_of, of_this_node, one_line
from mnemesh.short_id import short_id, with_short_ids

IDS_A_CALL: Final = 200


def anchor(
    shell: Shell,
    id: str,
    reason: Annotated[Text, argument("AnchorRequest.reason", "REASON")] = None,
    release: bool = False,
    wait: Wait = "",
    space: Space = None,
) -> None:
    """Keep a memory for good, for a stated reason: mnemesh anchor 018f6f0e "The law asks for it." Or let it go."""
    shell.ask(lambda client: client.anchor(id, reason or "", release=release, wait=wait), people.written, space)


def validate(shell: Shell, page: PageOptions, id: Annotated[Text, argument("ValidateRequest.id", "ID")] = None) -> None:
    """Compare the files that memories name with what they were at the time of writing."""
    shell.ask(lambda client: client.validate(id or "", **page.fields()), _validated)


def _validated(answer: values.Validation) -> Iterator[str]:
    for memory in answer.memories:
        yield f"{paint(short_id(memory.id), BOLD)}  {one_line(memory.space)}  {clip(one_line(memory.title))}"
        for file in memory.references:
            to = f" to {one_line(file.renamed_to)}" if file.renamed_to else ""
            yield paint(f"    {file.state}{to}: {one_line(file.path)}", DIM if file.state == "same" else YELLOW)
    if not answer.memories:
        yield f"none of {count_of(answer.examined, 'memory')} names a file that was recorded"
    yield from (paint(f"compared in {one_line(root)}", DIM) for root in answer.roots)
    if answer.cursor:
        yield paint(f"next page: --cursor {answer.cursor}", DIM)


def tidy(
    shell: Shell,
    finding: str,
    archive: Annotated[bool, typer.Option("--archive", help="Put them into the archive instead.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without, only tell what would go.")] = False,
    space: Texts = None,
    stale_days: Annotated[Number, option("HygieneRequest.stale_days", "--stale-days", metavar="DAYS")] = None,
    limit: Number = None,
) -> None:
    """Forget, or archive, many memories of one finding of hygiene. Only tells which unless --apply is there."""
    fields = given(space=space, stale_days=stale_days, limit=limit)
    action = "archive" if archive else "forget"
    with shell.client() as client:
        done = client.tidy(finding, action, dry_run=not apply, **fields)
        named: dict[str, values.Memory] = {}
        for start in range(0, 0 if shell.json else len(done.ids), IDS_A_CALL):
            ids = done.ids[start : start + IDS_A_CALL]
            named |= {memory.id: memory for memory in client.get_many(ids, include_forgotten=True).memories}
    shell.answer(done, lambda: _tidied(action, done, named))


def _tidied(action: str, done: values.Tidied, named: Mapping[str, values.Memory]) -> Iterator[str]:
    word = {"forget": "forgotten", "archive": "archived"}[action]
    would = f"would be {word}; --apply does it" if done.dry_run else word
    yield f"{count_of(len(done.ids), 'memory')} of {count_of(done.matched, 'finding')} {would}"
    for id_ in done.ids:
        yield "  ".join((short_id(id_), *([people.place_and_title(named[id_])] if id_ in named else ())))
    yield from (f"left as it was: {short_id(row.id)}: {with_short_ids(one_line(row.reason))}" for row in done.refused)
    if done.ids and not done.dry_run:
        undo = "mnemesh restore ID" if action == "forget" else "mnemesh update ID --tier normal"
        yield paint(f"undo: {of_this_node(undo)}", DIM)


def duplicates(shell: Shell, space: Texts = None, threshold: float | None = None, limit: Number = None) -> None:
    """Show pairs of memories of one space that say the same, or nearly so."""
    shell.ask(
        lambda client: client.duplicates(space=space, threshold=threshold, limit=limit), people_hygiene.duplicates
    )


def hygiene(shell: Shell, space: Texts = None, stale_days: Number = None, limit: Number = None) -> None:
    """Show what may be tidied up: idle, orphaned, duplicate, contradicted and superseded memories, each with the next
    command."""
    shell.ask(lambda client: client.hygiene(space=space, stale_days=stale_days, limit=limit), people_hygiene.hygiene)


def consolidate(
    shell: Shell,
    space: Space = None,
    dry_run: bool = False,
    runs: Annotated[bool, typer.Option("--runs", help="List runs of consolidation, newest first.")] = False,
    undo: Annotated[Text, option("UndoRunRequest.run", "--undo", metavar="RUN")] = None,
    limit: Annotated[Number, option("ListRunsRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Merge duplicates, promote repeated episodes to a fact, and link related memories of a space. With --runs list
    what was done, with --undo take a run back."""
    if dry_run and (runs or undo is not None):
        raise typer.BadParameter("--dry-run tells of a new run: leave it out beside --runs and --undo")
    if undo is not None:
        shell.ask(lambda client: client.undo_run(undo), people_hygiene.undone)
    elif runs:
        shell.ask(lambda client: client.list_runs(space=space, limit=limit), people_hygiene.runs)
    else:
        shell.ask(lambda client: client.consolidate(space=space or "", dry_run=dry_run), people_hygiene.consolidated)


COMMANDS: Final = tuple(
    (command.__name__, command) for command in (duplicates, hygiene, consolidate, anchor, validate, tidy)
)
