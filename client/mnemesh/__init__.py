"""Mnemesh for Python: `from mnemesh import Client`, or `AsyncClient` under asyncio.

Importing this package costs milliseconds: gRPC and protobuf are loaded when a client is first named, the rest when
it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemesh.api.async_client import AsyncClient
    from mnemesh.api.batch import Outcome
    from mnemesh.api.client import Client
    from mnemesh.api.values import (
        Agent,
        AgentQuota,
        Agents,
        Blame,
        BlamedField,
        BlamedLines,
        Change,
        ChangedAgent,
        Checked,
        Conflict,
        Conflicts,
        Found,
        History,
        Identity,
        IssuedToken,
        Link,
        Linked,
        Memory,
        Nearby,
        Neighbourhood,
        Page,
        RatedMemory,
        Ratings,
        Recalled,
        RecalledBatch,
        Remembered,
        Result,
        Revision,
        RevokedAgent,
        Signal,
        Source,
        Stats,
        Status,
        Superseded,
        Timeline,
        Updated,
        Written,
    )
    from mnemesh.api.watch import AsyncWatch, Watch
    from mnemesh.errors import (
        Aborted,
        AlreadyExists,
        DataLoss,
        DeadlineExceeded,
        FailedPrecondition,
        InvalidArgument,
        MnemeshError,
        NotFound,
        NotReachable,
        OutOfRange,
        Overloaded,
        PermissionDenied,
        Unauthenticated,
    )  # fmt: skip
    from mnemesh.transport.project import detect_space

__all__ = [
    "Aborted", "Agent", "AgentQuota", "Agents", "AlreadyExists", "AsyncClient", "AsyncWatch", "Blame",
    "BlamedField", "BlamedLines", "Change", "ChangedAgent", "Checked", "Client", "Conflict", "Conflicts",
    "DataLoss", "DeadlineExceeded", "FailedPrecondition", "Found", "History", "Identity", "InvalidArgument",
    "IssuedToken", "Link", "Linked", "Memory", "MnemeshError", "Nearby", "Neighbourhood", "NotFound",
    "NotReachable", "OutOfRange", "Outcome", "Overloaded", "Page", "PermissionDenied", "RatedMemory", "Ratings",
    "Recalled", "RecalledBatch", "Remembered", "Result", "Revision", "RevokedAgent", "Signal", "Source", "Stats",
    "Status", "Superseded", "Timeline", "Unauthenticated", "Updated", "Watch", "Written", "__version__",
    "detect_space",
]  # fmt: skip

_NAMES = {
    "api.async_client": ("AsyncClient",),
    "api.batch": ("Outcome",),
    "api.client": ("Client",),
    "api.watch": ("AsyncWatch", "Watch"),
    "transport.project": ("detect_space",),
}  # fmt: skip
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mnemesh")
    if name not in __all__:
        raise AttributeError(f"module 'mnemesh' has no attribute {name!r}")
    if module := _MODULES.get(name):
        return getattr(import_module(f"mnemesh.{module}"), name)
    from mnemesh import errors
    from mnemesh.api import values

    return getattr(values if name in values.MODULES else errors, name)


def __dir__() -> list[str]:
    return sorted(__all__)
