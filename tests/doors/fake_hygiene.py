"""The reports of FakeMesh on what may be tidied up: each memory is a twin of the one before and idle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from mnemesh_memory.access import grants
from mnemesh_memory.policy import hygiene
from mnemesh_memory.policy.hygiene import Duplicates, Report
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller, Memory

YEAR_MS = 365 * 86_400_000


class FakeHygiene:
    """Over FakeMesh's own dict."""

    memories: dict[str, Memory]

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
        named = request_checks.read_spaces(spaces, caller) if spaces else grants.readable(caller)
        active = [one for one in self.memories.values() if one.state == "active"]
        return [
            hygiene.tidy(one, {}, one.updated_at + YEAR_MS) for one in active if grants.any_matches(named, one.space)
        ]
