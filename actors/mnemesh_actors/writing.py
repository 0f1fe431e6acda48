"""The operations that write: validate, look up, embed, ask for neighbours, commit, wait for the index. In that order.

A write is acknowledged only after the ledger's commit, and then its outcome is never lost: a wait for the index that
ends early is told in the answer. The ledger decides exact duplicates and replays inside that commit; what is looked up
before it only saves work. No part is waited for longer than `write_timeout_s` without progress; neighbours are told,
not needed, and a write goes on without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mnemesh_actors.bounded import (
    NOTHING_STORED,
    answered,
    committed,
    embedded,
    find,
    replaced_by,
    replayed,
    vectors_of_change,
)
from mnemesh_actors.embedder import Vector
from mnemesh_actors.ledger.commands import Command, Committed, Create, Forget, Lookup, Restore, Revise, Vectors
from mnemesh_actors.parts import Parts
from mnemesh_memory import checks, gate, grants, limits, validate
from mnemesh_memory.errors import DeadlineExceeded, FailedPrecondition, MnemeshError, Unavailable
from mnemesh_memory.ids import derived_id, fingerprint
from mnemesh_memory.indexing import index_texts
from mnemesh_memory.kinds import WAITS
from mnemesh_memory.model import Caller, Checked, Draft, Memory, Patch, Related, Written
from mnemesh_memory.patching import patched
from mnemesh_memory.text import content_hash, duplicate_key, snippet, title_of

# One step of a batch: as many as the model takes at once; embedding the next overlaps committing and indexing this one.
STEP_ITEMS = 64
# The share of `write_timeout_s` after which a write goes on without its neighbours.
NEIGHBOURS_SHARE = 0.1
OPERATION_BYTES = 16
SNIPPET_CHARS = 160
# Of a neighbour only its beginning is shown, so only that is worked on.
BEGINNING_CHARS = 400


@dataclass(slots=True)
class _Prepared:
    """A validated draft on its way: its texts to embed and what was found for it."""

    draft: Draft
    duplicate_key: str
    fingerprint: bytes
    texts: tuple[str, ...]
    hashes: tuple[str, ...]
    vectors: list[Vector] = field(default_factory=list)
    related: tuple[Related, ...] = ()
    alone: str = ""  # why it was not compared with its neighbours
    done: Committed | None = None


class Writing:
    """remember, check, update, supersede, forget, restore."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def remember(self, caller: Caller, draft: Draft) -> Written:
        """Store one memory. Raises InvalidArgument, SecretRefused, AlreadyExists, NotFound, FailedPrecondition."""
        return await self._remember(caller, draft)

    async def remember_batch(self, caller: Caller, drafts: Sequence[Draft]) -> list[Written | MnemeshError]:
        """Store up to 256 memories; each succeeds or fails by itself, in order."""
        validate.batch(drafts)
        results: list[Written | MnemeshError] = []
        pending: asyncio.Task[list[Written | MnemeshError]] | None = None
        try:
            for start in range(0, len(drafts), STEP_ITEMS):
                prepared = await self._prepare(caller, drafts[start : start + STEP_ITEMS])
                if pending is not None:
                    results += await pending
                pending = asyncio.create_task(self._finish(caller, prepared))
            if pending is not None:
                results += await pending
        finally:
            # A step on its way ends before its call does, also when a fault of ours or the caller ends that.
            if pending is not None:
                await asyncio.gather(pending, return_exceptions=True)
        return results

    async def _remember(self, caller: Caller, draft: Draft, mark: bytes = b"") -> Written:
        (result,) = await self._finish(caller, await self._prepare(caller, [draft], mark=mark))
        if isinstance(result, MnemeshError):
            raise result
        return result

    async def check(self, caller: Caller, draft: Draft) -> Checked:
        """What `remember` would do; writes nothing."""
        (prepared,) = await self._prepare(caller, [draft], touch=False, alone=False)
        if isinstance(prepared, MnemeshError):
            raise prepared
        async with answered(self._parts, "ledger"):
            return await self._checked(caller, prepared)

    async def _checked(self, caller: Caller, prepared: _Prepared) -> Checked:
        clean, known = prepared.draft, None
        if not clean.force:
            lookup = replace(self._lookup(caller, prepared, touch=False), idempotency_key="", force=False)
            ((known,), _) = await self._parts.ledger.prepare([lookup], [], self._parts.embedder.generation)
        targets: list[str] = []
        if clean.supersedes and not (known and known.restorable):
            found: list[str] = await self._parts.ledger.replaceable(
                list(clean.supersedes), clean.space, grants.readable(caller)
            )
            targets = [id_ for id_ in dict.fromkeys(found) if not (known and known.memory.id == id_)]
        if known is None or targets:
            return gate.judge(prepared.related, targets)
        return Checked(
            action=known.action,
            target_id=known.memory.id,
            similarity=1.0,
            reason=known.reason,
            novelty=0.0,
            related=gate.near(prepared.related),
        )

    async def _prepare(
        self, caller: Caller, drafts: Sequence[Draft], *, mark: bytes = b"", touch: bool = True, alone: bool = True
    ) -> list[_Prepared | MnemeshError]:
        """Each draft ready to be written, or why it can't be: what fails for all of them is told to each. `mark`
        stands for the fingerprint when the request was not a draft alone; with `alone`, a draft whose neighbours can't
        be asked for is ready without them."""
        items = [self._clean(caller, draft, mark) for draft in drafts]
        good = [item for item in items if isinstance(item, _Prepared)]
        refused: dict[int, MnemeshError] = {}
        try:
            cached = await self._look_up(caller, good, refused, touch) if good else {}
            open_items = [item for item in good if item.done is None and id(item) not in refused]
            await self._embed(open_items, cached)
            await self._introduce(open_items, alone)
        except MnemeshError as error:
            refused |= {id(item): error for item in good if item.done is None and id(item) not in refused}
        return [refused.get(id(item), item) if isinstance(item, _Prepared) else item for item in items]

    async def _look_up(
        self, caller: Caller, items: Sequence[_Prepared], refused: dict[int, MnemeshError], touch: bool
    ) -> Mapping[str, bytes]:
        """Settle the items that need no write or are `refused`; the vectors that are cached already."""
        wanted = [digest for item in items for digest in item.hashes]
        lookups = [self._lookup(caller, item, touch=touch) for item in items]
        async with answered(self._parts, "ledger"):
            outcomes, cached = await self._parts.ledger.prepare(lookups, wanted, self._parts.embedder.generation)
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(outcome, MnemeshError):
                refused[id(item)] = outcome
            else:
                item.done = outcome
        found: Mapping[str, bytes] = cached
        return found

    def _clean(self, caller: Caller, draft: Draft, mark: bytes) -> _Prepared | MnemeshError:
        try:
            clean = validate.draft(draft, caller)
        except MnemeshError as error:
            return error
        texts = tuple(dense for dense, _ in index_texts(_as_memory(clean)))
        hashes = tuple(content_hash(text) for text in texts)
        return _Prepared(clean, duplicate_key(clean.content), mark or fingerprint(clean), texts, hashes)

    def _lookup(self, caller: Caller, item: _Prepared, *, touch: bool) -> Lookup:
        draft = item.draft
        return Lookup(
            agent=caller.agent,
            space=draft.space,
            duplicate_key=item.duplicate_key,
            idempotency_key=draft.idempotency_key,
            fingerprint=item.fingerprint,
            force=draft.force or bool(draft.supersedes),
            at=self._parts.clock(),
            touch=touch,
        )

    async def _embed(self, items: Sequence[_Prepared], cached: Mapping[str, bytes]) -> None:
        texts = {digest: text for item in items for digest, text in zip(item.hashes, item.texts, strict=True)}
        vectors = {digest: np.frombuffer(cached[digest], np.float32) for digest in texts if digest in cached}
        missing = [digest for digest in texts if digest not in vectors]
        made = await embedded(self._parts, [texts[digest] for digest in missing])
        vectors.update(zip(missing, made, strict=True))
        for item in items:
            item.vectors = [vectors[digest] for digest in item.hashes]

    async def _introduce(self, items: Sequence[_Prepared], alone: bool) -> None:
        """`_meet`, each part within its time. With `alone`, items that can't meet their neighbours say why."""
        try:
            await self._meet(items, *(("it is busy", NEIGHBOURS_SHARE) if alone else ()))
        except MnemeshError as error:
            if not alone:
                raise
            for item in items:
                item.alone = f"not compared with its neighbours: {error.message}"

    async def _meet(self, items: Sequence[_Prepared], outcome: str = NOTHING_STORED, share: float = 1.0) -> None:
        """Ask the shard for the neighbours of each item's first text, and the ledger for their words. The others are
        those of `answered`."""
        if not items:
            return
        asked = [(item.vectors[0], item.draft.space) for item in items]
        async with answered(self._parts, "index", outcome, share):
            near: list[list[tuple[str, float]]] = await self._parts.follower.read(
                lambda shard: shard.neighbours_batch(asked, gate.RELATED_MAX)
            )
        ids = list({id_ for found in near for id_, _ in found})
        async with answered(self._parts, "ledger", outcome, share):
            known: dict[str, Memory] = await self._parts.ledger.read(ids) if ids else {}
        for item, found in zip(items, near, strict=True):
            item.related = tuple(
                _related(known[id_], similarity)
                for id_, similarity in found
                if id_ in known and known[id_].state == "active"
            )

    async def _finish(self, caller: Caller, items: Sequence[_Prepared | MnemeshError]) -> list[Written | MnemeshError]:
        commands = [self._create(caller, item) for item in items if isinstance(item, _Prepared) and item.done is None]
        tasks = (committed(self._parts, command) for command in commands)
        outcomes = iter(await asyncio.gather(*tasks, return_exceptions=True))
        pairs: list[tuple[_Prepared, Committed | MnemeshError] | MnemeshError] = []
        for item in items:
            if isinstance(item, MnemeshError):
                pairs.append(item)
                continue
            outcome = item.done if item.done is not None else next(outcomes)
            if isinstance(outcome, BaseException) and not isinstance(outcome, MnemeshError):
                raise outcome
            pairs.append((item, outcome))
        waited = [
            pair[1].seq
            for pair in pairs
            if isinstance(pair, tuple) and isinstance(pair[1], Committed) and pair[0].draft.wait == "indexed"
        ]
        late = await self._seen(max(waited, default=0))
        return [self._written(pair, late) for pair in pairs]

    async def _seen(self, seq: int) -> str:
        """Wait until recall sees the write `seq`; "", or why the wait ended before. The write is durable by then, so
        its outcome is told all the same."""
        try:
            await self._parts.follower.wait_for(seq)
        except (DeadlineExceeded, Unavailable) as error:
            return error.message
        return ""

    def _written(
        self, pair: tuple[_Prepared, Committed | MnemeshError] | MnemeshError, late: str
    ) -> Written | MnemeshError:
        if isinstance(pair, MnemeshError):
            return pair
        item, outcome = pair
        if isinstance(outcome, MnemeshError):
            return outcome
        return self._answer(outcome, item.related, item.alone, late if item.draft.wait == "indexed" else "")

    def _answer(
        self, outcome: Committed, related: tuple[Related, ...] = (), alone: str = "", late: str = ""
    ) -> Written:
        indexed = outcome.seq <= self._parts.follower.applied
        reasons = (outcome.reason, "" if outcome.deduplicated else alone, "" if indexed else late)
        return Written(
            action=outcome.action,
            memory=outcome.memory,
            reason="; ".join(filter(None, reasons)),
            novelty=0.0 if outcome.deduplicated else None if alone else gate.novelty(related),
            related=gate.near(item for item in related if item.id != outcome.memory.id),
            deduplicated=outcome.deduplicated,
            restorable=outcome.restorable,
            replayed=outcome.replayed,
            indexed=indexed,
        )

    def _create(self, caller: Caller, item: _Prepared) -> Create:
        draft, at = item.draft, self._parts.clock()
        fresh = self._parts.new_id(at)
        key = draft.idempotency_key
        kept = tuple((digest, vector.tobytes()) for digest, vector in zip(item.hashes, item.vectors, strict=True))
        return Create(
            agent=caller.agent,
            at=at,
            actor=self._parts.entropy(OPERATION_BYTES),
            draft=draft,
            id=derived_id(draft.space, caller.agent, key) if key else fresh,
            spare_id=fresh,
            duplicate_key=item.duplicate_key,
            fingerprint=item.fingerprint,
            vectors=Vectors(generation=self._parts.embedder.generation, items=kept),
            visible=grants.readable(caller),
        )

    async def supersede(self, caller: Caller, key: str, draft: Draft) -> tuple[Written, Memory]:
        """Replace the memory `key` by a new one in its space; gives the new write and the old memory as it is now."""
        mark = b""
        if draft.idempotency_key:
            named = checks.bounded_text("id", key, limits.TITLE_BYTES_MAX, empty=False)
            # Its space is that of the memory it replaces, so the client's default one does not matter.
            asked = validate.draft(draft, replace(caller, default_space=""))
            mark = fingerprint(asked, named)
            if done := await replayed(self._parts, caller, asked.idempotency_key, mark):
                replaced = await replaced_by(self._parts, done.memory, named)
                return await self._told(done, asked.wait), replaced
        old = await find(self._parts, caller, key)
        if draft.space and draft.space != old.space:
            raise FailedPrecondition(
                f"space: {old.id} lies in {old.space} and a memory never changes its space",
                field="space",
                value=draft.space,
                limit=old.space,
            )
        targets = tuple(dict.fromkeys((old.id, *draft.supersedes)))
        written = await self._remember(caller, replace(draft, space=old.space, supersedes=targets), mark)
        async with answered(self._parts, "ledger", f"stored as {written.memory.id}"):
            return written, (await self._parts.ledger.read([old.id]))[old.id]

    async def update(self, caller: Caller, key: str, patch: Patch) -> Written:
        """Write a new revision. Raises NotFound, FailedPrecondition (forgotten), Aborted (other heads)."""
        clean = validate.patch(patch)
        mark = fingerprint(clean, checks.bounded_text("id", key, limits.TITLE_BYTES_MAX, empty=False))
        if clean.idempotency_key and (done := await replayed(self._parts, caller, clean.idempotency_key, mark)):
            return await self._told(done, clean.wait)
        memory = await find(self._parts, caller, key)
        checks.times_in_order(
            patched(clean, "valid_from", memory.valid_from), patched(clean, "valid_to", memory.valid_to)
        )
        vectors = Vectors()
        if clean.content is not None or clean.title is not None:
            after = replace(
                memory,
                content=memory.content if clean.content is None else clean.content,
                title=memory.title if clean.title is None else clean.title,
            )
            vectors = await vectors_of_change(self._parts, memory, after)
        command = Revise(
            agent=caller.agent,
            at=self._parts.clock(),
            actor=self._parts.entropy(OPERATION_BYTES),
            id=memory.id,
            patch=clean,
            fingerprint=mark,
            duplicate_key="" if clean.content is None else duplicate_key(clean.content),
            vectors=vectors,
        )
        return await self.commit(command, clean.wait)

    async def forget(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Soft deletion; `restore` undoes it."""
        checks.one_of("wait", wait, WAITS)
        memory = await find(self._parts, caller, key, forgotten=True)
        return await self.commit(
            Forget(
                agent=caller.agent, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=memory.id
            ),
            wait,
        )

    async def restore(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Bring a forgotten memory back as it was."""
        checks.one_of("wait", wait, WAITS)
        memory = await find(self._parts, caller, key, forgotten=True)
        return await self.commit(
            Restore(
                agent=caller.agent, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=memory.id
            ),
            wait,
        )

    async def commit(self, command: Command, wait: str) -> Written:
        """Carry out `command` and tell its outcome, once recall sees it with `wait` indexed."""
        return await self._told(await committed(self._parts, command), wait)

    async def _told(self, outcome: Committed, wait: str) -> Written:
        late = await self._seen(outcome.seq) if wait == "indexed" else ""
        return self._answer(outcome, late=late)


def _related(memory: Memory, similarity: float) -> Related:
    beginning = memory.content[:BEGINNING_CHARS]
    title = memory.title or title_of(beginning)
    return Related(memory.id, title, snippet(beginning, "", SNIPPET_CHARS), similarity)


def _as_memory(draft: Draft) -> Memory:
    """A draft in the form that indexing reads; id, agent and times don't matter to it."""
    return Memory(
        id="",
        space=draft.space,
        kind=draft.kind,
        title=draft.title,
        content=draft.content,
        state="active",
        by="",
        created_at=0,
        updated_at=0,
        heads=(),
        tags=draft.tags,
        paths=draft.paths,
        keywords=draft.keywords,
    )
