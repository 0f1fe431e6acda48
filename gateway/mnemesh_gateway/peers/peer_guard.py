"""The streams of others that are served, and for how long: ended tokens, and callers at fault.

Finds a node and a copy of its directory among all streams: one node id, two living processes. A restarted node is no
copy of its former self. The old stream may still stand here, but nobody answers on it. So a standing stream is asked
when its node appears in another life, and hung up without an answer. The second process is refused before any
exchange.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final, Protocol

import structlog

from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.streams.stream_shell import StreamShell
from mnemesh_crdt.sync.greeting import ONE_IS_A_COPY
from mnemesh_crdt.sync.messages import Granted, Status
from mnemesh_gateway.peers.peer_status import PeerStatus
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import Unavailable

GRANT_CHECK_S: Final = 1.0
HOLD_OFF_S: Final = 0.5
HOLD_OFF_S_MAX: Final = 60.0
NEEDS_A_PERSON: Final = ("protocol", "identity")
log = structlog.get_logger("mnemesh.sync")


class Faults:
    """A caller with messages that no honest peer sends is not served for a while, longer each time, and told why."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float, str]] = {}

    def check(self, principal: str) -> None:
        """Raises Unavailable while streams of `principal` are not served."""
        count, until, why = self._known.get(principal, (0, 0.0, ""))
        left = until - time.monotonic()
        if left > 0:
            raise Unavailable(
                f"{count} streams with the token of {principal} were ended in a row, the last because of this: {why}; "
                f"call again in {left:.1f} s",
                part="peer",
            )

    def note(self, principal: str, why: str) -> None:
        """A stream of `principal` has ended, because of a fault of theirs when there is a `why`."""
        count = self._known.get(principal, (0, 0.0, ""))[0] + 1
        if not why:
            self._known.pop(principal, None)
        else:
            wait_s = min(HOLD_OFF_S_MAX, HOLD_OFF_S * 2.0 ** min(count, 16))
            self._known[principal] = (count, time.monotonic() + wait_s, why)


@contextlib.asynccontextmanager
async def watched(shell: StreamShell, grant_now: Callable[[], PeerGrant | None]) -> AsyncIterator[None]:
    """Meanwhile a token that is revoked, expires or is given other spaces changes what the stream may do."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(GRANT_CHECK_S)
            shell.say(Granted(grant_now() or PeerGrant(read=(), write=(), principal="")))

    task = asyncio.create_task(watch(), name="sync-grant")
    try:
        yield
    finally:
        await cancelled(task)


class TurnedAway:
    """The last callers that were refused, or refused this node, for the identity of a node."""

    def __init__(self) -> None:
        self._statuses: dict[str, PeerStatus] = {}

    def note(self, status: PeerStatus, last: Status, now: int) -> None:
        """The stream of a caller with this `status` ended, and said this `last`."""
        self._statuses.pop(status.name, None)
        if last.code in NEEDS_A_PERSON and last.node_id:
            log.warning("peer_turned_away", principal=status.name, peer=status.target, reason=last.reason)
            refused = status.ended("refused", last.reason, now)
            self._statuses[status.name] = replace(refused, node_id=last.node_id)

    def of(self, name: str = "") -> list[PeerStatus]:
        """Those of this name, all for ""."""
        return [status for status in self._statuses.values() if name in ("", status.name)]


# So long a living peer may take to answer. Less than the caller waits for its own greeting.
ANSWER_S: Final = 5.0
# A copy that was refused calls again within a minute.
TOLD_S: Final = 150.0


class GuardedStream(Protocol):
    """A standing stream."""

    async def answers(self, within_s: float) -> bool:
        """Whether the peer is alive."""
        ...

    def hang_up(self, why: str) -> None:
        """End it without a word."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _HeldStream:
    stream: GuardedStream
    node_id: str
    life: str


class NodeCopies:
    """`answer_s` is how long a living peer may take to answer, `now()` a clock that only goes forward, in seconds."""

    def __init__(self, answer_s: float = ANSWER_S, now: Callable[[], float] = monotonic) -> None:
        self._answer_s = answer_s
        self._now = now
        self._held: list[_HeldStream] = []
        self._refused: dict[str, float] = {}  # when a copy of a node was refused last

    async def admit(self, stream: GuardedStream, peer: str, node_id: str, life: str) -> str:
        """Why the stream with the peer of that name is a copy's, or "": then it stands, until `leave`."""
        while others := [other for other in self._held if other.node_id == node_id and other.life != life]:
            alive = await asyncio.gather(*(other.stream.answers(self._answer_s) for other in others))
            if any(alive):
                self._refused = {known: at for known, at in self._refused.items() if self._is_new(at)}
                self._refused[node_id] = self._now()
                log.warning("peer_is_a_copy", peer=peer, node=node_id)
                return ONE_IS_A_COPY
            for other in others:
                other.stream.hang_up("the same node was met anew, and nobody answers here")
                self.leave(other.stream)
        self._held.append(_HeldStream(stream, node_id, life))
        return ""

    def leave(self, stream: GuardedStream | None) -> None:
        """The stream has ended."""
        self._held = [held for held in self._held if held.stream is not stream]

    def note(self, node_id: str) -> str:
        """A note on a node with a copy that was refused a short while ago, or ""."""
        if not self._is_new(self._refused.get(node_id, -TOLD_S)):
            return ""
        return f"another process has the id of this node, too, and was refused: {ONE_IS_A_COPY}"

    def _is_new(self, at: float) -> bool:
        return self._now() - at < TOLD_S
