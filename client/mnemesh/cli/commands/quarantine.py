"""`mnemesh sync quarantine` and `sync pending`: what peers brought and was not taken in, to look at and to decide
about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.options import Texts, option
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which entries."""

    space: Annotated[str, option("ListQuarantineRequest.space", "--space", "-s", metavar="SPACE")] = ""
    peer: Annotated[str, option("ListQuarantineRequest.peer", "--peer", metavar="NAME")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which page of them."""

    limit: Annotated[int, option("ListQuarantineRequest.limit", "--limit", metavar="NUMBER")] = 50
    cursor: Annotated[str, option("ListQuarantineRequest.cursor", "--cursor", metavar="CURSOR")] = ""
    oldest_first: Annotated[bool, option("ListQuarantineRequest.oldest_first", "--oldest-first")] = False


IDS_HELP: Final = "Ids of entries, with --retry or --discard."
ALL_HELP: Final = "With --retry or --discard: all that the filters name."


def quarantine(
    shell: Shell,
    filters: Filters,
    listing: Listing,
    ids: Annotated[Texts, typer.Argument(metavar="[ID]...", help=IDS_HELP)] = None,
    retry: Annotated[bool, option("PeerService.RetryQuarantine", "--retry")] = False,
    trust: Annotated[bool, option("RetryQuarantineRequest.trust", "--trust")] = False,
    discard: Annotated[bool, option("PeerService.DiscardQuarantine", "--discard")] = False,
    everything: Annotated[bool, typer.Option("--all", help=ALL_HELP)] = False,
) -> None:
    """List entries of peers that were not let in, and why. Judge them again, or delete them."""
    _check(ids, everything, retry, discard, "--retry or --discard")
    if trust and not retry:
        raise InvalidArgument("trust", "--trust", "beside --retry")
    chosen = {"everything": everything} | asdict(filters)
    if retry:
        shell.ask(lambda client: client.retry_quarantine(ids or (), trust=trust, **chosen), _retried)
    elif discard:
        shell.ask(lambda client: client.discard_quarantine(ids or (), **chosen), _discarded)
    else:
        shell.ask(lambda client: client.quarantine(**asdict(listing), **asdict(filters)), _quarantine)


def pending(
    shell: Shell,
    filters: Filters,
    listing: Listing,
    ids: Annotated[Texts, typer.Argument(metavar="[ID]...", help="Ids of entries, with --discard.")] = None,
    discard: Annotated[bool, option("PeerService.DiscardPending", "--discard")] = False,
    everything: Annotated[bool, typer.Option("--all", help="With --discard: all that the filters name.")] = False,
) -> None:
    """List entries of peers that wait for others, or delete them."""
    _check(ids, everything, False, discard, "--discard")
    if discard:
        chosen = {"everything": everything} | asdict(filters)
        shell.ask(lambda client: client.discard_pending(ids or (), **chosen), _discarded)
    else:
        shell.ask(lambda client: client.pending(**asdict(listing), **asdict(filters)), _pending)


def _check(ids: Sequence[str] | None, everything: bool, retry: bool, discard: bool, ways: str) -> None:
    """Raises InvalidArgument for what would be taken for something else than it says. `ways` is what may be done."""
    if retry and discard:
        raise InvalidArgument("discard", "--discard", "not beside --retry")
    if (ids or everything) and not (retry or discard):
        raise InvalidArgument("ids", " ".join(ids or ["--all"]), f"beside {ways}")
    if (retry or discard) and bool(ids) == everything:
        raise InvalidArgument("ids", f"{len(ids or ())} ids", "ids, or --all and no ids", missing=not ids)


def _quarantine(found: values.Quarantine) -> Iterator[str]:
    for one in found.entries:
        yield f"{_who(one)}: {one_line(one.reason)}"
    yield from _end(len(found.entries), found.total, "in quarantine", found.cursor)


def _pending(found: values.Pending) -> Iterator[str]:
    for one in found.entries:
        yield f"{_who(one)}: {one_line(one.type)} waits for {one.awaits}"
    yield from _end(len(found.entries), found.total, "waiting for others", found.cursor)


def _who(one: values.QuarantinedEntry | values.PendingEntry) -> str:
    who = f"{one_line(one.agent)} through {one_line(one.node_id)}, brought by {one_line(one.brought_by) or 'unknown'}"
    return f"{one.id}  {one_line(one.doc)} in {one_line(one.space)} by {who}, {rfc3339(one.at)}"


def _end(shown: int, total: int, where: str, cursor: str) -> Iterator[str]:
    yield f"{shown} of {count_of(total, 'entry')} {where}"
    if cursor:
        yield f"more: --cursor {cursor}"


def _retried(done: values.Retried) -> Iterator[str]:
    yield f"{done.accepted} taken in, {done.waiting} wait for others; {count_of(done.left, 'entry')} in quarantine"


def _discarded(gone: values.Discarded) -> Iterator[str]:
    yield f"{gone.discarded} discarded"


ASIDE_COMMANDS: Final = (("quarantine", quarantine), ("pending", pending))
