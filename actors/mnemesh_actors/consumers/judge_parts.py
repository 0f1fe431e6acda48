"""The parts of a node that judgements at rest need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.runtime.base import Handle

if TYPE_CHECKING:
    from mnemesh_actors.consumers.follower import IndexFollower

OPERATION_BYTES: Final = 16
# Signs the links: the node speaks for its owner, as it does for triggers.
AGENT: Final = "owner/judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeParts:
    """`index` and `embedder` are those of the generation that answers now."""

    ledger: Handle[LedgerPort]
    embedder: Callable[[], Embedder]
    index: Callable[[], IndexFollower]
    commit: Callable[[Command], Awaitable[Committed]]
    clock: Callable[[], int]
    entropy: Callable[[int], bytes]
