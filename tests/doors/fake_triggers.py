"""The trigger operations of FakeMesh: conditions are judged by the real policy, and nothing fires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mnemesh_memory.policy import triggers
from mnemesh_memory.policy.triggers import Trigger
from mnemesh_memory.values.model import Caller, Draft, Memory, Written


class FakeTriggers:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]
    remember: Callable[..., object]

    async def create_trigger(
        self, caller: Caller, on: str, pattern: str, *, content: str, key: str, space: str, repeating: bool
    ) -> Trigger:
        asked = triggers.condition(on, pattern, repeating, 0)
        if key:
            memory = self._one(key)
        else:
            done = await self.remember(caller, Draft(content=content, space=space))  # type: ignore[misc]
            assert isinstance(done, Written)
            memory = done.memory
        attrs = triggers.attrs_of(asked, own=not key)
        self.memories[memory.id] = replace(memory, tags=(triggers.TAG,), attrs=attrs)
        return self._trigger(memory.id)

    async def list_triggers(
        self, caller: Caller, spaces: Sequence[str], limit: int, cursor: str
    ) -> tuple[tuple[Trigger, ...], str, int]:
        found = tuple(one for one in map(triggers.trigger_of, self.memories.values()) if one is not None)
        return found[:limit], "", len(found)

    async def delete_trigger(self, caller: Caller, key: str) -> tuple[Trigger, bool]:
        memory = self._one(key)
        attrs = triggers.attrs_of(triggers.condition("keyword", "x", False, 0), own=True)
        made = replace(memory, tags=(triggers.TAG,), attrs=dict(memory.attrs) or attrs)
        trigger = triggers.trigger_of(made)
        assert trigger is not None
        return trigger, not trigger.own

    def _trigger(self, id_: str) -> Trigger:
        trigger = triggers.trigger_of(self.memories[id_])
        assert trigger is not None
        return trigger
