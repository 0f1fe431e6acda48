"""`mnemesh peer` and `mnemesh sync`: the peers of this node, and the state of the exchange.

`sync quarantine` and `sync pending` show what peers brought and was not taken in, and decide about it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.given import several
from mnemesh.cli.options import COMMAS, Text, Texts, argument, option
from mnemesh.cli.shell import NODE_OPTIONS, Shell, count_of, one_line
from mnemesh.errors import InvalidArgument
from mnemesh.exit_status import EXIT_NOT_REACHABLE, EXIT_OK, EXIT_REFUSED

if TYPE_CHECKING:
    from mnemesh.api.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineFilters:
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
    filters: QuarantineFilters,
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
    filters: QuarantineFilters,
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


def _quarantine(page: values.Quarantine) -> Iterator[str]:
    for entry in page.entries:
        yield f"{_who(entry)}: {one_line(entry.reason)}"
    yield from _end(len(page.entries), page.total, "in quarantine", page.cursor)


def _pending(page: values.Pending) -> Iterator[str]:
    for entry in page.entries:
        yield f"{_who(entry)}: {one_line(entry.type)} waits for {entry.awaits}"
    yield from _end(len(page.entries), page.total, "waiting for others", page.cursor)


def _who(row: values.QuarantinedEntry | values.PendingEntry) -> str:
    who = f"{one_line(row.agent)} through {one_line(row.node_id)}, brought by {one_line(row.brought_by) or 'unknown'}"
    return f"{row.id}  {one_line(row.doc)} in {one_line(row.space)} by {who}, {rfc3339(row.at)}"


def _end(shown: int, total: int, where: str, cursor: str) -> Iterator[str]:
    yield f"{shown} of {count_of(total, 'entry')} {where}"
    if cursor:
        yield f"more: --cursor {cursor}"


def _retried(done: values.Retried) -> Iterator[str]:
    yield f"{done.accepted} taken in, {done.waiting} wait for others; {count_of(done.left, 'entry')} in quarantine"


def _discarded(gone: values.Discarded) -> Iterator[str]:
    yield f"{gone.discarded} discarded"


ASIDE_COMMANDS: Final = (("quarantine", quarantine), ("pending", pending))


PEER_HELP: Final = "Add, list and remove the nodes that this one exchanges entries with, and give them other tokens."
SYNC_HELP: Final = "See how the exchange with other nodes goes, and start it at once."
STEP_S: Final = 1.0
WAIT_S_MAX: Final = 600.0  # of the node, too
Name = Annotated[str, argument("RemovePeerRequest.name", "NAME")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction(Shell):
    """As every command, but that `--token` is the peer's: this node's own is the local owner's, or MNEMESH_TOKEN."""

    token: Annotated[
        Text, option("AddPeerRequest.token", "--token", metavar="TOKEN", more=" - reads standard input.")
    ] = None

    def client(self, space: str | None = None) -> Client:
        """A client of this node."""
        return Shell.client(replace(self, token=None), space)

    def peer_token(self) -> str:
        """The token that was given or typed. Raises InvalidArgument without one."""
        token = sys.stdin.readline() if self.token == "-" else self.token or ""
        if not token.strip():
            allowed = "the token that `mnemesh agent add` showed on the peer"
            raise InvalidArgument("token", "nothing", allowed, missing=True)
        return token.strip()


def add(
    shell: Introduction,
    url: Annotated[str, argument("AddPeerRequest.url", "URL")],
    spaces: Annotated[list[str], option("AddPeerRequest.spaces", "--spaces", metavar="PATTERNS", more=COMMAS)],
    direction: Annotated[str, option("AddPeerRequest.direction", "--direction", metavar="DIRECTION")] = "",
    name: Annotated[str, option("AddPeerRequest.name", "--name", metavar="NAME")] = "",
) -> None:
    """Exchange entries with another node from now on."""
    peer = {"token": shell.peer_token(), "direction": direction, "name": name}
    shell.ask(lambda client: client.add_peer(url, spaces=several(spaces), **peer), _added)


def token(shell: Introduction, name: Annotated[str, argument("SetPeerTokenRequest.name", "NAME")]) -> None:
    """Call a peer with another token from now on, such as one in the place of a token that has ended."""
    given = shell.peer_token()
    shell.ask(lambda client: client.set_peer_token(name, token=given), _added)


def list_peers(shell: Shell) -> None:
    """List the peers and how it stands with each."""
    shell.ask(lambda client: client.sync_status(), lambda answer: _lines(answer.peers))


def remove(shell: Shell, name: Name) -> None:
    """End the exchange with a peer and forget its token, or forget a node that called and is away. Exchanged entries
    stay.
    """
    shell.ask(lambda client: client.remove_peer(name), lambda gone: [f"removed {one_line(gone.name)}"])


def status(shell: Shell) -> None:
    """Tell what is pending with each peer, the lag, the last contact and the last error."""
    shell.ask(lambda client: client.sync_status(), _status)


def now(
    shell: Shell,
    name: Annotated[str, argument("SyncNowRequest.name", "[NAME]")] = "",
    wait: Annotated[float, option("SyncNowRequest.wait_s", "--wait", metavar="SECONDS")] = 30.0,
) -> None:
    """Call the peers at once, compare everything, and wait until what is missing is exchanged, with what is left
    meanwhile. Exit status 4 when a peer refuses, 3 when one was not reached or not all is exchanged yet. Absent callers
    count when named.
    """
    if not 0.0 <= wait <= WAIT_S_MAX:
        raise InvalidArgument("wait_s", wait, f"0 to {WAIT_S_MAX:g} seconds")
    deadline = time.monotonic() + wait
    with shell.client() as client:
        while True:
            left = max(0.0, deadline - time.monotonic())
            done = client.sync_now(name, wait_s=min(STEP_S, left))
            open_ = [peer for peer in done.peers if goes_on(peer)]
            if not open_ or left <= STEP_S:
                break
            for peer in open_:
                standing = _left(peer) if peer.state == "connected" else peer.state
                print(f"{one_line(peer.name)}: {standing}", file=sys.stderr)
    shell.answer(done, lambda: _lines(done.peers))
    if code := exit_status(done.peers):
        raise typer.Exit(code)


def goes_on(peer: values.PeerStatus) -> bool:
    """Whether waiting may help: a peer that was called and did not answer is offline."""
    return peer.state == "connecting" or (peer.state == "connected" and (peer.comparing or not peer.caught_up))


def exit_status(peers: Iterable[values.PeerStatus]) -> int:
    """The exit status of an exchange that ended, or was not waited for any longer, with the peers like this."""
    known = list(peers)
    if any(peer.state == "refused" for peer in known):
        return EXIT_REFUSED
    done = all(peer.state == "connected" and peer.caught_up and not peer.comparing for peer in known)
    return EXIT_OK if done else EXIT_NOT_REACHABLE


def _lines(peers: Iterable[values.PeerStatus]) -> Iterable[str]:
    return list(map(_line, peers)) or ["no peers; `mnemesh peer add` begins an exchange with another node"]


def _added(added: values.AddedPeer) -> Iterator[str]:
    peer = added.peer
    if peer.state == "connected":
        yield from _lines([peer])
    else:
        name = one_line(peer.name)
        why = f" ({one_line(peer.last_error)})" if peer.last_error else ""
        yield (
            f"{name} is kept as a peer, but is not reached now{why}; it is called again by itself. "
            f"`mnemesh peer remove {name}` takes it away"
        )
    if added.note:
        yield f"note: {one_line(added.note)}"


def _line(peer: values.PeerStatus) -> str:
    arrow = "<-" if peer.incoming else "->"
    heard = f"; heard {rfc3339(peer.last_contact)}" if peer.last_contact else "; never heard"
    fault = ""
    if peer.differs:  # after a comparison, and the repair of what it found
        memories = count_of(peer.differs, "memory")
        fault = (
            f"; differs in {memories} after a comparison: `mnemesh sync quarantine` on both nodes says what was refused"
        )
    fault += f"; {one_line(peer.last_error)}" if peer.last_error else ""
    where = f"{one_line(peer.target)}  {_direction(peer)}  {', '.join(map(one_line, peer.spaces))}"
    gone = f"; not taken there: {peer.not_taken}" if peer.not_taken else ""
    return f"{arrow} {one_line(peer.name)}  {where}  {peer.state}: {_left(peer)}{_lag(peer)}{gone}{heard}{fault}"


def _direction(peer: values.PeerStatus) -> str:
    if peer.effective_direction in ("", peer.direction):
        return f"{peer.direction} (only by {one_line(peer.only_by)})" if peer.only_by else peer.direction
    return f"{peer.direction} ({peer.effective_direction} by its token)"


def _left(peer: values.PeerStatus) -> str:
    if peer.caught_up:
        return "caught up, comparing" if peer.comparing else "caught up"
    return f"{_up_to(peer.pending_out)} to give, {_up_to(peer.pending_in)} to take"


def _up_to(entries: int) -> str:
    """A log is counted whole, with entries in spaces that the other side is not given."""
    return f"up to {entries}" if entries else "0"


def _lag(peer: values.PeerStatus) -> str:
    if peer.lag_s is None:
        return ", never caught up"
    return "" if peer.caught_up else f", {peer.lag_s:.0f} s behind"


def _status(answer: values.SyncStatus) -> Iterator[str]:
    yield f"node {answer.node_id}, log at {answer.head}"
    for peer in answer.peers:
        yield _line(peer)
        read = f"it has read {peer.cursor_out} of this log, this node {peer.cursor_in} of its log"
        failed = f"; {peer.attempts} attempts failed" if peer.attempts else ""
        yield f"     {read}; token {peer.auth}{failed}; node {one_line(peer.node_id) or 'unknown'}"
    if not answer.peers:
        yield from _lines(())
    if answer.pending:
        yield f"{count_of(answer.pending, 'entry')} waiting for others: `mnemesh sync pending{NODE_OPTIONS}`"
    if answer.quarantined:
        yield f"{count_of(answer.quarantined, 'entry')} in quarantine: `mnemesh sync quarantine{NODE_OPTIONS}`"


PEER_COMMANDS: Final = (("add", add), ("list", list_peers), ("token", token), ("remove", remove))
SYNC_COMMANDS: Final = (("status", status), ("now", now), *ASIDE_COMMANDS)
