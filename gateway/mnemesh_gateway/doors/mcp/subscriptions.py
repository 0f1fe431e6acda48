"""MCP hosts that follow resources: the followers of each memory, and one reader of the log for everybody.

The reader is a consumer of the log whose cursor is kept nowhere. A host hears that a memory changed, never how, and
reads the memory again. Further changes of that memory add no second message. Nothing runs while nobody follows.
Both generations of the protocol end here: `resources/subscribe` of a session and `subscriptions/listen` of 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import structlog

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError, Overloaded

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

RETRY_S: Final = 1.0
BEGIN_TIMEOUT_S: Final = 10.0
log = structlog.get_logger("mnemesh.mcp")


class Follower:
    """The addresses that one host follows, by memory id. `check` raises when the token of the host grants less."""

    def __init__(self, subscriptions: Subscriptions, check: Callable[[], None]) -> None:
        self._subscriptions = subscriptions
        self._check = check
        self._addresses: dict[str, dict[str, None]] = {}
        self._changed: dict[str, None] = {}
        self._news = asyncio.Event()
        self._over = False

    async def follow(self, uri: str, id_: str) -> None:
        """Follow the memory `id_` as `uri`. Once it returns, no change is missed. Raises InvalidArgument for one
        too many."""
        known = self._addresses.setdefault(id_, {})
        if uri not in known and self.count >= limits.SUBSCRIPTIONS_MAX:
            rule = f"at most {limits.SUBSCRIPTIONS_MAX} resources of one session"
            raise InvalidArgument("uri", uri, rule)
        known[uri] = None
        await self._subscriptions.begin(self)

    def unfollow(self, uri: str) -> None:
        """Follow `uri` no more. One that is not followed is none the worse."""
        for addresses in self._addresses.values():
            addresses.pop(uri, None)
        self._addresses = {id_: addresses for id_, addresses in self._addresses.items() if addresses}

    @property
    def count(self) -> int:
        """How many addresses are followed."""
        return sum(map(len, self._addresses.values()))

    @property
    def ids(self) -> list[str]:
        """The memories that are followed."""
        return list(self._addresses)

    def touched(self, ids: list[str]) -> None:
        """Memories have changed."""
        for id_ in ids:
            for uri in self._addresses.get(id_, ()):
                self._changed[uri] = None
                self._news.set()

    async def deliver(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Tell of changed addresses until the end. Raises what `check` raises."""
        while not self._over:
            await self._news.wait()
            self._news.clear()
            while self._changed and not self._over:
                uri = next(iter(self._changed))
                del self._changed[uri]
                self._check()
                await tell(uri)

    def end(self) -> None:
        """Tell no more."""
        self._over = True
        self._news.set()
        self._subscriptions.leave(self)


class Subscriptions:
    """All followers of a node."""

    def __init__(self, gate: MeshGate) -> None:
        self._gate = gate
        self._followers: set[Follower] = set()
        self._reader: asyncio.Task[None] | None = None
        self._began = asyncio.Event()

    def follower(self, check: Callable[[], None]) -> Follower:
        """One more host. Raises Overloaded."""
        if len(self._followers) >= limits.WATCHERS_MAX:
            raise Overloaded("the number of subscribers", limits.WATCHERS_MAX, retry_after_s=5.0)
        return Follower(self, check)

    async def begin(self, follower: Follower) -> None:
        """Return once the log is read for `follower`. Raises DeadlineExceeded."""
        self._followers.add(follower)
        if self._reader is None or self._reader.done():
            self._began = asyncio.Event()
            self._reader = asyncio.create_task(self._read(self._began), name="mcp-subscriptions")
            self._reader.add_done_callback(_ended)
        try:
            await asyncio.wait_for(self._began.wait(), BEGIN_TIMEOUT_S)
        except TimeoutError:
            raise DeadlineExceeded(
                f"the log could not be followed within {BEGIN_TIMEOUT_S:g} s", part="ledger"
            ) from None

    def leave(self, follower: Follower) -> None:
        """Forget `follower`. The last one that leaves ends the reading."""
        self._followers.discard(follower)
        if not self._followers and self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def end(self) -> None:
        """End every follower: the node stops."""
        for follower in list(self._followers):
            follower.end()

    async def _read(self, began: asyncio.Event) -> None:
        while True:
            try:
                mesh = await self._gate.ready()
                async with aclosing(mesh.touched()) as pages:
                    async for ids in pages:
                        if began.is_set() and not ids:
                            # The log was away, or another one goes on: any memory may have changed.
                            ids = [id_ for follower in self._followers for id_ in follower.ids]
                        began.set()
                        for follower in list(self._followers):
                            follower.touched(ids)
            except MnemeshError as error:
                log.warning("mcp_subscriptions_stalled", reason=error.message)
                await asyncio.sleep(RETRY_S)


def _ended(reader: asyncio.Task[None]) -> None:
    if not reader.cancelled() and (error := reader.exception()) is not None:
        log.error("mcp_subscriptions_ended", exc_info=error)
