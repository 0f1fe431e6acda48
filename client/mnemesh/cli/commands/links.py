"""The commands on links and ratings: link, unlink, rate."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from mnemesh.cli.options import Id, Space, Wait, contract
from mnemesh.cli.people import links as people_links
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell
from mnemesh.errors import InvalidArgument

Type = Annotated[str, typer.Argument(metavar="TYPE", help=contract("LinkRequest.type"))]
USEFUL: Final = {"useful": True, "not": False}


def link(
    shell: Shell,
    id: Id,
    type: Type,
    to: Annotated[str, typer.Argument(metavar="TO", help=contract("LinkRequest.to"))],
    wait: Wait = None,
    space: Space = None,
) -> None:
    """Link a memory to another one: mnemesh link "The build hangs" resolved-by "Raise the limit"."""
    with shell.client(space) as client:
        done = client.link(id, type, to, wait=wait or "")
    shell.answer(done, lambda: people.written(done))


def unlink(
    shell: Shell,
    id: Id,
    type: Type,
    to: Annotated[str, typer.Argument(metavar="TO", help=contract("UnlinkRequest.to"))],
    wait: Wait = None,
    space: Space = None,
) -> None:
    """Take a link away."""
    with shell.client(space) as client:
        done = client.unlink(id, type, to, wait=wait or "")
    shell.answer(done, lambda: people.written(done))


def rate(
    shell: Shell,
    id: Annotated[str | None, typer.Argument(metavar="ID", help=contract("RateRequest.id"))] = None,
    useful: Annotated[str | None, typer.Argument(metavar="USEFUL", help="useful or not: your one vote.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", metavar="TEXT", help=contract("RateRequest.answer"))] = None,
    space: Space = None,
) -> None:
    """Say whether a memory was useful, or hand in an answer that cites ids."""
    if useful is None and id is not None and answer is None:
        raise InvalidArgument("useful", "nothing", " or ".join(USEFUL), missing=True)
    if useful is not None and useful not in USEFUL:
        raise InvalidArgument("useful", useful, " or ".join(USEFUL))
    vote = USEFUL[useful] if useful is not None else None
    with shell.client(space) as client:
        done = client.rate(id or "", vote, answer=answer or "")
    shell.answer(done, lambda: people_links.rated(done))


COMMANDS: Final = tuple((command.__name__, command) for command in (link, unlink, rate))
