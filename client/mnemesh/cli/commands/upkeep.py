"""`mnemesh anchor`: what must stay."""

from __future__ import annotations

from typing import Annotated, Final

from mnemesh.cli.options import Id, Space, Text, Wait, argument, option
from mnemesh.cli.people import memories as people
from mnemesh.cli.shell import Shell


def anchor(
    shell: Shell,
    id: Id,
    reason: Annotated[Text, argument("AnchorRequest.reason", "REASON")] = None,
    release: Annotated[bool, option("AnchorRequest.release", "--release")] = False,
    wait: Wait = "",
    space: Space = None,
) -> None:
    """Keep a memory for good, for a stated reason: mnemesh anchor 018f6f0e "The law asks for it." Or let it go."""
    shell.ask(lambda client: client.anchor(id, reason or "", release=release, wait=wait), people.written, space)


COMMANDS: Final = (("anchor", anchor),)
