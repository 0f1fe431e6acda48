"""`mnemesh trigger`: memories that report back when a word, name, folder, file or time comes up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from mnemesh.api import values
from mnemesh.cli.given import given
from mnemesh.cli.options import Id, PageOptions, Space, Text, TextOptions, asks, option
from mnemesh.cli.people.memories import BOLD, clip, end_of_page, paint
from mnemesh.cli.shell import Shell, one_line
from mnemesh.short_id import short_id

HELP: Final = "Add, list and remove triggers: memories that report back when something comes up."


@asks("CreateTriggerRequest")
def add(
    shell: Shell,
    on: str,
    pattern: str,
    new: TextOptions,
    id: Annotated[Text, option("CreateTriggerRequest.id", "--id", metavar="ID")] = None,
    repeating: bool = False,
    space: Space = None,
) -> None:
    """Store a text that reports back later, or make a memory do so."""
    content = "" if id is not None and not new.text and new.file is None else new.read()
    fields = given(space=space, id=id)
    shell.ask(lambda client: client.create_trigger(on, pattern, content, repeating=repeating, **fields), _added)


def list_triggers(shell: Shell, page: PageOptions) -> None:
    """List triggers, newest first, also those that have fired."""
    shell.ask(lambda client: client.list_triggers(**page.fields()), _listed)


def remove(shell: Shell, id: Id, space: Space = None) -> None:
    """End a trigger. A text that was stored as a trigger is forgotten, another memory stays."""
    shell.ask(lambda client: client.delete_trigger(id), _removed, space)


def _added(done: values.CreatedTrigger) -> Iterator[str]:
    yield from _shown(done.trigger)


def _listed(page: values.Triggers) -> Iterator[str]:
    for trigger in page.triggers:
        yield from _shown(trigger)
    yield from end_of_page(
        len(page.triggers), page.total, page.cursor, "no triggers; `mnemesh trigger add keyword WORDS TEXT` adds one"
    )


def _removed(done: values.DeletedTrigger) -> Iterator[str]:
    yield from _shown(done.trigger)
    yield "no trigger any more; the memory stays" if done.kept else "no trigger any more; its text is forgotten"


def _shown(trigger: values.Trigger) -> Iterator[str]:
    state = "fired" if trigger.fired else "every time" if trigger.repeating else "once"
    id_ = paint(short_id(trigger.id), BOLD)
    yield f"{id_}  {trigger.on} {one_line(trigger.pattern)}  {state}  {one_line(trigger.space)}"
    yield f"    {clip(one_line(trigger.title or trigger.content))}"


COMMANDS: Final = (("add", add), ("list", list_triggers), ("remove", remove))
