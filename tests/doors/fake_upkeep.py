"""The operations of FakeMesh that curate: links, anchors, rules, triggers, reports. Input is judged by the real policy.

Rules have no effect and triggers do not fire. Each memory is a twin of the one before and idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from mnemesh_actors.files.project_files import FileState
from mnemesh_actors.recall.hygiene_report import Validated, Validation
from mnemesh_actors.remember.removal import ACTIONS, FINDINGS, Tidied
from mnemesh_memory.access import grants
from mnemesh_memory.policy import hygiene, patches
from mnemesh_memory.policy.hygiene import Duplicates, Report
from mnemesh_memory.policy.rules import stored_rules, triggers
from mnemesh_memory.policy.rules.stored_rules import StoredRule
from mnemesh_memory.policy.rules.triggers import Trigger
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.memory_links import Rated
from mnemesh_memory.values.model import Caller, Draft, Link, Memory, Written

YEAR_MS = 365 * 86_400_000


class FakeUpkeep:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]
    _one: Callable[[str], Memory]
    _change: Callable[..., Written]
    remember: Callable[..., object]

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

    async def anchor(self, caller: Caller, key: str, reason: str, *, release: bool, wait: str) -> Written:
        patch = patches.anchored(memory := self._one(key), patches.reason_of(reason, release))
        return self._change(memory, "UPDATE", "new revision", tier=patch.tier, attrs=patch.attrs)

    async def validate(self, caller: Caller, key: str, spaces: Sequence[str], *, limit: int, cursor: str) -> Validation:
        memories = [self._one(key)] if key else []
        found = tuple(
            Validated(id=one.id, title=one.title, space=one.space, references=(FileState("src/x.py", "same"),))
            for one in memories
        )
        return Validation(memories=found, examined=len(memories), cursor="", roots=())

    async def tidy(
        self, caller: Caller, finding: str, action: str, spaces: Sequence[str], *, stale_days: int, limit: int,
        dry_run: bool,
    ) -> Tidied:  # fmt: skip
        field_checks.one_of("finding", finding, FINDINGS)
        field_checks.one_of("action", action, ACTIONS)
        return Tidied(matched=0, ids=(), refused=(), dry_run=dry_run)

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

    async def duplicates(
        self, caller: Caller, spaces: Sequence[str] = (), threshold: float = 0.92, limit: int = 20
    ) -> Duplicates:
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        if not limits.DUPLICATE_MIN <= threshold <= 1.0:
            raise InvalidArgument("threshold", threshold, "a number from 0.5 to 1")
        items = self._seen(caller, spaces)
        pairs = [hygiene.judged(one, other, 0.95) for one, other in pairwise(items)]
        return Duplicates(pairs=tuple(pairs[:limit]), total=len(pairs), examined=len(items), unexamined=0)

    async def hygiene(
        self, caller: Caller, spaces: Sequence[str] = (), stale_days: int = 90, limit: int = 20
    ) -> Report:
        field_checks.whole("stale_days", stale_days, 1, limits.STALE_DAYS_MAX)
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        items = self._seen(caller, spaces)
        found = hygiene.idle(items, stale_days)
        counts = {hygiene.IDLE: len(found)}
        return Report(findings=tuple(found[:limit]), counts=counts, examined=len(items), unexamined=0)

    def _seen(self, caller: Caller, spaces: Sequence[str]) -> list[hygiene.Tidy]:
        named = request_checks.within_of(spaces, caller)
        active = [one for one in self.memories.values() if one.state == "active"]
        return [
            hygiene.tidy(one, {}, one.updated_at + YEAR_MS) for one in active if grants.any_matches(named, one.space)
        ]
