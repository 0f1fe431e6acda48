"""`mnemesh anchor`: what must stay. `mnemesh validate`: whether the files that memories name are as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.cli.given import given
from mnemesh.cli.options import Number, Space, Text, Texts, Wait, argument, option
from mnemesh.cli.people import memories as people
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, clip, paint
from mnemesh.cli.shell import Shell, count_of, one_line

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


def validate(
    shell: Shell,
    id: Annotated[Text, argument("ValidateRequest.id", "ID")] = None,
    space: Texts = None,
    limit: Number = None,
    cursor: str = "",
) -> None:
    """Compare the files that memories name with what they were at the time of writing."""
    fields = given(space=space, limit=limit, cursor=cursor)
    shell.ask(lambda client: client.validate(id or "", **fields), _validated)


def _validated(found: values.Validation) -> Iterator[str]:
    for memory in found.memories:
        yield f"{paint(memory.id, BOLD)}  {one_line(memory.space)}  {clip(one_line(memory.title))}"
        for file in memory.references:
            to = f" to {one_line(file.renamed_to)}" if file.renamed_to else ""
            yield paint(f"    {file.state}{to}: {one_line(file.path)}", DIM if file.state == "same" else YELLOW)
    if not found.memories:
        yield f"none of {count_of(found.examined, 'memory')} names a file that was recorded"
    yield from (paint(f"compared in {one_line(root)}", DIM) for root in found.roots)
    if found.cursor:
        yield paint(f"next page: --cursor {found.cursor}", DIM)


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
        yield f"{id_}  {people.place_and_title(named[id_])}" if id_ in named else id_
    yield from (f"left as it was: {one.id}: {one_line(one.reason)}" for one in done.refused)
    if done.ids and not done.dry_run:
        undo = "mnemesh restore ID" if action == "forget" else "mnemesh update ID --tier normal"
        yield paint(f"undo: {undo}", DIM)


COMMANDS: Final = (("anchor", anchor), ("validate", validate), ("tidy", tidy))
