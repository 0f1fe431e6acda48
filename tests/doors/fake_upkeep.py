"""The upkeep operations of FakeMesh: anchors by the real policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemesh_actors.files.project_files import FileState
from mnemesh_actors.recall.file_validation import Validated, Validation
from mnemesh_actors.remember.tidying import ACTIONS, FINDINGS, Tidied
from mnemesh_memory.policy import anchors
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.model import Caller, Memory, Written


class FakeUpkeep:
    """Over FakeMesh's own dict."""

    _one: Callable[[str], Memory]
    _change: Callable[..., Written]

    async def anchor(self, caller: Caller, key: str, reason: str, *, release: bool, wait: str) -> Written:
        patch = anchors.anchored(memory := self._one(key), anchors.reason_of(reason, release))
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
