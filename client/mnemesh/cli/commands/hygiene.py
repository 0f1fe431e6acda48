"""The commands of a person who tidies up: duplicates and hygiene. They change nothing."""

from __future__ import annotations

from typing import Final

from mnemesh.cli.options import Number, Texts
from mnemesh.cli.people import hygiene as people
from mnemesh.cli.shell import Shell


def duplicates(shell: Shell, space: Texts = None, threshold: float | None = None, limit: Number = None) -> None:
    """Show pairs of memories of one space that say the same, or nearly so."""
    shell.ask(lambda client: client.duplicates(space=space, threshold=threshold, limit=limit), people.duplicates)


def hygiene(shell: Shell, space: Texts = None, stale_days: Number = None, limit: Number = None) -> None:
    """Show what may be tidied up: idle, orphaned, duplicate, contradicted and superseded memories, each with the next
    command."""
    shell.ask(lambda client: client.hygiene(space=space, stale_days=stale_days, limit=limit), people.hygiene)


COMMANDS: Final = tuple((command.__name__, command) for command in (duplicates, hygiene))
