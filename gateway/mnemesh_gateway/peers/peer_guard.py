"""The streams of others that are served, and for how long: ended tokens, and callers at fault."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Final

import structlog

from mnemesh_actors.streams.stream_shell import StreamShell
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
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
        return [one for one in self._statuses.values() if name in ("", one.name)]
