"""Finds a node and a copy of its directory among all streams: one node id, two living processes.

A restarted node is no copy of its former self. The old stream may still stand here, but nobody answers on it. So a
standing stream is asked when its node appears in another life, and hung up without an answer. The second process is
refused before any exchange.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol

import structlog

from mnemesh_crdt.sync.handshake import ONE_IS_A_COPY

# So long a living peer may take to answer. Less than the caller waits for its own greeting.
ANSWER_S: Final = 5.0
# A copy that was refused calls again within a minute.
TOLD_S: Final = 150.0
log = structlog.get_logger("mnemesh.sync")


class Asked(Protocol):
    """A standing stream."""

    async def answers(self, within_s: float) -> bool:
        """Whether the peer is alive."""
        ...

    def hang_up(self, why: str) -> None:
        """End it without a word."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Standing:
    stream: Asked
    node_id: str
    life: str


class Copies:
    """`answer_s` is how long a living peer may take to answer, `now()` a clock that only goes forward, in seconds."""

    def __init__(self, answer_s: float = ANSWER_S, now: Callable[[], float] = monotonic) -> None:
        self._answer_s = answer_s
        self._now = now
        self._standing: list[_Standing] = []
        self._refused: dict[str, float] = {}  # when a copy of a node was refused last

    async def admit(self, stream: Asked, peer: str, node_id: str, life: str) -> str:
        """Why the stream with the peer of that name is a copy's, or "": then it stands, until `leave`."""
        while others := [one for one in self._standing if one.node_id == node_id and one.life != life]:
            alive = await asyncio.gather(*(one.stream.answers(self._answer_s) for one in others))
            if any(alive):
                self._refused = {known: at for known, at in self._refused.items() if self._is_new(at)}
                self._refused[node_id] = self._now()
                log.warning("peer_is_a_copy", peer=peer, node=node_id)
                return ONE_IS_A_COPY
            for one in others:
                one.stream.hang_up("the same node was met anew, and nobody answers here")
                self.leave(one.stream)
        self._standing.append(_Standing(stream, node_id, life))
        return ""

    def leave(self, stream: Asked | None) -> None:
        """The stream has ended."""
        self._standing = [one for one in self._standing if one.stream is not stream]

    def note(self, node_id: str) -> str:
        """A note on a node with a copy that was refused a short while ago, or ""."""
        if not self._is_new(self._refused.get(node_id, -TOLD_S)):
            return ""
        return f"another process has the id of this node, too, and was refused: {ONE_IS_A_COPY}"

    def _is_new(self, at: float) -> bool:
        return self._now() - at < TOLD_S
