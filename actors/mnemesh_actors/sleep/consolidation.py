"""The operations consolidate, list_runs and undo_run: astrocytes plan, and the ledger carries out.

Duties of a run, in order. A kill at any point loses nothing and repeats nothing.

1. Finish the steps of a run that a kill left open.
2. Read a batch of new memories, and plan.
3. Keep the steps. Carry out a few at a time, in order, and keep the state of each.
4. Move the watermark of the space past the batch, and go on with the next.

A batch that is read again finds its memories merged, promoted or linked already. The cost depends on what is new.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mnemesh_actors.astrocytes.astrocyte import Astrocyte
from mnemesh_actors.astrocytes.sleep_record import SleepRecord
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.notices import Notice
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.runtime.tasks import cancelled
from mnemesh_actors.runtime.worker_pool import WorkerPool
from mnemesh_actors.sleep.application import apply, undo
from mnemesh_actors.sleep.lost_record import runs_of_log
from mnemesh_actors.sleep.plan_input import PlanBatch, batch, fresh_ids, log_pages
from mnemesh_actors.sleep.unanswered import UnansweredQuestions
from mnemesh_memory.access import grants
from mnemesh_memory.consolidation.derived_id import is_sleep, sleep_agent
from mnemesh_memory.consolidation.domains import DOMAINS, GENERAL
from mnemesh_memory.consolidation.gaps import unexplained
from mnemesh_memory.consolidation.portions import joined
from mnemesh_memory.consolidation.steps import (
    APPLIED,
    DONE,
    PLANNED,
    RUNNING,
    UNDONE,
    Consolidated,
    Portion,
    Promotion,
    Proposal,
    Run,
    Step,
)
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, NotFound
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.model_status import AstrocyteStatus

RUN_BYTES = 8
# Steps of one commit. Between two commits somebody who waits has a turn.
STEPS = 8
# The watermark of the look for changed spaces.
EVERYWHERE = ""


@dataclass(frozen=True, slots=True)
class _Pace:
    """How fast a run may go. Of several runs as many read at once as there are astrocytes: then the first portion is
    there at once, and not when all are."""

    budget: Budget
    reading: asyncio.Semaphore


@dataclass(slots=True)
class _Tally:
    """The findings of a run so far."""

    read: int = 0
    steps: list[Step] = field(default_factory=list)
    uses: dict[str, list[str]] = field(default_factory=dict)
    explained: set[str] = field(default_factory=set)
    degraded: dict[str, None] = field(default_factory=dict)
    astrocytes: dict[str, AstrocyteStatus] = field(default_factory=dict)  # by domain

    def add(self, material: PlanBatch, proposals: Sequence[Proposal]) -> None:
        self.read += material.read
        self.degraded |= dict.fromkeys(material.degraded)
        for proposal in proposals:
            self.explained |= proposal.explained
            for name, ids in proposal.uses.items():
                self.uses.setdefault(name, []).extend(ids)


@dataclass(eq=False)
class Consolidating:
    """One run at a time. `record` keeps runs and watermarks, and `workers` plan."""

    parts: NodePorts
    record: Handle[SleepRecord]
    workers: WorkerPool[Astrocyte]
    notice: Callable[[str], None]

    def __post_init__(self) -> None:
        self._restoring = asyncio.Lock()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # by space
        self.unanswered = UnansweredQuestions()
        self._latest: dict[str, AstrocyteStatus] = {}
        self._asked = asyncio.Semaphore(self.workers.size)  # runs of callers that read at once

    async def consolidate(self, caller: Caller, space: str = "", *, dry_run: bool = False) -> Consolidated:
        """Consolidate what is new in a space, or with `dry_run` only tell. Raises InvalidArgument, PermissionDenied,
        and Unavailable when a part of the node is down: the next call goes on."""
        where = request_checks.write_space(space, caller)
        done = await self._consolidated(caller.principal, where, _Pace(Budget(), self._asked), dry_run=dry_run)
        return replace(done, gaps=(*done.gaps, *self.unanswered.gaps(caller.principal, where)))

    async def changed_spaces(self, owner: str, budget: Budget) -> list[Consolidated]:
        """Consolidate every space that changed since the last such call, within a budget. A private space is
        consolidated in the name of its principal, the others in that of `owner`. A space that fails holds up no other:
        its error is raised at the end, and the next call comes back to the space."""
        incarnation, _ = await self.parts.ledger.position()
        known, seq = await self.record.watermark(EVERYWHERE)
        after = seq if known == incarnation else 0
        spaces: dict[str, None] = {}
        async for page in log_pages(self.parts, after):
            spaces |= dict.fromkeys(entry.space for entry in page.entries if not is_sleep(entry.agent) or entry.origin)
        done: dict[str, Consolidated] = {}
        failed: list[MnemeshError] = []
        waiting = iter(spaces)
        pace = _Pace(budget, asyncio.Semaphore(self.workers.size))

        async def lane() -> None:
            for space in waiting:
                principal = space[1:].partition("/")[0] if space.startswith("@") else owner
                try:
                    done[space] = await self._consolidated(principal, space, pace, dry_run=False)
                except MnemeshError as error:
                    failed.append(error)

        # While every astrocyte plans, the node reads what the next one gets.
        lanes = [asyncio.create_task(lane()) for _ in range(min(len(spaces), self.workers.size + 1))]
        try:
            await asyncio.gather(*lanes)
        finally:
            await cancelled(*lanes)
        if failed:
            raise failed[0]
        await self.record.keep_watermark(EVERYWHERE, incarnation, page.seq)
        return [done[space] for space in spaces]

    async def _consolidated(self, principal: str, space: str, pace: _Pace, *, dry_run: bool) -> Consolidated:
        await self._restored()
        async with self._turns[space]:
            return await self._run(principal, space, pace, dry_run=dry_run)

    async def _run(self, principal: str, space: str, pace: _Pace, *, dry_run: bool) -> Consolidated:
        run = None if dry_run else await self._unfinished(space)
        tally = _Tally(steps=list(run.steps) if run else [])
        incarnation, head = await self.parts.ledger.position()
        await self.parts.follower.wait_for(head)  # near memories are asked of the index
        known, seq = await self.record.watermark(space)
        async for ids, upto in fresh_ids(self.parts, space, seq if known == incarnation else 0):
            async with pace.reading:
                material = await batch(self.parts, space, principal, ids, upto, pace.budget)
            proposals = await asyncio.gather(*map(self._planned, material.portions))  # in processes that give way
            tally.add(material, proposals)
            steps, facts = joined(proposals)
            if steps and not dry_run:
                run = run or await self._begun(space, principal)
                steps = await self._applied(run, material.read, steps, facts, pace.budget)
            tally.steps += steps
            self._note(tally, material, steps)
            if not dry_run:
                await self.record.keep_watermark(space, incarnation, upto)
        if run is not None:
            await self.record.end(run.id, DONE, self.parts.clock())
        return Consolidated(
            space=space,
            dry_run=dry_run,
            run=run.id if run else "",
            read=tally.read,
            steps=tuple(tally.steps),
            gaps=tuple(unexplained(tally.uses, tally.explained)),
            degraded=tuple(tally.degraded),
        )

    async def _restored(self) -> None:
        """A record without runs gets those of the log, once."""
        async with self._restoring:
            if await self.record.new():
                runs = await runs_of_log(self.parts)
                await self.record.restore(runs)
                if runs:
                    outcome = f"{len(runs)} runs were read from the log and can be undone under new ids"
                    self.notice(Notice("sleep", f"the record of consolidation was lost: {outcome}"))

    async def _planned(self, portion: Portion) -> Proposal:
        return await self.workers.ask(lambda worker: worker.plan(portion))

    async def _begun(self, space: str, principal: str) -> Run:
        now = self.parts.clock()
        id_ = f"{now:011x}{self.parts.entropy(RUN_BYTES).hex()}"
        run = Run(id=id_, space=space, by=sleep_agent(principal), state=RUNNING, started_at=now)
        await self.record.begin(run)
        return run

    async def _applied(
        self, run: Run, read: int, steps: Sequence[Step], facts: Mapping[str, Promotion], budget: Budget
    ) -> list[Step]:
        first = await self.record.plan(run.id, read, steps)
        numbered = list(enumerate(steps, first))
        done = []
        for start in range(0, len(numbered), STEPS):
            async with budget.slice():
                done += await self._carried_out(run, numbered[start : start + STEPS], facts)
        await self.parts.follower.wait_for(self.parts.follower.head)
        return done

    async def _carried_out(
        self, run: Run, steps: Sequence[tuple[int, Step]], facts: Mapping[str, Promotion]
    ) -> list[Step]:
        outcomes = await apply(self.parts, run, steps, facts)
        made = dict(zip((number for number, _ in steps), outcomes, strict=True))
        await self.record.mark(run.id, made)
        return [replace(step, state=made[number][0], why=step.why + made[number][1]) for number, step in steps]

    async def _unfinished(self, space: str) -> Run | None:
        """The run of the space that was left open, with its planned steps carried out."""
        run: Run | None = await self.record.unfinished(space)
        if run is None:
            return None
        left = [(number, step) for number, step in enumerate(run.steps) if step.state == PLANNED]
        for start in range(0, len(left), STEPS):
            await self._carried_out(run, left[start : start + STEPS], {})
        return await self.record.find(run.id)

    async def runs(self, caller: Caller, spaces: Sequence[str] = (), limit: int = 20) -> list[Run]:
        """The latest runs in `spaces`, or in the caller's spaces, newest first."""
        field_checks.whole("limit", limit, 1, limits.LIST_LIMIT_MAX)
        named = request_checks.within_of(spaces, caller)
        await self._restored()
        runs = await self.record.runs(limits.LIST_LIMIT_MAX)
        return [run for run in runs if grants.any_matches(named, run.space)][:limit]

    async def undo(self, caller: Caller, run_id: str) -> tuple[Run, int]:
        """Take every step of a run back, the last first. Gives the run and how many steps were taken back. Raises
        NotFound, PermissionDenied."""
        field_checks.bounded_text("run", run_id, limits.TITLE_BYTES_MAX, empty=False)
        await self._restored()
        kept: Run | None = await self.record.find(run_id)
        if kept is None or not grants.may_read(caller, kept.space):
            raise NotFound("run", run_id, "`mnemesh consolidate --runs` lists them", field="run")
        grants.require_space(caller, grants.WRITE, kept.space)
        async with self._turns[kept.space]:
            run: Run | None = await self.record.find(run_id)  # another call may have undone it meanwhile
            assert run is not None
            return (run, 0) if run.state == UNDONE else await self._undone(run)

    def astrocytes(self) -> tuple[AstrocyteStatus, ...]:
        """Each domain with what it did last."""
        names = (*(domain.name for domain in DOMAINS), GENERAL.name)
        return tuple(self._latest.get(name, AstrocyteStatus(name=name)) for name in names)

    def _note(self, tally: _Tally, material: PlanBatch, steps: Sequence[Step]) -> None:
        now = self.parts.clock()
        for portion in material.portions:
            own = [step for step in steps if step.domain == portion.domain]
            before = tally.astrocytes.get(portion.domain, AstrocyteStatus(name=portion.domain, space=portion.space))
            tally.astrocytes[portion.domain] = self._latest[portion.domain] = replace(
                before,
                at=now,
                read=before.read + len(portion.fresh),
                proposed=before.proposed + len(own),
                applied=before.applied + sum(step.state == APPLIED for step in own),
            )

    async def _undone(self, run: Run) -> tuple[Run, int]:
        undone = 0
        for number in reversed(range(len(run.steps))):
            step = run.steps[number]
            if step.state not in (APPLIED, PLANNED):
                continue
            state, remark = await undo(self.parts, run, number, step)
            await self.record.mark(run.id, {number: (state, remark)})
            undone += state == UNDONE
        await self.parts.follower.wait_for(self.parts.follower.head)
        await self.record.end(run.id, UNDONE, self.parts.clock())
        kept: Run | None = await self.record.find(run.id)
        if kept is None:
            raise FailedPrecondition(f"run: {run.id} is not kept any more", field="run", value=run.id)
        return kept, undone
