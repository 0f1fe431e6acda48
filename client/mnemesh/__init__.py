"""Mnemesh for Python: `from mnemesh import Client`, or `AsyncClient` under asyncio.

Importing this package costs milliseconds: gRPC and protobuf are loaded when a client is first named, the rest when
it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemesh.agent_values import Agent, AgentQuota, Agents, ChangedAgent, IssuedToken, RevokedAgent
    from mnemesh.aio import AsyncClient
    from mnemesh.batch import Outcome
    from mnemesh.client import Client
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
    from mnemesh.history_values import Blame, BlamedField, BlamedLines, Conflict, Conflicts, History, Revision
    from mnemesh.link_values import Linked, RatedMemory, Ratings
    from mnemesh.project import detect_space
    from mnemesh.recall_values import Nearby, Neighbourhood, Recalled, RecalledBatch, Result, Signal
    from mnemesh.values import (
        Change,
        Checked,
        Found,
        Identity,
        Link,
        Memory,
        Page,
        Remembered,
        Source,
        Stats,
        Status,
        Superseded,
        Timeline,
        Updated,
        Written,
    )  # fmt: skip
    from mnemesh.watching import AsyncWatch, Watch

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

_MODULES = {
    "AsyncClient": "aio", "AsyncWatch": "watching", "Client": "client", "Outcome": "batch", "Watch": "watching",
    "detect_space": "project",
}  # fmt: skip
_PAST = {"Blame", "BlamedField", "BlamedLines", "Conflict", "Conflicts", "History", "Revision"}
_LINKS = {"Linked", "RatedMemory", "Ratings"}
_AGENTS = {"Agent", "AgentQuota", "Agents", "ChangedAgent", "IssuedToken", "RevokedAgent"}
_RECALL = {"Nearby", "Neighbourhood", "Recalled", "RecalledBatch", "Result", "Signal"}
_VALUES = {
    "Change", "Checked", "Found", "Identity", "Link", "Memory", "Page", "Remembered", "Source", "Stats", "Status",
    "Superseded", "Timeline", "Updated", "Written",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mnemesh")
    if name not in __all__:
        raise AttributeError(f"module 'mnemesh' has no attribute {name!r}")
    named = _MODULES | dict.fromkeys(_PAST, "history_values") | dict.fromkeys(_VALUES, "values")
    named |= dict.fromkeys(_LINKS, "link_values") | dict.fromkeys(_AGENTS, "agent_values")
    named |= dict.fromkeys(_RECALL, "recall_values")
    module = named.get(name, "errors")
    return getattr(import_module(f"mnemesh.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
