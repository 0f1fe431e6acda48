"""Answers of the operations that no test of a door looks into: values of the types that the real operations return.

No request has an influence. The words of the first memory stand for each text, and that memory for each memory.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import Any, ClassVar, Union, cast, get_args, get_origin, get_type_hints

from mnemesh_actors.knowledge.graph_operations import Graphing
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node.session_operations import SessionRecords, Sessions
from mnemesh_actors.ports import LedgerPeers
from mnemesh_actors.recall.hygiene_report import Hygiene, Validating
from mnemesh_actors.recall.navigation import Navigating
from mnemesh_actors.recall.space_maps import SpaceMaps
from mnemesh_actors.remember.link_operations import LinkOperations
from mnemesh_actors.remember.project_seeding import ProjectSeeding
from mnemesh_actors.remember.removal import Removing
from mnemesh_actors.remember.rule_operations import Ruling
from mnemesh_actors.remember.trigger_operations import Triggering
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.sleep.consolidation import Consolidating
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_crdt.sync.greeting import Me
from mnemesh_gateway.backup.backups import Backups
from mnemesh_gateway.peers.peer_status import NotTaken
from mnemesh_gateway.peers.peers import Peers
from mnemesh_gateway.security.access import Access
from mnemesh_memory.values.model import Memory

PLAIN = {str: "a text", bool: True, int: 7, float: 0.5, bytes: b"bytes", type(None): None}


def _returned(function: Callable[..., object]) -> Any:
    """The type of its answers. The types of its arguments need not be known while it runs."""
    answer = SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
    return get_type_hints(answer, vars(sys.modules[function.__module__]))["return"]


class Sampled:
    """Each method of `owners`, and those in `named` under other names."""

    owners: ClassVar[tuple[type, ...]] = ()
    named: ClassVar[Mapping[str, Callable[..., object]]] = {}
    memories: Mapping[str, Memory] = MappingProxyType({})

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = self.named.get(name) or next((getattr(one, name) for one in self.owners if hasattr(one, name)), None)
        if found is None:
            raise AttributeError(name)
        kind = _returned(found)

        def at_once(*_: object, **__: object) -> Any:
            return self._sample(kind)

        async def later(*_: object, **__: object) -> Any:
            return self._sample(kind)

        return later if inspect.iscoroutinefunction(found) else at_once

    def _sample(self, kind: Any) -> Any:
        first, origin, inner = next(iter(self.memories.values()), None), get_origin(kind), get_args(kind)
        if origin in (UnionType, Union):
            return self._sample(inner[0])
        if origin is tuple and inner[-1] is not ...:
            return tuple(map(self._sample, inner))
        if isinstance(origin, type):
            made = (self._sample(inner[0]),)
            return {made[0]: self._sample(inner[1])} if issubclass(origin, Mapping) else made
        if first is not None and kind in (Memory, str):
            return first if kind is Memory else first.content
        if kind in PLAIN:
            return PLAIN[kind]
        hints = get_type_hints(kind)
        return kind(**{name: self._sample(hints[name]) for name in inspect.signature(kind).parameters})


class SampledOperations(Sampled):
    """The operations that FakeMesh lacks, over its own dict."""

    owners = (
        Consolidating, Graphing, Hygiene, LinkOperations, Navigating, ProjectSeeding, Removing, SessionRecords,
        Sessions, SpaceMaps, Validating, Writing,
    )  # fmt: skip
    named: ClassVar[Mapping[str, Callable[..., object]]] = {
        "list_runs": Consolidating.runs, "undo_run": Consolidating.undo, "runs": SessionRecords.runs,
        "space_coverage": SpaceMaps.coverage, "related": Mesh.related,
        "add_rule": Ruling.add, "get_rules": Ruling.page, "delete_rule": Ruling.delete,
        "create_trigger": Triggering.create, "list_triggers": Triggering.page, "delete_trigger": Triggering.delete,
    }  # fmt: skip


class FakeAccess(Sampled):
    """One token."""

    owners = (Access,)


class FakeBackups(Sampled):
    """One backup."""

    owners = (Backups,)


class FakeLedger(Sampled):
    """One entry is put aside. Each answer is awaited, as through a handle."""

    owners = (LedgerPeers,)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        at_once = super().__getattr__(name)

        async def later(*_: object) -> Any:
            return at_once()

        return later


class FakeSyncing(Sampled):
    """The ledger tells what is put aside."""

    owners = (Syncing,)
    ledger = FakeLedger()
    me = Me(node_id="0" * 32, key=b"", incarnation="inc", life="life")
    head = 7


class FakePeers(Sampled):
    """One peer."""

    owners = (Peers,)
    owner = "owner"

    def __init__(self) -> None:
        self.syncing = FakeSyncing()
        self.not_taken = NotTaken(cast(Syncing, self.syncing))
