"""The rule operations of FakeMesh: rules are judged by the real policy, and have no effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mnemesh_memory.policy import stored_rules
from mnemesh_memory.policy.stored_rules import StoredRule
from mnemesh_memory.values.model import Caller, Draft, Memory, Written


class FakeRules:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]
    remember: Callable[..., object]

    async def add_rule(
        self, caller: Caller, condition: str, effect: str, *, reason: str, space: str, directory: str, file: str
    ) -> StoredRule:
        rule = stored_rules.checked(condition, effect, directory, file)
        done = await self.remember(caller, Draft(content=reason or rule.text, space=space))  # type: ignore[misc]
        assert isinstance(done, Written)
        return self._ruled(done.memory.id, stored_rules.attrs_of(rule))

    async def get_rules(
        self, caller: Caller, spaces: Sequence[str], limit: int, cursor: str
    ) -> tuple[tuple[StoredRule, ...], str, int]:
        found = tuple(one for one in map(stored_rules.shown, self.memories.values()) if one is not None)
        return found[:limit], "", len(found)

    async def delete_rule(self, caller: Caller, key: str) -> StoredRule:
        return self._ruled(self._one(key).id, {})

    def _ruled(self, id_: str, attrs: dict[str, str]) -> StoredRule:
        usual = stored_rules.attrs_of(stored_rules.checked("kind = run", "hide"))
        self.memories[id_] = replace(self.memories[id_], tags=(stored_rules.TAG,), attrs=attrs or usual)
        rule = stored_rules.shown(self.memories[id_])
        assert rule is not None
        return rule
