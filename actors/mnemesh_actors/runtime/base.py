"""The whole abstraction: a handle has awaitable methods, a runtime makes handles. Nothing here knows Ray or threads.

`Handle[Port]` has the methods that the Protocol `Port` declares, each awaitable: tools/mypy_handles.py tells mypy so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

from mnemesh_memory.values.model_status import ActorStatus

Port = TypeVar("Port", covariant=True)
Actor = TypeVar("Actor")
Args = TypeVarTuple("Args")


class Handle(Generic[Port]):
    """An actor somewhere. `handle.method(*args)` is awaitable. Calls run one at a time, in order of arrival."""

    name: str

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        raise AttributeError(method)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for actors; `id` is its own until restarted, `address` its IP address. One that offers no `processors`
    keeps a ledger, but does not embed."""

    id: str
    address: str
    processors: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where an actor lives, and whether it lives again."""

    pinned: bool = False  # on this machine, where its files are
    machine: str = ""  # on that one, by its id
    roams: bool = False  # elsewhere when that machine is gone
    works: bool = False  # never on a machine that offers no processors
    here: bool = False  # in this process, whatever the runtime
    restarts: bool = True  # when its own process has died


ANYWHERE = Place()


class Runtime(Protocol):
    """Makes actors and ends them. `name` is local or ray.

    An actor may have three methods that a runtime calls:

    - `close()` at its end
    - `arrive(address)` before all else, on the machine of the actor
    - `quick(method, args)`, which says whether a call takes about a millisecond and waits for nothing
    """

    @property
    def name(self) -> str: ...

    async def spawn(
        self, name: str, cls: Callable[[*Args], Actor], *args: *Args, place: Place = ANYWHERE
    ) -> Handle[Actor]:
        """Construct `cls(*args)` as an actor at `place`."""

    async def answers(self, handle: Handle[object]) -> bool:
        """Whether the machine of the actor can be reached: without power or cable it can not."""

    async def lost(self) -> str:
        """The reason why no actor can be asked any more; empty while the runtime lives."""

    async def machines(self) -> tuple[Machine, ...]:
        """Where actors can live now, this machine first."""

    async def drop(self, handle: Handle[object]) -> None:
        """End one actor at once, without its `close()`."""

    async def actors(self) -> tuple[ActorStatus, ...]:
        """Where each actor lives now."""

    async def close(self) -> None:
        """End every actor, calling its `close()` if present."""
