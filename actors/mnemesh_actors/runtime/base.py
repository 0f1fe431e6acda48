"""The whole abstraction: a handle has awaitable methods, a runtime makes handles. Nothing here knows Ray or threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mnemesh_memory.model import ActorStatus


class Handle(Protocol):
    """An actor somewhere. `handle.method(*args)` is awaitable; calls run one at a time, in order of arrival."""

    @property
    def name(self) -> str: ...

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]: ...


@dataclass(frozen=True, slots=True)
class Machine:
    """One that runs actors; `id` is its own until it is started anew, `address` its IP address. One that offers no
    `processors` keeps a ledger, but does not embed."""

    id: str
    address: str
    processors: bool = True


class Runtime(Protocol):
    """Makes actors and ends them. `name` is local or ray. An actor may have `close()`, called at its end,
    `arrive(address)`, called before all else on the machine where it has come to live, and `quick(method, args)`, which
    says of a call, whatever the actor is doing, whether it takes about a millisecond and waits for nothing."""

    @property
    def name(self) -> str: ...

    async def spawn(
        self,
        name: str,
        cls: type,
        *args: Any,
        pinned: bool = False,
        machine: str = "",
        roams: bool = False,
        works: bool = False,
        here: bool = False,
    ) -> Handle:
        """Construct `cls(*args)` as an actor. `pinned` keeps it on this machine, where its files are; `machine` on
        that one, or, when it `roams`, there first, and elsewhere when that machine is gone. One that `works` is never
        put on a machine that offers no processors. `here` keeps it in this process, whatever the runtime."""
        ...

    async def answers(self, handle: Handle) -> bool:
        """Whether the machine of the actor can be reached: one that lost power or its cable can not."""
        ...

    async def lost(self) -> str:
        """Why no actor can be asked any more, or ""."""
        ...

    async def machines(self) -> tuple[Machine, ...]:
        """Where actors can live now, this machine first."""
        ...

    async def drop(self, handle: Handle) -> None:
        """End one actor at once, without its `close()`."""
        ...

    async def actors(self) -> tuple[ActorStatus, ...]:
        """Where each actor lives now."""
        ...

    async def close(self) -> None:
        """End every actor, calling its `close()` if it has one."""
        ...
