"""The operations that write: prepare (drafts.py), commit, wait for the index. In that order.

A write is acknowledged only after the ledger's commit, and then its outcome is never lost. A wait for the index that
ends early is told in the answer. The ledger decides exact duplicates and replays inside that commit; an earlier look-up
only saves work. No part is waited for longer than `write_timeout_s` without progress; neighbours are told, not needed,
and a write goes on without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mnemesh_actors.ledger.commands import Command, Committed, Create, Forget, KeptVectors, Restore, Revise
from mnemesh_actors.memory_lookup import granted
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import (
    answered,
    committed,
    committed_many,
    find,
    refuse_move,
    replaced_by,
    replayed,
    vectors_of_change,
)
from mnemesh_actors.remember.drafts import Prepared, Preparing, Siblings, rounds
from mnemesh_actors.remember.trust_marks import keeping, trusted
from mnemesh_memory.access import grants
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.patches import anchored, patched, reason_of, succeeding
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
    Overloaded,
    Unavailable,
)
from mnemesh_memory.values.ids import derived_id, fingerprint, fresh_id, key_mark
from mnemesh_memory.values.kinds import WAITS
from mnemesh_memory.values.model import Caller, Checked, Draft, Memory, Patch, Written

# One step of a batch, for each worker that embeds: as many as the model takes at once. Embedding the next overlaps
# committing and indexing this one.
STEP_ITEMS = 64
CHANCE_BYTES = 8
AHEAD_MAX_MS = 10_000  # The times of new memories rise, also when the clock steps back so far.


class Writing:
    """remember, check, update, supersede, anchor, forget, restore."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts
        self._preparing = Preparing(parts)
        self._begun_at = 0  # The time of the last new memory (ms).

    async def remember(self, caller: Caller, draft: Draft) -> Written:
        """Store one memory. Raises InvalidArgument, SecretRefused, AlreadyExists, NotFound, FailedPrecondition."""
        return await self._granted(caller, await self._remember(caller, draft))

    async def remember_batch(
        self, caller: Caller, drafts: Sequence[Draft], *, at_rest: bool = False
    ) -> list[Written | MnemeshError]:
        """Store up to 256 memories; each succeeds or fails by itself, in order. With `at_rest` the write guard judges
        the new texts after their write, as soon as nobody waits for the node."""
        request_checks.batch(drafts)
        results: list[Written | MnemeshError] = []
        siblings = None if at_rest else Siblings()
        pending: asyncio.Task[list[Written | MnemeshError]] | None = None
        try:
            step = STEP_ITEMS * self._parts.embedder.lanes
            for start in range(0, len(drafts), step):
                prepared = await self._preparing.prepare(caller, drafts[start : start + step], at_rest=at_rest)
                if pending is not None:
                    results += await pending
                _keep_order(results if at_rest else (), prepared)
                pending = asyncio.create_task(self._finish(caller, prepared, siblings))
            if pending is not None:
                results += await pending
        finally:
            # A begun step ends before its call does, also when an error or the caller ends the call.
            if pending is not None:
                await asyncio.gather(pending, return_exceptions=True)
        return [await self._granted(caller, result) if isinstance(result, Written) else result for result in results]

    async def _remember(self, caller: Caller, draft: Draft, mark: bytes = b"") -> Written:
        (result,) = await self._finish(caller, await self._preparing.prepare(caller, [draft], mark=mark))
        if isinstance(result, MnemeshError):
            raise result
        return result

    async def check(self, caller: Caller, draft: Draft) -> Checked:
        """The outcome that `remember` would have; writes nothing."""
        (prepared,) = await self._preparing.prepare(caller, [draft], touch=False, alone=False)
        if prepared.failed:
            raise prepared.failed
        async with answered(self._parts, "ledger"):
            return await self._checked(caller, prepared)

    async def _checked(self, caller: Caller, prepared: Prepared) -> Checked:
        clean = prepared.draft
        lookup = replace(self._preparing.lookup(caller, prepared, touch=False), idempotency_key="", force=False)
        ((twin,), _) = await self._parts.ledger.prepare([lookup], [], self._parts.embedder.generation)
        if isinstance(twin, MnemeshError):
            raise twin
        known = None if clean.force else twin
        targets: list[str] = []
        if clean.supersedes and not (known and known.restorable):
            named = await self._parts.ledger.replaceable(list(clean.supersedes), clean.space, grants.readable(caller))
            targets = [id_ for id_ in dict.fromkeys(named) if not (known and known.memory.id == id_)]
        if known is None or targets:
            judged = _as_checked(prepared) if prepared.verdict else guard.answer(prepared.related, targets)
            if prepared.surprise:
                bits, words = prepared.surprise
                judged = replace(judged, surprisal=bits, novelty_reason=words)
            if twin is None or targets:
                return replace(judged, hint="") if clean.force else judged
            return replace(judged, hint="", reason=guard.although(twin.memory.id, forgotten=twin.restorable))
        return Checked(
            action=known.action,
            target_id=known.memory.id,
            similarity=1.0,
            reason=known.reason,
            novelty=0.0,
            related=guard.near(prepared.related),
        )

    async def _finish(
        self, caller: Caller, items: Sequence[Prepared], siblings: Siblings | None = None
    ) -> list[Written | MnemeshError]:
        async def complete(item: Prepared) -> None:
            try:
                item.draft = await self._parts.files.referenced(caller, item.draft)
                item.draft = await trusted(self._parts, caller, item.draft)
                item.done = await self._updated(caller, item)
            except MnemeshError as error:
                item.failed = error

        async def commit_all(chosen: Sequence[Prepared]) -> None:
            for fault in await asyncio.gather(*map(complete, chosen), return_exceptions=True):
                if fault is not None:
                    raise fault
            await self._create_all(caller, [item for item in chosen if item.is_open])

        later = await asyncio.to_thread(siblings.contesting, items) if siblings is not None else {}
        await commit_all([item for place, item in enumerate(items) if item.is_open and place not in later])
        for places in rounds(items, later):
            written = [[(new, cosine) for other, cosine in later[at] if (new := _written(other))] for at in places]
            await self._preparing.judge_beside(caller, [items[place] for place in places], written)
            await commit_all([items[place] for place in places])
        if siblings is not None:
            _introduce(siblings, items)
        waited = [item.done.seq for item in items if item.done and item.draft.wait == "indexed"]
        late = await self._seen(max(waited, default=0))
        return [self._answer(item.done, item, late) if item.done else _failure(item) for item in items]

    async def _create_all(self, caller: Caller, items: Sequence[Prepared]) -> None:
        """Write new memories, together."""
        if not items:
            return
        try:
            outcomes = await committed_many(self._parts, [self._create(caller, item) for item in items])
        except MnemeshError as error:
            outcomes = [error] * len(items)
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(outcome, Committed):
                item.done = outcome
            elif isinstance(outcome, MnemeshError):
                item.failed = outcome
            else:
                raise outcome

    async def _updated(self, caller: Caller, item: Prepared) -> Committed | None:
        """The revision of a labile memory by the text of an item. None without such a verdict, and when the memory
        cannot take the revision. The verdict of the guard stands then."""
        if item.update is None or item.verdict is None:
            return None
        try:
            command = await self._revision(caller, item.verdict.target_id, item.update, item.fingerprint)
            done = await committed(self._parts, command)
        except (Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound):
            item.verdict = item.guarded
            return None
        return replace(done, reason=item.verdict.reason)

    async def _revision(self, caller: Caller, key: str, patch: Patch, mark: bytes) -> Revise:
        """The command that writes a revision."""
        clean = request_checks.patch(patch)
        memory = await find(self._parts, caller, key)
        field_checks.times_in_order(
            patched(clean, "valid_from", memory.valid_from), patched(clean, "valid_to", memory.valid_to)
        )
        clean = keeping(await self._parts.files.renewed(clean, memory), caller, memory)
        vectors = KeptVectors()
        if clean.content is not None or clean.title is not None:
            after = replace(
                memory,
                content=memory.content if clean.content is None else clean.content,
                title=memory.title if clean.title is None else clean.title,
            )
            vectors = await vectors_of_change(self._parts, memory, after)
        return Revise(
            **self._parts.stamp(caller),
            id=memory.id,
            patch=clean,
            fingerprint=mark,
            duplicate_key="" if clean.content is None else duplicate_key(clean.content),
            vectors=vectors,
        )

    async def _seen(self, seq: int) -> str:
        """Wait until recall sees the write `seq`; "", or why the wait ended before. The write is durable by then, so
        its outcome is told all the same."""
        try:
            await self._parts.follower.wait_for(seq)
        except (DeadlineExceeded, Unavailable) as error:
            return error.message
        return ""

    def _answer(self, outcome: Committed, item: Prepared | None = None, late: str = "") -> Written:
        indexed = outcome.seq <= self._parts.follower.applied
        related, alone = (item.related, item.alone) if item else ((), "")
        # A writer who forces a text, or names its predecessor, has decided already.
        fresh = item is not None and outcome.action == "ADD" and not (item.draft.force or outcome.replayed)
        verdict = item.verdict if item and not outcome.replayed and item.done is outcome else None
        hint = outcome.hint or (verdict.hint if verdict and verdict.reason in outcome.reason else "")
        near = guard.near(other for other in related if other.id != outcome.memory.id)
        reasons = (
            outcome.reason,
            guard.alike(near) if fresh and not hint else "",
            "" if outcome.deduplicated else alone,
            "" if indexed or (item is not None and item.draft.wait != "indexed") else late,
        )
        surprise = item.surprise if item and fresh else None
        apart = guard.read_apart(item.draft.content, item.candidates, item.seen) if item and fresh else ()
        if item and fresh and not alone:
            chance = int.from_bytes(self._parts.entropy(CHANCE_BYTES))
            self._parts.novelties.note(outcome.memory.space, guard.novelty(related), chance)
        return Written(
            action=outcome.action,
            memory=outcome.memory,
            reason="; ".join(filter(None, reasons)),
            novelty=0.0 if outcome.deduplicated else None if alone else guard.novelty(related),
            surprisal=surprise.bits if surprise else None,
            novelty_reason=surprise.reason if surprise else "",
            related=near,
            hint=hint or (guard.advice(near, outcome.memory.id, apart) if fresh else ""),
            deduplicated=outcome.deduplicated,
            restorable=outcome.restorable,
            replayed=outcome.replayed,
            indexed=indexed,
        )

    def _create(self, caller: Caller, item: Prepared) -> Create:
        draft, stamp = item.draft, self._parts.stamp(caller)
        # Of two memories of one millisecond nobody could say which is newer.
        behind = self._begun_at - stamp["at"]
        self._begun_at = stamp["at"] = stamp["at"] + (behind + 1 if 0 <= behind < AHEAD_MAX_MS else 0)
        principal, key = grants.principal_of(caller.agent), draft.idempotency_key
        fresh = fresh_id(stamp["at"], draft.space, principal, stamp["actor"])
        mark = key_mark(caller.agent, key) if key else ""
        kept = tuple((digest, vector.tobytes()) for digest, vector in zip(item.hashes, item.vectors, strict=True))
        return Create(
            **stamp,
            draft=draft,
            id=derived_id(draft.space, principal, mark) if key else fresh,
            spare_id=fresh,
            duplicate_key=item.duplicate_key,
            fingerprint=item.fingerprint,
            vectors=KeptVectors(generation=item.generation, items=kept),
            visible=grants.readable(caller),
            mark=mark,
            verdict=item.verdict,
            postponed=caller.role if item.postponed else "",
        )

    async def supersede(self, caller: Caller, key: str, draft: Draft) -> tuple[Written, Memory]:
        """Replace the memory `key` by a new one, filed as the old one was (`succeeding`). Gives the new write and the
        old memory as it is now."""
        mark = b""
        if draft.idempotency_key:
            named = field_checks.bounded_text("id", key, limits.TITLE_BYTES_MAX, empty=False)
            # The new memory lies in the space of the old one, so the client's default space does not matter.
            asked = request_checks.draft(draft, replace(caller, default_space=""))
            mark = fingerprint(asked, named)
            if done := await replayed(self._parts, caller, asked.idempotency_key, mark):
                replaced = await replaced_by(self._parts, done.memory, named)
                return await self._replaced(caller, await self._after_wait(done, asked.wait), replaced)
        old = await find(self._parts, caller, key)
        refuse_move(old, draft.space)
        targets = tuple(dict.fromkeys((old.id, *draft.supersedes)))
        written = await self._remember(caller, replace(succeeding(draft, old), supersedes=targets), mark)
        async with answered(self._parts, "ledger", f"stored as {written.memory.id}"):
            read = await self._parts.ledger.read([old.id])
        return await self._replaced(caller, written, read[old.id])

    async def _replaced(self, caller: Caller, new: Written, old: Memory) -> tuple[Written, Memory]:
        return await self._granted(caller, new), (await granted(self._parts, caller, [old]))[0]

    async def update(self, caller: Caller, key: str, patch: Patch) -> Written:
        """Write a new revision. Raises NotFound, FailedPrecondition (forgotten), Aborted (other heads)."""
        clean = request_checks.patch(patch)
        mark = fingerprint(clean, field_checks.bounded_text("id", key, limits.TITLE_BYTES_MAX, empty=False))
        if clean.idempotency_key and (done := await replayed(self._parts, caller, clean.idempotency_key, mark)):
            return await self._granted(caller, await self._after_wait(done, clean.wait))
        command = await self._revision(caller, key, patch, mark)
        return await self.commit(caller, command, clean.wait)

    async def anchor(
        self, caller: Caller, key: str, reason: str = "", *, release: bool = False, wait: str = "indexed"
    ) -> Written:
        """A revision that pins the memory `key` for `reason`, or lets it go. Raises InvalidArgument, SecretRefused,
        NotFound, PermissionDenied, FailedPrecondition (forgotten)."""
        clean = reason_of(reason, release)
        memory = await find(self._parts, caller, key)
        patch = replace(anchored(memory, clean), expected_heads=memory.heads, wait=wait)
        return await self.update(caller, memory.id, patch)

    async def forget(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Soft deletion; `restore` undoes it."""
        return await self._turned(Forget, caller, key, wait)

    async def restore(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Bring a forgotten memory back, or a superseded one, beside the successor if that is there."""
        return await self._turned(Restore, caller, key, wait)

    async def _turned(self, command: type[Forget] | type[Restore], caller: Caller, key: str, wait: str) -> Written:
        memory = await find(self._parts, caller, key, forgotten=True)
        return await self.commit(caller, command(**self._parts.stamp(caller), id=memory.id), wait)

    async def commit(self, caller: Caller, command: Command, wait: str) -> Written:
        """Carry out `command` and tell its outcome, with `wait` indexed once recall sees the change."""
        field_checks.one_of("wait", wait, WAITS)
        return await self._granted(caller, await self._after_wait(await committed(self._parts, command), wait))

    async def _granted(self, caller: Caller, done: Written) -> Written:
        if done.action == "ADD" and not done.memory.links:
            return done  # nothing can lead to it yet
        (memory,) = await granted(self._parts, caller, [done.memory])
        return done if memory is done.memory else replace(done, memory=memory)

    async def _after_wait(self, outcome: Committed, wait: str) -> Written:
        late = await self._seen(outcome.seq) if wait == "indexed" else ""
        return self._answer(outcome, late=late)


def _as_checked(item: Prepared) -> Checked:
    """The verdict of the guard as `check` answers it."""
    assert item.verdict is not None
    apart = guard.read_apart(item.draft.content, item.candidates, item.seen)
    verdict, beside = item.verdict, guard.answer(item.related, (), apart)
    if not verdict.target_id:
        return beside
    return Checked(
        action=verdict.action,
        target_id=verdict.target_id,
        similarity=verdict.similarity,
        reason=verdict.reason,
        novelty=verdict.novelty,
        related=beside.related,
        hint=verdict.hint,
    )


def _failure(item: Prepared) -> MnemeshError:
    assert item.failed is not None
    return item.failed


def _keep_order(before: Sequence[Written | MnemeshError], items: Sequence[Prepared]) -> None:
    """After a text that the writer sends again, because the node was busy, no text is written: each comes again."""
    busy = next((answer for answer in before if isinstance(answer, Overloaded)), None)
    for item in items if busy else ():
        item.failed = busy if item.is_open else item.failed


def _written(item: Prepared | Memory) -> Memory | None:
    if isinstance(item, Memory):
        return item
    return item.done.memory if item.done else None


def _introduce(siblings: Siblings, items: Sequence[Prepared]) -> None:
    """Tell each new memory of a batch of those before it there."""
    fresh = [(item, item.done.memory) for item in items if item.vectors and item.done and not item.done.deduplicated]
    near = siblings.of([(memory, item.vectors[0]) for item, memory in fresh])
    for item, memory in fresh:
        both = {related.id: related for related in (*item.related, *near.get(memory.id, ()))}
        nearest = sorted(both.values(), key=lambda related: (-related.similarity, related.id))
        item.related = tuple(nearest[: guard.RELATED_MAX])
