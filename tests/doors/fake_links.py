"""The link operations of FakeMesh: types are judged by the real field_checks; nothing is linked both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.memory_links import Rated
from mnemesh_memory.values.model import Caller, Link, Memory, Written


class FakeLinks:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]
    _change: Callable[..., Written]

    async def link(self, caller: Caller, key: str, type_: str, to: str, wait: str = "indexed") -> Written:
        field_checks.one_of("wait", wait, ("indexed", "durable"))
        memory, link = self._one(key), Link(field_checks.link_type("type", type_), self._one(to).id)
        return self._change(memory, "LINK", "linked", links=tuple(dict.fromkeys((*memory.links, link))))

    async def unlink(self, caller: Caller, key: str, type_: str, to: str, wait: str = "indexed") -> Written:
        field_checks.one_of("wait", wait, ("indexed", "durable"))
        memory, link = self._one(key), Link(field_checks.link_type("type", type_), self._one(to).id)
        return self._change(memory, "UNLINK", "unlinked", links=tuple(one for one in memory.links if one != link))

    async def rate(self, caller: Caller, key: str = "", useful: bool | None = None, answer: str = "") -> list[Rated]:
        if bool(key) == bool(answer):
            raise InvalidArgument("id", "both or neither", "one of id and answer")
        named = [self._one(key)] if key else [one for one in self.memories.values() if one.id in answer]
        for memory in named:
            self.memories[memory.id] = replace(memory, useful=int(useful is not False), not_useful=int(useful is False))
        return [Rated(one.id, int(useful is not False), int(useful is False), changed=True) for one in named]
