"""A memory as the index sees it. Never its content or title, but for the passages that it embeds."""

from __future__ import annotations

from dataclasses import dataclass

from mnemesh_actors.index.engine_port import DenseVector
from mnemesh_memory.text.traits import Traits


@dataclass(frozen=True, slots=True, eq=False)
class IndexText:
    """One passage: its L2-normalised embedding (dimensions,) float32, and its words for BM25."""

    dense: DenseVector
    lexical: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IndexItem:
    """A memory as the index sees it: times in ms since the epoch, `state` and `tier` as in kinds, passages.

    `seq` is the ledger entry. `place` is its writer's count in its session. `before` are the words of the memories just
    before it there, oldest first. Fields that only the ledger filters by (directory, paths, importance) are no part of
    it.
    """

    id: str
    space: str
    kind: str
    tags: tuple[str, ...] = ()
    agent: str = ""
    session: str = ""
    seq: int | None = None
    created_at: int
    updated_at: int
    valid_from: int | None = None
    valid_to: int | None = None
    state: str = "active"
    tier: str = "normal"
    place: int = 0
    before: tuple[str, ...] = ()
    traits: Traits | None = None
    texts: tuple[IndexText, ...]
