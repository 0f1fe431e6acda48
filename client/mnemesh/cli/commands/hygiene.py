"""The commands of a person who tidies up: duplicates and hygiene. They change nothing."""

from __future__ import annotations

from typing import Annotated, Final

from mnemesh.cli.options import SPACES, Number, Texts, each, option
from mnemesh.cli.people import hygiene as people
from mnemesh.cli.shell import Shell

DuplicateSpaces = Annotated[Texts, each("DuplicatesRequest.spaces", *SPACES)]
HygieneSpaces = Annotated[Texts, each("HygieneRequest.spaces", *SPACES)]


def duplicates(
    shell: Shell,
    space: DuplicateSpaces = None,
    threshold: Annotated[float | None, option("DuplicatesRequest.threshold", "--threshold")] = None,
    limit: Annotated[Number, option("DuplicatesRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Show pairs of memories of one space that say the same, or nearly so."""
    shell.ask(lambda client: client.duplicates(space=space, threshold=threshold, limit=limit), people.duplicates)


def hygiene(
    shell: Shell,
    space: HygieneSpaces = None,
    stale_days: Annotated[Number, option("HygieneRequest.stale_days", "--stale-days", metavar="DAYS")] = None,
    limit: Annotated[Number, option("HygieneRequest.limit", "--limit", "-n")] = None,
) -> None:
    """Show what may be tidied up: idle, orphaned, duplicate, contradicted and superseded memories, each with the next
    command."""
    shell.ask(lambda client: client.hygiene(space=space, stale_days=stale_days, limit=limit), people.hygiene)


COMMANDS: Final = tuple((command.__name__, command) for command in (duplicates, hygiene))
