"""The rows of one recall: each is read once, and a successor is found without a walk where the next memory is last."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from plain_memories import plain_memory

from mnemesh_actors.rows.row_source import RowSource, Tie
from mnemesh_memory.values.model import Memory


def memory(id_: str, by: str = "") -> Memory:
    return plain_memory(id_, id_, 1, state="superseded" if by else "active", superseded_by=by)


class Rows:
    """A ledger with some memories, of which each superseded one leads to the last of its chain."""

    def __init__(self, *memories: Memory) -> None:
        self.memories = {one.id: one for one in memories}
        self.calls: list[tuple[str, list[str]]] = []

    async def read(self, ids: Sequence[str]) -> dict[str, Memory]:
        self.calls.append(("read", list(ids)))
        return {id_: self.memories[id_] for id_ in ids if id_ in self.memories}

    async def lost(self, ids: Sequence[str], within: Sequence[str], past: bool) -> list[str]:
        self.calls.append(("lost", list(ids)))
        return []

    async def successors(self, ids: Sequence[str]) -> dict[str, Memory]:
        self.calls.append(("successors", list(ids)))
        return {id_: self._last(id_) for id_ in ids}

    def _last(self, id_: str) -> Memory:
        here = self.memories[id_]
        return self._last(here.superseded_by) if here.superseded_by else here

    async def ties(self, ids: Sequence[str]) -> list[Tie]:
        self.calls.append(("ties", list(ids)))
        return [(id_, "resolves", "out", f"of {id_}") for id_ in ids]


def source(ledger: Rows) -> RowSource:
    parts: Any = SimpleNamespace(ledger=ledger)
    return RowSource(parts, ("s",))


async def test_a_row_that_was_read_or_is_not_there_is_not_asked_for_again() -> None:
    ledger = Rows(memory("a"), memory("b"))
    rows = source(ledger)
    assert list(await rows.view(["b", "gone", "a"])) == ["b", "a"]
    assert list(await rows.view(["a", "gone"])) == ["a"]
    assert ledger.calls == [("read", ["b", "gone", "a"]), ("lost", ["gone"])]


async def test_links_are_asked_for_once_a_memory_and_told_in_the_order_asked() -> None:
    ledger = Rows()
    rows = source(ledger)
    await rows.ties([memory("a")])
    assert [tie[0] for tie in await rows.ties([memory("b"), memory("a")])] == ["b", "a"]
    assert ledger.calls == [("ties", ["a"]), ("ties", ["b"])]


async def test_a_chain_is_walked_only_beyond_the_next_memory() -> None:
    last = memory("last")
    old, older, oldest = memory("old", "last"), memory("older", "old"), memory("oldest", "gone")
    ledger = Rows(last, old, older, oldest)
    rows = source(ledger)
    assert await rows.ends([old]) == {"old": last}
    assert ("successors", ["old"]) not in ledger.calls
    assert await rows.ends([older, oldest, old]) == {"older": last, "old": last}
    assert ledger.calls[-1] == ("successors", ["older"])
