"""The operations of sessions: checkpoint, resume and context. They read the ledger once, and the index for a question.

Neither resume nor context counts as a use of what is shown, or hot memories would keep themselves hot.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from mnemesh_actors.memory_lookup import find_many, granted
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.recall import Recalling
from mnemesh_actors.remember.deadlines import answered, find
from mnemesh_actors.remember.link_operations import LinkOperations
from mnemesh_actors.remember.trigger_operations import Triggering
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.rows.display import displayed
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.sessions import checkpoints, requirements, session_context, session_runs
from mnemesh_memory.policy.sessions.checkpoints import Checkpoint, WorkState
from mnemesh_memory.policy.sessions.requirements import Requirement
from mnemesh_memory.policy.sessions.session_context import (
    ANSWERS,
    HOT,
    PINNED,
    PREDICTED,
    QUESTIONS,
    REQUIREMENTS,
    RUNS,
    TRIGGERED,
    ContextQuery,
    GivenMemories,
    SessionContext,
)
from mnemesh_memory.policy.sessions.session_runs import SessionReport, SessionRun
from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.text.text import estimate_tokens
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.validation.filters import states_rule
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
    Unavailable,
)
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Memory, Patch, Query, Source

# The least score of an answer to the question of a context, and its least share of the best. docs/recall.md#calibration
# has the shares of right first results and of other questions that pass.
ANSWER_SCORE_MIN: Final = 0.1
ANSWER_SHARE_MIN: Final = 1 / 3
# Of the budget of resume, for the checkpoint itself.
CHECKPOINT_SHARE: Final = 0.6
# See Navigating.predicted.
Predict = Callable[[Caller, Sequence[str], Sequence[str], int], Awaitable[list[Memory]]]


class Sessions:
    """`writing` stores checkpoints, `recalling` answers questions, `triggering` says what a question sets off, and
    `predict` what is likely needed next."""

    def __init__(
        self, parts: NodePorts, writing: Writing, recalling: Recalling, triggering: Triggering, predict: Predict
    ) -> None:
        self._parts = parts
        self._writing = writing
        self._recalling = recalling
        self._triggering = triggering
        self._predict = predict
        self._given = GivenMemories()

    async def checkpoint(
        self,
        caller: Caller,
        state: WorkState,
        *,
        session: str = "",
        space: str = "",
        merge: bool = False,
        mask: bool = False,
    ) -> Checkpoint:
        """Store where a session stands, as the next version of its checkpoint. Raises InvalidArgument (also for nothing
        at all), SecretRefused, PermissionDenied."""
        where = request_checks.write_space(space, caller)
        session = field_checks.line("session", session, limits.SESSION_BYTES_MAX)
        clean = checkpoints.checked(state, mask=mask)
        async with answered(self._parts, "ledger"):
            before = await self._parts.ledger.last_tagged((where,), checkpoints.TAG, session, caller.agent)
        if before is not None and merge:
            clean = checkpoints.merged(checkpoints.read(before.content), clean)
        clean = checkpoints.fitting(clean)
        content, title = checkpoints.text_of(clean), checkpoints.title(clean)
        if mask:  # once more: two harmless lines may be a credential together
            content, title = masked(content)[0], masked(title)[0]
        if before is not None and before.version < limits.REVISIONS_MAX:
            patch = Patch(content=content, title=title, force=True, wait="durable")
            return checkpoints.checkpoint_of((await self._writing.update(caller, before.id, patch)).memory)
        draft = Draft(
            content=content,
            title=title,
            kind=checkpoints.KIND,
            space=where,
            tags=(checkpoints.TAG,),
            source=Source(session=session),
            force=True,
            wait="durable",
        )
        return checkpoints.checkpoint_of((await self._writing.remember(caller, draft)).memory)

    async def resume(
        self,
        caller: Caller,
        spaces: Sequence[str] = (),
        *,
        session: str = "",
        agent: str = "",
        budget: int = session_context.BUDGET,
    ) -> tuple[Checkpoint | None, SessionContext]:
        """The last checkpoint, shortened to its part of the budget, and what else belongs to the work. Raises
        InvalidArgument, PermissionDenied, DeadlineExceeded."""
        named = request_checks.read_spaces(spaces, caller)
        session = field_checks.line("session", session, limits.SESSION_BYTES_MAX)
        agent = field_checks.line("agent", agent, limits.AGENT_BYTES_MAX)
        field_checks.whole("token_budget", budget, limits.CONTEXT_BUDGET_MIN, limits.CONTEXT_BUDGET_MAX)
        async with self._in_time():
            last = await self._parts.ledger.last_tagged(named, checkpoints.TAG, session or None, agent)
            opening = await self._opening(caller, named)
            opening[PREDICTED], degraded = await self._predicted(caller, named, ())
            opening = await self._with_others(caller, opening)
        checkpoint, used = None, 0
        if last is not None:
            room = int(CHECKPOINT_SHARE * budget) - session_context.MEMORY_TOKENS
            state = checkpoints.shortened(checkpoints.read(last.content), room)
            checkpoint = checkpoints.checkpoint_of(replace(last, content=checkpoints.text_of(state)))
            used = estimate_tokens(checkpoints.text_of(state)) + session_context.MEMORY_TOKENS
        kept = {name: opening.get(name, []) for name in (PINNED, REQUIREMENTS, QUESTIONS, RUNS, PREDICTED, HOT)}
        known = {last.id} if last is not None else ()
        context = session_context.chosen(kept, known, max(0, budget - used), self._parts.clock())
        return checkpoint, replace(context, tokens_used=context.tokens_used + used, degraded=degraded)

    async def context(self, caller: Caller, asked: ContextQuery) -> SessionContext:
        """The context of a session, without memories that the session was given before. Raises InvalidArgument,
        PermissionDenied, DeadlineExceeded. A question that the index can't answer now is told in `degraded`."""
        named = request_checks.read_spaces(asked.spaces, caller)
        session = field_checks.line("session", asked.session, limits.SESSION_BYTES_MAX)
        field_checks.whole("token_budget", asked.budget, limits.CONTEXT_BUDGET_MIN, limits.CONTEXT_BUDGET_MAX)
        text = asked.query or asked.task
        query = Query(
            text=text,
            spaces=named,
            limit=limits.CONTEXT_ANSWERS_MAX,
            min_score=ANSWER_SCORE_MIN,
            paths=asked.paths,
            source_dir=asked.dir,
        )
        clean = request_checks.query(query, caller)
        async with self._in_time():
            opening, (answers, degraded) = await asyncio.gather(
                self._opening(caller, named), self._answers(caller, query)
            )
            fired = self._triggering.recalled(caller, clean, named)
            armed = await self._parts.ledger.read(list(fired)) if fired else {}
            opening |= {ANSWERS: answers, TRIGGERED: [armed[id_] for id_ in fired if id_ in armed]}
            opening[PREDICTED], unpredicted = await self._predicted(caller, named, [memory.id for memory in answers])
            opening = await self._with_others(caller, opening)
        key = (session, caller.agent, named)
        if asked.anew:
            self._given.forget(key)
        given = frozenset(self._given.of(key))
        context = session_context.chosen(opening, given, asked.budget, self._parts.clock(), text)
        self._given.add(key, context.ids)
        return replace(context, continued=bool(given), degraded=(*degraded, *unpredicted))

    async def _opening(self, caller: Caller, spaces: Sequence[str]) -> dict[str, list[Memory]]:
        """The groups by the ledger, without stored rules and without memories that a rule hides."""
        groups = await self._parts.ledger.opening(spaces, limits.CONTEXT_GROUP_MAX, self._parts.clock())
        return {name: self._allowed(caller, spaces, memories) for name, memories in groups.items()}

    async def _predicted(
        self, caller: Caller, spaces: Sequence[str], start: Sequence[str]
    ) -> tuple[list[Memory], tuple[str, ...]]:
        """What is likely needed next to `start`, and why nothing can be said."""
        try:
            predicted = await self._predict(caller, start, spaces, session_context.PREDICTED_MAX)
        except Unavailable as error:
            return [], (error.message,)
        return self._allowed(caller, spaces, [memory for memory in predicted if memory.tier != "archive"]), ()

    def _allowed(self, caller: Caller, spaces: Sequence[str], memories: Sequence[Memory]) -> list[Memory]:
        rules = (*self._parts.config.rules, *self._parts.rules.of(spaces, caller.private_space))
        return session_context.allowed([memory for memory in memories if not states_rule(memory)], rules)

    async def _with_others(self, caller: Caller, groups: Mapping[str, Sequence[Memory]]) -> dict[str, list[Memory]]:
        """The groups with what other memories say of each. Of two that contradict each other, or of which one
        may replace the other, the newer comes first."""
        memories = {memory.id: memory for group in groups.values() for memory in group}
        read = await granted(self._parts, caller, list(memories.values()))
        seen = {memory.id: memory for memory in await displayed(self._parts, read)}
        newer = precedence.unsettled(seen.values())
        ids = {name: list(dict.fromkeys(memory.id for memory in group)) for name, group in groups.items()}
        return {name: precedence.newer_first([seen[id_] for id_ in group], group, newer) for name, group in ids.items()}

    async def _answers(self, caller: Caller, query: Query) -> tuple[list[Memory], tuple[str, ...]]:
        """The memories that answer a question, and why there are none."""
        if not query.text.strip():
            return [], ()
        try:
            answer = await self._recalling.recall(caller, replace(query, paths=(), source_dir=""))
        except (DeadlineExceeded, Unavailable) as error:
            return [], (error.message,)
        least = ANSWER_SHARE_MIN * max((hit.score for hit in answer.results), default=0.0)
        fitting = [hit.memory for hit in answer.results if hit.score >= least]
        return ([] if answer.abstain else fitting), answer.degraded

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        limit_s = self._parts.config.recall_timeout_s * 2  # a recall, and the ledger
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError:
            raise DeadlineExceeded(f"the node has not answered within {limit_s:g} s; ask again") from None


# ---- records of sessions, and requirements ---------------------------------------------------------------------------
# Both are memories: these operations store, list and settle them.

SETTLE_TRIES: Final = 4
PROMPT: Final = "prompt"
# The type of the link from a record to the prompt that the session followed.
FOLLOWS: Final = "depends-on"


class SessionRecords:
    """`writing` stores the memories, `linking` leads from a record to its prompt."""

    def __init__(self, parts: NodePorts, writing: Writing, linking: LinkOperations) -> None:
        self._parts = parts
        self._writing = writing
        self._linking = linking
        self.operations = self.record_run, self.runs, self.settle, self.requirements

    async def record_run(
        self, caller: Caller, report: SessionReport, *, space: str = "", mask: bool = False
    ) -> SessionRun:
        """Store what a session was, as the next version of its record, with a link to the prompt that it followed. The
        same again changes nothing, and a forgotten record stays forgotten until there is more to tell. Raises
        InvalidArgument, NotFound, SecretRefused, PermissionDenied."""
        where = request_checks.write_space(space, caller)
        clean = session_runs.checked(report, mask=mask)
        prompt = await self._prompt(caller, clean, where)
        clean = replace(clean, prompt_id=prompt)
        content, title = session_runs.text_of(clean), session_runs.title(clean)
        if mask:  # two harmless lines may be a credential together
            content, title = masked(content)[0], masked(title)[0]
        draft = Draft(
            content=content, title=title, kind=session_runs.KIND, space=where, tags=(session_runs.TAG,),
            attrs=session_runs.attrs_of(clean), source=Source(session=clean.session), force=True, wait="durable",
            created_at=clean.started_at if clean.started_at and clean.started_at <= self._parts.clock() else None,
        )  # fmt: skip
        try:
            memory = await self._recorded(caller, draft, named=bool(report.prompt_id))
        except AlreadyExists:  # another call began the record meanwhile
            memory = await self._recorded(caller, draft, named=bool(report.prompt_id))
        run = session_runs.run_of(memory)
        if prompt and run.prompt_id == prompt and memory.state == "active":
            await self._linking.link(caller, memory.id, FOLLOWS, prompt, wait="durable")
        return run

    async def _prompt(self, caller: Caller, report: SessionReport, space: str) -> str:
        """The id of the prompt that a session followed: the named one, or the latest of its space that was stored with
        the session; "" for none."""
        async with answered(self._parts, "ledger"):
            if not report.prompt_id:
                stored = ListQuery(spaces=(space,), kinds=(PROMPT,), session=report.session, limit=1)
                page = await self._parts.ledger.page(request_checks.list_query(stored, caller))
                return next((memory.id for memory in page.memories), "")
            (named,) = await find_many(self._parts, caller, [report.prompt_id], spaces=(space,))
        if isinstance(named, NotFound | InvalidArgument):
            raise named.named("prompt_id")
        if isinstance(named, MnemeshError):
            raise named
        if named.kind != PROMPT:
            raise InvalidArgument("prompt_id", f"a memory of kind {named.kind}", f"a memory of kind {PROMPT}")
        return named.id

    async def _recorded(self, caller: Caller, draft: Draft, *, named: bool) -> Memory:
        """The record as the draft tells it, with the prompt of the record before unless one is `named`. The commit
        decides which of two calls begins a record, by the key."""
        session = draft.source.session
        gone = ListQuery(
            spaces=(draft.space,), kinds=(draft.kind,), tags_any=draft.tags, session=session, agent=caller.agent,
            state="forgotten", limit=limits.LIST_LIMIT_MAX,
        )  # fmt: skip
        async with answered(self._parts, "ledger"):
            before = await self._parts.ledger.last_tagged(
                (draft.space,), session_runs.TAG, session, caller.agent, session_runs.KIND
            )
            forgotten = () if before else (await self._parts.ledger.page(gone)).memories
        if before is not None and not named:
            draft = replace(draft, attrs=session_runs.with_prompt(draft.attrs, before.attrs))
        said = draft.content, dict(draft.attrs)
        for record in (before, *forgotten):
            if record is not None and (record.content, dict(record.attrs)) == said:
                return record
        if before is not None and before.version < limits.REVISIONS_MAX:
            patch = Patch(content=draft.content, title=draft.title, attrs=draft.attrs, force=True, wait="durable")
            return (await self._writing.update(caller, before.id, patch)).memory
        after = next((record.id for record in (before, *forgotten) if record is not None), "")
        key = session_runs.key_of(draft.space, session, after)
        return (await self._writing.remember(caller, replace(draft, idempotency_key=key))).memory

    async def runs(
        self, caller: Caller, spaces: Sequence[str] = (), *, session: str = "", limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[SessionRun, ...], str, int]:
        """A page of records, the latest first, the cursor of the next page, and how many there are."""
        asked = ListQuery(
            spaces=tuple(spaces), kinds=(session_runs.KIND,), tags_any=(session_runs.TAG,), session=session,
            limit=limit, cursor=cursor,
        )  # fmt: skip
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        return tuple(map(session_runs.run_of, page.memories)), page.cursor, page.total

    async def settle(self, caller: Caller, key: str, status: str, note: str = "") -> Requirement:
        """Say what became of a requirement. Raises InvalidArgument, NotFound, PermissionDenied, FailedPrecondition."""
        for _ in range(SETTLE_TRIES - 1):
            try:
                return await self._settled(caller, key, status, note)
            except Aborted:  # somebody else changed the memory meanwhile, perhaps its tags
                continue
        return await self._settled(caller, key, status, note)

    async def _settled(self, caller: Caller, key: str, status: str, note: str) -> Requirement:
        memory = await find(self._parts, caller, key)
        patch = requirements.settled(memory, status, note)
        if memory.state != "active":
            raise FailedPrecondition(f"id: {memory.id} is {memory.state}, and only an active memory is settled")
        return requirements.requirement_of((await self._writing.update(caller, memory.id, patch)).memory)

    async def requirements(
        self, caller: Caller, spaces: Sequence[str] = (), *, status: str = "", limit: int = 20, cursor: str = ""
    ) -> tuple[tuple[Requirement, ...], str, int]:
        """A page of requirements, newest first, the cursor of the next page, and how many there are."""
        asked = requirements.query(spaces, status or requirements.OPEN, limit, cursor)
        page = await self._parts.ledger.page(request_checks.list_query(asked, caller))
        return tuple(map(requirements.requirement_of, page.memories)), page.cursor, page.total
