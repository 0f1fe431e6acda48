"""Removal: one memory is erased for good, or many are forgotten or erased at once.

A purge acts here at once and, with time, at every peer. The ledger deletes all changes of the memory, view, pending
and quarantined rows, and leaves nothing of them in its files. The index drops its points in the order of the log, and
an index in the making for another model drops them at once. The embedder's cache of texts forgets all. The tombstone
stays: the id, the space, and hashes of the deleted changes, so that late copies are known and dropped.

A bulk removal takes in one page of a listing and says how many are left, so that a caller repeats until nothing is.
Without being told to act it only counts. A memory that changed or went meanwhile is no error: each is judged by itself,
as the operation on one memory does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mnemesh_actors.consumers.derived_texts import erase_derived
from mnemesh_actors.ledger.peers.erase import Erase, Gone
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, find
from mnemesh_actors.remember.writes import Writing
from mnemesh_crdt.changes.envelope import ERASE
from mnemesh_memory.access import grants
from mnemesh_memory.policy import file_references, hygiene
from mnemesh_memory.policy.hygiene import Report
from mnemesh_memory.policy.rules import stored_rules, triggers
from mnemesh_memory.policy.trust import asked_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DeadlineExceeded, InvalidArgument, MnemeshError, NotFound, Unavailable
from mnemesh_memory.values.model import Caller, ListQuery, Memory, Page, Patch

# Commits of one call that run at once. The ledger groups them.
AT_ONCE = 32
ADMINS = ("owner", "admin")
FINDINGS = (hygiene.IDLE, hygiene.ORPHANED, hygiene.STALE)
FORGET, ARCHIVE = ACTIONS = ("forget", "archive")
Reporting = Callable[[Caller, Sequence[str], int, int], Awaitable[Report]]


class Removing:
    """The operations purge, bulk_forget and tidy. `report` finds what may be tidied up."""

    def __init__(self, parts: NodePorts, writing: Writing, report: Reporting) -> None:
        self._parts, self._writing, self._report = parts, writing, report

    async def purge(self, caller: Caller, key: str) -> Purged:
        """Erase the memory that `key` names, forgotten or not. A whole id also names a memory that was erased before.
        For an admin a whole id also names a memory with only pending or quarantined changes here. Raises NotFound,
        InvalidArgument (ambiguous), PermissionDenied unless the caller is an admin or began the memory."""
        memory: Memory | None = None
        try:
            memory = await find(self._parts, caller, key, forgotten=True)
            gone = await self._erased(caller, memory.id)
        except NotFound as unseen:
            gone = await self._out_of_view(caller, key, unseen)
        facts = await erase_derived(self._parts.ledger, [gone.id], self._parts.clock())
        async with answered(self._parts, "ledger", f"it is erased; purge {gone.id} again to see what stays"):
            behind = await self._parts.ledger.behind(gone.id, gone.space)
        last = max([gone.seq, *(seq for _, seq in facts)])
        serving = self._parts.serving
        serving.forget()
        serving.publish(last)
        pending = [] if gone.folded else ["its bytes leave the write-ahead log with a later write"]
        if gone.alone:
            pending.append(f"other machines erase it once they are level again ({gone.alone})")
        try:
            await self._parts.follower.wait_for(last)
        except (DeadlineExceeded, Unavailable):
            pending.append(f"the index drops it later ({self._parts.follower.fault or 'it is behind'})")
        if serving.next is not None:
            taken = [await serving.next.follower.take_out(id_) for id_ in (gone.id, *(fact for fact, _ in facts))]
            if not all(taken):
                pending.append("the index that `reembed` is making drops it in its turn")
        if unreached := serving.unreached():
            pending.append(unreached)
        return Purged(
            id=gone.id,
            space=gone.space,
            changes=gone.changes,
            pending=tuple(pending),
            begun=memory.created_at if memory else 0,
            as_admin=gone.type == ERASE,
            behind=tuple(behind),
        )

    async def _refused(self, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
        """The memories of `ids`, all readable, that the caller may not purge, and why."""
        if caller.role in ADMINS:
            return {}
        async with answered(self._parts, "ledger"):
            return await self._parts.ledger.not_to_erase(list(ids), caller.agent)

    async def _out_of_view(self, caller: Caller, key: str, unseen: NotFound) -> Gone:
        """The changes of a whole id that no memory in the view bears. Raises `unseen` when that is nothing, or not for
        the caller to see."""
        try:
            return await self._erased(caller, field_checks.memory_id("id", key))
        except (InvalidArgument, NotFound):
            raise unseen from None

    async def _erased(self, caller: Caller, id_: str) -> Gone:
        command = Erase(
            **self._parts.stamp(caller),
            id=id_,
            as_admin=caller.role in ADMINS,
            within=grants.readable(caller),
        )
        async with answered(self._parts, "ledger", f"it may or may not be erased; purge {id_} again to see"):
            return await self._parts.ledger.erase(command)

    async def bulk_forget(self, caller: Caller, query: ListQuery, *, purge: bool, dry_run: bool) -> Bulk:
        """Forget up to `query.limit` memories that `query` names, or erase them for good with `purge`. With `dry_run`
        only list them, and the memories that the caller may not erase. Raises InvalidArgument, also without a
        filter, and PermissionDenied for a space that the caller may not write."""
        # "Active" means active now. Memories that were active only at `valid_at` are history.
        checked = request_checks.list_query(query, caller)
        request_checks.refuse_unfiltered(query, checked)
        clean = replace(asked_of(checked, caller, self._parts.node_id), active_now=True)
        clean = self._parts.rules.asked(clean)
        for space in clean.spaces or (caller.private_space,):  # a right to write in one space holds in all of them
            grants.require_space(caller, grants.WRITE, space)
        page = await self._parts.ledger.page(clean)
        left_out = 0
        if purge and clean.state == "active":
            whole = await self._parts.ledger.page(replace(clean, state="all", limit=1, cursor=""))
            left_out = max(0, whole.total - page.total)
        if dry_run:
            ids = [memory.id for memory in page.memories] if purge else ()
            refused = await self._refused(caller, ids) if ids else {}
            return replace(_bulk(caller, page, refused, purge=purge, dry_run=True), left_out=left_out)
        pending: set[str] = set()
        behind: dict[str, None] = {}

        async def gone(id_: str) -> None:
            if purge:
                purged = await self.purge(caller, id_)
                pending.update(purged.pending)
                behind.update(dict.fromkeys(purged.behind))
                behind.pop(id_, None)
            else:
                await self._writing.forget(caller, id_)

        refused = await _each(gone, (memory.id for memory in page.memories))
        done = _bulk(caller, page, refused, purge=purge, dry_run=False)
        return replace(
            done, pending=tuple(sorted(pending)), left_out=left_out, behind=tuple(behind)[: limits.BEHIND_MAX]
        )

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
        """Forget or archive up to `limit` memories that the hygiene report names as `finding`. With `dry_run` only name
        them. Of the stale ones only those whose files are gone. A pinned memory, a trigger and a rule are never
        touched. Each step can be undone: `restore`, or an update of the tier. Raises InvalidArgument, PermissionDenied
        for a space that the caller may not write."""
        field_checks.one_of("finding", finding, FINDINGS)
        field_checks.one_of("action", action, ACTIONS)
        field_checks.whole("limit", limit, 1, limits.HYGIENE_LIMIT_MAX)
        named = tuple(spaces) or (caller.default_space or caller.private_space,)
        for space in named:
            grants.require_space(caller, grants.WRITE, space)
        report = await self._report(caller, named, stale_days, limits.HYGIENE_LIMIT_MAX)
        subjects = {item.subject.memory.id: item.subject.memory for item in report.findings if item.type == finding}
        kept = [memory for memory in subjects.values() if not (_stays(memory) or _may_hold(memory, finding))][:limit]

        async def done(id_: str) -> None:
            if action == ARCHIVE:
                await self._writing.update(caller, id_, Patch(tier="archive"))
            else:
                await self._writing.forget(caller, id_)

        refused = {} if dry_run else await _each(done, (memory.id for memory in kept))
        ids = tuple(memory.id for memory in kept if memory.id not in refused)
        return Tidied(
            matched=report.counts.get(finding, 0), ids=ids, refused=tuple(sorted(refused.items())), dry_run=dry_run
        )


async def _each(act: Callable[[str], Awaitable[None]], ids: Iterable[str]) -> dict[str, str]:
    """Carry out `act` for each memory, and tell which refused it, with the reason."""
    refused: dict[str, str] = {}
    room = asyncio.Semaphore(AT_ONCE)

    async def attempt(id_: str) -> None:
        async with room:
            try:
                await act(id_)
            except MnemeshError as error:
                refused[id_] = error.message

    await asyncio.gather(*map(attempt, ids))
    return refused


def _bulk(caller: Caller, page: Page, refused: Mapping[str, str], *, purge: bool, dry_run: bool) -> Bulk:
    going = (memory for memory in page.memories if purge or memory.state != "forgotten")
    memories = [memory for memory in going if memory.id not in refused]
    return Bulk(
        matched=page.total,
        ids=tuple(memory.id for memory in memories),
        dry_run=dry_run,
        refused=tuple(sorted(refused.items())),
        spaces=tuple(sorted({memory.space for memory in memories})),
        others=tuple(sorted({item.space for item in memories if grants.principal_of(item.by) != caller.principal})),
        oldest=min((memory.created_at for memory in memories), default=0),
        cursor=page.cursor,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """The memories that were tidied up, or would be, of `matched` findings."""

    matched: int
    ids: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # Id and reason.
    dry_run: bool


def _stays(memory: Memory) -> bool:
    return memory.tier == "pinned" or triggers.TAG in memory.tags or stored_rules.TAG in memory.tags


def _may_hold(memory: Memory, finding: str) -> bool:
    """Whether a memory was found for files that are changed or renamed, and not gone."""
    return finding == hygiene.STALE and not file_references.tells_of_gone(memory.stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A memory that was erased for good."""

    id: str
    space: str
    changes: int  # 0 when the memory had been erased before, or only waiting and refused changes were here.
    pending: tuple[str, ...] = ()  # Parts of the memory that leave the files of this node later.
    begun: int = 0  # Time of creation (ms), 0 when nothing here tells.
    # Not the eraser's own memory, so only nodes that believe the admins of this node erase their copy.
    as_admin: bool = False
    behind: tuple[str, ...] = ()  # Memories that stepped back for it and stay.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Many memories forgotten or purged at once."""

    matched: int  # Count of all memories of the listing.
    ids: tuple[str, ...]  # Memories removed now, or to be removed (`dry_run`).
    dry_run: bool
    refused: tuple[tuple[str, str], ...] = ()  # Pairs (id, reason) of the others.
    spaces: tuple[str, ...] = ()  # Spaces of `ids`.
    others: tuple[str, ...] = ()  # Spaces with memories of other principals among `ids`.
    oldest: int = 0  # When the first of `ids` was made (ms).
    behind: tuple[str, ...] = ()  # Memories that stepped back for those of a purge and stay.
    pending: tuple[str, ...] = ()  # Parts of purged memories that leave the files of this node later.
    cursor: str = ""  # Where the next call goes on, "" when nothing is left.
    left_out: int = 0  # Count of further memories, had the listing been of every state.
