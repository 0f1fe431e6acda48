"""The history operations of FakeMesh.

A memory has the shown revision, and the revisions of a conflict where the test stored one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.errors import NotFound
from mnemesh_memory.values.model import Caller, Memory, Revision, Written
from mnemesh_memory.values.past import Blame, BlamedField, BlamedLines, Conflict, ConflictPage, HistoryPage, Recorded

NODE = "f" * 32


class FakeHistories:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]
    _change: Callable[..., Written]

    async def history(self, caller: Caller, key: str, limit: int = 20, cursor: str = "") -> HistoryPage:
        memory = self._one(key)
        return HistoryPage(memory=memory, revisions=_versions(memory), cursor="", total=memory.version)

    async def blame(self, caller: Caller, key: str, revision: str = "") -> Blame:
        memory = self._one(key)
        of = _known(memory, "revision", revision) if revision else memory.heads[0]
        who: dict[str, Any] = {"revision": of, "by": memory.by, "at": memory.updated_at, "node": NODE}
        return Blame(
            memory=memory,
            revision=of,
            lines=(BlamedLines(first=1, text=memory.content, **who),),
            fields=(BlamedField(field="kind", value=memory.kind, **who),),
        )

    async def conflicts(
        self, caller: Caller, spaces: Sequence[str] = (), limit: int | None = None, cursor: str = ""
    ) -> ConflictPage:
        found = [one for one in self.memories.values() if one.conflicts and (not spaces or one.space in spaces)]
        page = tuple(Conflict(memory=one, versions=_versions(one)) for one in found[:limit])
        return ConflictPage(conflicts=page, cursor="", total=len(found))

    async def rollback(
        self, caller: Caller, key: str, to: str, *, expected_heads: Sequence[str] = (), wait: str = "indexed"
    ) -> Written:
        memory = self._one(key)
        _known(memory, "to", to)
        return self._change(memory, "ROLLBACK", "says it again", conflicts=())

    async def resolve(self, caller: Caller, key: str, *, content: str | None = None, **_: object) -> Written:
        memory = self._one(key)
        return self._change(memory, "RESOLVE", "one version", content=content or memory.content, conflicts=())


def _known(memory: Memory, field: str, key: str) -> str:
    wanted = field_checks.revision_key(field, key)
    found = [one.revision.id for one in _versions(memory) if one.revision.id.startswith(wanted)]
    if not found:
        raise NotFound("revision", wanted, f"it is none of memory {memory.id}", field=field)
    return found[0]


def _versions(memory: Memory) -> tuple[Recorded, ...]:
    shown = Revision(
        id=memory.heads[0], op="put", kind=memory.kind, title=memory.title, content=memory.content, by=memory.by,
        at=memory.updated_at, parents=(), attrs=memory.attrs, valid_from=memory.valid_from, valid_to=memory.valid_to,
        importance=memory.importance, tier=memory.tier, source=memory.source, keywords=memory.keywords,
        refs=memory.paths,
    )  # fmt: skip
    first = Recorded(revision=shown, node=NODE, head=True, shown=True)
    return (first, *(Recorded(revision=one, node=NODE, head=True) for one in memory.conflicts))
