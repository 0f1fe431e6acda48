"""The whole abstraction: a handle has awaitable methods, a runtime makes handles. Nothing here knows Ray or threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from mnemesh_memory.model import ActorStatus


class Handle(Protocol):
    """An actor somewhere. `handle.method(*args)` is awaitable; calls run one at a time, in order of arrival."""

    @property
    def name(self) -> str: ...

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]: ...


class Runtime(Protocol):
    """Makes actors and ends them. `name` is local or ray."""

    @property
    def name(self) -> str: ...

    async def spawn(self, name: str, cls: type, *args: Any, pinned: bool = False) -> Handle:
        """Construct `cls(*args)` as an actor. `pinned` keeps it on this machine, where its files are."""
        ...

    async def actors(self) -> tuple[ActorStatus, ...]:
        """Where each actor lives now."""
        ...

    async def close(self) -> None:
        """End every actor, calling its `close()` if it has one."""
        ...
