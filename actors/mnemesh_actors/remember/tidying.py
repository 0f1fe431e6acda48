"""The operation tidy: the memories of one kind of finding are forgotten, or put into the archive, many at once.

Without being told to act it only names them. A pinned memory, a trigger and a rule are never touched. Each step can be
undone: `restore`, or an update of the tier.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mnemesh_actors.remember.writes import Writing
from mnemesh_memory.access import grants
from mnemesh_memory.policy import file_references, hygiene
from mnemesh_memory.policy.hygiene import Report
from mnemesh_memory.policy.rules import stored_rules, triggers
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Caller, Memory, Patch

FINDINGS = (hygiene.IDLE, hygiene.ORPHANED, hygiene.STALE)
FORGET, ARCHIVE = ACTIONS = ("forget", "archive")
AT_ONCE = 32
Reporting = Callable[[Caller, Sequence[str], int, int], Awaitable[Report]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """The memories that were tidied up, or would be, of `matched` findings."""

    matched: int
    ids: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # Id and reason.
    dry_run: bool


class Tidying:
    """`report` finds, `writing` forgets and archives."""

    def __init__(self, writing: Writing, report: Reporting) -> None:
        self._writing = writing
        self._report = report

    async def tidy(
        self,
        caller: Caller,
        finding: str,
        action: str = FORGET,
        spaces: Sequence[str] = (),
        *,
        stale_days: int = hygiene.STALE_DAYS,
        limit: int = hygiene.LIMIT,
        dry_run: bool = True,
    ) -> Tidied:
        """Forget or archive up to `limit` memories that the hygiene report names as `finding`. Of the stale
        ones only those whose files are gone. Raises InvalidArgument, PermissionDenied for a space that the caller may
        not write."""
        field_checks.one_of("finding", finding, FINDINGS)
        field_checks.one_of("action", action, ACTIONS)
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        named = tuple(spaces) or (caller.default_space or caller.private_space,)
        for space in named:
            grants.require_space(caller, grants.WRITE, space)
        report = await self._report(caller, named, stale_days, limits.HYGIENE_LIMIT_MAX)
        found = {one.subject.memory.id: one.subject.memory for one in report.findings if one.type == finding}
        kept = [memory for memory in found.values() if not (_stays(memory) or _may_hold(memory, finding))][:limit]
        refused: dict[str, str] = {}
        if not dry_run:
            refused = await self._done(caller, action, [memory.id for memory in kept])
        ids = tuple(memory.id for memory in kept if memory.id not in refused)
        return Tidied(
            matched=report.counts.get(finding, 0), ids=ids, refused=tuple(sorted(refused.items())), dry_run=dry_run
        )

    async def _done(self, caller: Caller, action: str, ids: Sequence[str]) -> dict[str, str]:
        """Carry out the action, and tell which memories could not be changed."""
        refused: dict[str, str] = {}
        room = asyncio.Semaphore(AT_ONCE)

        async def one(id_: str) -> None:
            async with room:
                try:
                    if action == ARCHIVE:
                        await self._writing.update(caller, id_, Patch(tier="archive"))
                    else:
                        await self._writing.forget(caller, id_)
                except MnemeshError as error:
                    refused[id_] = error.message

        await asyncio.gather(*map(one, ids))
        return refused


def _stays(memory: Memory) -> bool:
    return memory.tier == "pinned" or triggers.TAG in memory.tags or stored_rules.TAG in memory.tags


def _may_hold(memory: Memory, finding: str) -> bool:
    """Whether a memory was found for files that are changed or renamed, and not gone."""
    return finding == hygiene.STALE and not file_references.tells_of_gone(memory.stale)
