"""Mesh: the one object with the operations of a node. Every door calls it; it validates everything itself.

Takes and gives values of mnemesh_memory.values.model only, raises leaves of mnemesh_memory.values.errors only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import TypeVar

from mnemesh_actors.consumers.consumer import ConsumerSet
from mnemesh_actors.generations.active_index import model_status
from mnemesh_actors.generations.generation_file import ModelChoice
from mnemesh_actors.generations.reembedding import Reembedding
from mnemesh_actors.knowledge.access_store import AccessStore
from mnemesh_actors.knowledge.graph_operations import Graphing
from mnemesh_actors.memory_lookup import find_many, find_one, granted, hidden
from mnemesh_actors.node.node_status import index_consumers, index_status
from mnemesh_actors.node.session_operations import SessionRecords, Sessions
from mnemesh_actors.node.sleep_parts import Sleep
from mnemesh_actors.node.snapshot_reader import LedgerCopy, ledger_copy
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.notices import Notices
from mnemesh_actors.recall.hygiene_report import Hygiene, Validating
from mnemesh_actors.recall.navigation import Navigating
from mnemesh_actors.recall.novelty_sampler import NoveltySampler
from mnemesh_actors.recall.recall import Recalling
from mnemesh_actors.recall.related import related
from mnemesh_actors.recall.space_maps import SpaceMaps
from mnemesh_actors.remember.history_operations import HistoryOperations
from mnemesh_actors.remember.link_operations import LinkOperations
from mnemesh_actors.remember.project_seeding import ProjectSeeding
from mnemesh_actors.remember.removal import Removing
from mnemesh_actors.remember.rule_operations import Ruling
from mnemesh_actors.remember.trigger_operations import Triggering
from mnemesh_actors.remember.trust_marks import with_trust
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.rows.display import displayed
from mnemesh_actors.rows.row_source import rows_of
from mnemesh_actors.runtime.base import Handle, Runtime
from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_actors.streams.sync_port import Syncing
from mnemesh_actors.transcripts.transcript_operations import Transcribing
from mnemesh_actors.watch.cursor_seal import CursorSeal
from mnemesh_actors.watch.file_watch import FileWatch
from mnemesh_actors.watch.watch_operations import Watching
from mnemesh_memory.access import grants
from mnemesh_memory.policy.trust import asked_of
from mnemesh_memory.ranking.answers import Neighbourhood, Recalled, hit_with
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, DeadlineExceeded, DiskFull, InvalidArgument, MnemeshError
from mnemesh_memory.values.model import (
    Caller,
    Draft,
    LedgerStatus,
    ListQuery,
    Memory,
    MeshStatus,
    Page,
    Patch,
    Query,
    Stats,
    Written,
)
from mnemesh_memory.values.past import Blame
from mnemesh_memory.values.quotas import Usage

EXPORT_PAGE = 200
Answer = TypeVar("Answer")


class Mesh:
    """Built by `start.start_mesh`. `notices` is shared with every part that has something to tell a person. `syncing`
    serves streams with peers, and `transcripts` are the operations on transcripts."""

    def __init__(
        self,
        parts: NodePorts,
        runtime: Runtime,
        node_id: str,
        reembedding: Reembedding,
        notices: Notices,
        syncing: Syncing,
        transcripts: Transcribing,
        seal: CursorSeal,
        consumers: ConsumerSet,
        sleep: Sleep,
        room: DiskRoom | None,
        graphing: Graphing,
        access: Handle[AccessStore],
    ) -> None:
        self.syncing, self.transcripts, self._room = syncing, transcripts, room
        self._idle, self._sleeping = sleep.idle, (sleeping := sleep.consolidating)
        self.consolidate, self.list_runs, self.undo_run = sleeping.consolidate, sleeping.runs, sleeping.undo
        self._consumers = consumers
        self._parts = parts
        self._runtime, self._node_id = runtime, node_id
        self._reembedding, self._notices = reembedding, notices
        self._writing = writing = Writing(parts)
        self._linking = linking = LinkOperations(parts, writing)
        self._recalling = Recalling(parts, linking.attached)
        self._novelty_sampler = NoveltySampler(parts)
        self._histories = histories = HistoryOperations(parts, writing)
        self._triggering = triggering = Triggering(parts, writing)
        watching, hygiene = Watching(parts, node_id, seal), Hygiene(parts)
        removing = Removing(parts, writing, hygiene.hygiene)
        # These operations need nothing else of a node. Each is documented where it is defined.
        self.check, self.anchor = writing.check, writing.anchor
        self.forget, self.restore = writing.forget, writing.restore
        self.validate = Validating(parts).validate
        self.link, self.unlink, self.rate = linking.link, linking.unlink, linking.rate
        self.history, self.conflicts = histories.history, histories.conflicts
        self.rollback, self.resolve = histories.rollback, histories.resolve
        self.create_trigger, self.delete_trigger = triggering.create, triggering.delete
        self.list_triggers = triggering.page
        self._navigating = Navigating(parts, self._recalling.recall, access, notices)
        sessions = Sessions(parts, writing, self._recalling, triggering, self._navigating.predicted)
        self.checkpoint, self.resume, self.context = sessions.checkpoint, sessions.resume, sessions.context
        self.seed_project = ProjectSeeding(parts, writing).seed_project
        self.rules, ruling = parts.rules, Ruling(parts, writing)
        records = SessionRecords(parts, writing, linking)
        self.record_run, self.runs, self.settle, self.requirements = records.operations
        self.add_rule, self.get_rules, self.delete_rule = ruling.add, ruling.page, ruling.delete
        self.purge, self.bulk_forget, self.tidy = removing.purge, removing.bulk_forget, removing.tidy
        self.duplicates, self.hygiene = hygiene.duplicates, hygiene.hygiene
        self.watch, self.touched = watching.watch, watching.touched
        self.graph, self.graph_audit = graphing.graph, graphing.graph_audit
        self.graph_rebuild, self.causal_chain = graphing.graph_rebuild, graphing.causal_chain
        maps = SpaceMaps(parts, self._recalling.recall)
        self.story, self.gaps, self.space_coverage = maps.story, maps.gaps, maps.coverage
        self.recall_hierarchical, self.drill_down = maps.recall_hierarchical, maps.drill_down
        self.navigate, linking.cited = self._navigating.navigate, self._navigating.note
        self._file_watch = FileWatch(parts.ledger, parts.files, on=parts.config.watches_files).start()
        self._last = AsyncExitStack()
        self._asking: asyncio.Task[str] | None = None  # whether the ledger answers

    async def remember(self, caller: Caller, draft: Draft) -> Written:
        """Store one memory; see Writing.remember."""
        await self._parts.files.learn(caller)
        with self._parts.foreground.operation():
            done = self._triggering.remembered(caller, draft, await self._writing.remember(caller, draft))
        self._novelty_sampler.begin(done.memory.space)
        self._parts.files.wrote((done.memory,))
        return done

    async def remember_batch(
        self, caller: Caller, drafts: Sequence[Draft], *, at_rest: bool = False
    ) -> list[Written | MnemeshError]:
        """Store up to 256 memories; see Writing.remember_batch."""
        await self._parts.files.learn(caller)
        with self._parts.foreground.operation():
            outcomes = await self._writing.remember_batch(caller, drafts, at_rest=at_rest)
        self._parts.files.wrote(outcome.memory for outcome in outcomes if not isinstance(outcome, MnemeshError))
        return [
            outcome if isinstance(outcome, MnemeshError) else self._triggering.remembered(caller, draft, outcome)
            for draft, outcome in zip(drafts, outcomes, strict=True)
        ]

    async def update(self, caller: Caller, key: str, patch: Patch) -> Written:
        """Write a new revision; see Writing.update."""
        with self._parts.foreground.operation():
            done = await self._writing.update(caller, key, patch)
        self._parts.files.wrote((done.memory,))
        return done

    async def supersede(self, caller: Caller, key: str, draft: Draft) -> tuple[Written, Memory]:
        """Replace a memory by a new one; see Writing.supersede."""
        with self._parts.foreground.operation():
            done, old = await self._writing.supersede(caller, key, draft)
        self._parts.files.wrote((done.memory,))
        return done, old

    async def blame(self, caller: Caller, key: str, revision: str = "") -> Blame:
        """The author of each part of a memory; see HistoryOperations.blame."""
        blame = await self._histories.blame(caller, key, revision)
        ends = {part.field: part.field.rpartition(":")[2] for part in blame.fields if part.field.startswith("links.")}
        unseen = await hidden(self._parts, caller, ends.values())
        return replace(blame, fields=tuple(part for part in blame.fields if ends.get(part.field) not in unseen))

    async def recall(self, caller: Caller, query: Query) -> Recalled:
        """Find memories; see Recalling.recall."""
        await self._parts.files.learn(caller)
        with self._parts.foreground.operation():
            (answer,) = await self._with_marks(caller, [await self._recalling.recall(caller, query)])
        return self._answered(caller, query, answer)

    async def recall_batch(self, caller: Caller, queries: Sequence[Query]) -> list[Recalled]:
        """Answer several queries at once; see Recalling.recall_batch."""
        with self._parts.foreground.operation():
            answers = await self._with_marks(caller, await self._recalling.recall_batch(caller, queries))
        return [self._answered(caller, query, answer) for query, answer in zip(queries, answers, strict=True)]

    async def _marked(self, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
        """The memories with their trust class, and with the files that they name and that changed."""
        return await self._parts.files.marked(await with_trust(self._parts, caller, memories))

    async def _with_marks(self, caller: Caller, answers: Sequence[Recalled]) -> list[Recalled]:
        """The answers with the same marks at their results."""
        marked = iter(await self._marked(caller, [hit.memory for answer in answers for hit in answer.results]))
        return [
            replace(item, results=tuple(hit_with(hit, memory=next(marked)) for hit in item.results)) for item in answers
        ]

    def _answered(self, caller: Caller, query: Query, answer: Recalled) -> Recalled:
        """The answer with the reminders that it fires. Its best results are noted as used together."""
        if query.probe:
            return answer
        self._navigating.recalled(caller, query, answer)
        if query.text.strip() and not query.current_session:  # a hook, which names its session, sends whole prompts
            self._sleeping.unanswered.note(caller.principal, query.text, answer.spaces, abstained=answer.abstain)
        fired = self._triggering.recalled(caller, query, answer.spaces)
        return replace(answer, triggered=fired) if fired else answer

    async def related(self, caller: Caller, key: str, limit: int = 10, *, spaces: Sequence[str] = ()) -> Neighbourhood:
        """The neighbourhood of a memory; see related.related."""
        with self._parts.foreground.operation():
            return await related(self._parts, caller, key, limit, spaces)

    async def get(
        self,
        caller: Caller,
        keys: Sequence[str],
        *,
        include_forgotten: bool = False,
        spaces: Sequence[str] = (),
        as_of: int | None = None,
    ) -> tuple[list[Memory], list[str]]:
        """The memories found, in the order asked, with both ends of their links, and the keys without a memory. With
        `as_of` (ms) they come as recorded then, without those ends. A single missing one raises NotFound."""
        if not 1 <= len(keys) <= limits.GET_IDS_MAX:
            raise InvalidArgument("ids", f"{len(keys)} ids", f"1 to {limits.GET_IDS_MAX}", missing=not keys)
        field_checks.moment("as_of", as_of)
        rows = rows_of(self._parts, grants.readable(caller), as_of)
        items = await find_many(self._parts, caller, keys, forgotten=True, spaces=spaces)
        items = await rows.present(items, include_forgotten)
        if len(items) == 1 and isinstance(items[0], MnemeshError):
            raise items[0]
        for item in items:
            if isinstance(item, DataLoss):  # which is another thing than a memory that is not there
                raise item
        memories = [item for item in items if isinstance(item, Memory)]
        missing = [key for key, item in zip(keys, items, strict=True) if isinstance(item, MnemeshError)]
        if memories:
            await self._parts.ledger.touch([memory.id for memory in memories], self._parts.clock())
            memories = await granted(self._parts, caller, memories, rows)
            if as_of is None:
                self._navigating.note(caller, memories)
                memories = await self._marked(caller, await self._linking.with_ends(caller, memories))
        return memories, missing

    async def timeline(self, caller: Caller, key: str, before: int = 5, after: int = 5) -> tuple[list[Memory], int]:
        """Neighbours in time, and the position of the asked memory among them."""
        field_checks.whole("before", before, 0, limits.TIMELINE_MAX)
        field_checks.whole("after", after, 0, limits.TIMELINE_MAX)
        middle = await find_one(self._parts, caller, key)
        memories, position = await self._parts.ledger.timeline(middle.id, before, after)
        shown = await displayed(self._parts, await granted(self._parts, caller, memories), but=middle.id)
        return await self._marked(caller, shown), position

    async def stats(self, caller: Caller, spaces: Sequence[str] = ()) -> Stats:
        """Counts over `spaces`, or over all that the caller may see."""
        named = request_checks.read_spaces(spaces, caller) if spaces else grants.readable(caller)
        return await self._parts.ledger.stats(named)

    async def usage(self) -> Mapping[str, Usage]:
        """The share of each principal in the log; see Ledger.usage."""
        return await self._parts.ledger.usage()

    async def inhabited(self, name: str) -> bool:
        """Whether the private space of `name` holds anything, or held what is erased. Raises InvalidArgument."""
        grants.principal_name("name", name)
        spaces = (f"@{name}", f"@{name}{grants.BELOW}")
        return bool(await self._parts.ledger.digests(spaces)) or await self.transcripts.holds(spaces)

    async def export(
        self,
        caller: Caller,
        asked: ListQuery,
        include_forgotten: bool = False,
        include_superseded: bool = False,
    ) -> AsyncIterator[Memory]:
        """Memories with all their fields, oldest first; of all spaces that the caller may see when none is named."""
        clean = request_checks.list_query(replace(asked, everywhere=not asked.spaces), caller)
        named = clean.spaces if clean.within is None else clean.within
        states = ["active", *["forgotten"] * include_forgotten, *["superseded"] * include_superseded]
        after = (-1, "")
        while page := await self._parts.ledger.export_page(named, states, after, EXPORT_PAGE, clean):
            for memory in await granted(self._parts, caller, page):
                yield memory
            after = (page[-1].created_at, page[-1].id)

    async def identify(self, caller: Caller, key: str) -> Memory:
        """The memory that `key` names, also a forgotten one. Asking is no use of it. Raises NotFound."""
        return await find_one(self._parts, caller, key, forgotten=True)

    def end_watches(self, why: str) -> None:
        """End every stream of changes with Unavailable and its cursor. Such streams have no end of their own."""
        self._parts.news.end(why)

    def disk_full(self) -> DiskFull | None:
        """Why this node only reads for now, or None when it writes."""
        return self._room.shortage() if self._room else None

    async def ledger_fault(self) -> str:
        """Why the ledger can't be asked now, or "". However many ask, it is asked once at a time."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_ledger(), name="ledger-fault")
        return await asyncio.shield(self._asking)

    async def _ask_ledger(self) -> str:
        try:
            await self._heard(self._parts.ledger.position(), limits.LEDGER_ANSWER_S)
        except MnemeshError as error:
            return error.message
        return ""

    async def _heard(self, answer: Awaitable[Answer], limit_s: float) -> Answer:
        """The ledger's answer, in time."""
        try:
            return await asyncio.wait_for(answer, limit_s)
        except TimeoutError:
            raise DeadlineExceeded(f"the ledger has not answered within {limit_s:g} s", part="ledger") from None

    async def status(self) -> MeshStatus:
        """Actors, ledger, index and model as they are now. Raises DeadlineExceeded when the ledger says nothing within
        LEDGER_STATUS_S, and what it raises."""
        ledger: LedgerStatus = await self._heard(self._parts.ledger.status(), limits.LEDGER_STATUS_S)
        index_generation = self._parts.serving.current
        index = await index_status(index_generation)
        full = self.disk_full()
        sound = index.state in ("ok", "behind") and ledger.state == "ok" and full is None
        return MeshStatus(
            state="ready" if sound else "degraded",
            runtime=self._runtime.name,
            node_id=self._node_id,
            actors=await self._runtime.actors(),
            ledger=ledger,
            index=(index,),
            model=model_status(index_generation.generation, index_generation),
            notices=(*ledger.alarms, *self._notices, *((full.message,) if full else ())),
            reembed=self._reembedding.status(),
            consumers=(*index_consumers(self._parts.serving), *self._consumers.status()),
            astrocytes=self._sleeping.astrocytes(),
            files=await self._heard(self._file_watch.status(), limits.LEDGER_STATUS_S),
        )

    async def reembed(self, model: str = "", precision: str = "", *, cancel: bool = False) -> MeshStatus:
        """Embed everything with that model, or give up what was begun; with neither, change nothing. Without `model` it
        is the one in use, in another precision. The status then; see Reembedding."""
        if cancel and (model or precision):
            raise InvalidArgument("cancel", cancel, "alone: what was begun is given up, whatever model it was for")
        if cancel:
            await self._reembedding.cancel()
        elif model or precision:
            used = self._reembedding.state.active.choice
            await self._reembedding.begin(ModelChoice(model or used.model, precision or "fp32"))
        return await self.status()

    def ledger_copy(self) -> AbstractAsyncContextManager[LedgerCopy]:
        """The ledger as it is now, while writes go on; see copying.ledger_copy."""
        return ledger_copy(self._parts.ledger)

    async def close(self) -> None:
        """Stop following the ledger, then end every actor; what was acknowledged is on disk already."""
        await self._file_watch.close()
        await self._idle.close()
        await self._recalling.close()
        await self._navigating.close()
        await self._novelty_sampler.close()
        await self._triggering.close()
        await self._consumers.close()
        await self._reembedding.close()
        await self._parts.follower.close()
        await self._last.aclose()

    def closes(self, last: AsyncExitStack) -> None:
        """Steps of the end after the operations: the runtime, and everything started in it."""
        self._last = last

    async def list(self, caller: Caller, query: ListQuery) -> Page:
        """One page of a listing."""
        asked = asked_of(request_checks.list_query(query, caller), caller, self._parts.node_id)
        clean = self._parts.rules.asked(asked)
        page = await self._parts.ledger.page(clean)
        shown = await displayed(self._parts, await granted(self._parts, caller, page.memories))
        return replace(page, memories=tuple(await self._marked(caller, shown)))
