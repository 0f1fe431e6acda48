"""A memory's past as lines for people, by the rules of `people`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mnemesh.api import values
from mnemesh.cli.people.memories import CYAN, DIM, GREEN, NODE_ID_CHARS, YELLOW, clip, paint, shown_time
from mnemesh.cli.shell import one_line, printable

REVISION_CHARS: Final = 12
INDENT: Final = "    "


def history(page: values.History) -> Iterator[str]:
    """One revision after the other, newest first, with place, author and text."""
    for revision in page.revisions:
        yield from revision_of(revision)
    yield from notes_of(page.notes)
    if page.cursor:
        yield paint(f"{len(page.revisions)} of {page.total}; next page: --cursor {page.cursor}", DIM)


def blame(answer: values.Blame) -> Iterator[str]:
    """The text line by line, each run below its author, then the fields."""
    for run in answer.lines:
        yield paint(_who(run.revision, run.by, run), DIM)
        for number, line in enumerate(run.text.split("\n"), run.first):
            yield f"{number:>4}  {printable(line)}"
    for field in answer.fields:
        value = clip(one_line(field.value)) or "(empty)"
        yield f"{paint(one_line(field.field), CYAN)}  {value}  {paint(_who(field.revision, field.by, field), DIM)}"


def notes_of(notes: Iterable[str]) -> Iterator[str]:
    """The remarks of a page."""
    return (paint(f"note: {one_line(note)}", YELLOW) for note in notes)


def revision_of(revision: values.Revision) -> Iterator[str]:
    """A revision with place, author, fields and text."""
    mark = paint("  shown", GREEN) if revision.shown else paint("  also a head", YELLOW) if revision.head else ""
    yield f"{paint(_who(revision.id, revision.by, revision, whole=True), DIM)}{mark}"
    if revision.parents:
        yield paint(INDENT + "on " + ", ".join(revision.parents), DIM)
    if revision.op == "forget":
        yield INDENT + "(forgotten)"
        return
    yield paint(INDENT + _fields(revision), DIM)
    if revision.title:
        yield INDENT + one_line(revision.title)
    for line in revision.content.split("\n"):
        yield INDENT + printable(line)


def _fields(revision: values.Revision) -> str:
    """The other fields: two revisions, or the sides of a conflict, may differ in nothing but this."""
    fields = (
        ("valid from", shown_time(revision.valid_from)),
        ("valid to", shown_time(revision.valid_to)),
        ("importance", "" if revision.importance is None else f"{revision.importance:g}"),
        ("tier", revision.tier if revision.tier != "normal" else ""),
        ("paths", ", ".join(revision.paths)),
        ("keywords", ", ".join(revision.keywords)),
        ("attrs", ", ".join(f"{key}={value}" for key, value in revision.attrs.items())),
    )
    return "  ".join([revision.kind, *(f"{name} {one_line(value)}" for name, value in fields if value)])


def _who(
    revision: str,
    by: str,
    when: values.Revision | values.BlamedLines | values.BlamedField,
    *,
    whole: bool = False,
) -> str:
    shown = revision if whole else revision[:REVISION_CHARS]
    words = (shown, one_line(by), shown_time(when.at), when.node and f"node {when.node[:NODE_ID_CHARS]}")
    return "  ".join(word for word in words if word)
