"""The operations that write: validate, look up, embed, ask for neighbours, commit, wait for the index. In that order.

A write is acknowledged only after the ledger's commit. The ledger decides exact duplicates and replays inside that
commit; what is looked up before it only saves work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mnemesh_actors.embedder import Vector
from mnemesh_actors.ledger.commands import Command, Committed, Create, Forget, Lookup, Restore, Revise, Vectors
from mnemesh_actors.parts import Parts
from mnemesh_actors.places import find_one
from mnemesh_memory import gate, validate
from mnemesh_memory.errors import FailedPrecondition, MnemeshError
from mnemesh_memory.ids import derived_id, fingerprint
from mnemesh_memory.indexing import index_texts
from mnemesh_memory.kinds import WAITS
from mnemesh_memory.model import Caller, Checked, Draft, Memory, Patch, Related, Written
from mnemesh_memory.text import content_hash, duplicate_key, snippet, title_of

# One step of a batch: as many as the model takes at once; embedding the next overlaps committing and indexing this one.
STEP_ITEMS = 64
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
    done: Committed | None = None


class Writing:
    """remember, check, update, supersede, forget, restore."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def remember(self, caller: Caller, draft: Draft) -> Written:
        """Store one memory. Raises InvalidArgument, SecretRefused, AlreadyExists, NotFound, FailedPrecondition."""
        (result,) = await self._remember(caller, [draft])
        if isinstance(result, MnemeshError):
            raise result
        return result

    async def remember_batch(self, caller: Caller, drafts: Sequence[Draft]) -> list[Written | MnemeshError]:
        """Store up to 256 memories; each succeeds or fails by itself, in order."""
        validate.batch(drafts)
        steps = [drafts[start : start + STEP_ITEMS] for start in range(0, len(drafts), STEP_ITEMS)]
        results: list[Written | MnemeshError] = []
        pending: asyncio.Task[list[Written | MnemeshError]] | None = None
        for step in steps:
            prepared = await self._prepare(caller, step)
            if pending is not None:
                results += await pending
            pending = asyncio.create_task(self._finish(caller, prepared))
        if pending is not None:
            results += await pending
        return results

    async def _remember(self, caller: Caller, drafts: Sequence[Draft]) -> list[Written | MnemeshError]:
        return await self._finish(caller, await self._prepare(caller, drafts))

    async def check(self, caller: Caller, draft: Draft) -> Checked:
        """What `remember` would do; writes nothing."""
        (prepared,) = await self._prepare(caller, [draft])
        if isinstance(prepared, MnemeshError):
            raise prepared
        clean = prepared.draft
        if not clean.force:
            lookup = [replace(self._lookup(caller, prepared), idempotency_key="")]
            ((known,), _) = await self._parts.ledger.prepare(lookup, [], self._parts.embedder.generation)
            if known is not None:
                return Checked(
                    action=known.action,
                    target_id=known.memory.id,
                    similarity=1.0,
                    reason=known.reason,
                    novelty=0.0,
                    related=prepared.related,
                )
        return gate.judge(prepared.related, clean.supersedes)

    async def _prepare(self, caller: Caller, drafts: Sequence[Draft]) -> list[_Prepared | MnemeshError]:
        items = [self._clean(caller, draft) for draft in drafts]
        good = [item for item in items if isinstance(item, _Prepared)]
        if not good:
            return items
        wanted = [digest for item in good for digest in item.hashes]
        lookups = [self._lookup(caller, item) for item in good]
        generation = self._parts.embedder.generation
        outcomes, cached = await self._parts.ledger.prepare(lookups, wanted, generation)
        refused: dict[int, MnemeshError] = {}
        for item, outcome in zip(good, outcomes, strict=True):
            if isinstance(outcome, MnemeshError):
                refused[id(item)] = outcome
            else:
                item.done = outcome
        open_items = [item for item in good if item.done is None and id(item) not in refused]
        await self._embed(open_items, cached)
        await self._meet(open_items)
        return [refused.get(id(item), item) if isinstance(item, _Prepared) else item for item in items]

    def _clean(self, caller: Caller, draft: Draft) -> _Prepared | MnemeshError:
        try:
            clean = validate.draft(draft, caller)
        except MnemeshError as error:
            return error
        texts = tuple(dense for dense, _ in index_texts(_as_memory(clean)))
        hashes = tuple(content_hash(text) for text in texts)
        return _Prepared(clean, duplicate_key(clean.content), fingerprint(clean), texts, hashes)

    def _lookup(self, caller: Caller, item: _Prepared) -> Lookup:
        draft = item.draft
        return Lookup(
            agent=caller.agent,
            space=draft.space,
            duplicate_key=item.duplicate_key,
            idempotency_key=draft.idempotency_key,
            fingerprint=item.fingerprint,
            force=draft.force or bool(draft.supersedes),
            at=self._parts.clock(),
        )

    async def _embed(self, items: Sequence[_Prepared], cached: Mapping[str, bytes]) -> None:
        texts = {digest: text for item in items for digest, text in zip(item.hashes, item.texts, strict=True)}
        vectors = {digest: np.frombuffer(cached[digest], np.float32) for digest in texts if digest in cached}
        missing = [digest for digest in texts if digest not in vectors]
        made = await self._parts.embedder.embed([texts[digest] for digest in missing])
        vectors.update(zip(missing, made, strict=True))
        for item in items:
            item.vectors = [vectors[digest] for digest in item.hashes]

    async def _meet(self, items: Sequence[_Prepared]) -> None:
        """Ask the shard for the neighbours of each item's first text, and the ledger for their words."""
        if not items:
            return
        asked = [(item.vectors[0], item.draft.space) for item in items]
        near: list[list[tuple[str, float]]] = await self._parts.follower.read(
            lambda shard: shard.neighbours_batch(asked, gate.RELATED_MAX)
        )
        ids = list({id_ for found in near for id_, _ in found})
        known: dict[str, Memory] = await self._parts.ledger.read(ids) if ids else {}
        for item, found in zip(items, near, strict=True):
            item.related = tuple(
                _related(known[id_], similarity)
                for id_, similarity in found
                if id_ in known and known[id_].state == "active"
            )

    async def _finish(self, caller: Caller, items: Sequence[_Prepared | MnemeshError]) -> list[Written | MnemeshError]:
        commands = [self._create(caller, item) for item in items if isinstance(item, _Prepared) and item.done is None]
        committed = iter(await self._parts.commits.submit_many(commands))
        pairs: list[tuple[_Prepared, Committed | MnemeshError] | MnemeshError] = []
        for item in items:
            if isinstance(item, MnemeshError):
                pairs.append(item)
                continue
            outcome = item.done if item.done is not None else next(committed)
            if isinstance(outcome, BaseException) and not isinstance(outcome, MnemeshError):
                raise outcome
            pairs.append((item, outcome))
        last = max(
            (pair[1].seq for pair in pairs if isinstance(pair, tuple) and isinstance(pair[1], Committed)), default=0
        )
        if any(isinstance(item, _Prepared) and item.draft.wait == "indexed" for item in items):
            await self._parts.follower.wait_for(last)
        return [self._written(pair) for pair in pairs]

    def _written(self, pair: tuple[_Prepared, Committed | MnemeshError] | MnemeshError) -> Written | MnemeshError:
        if isinstance(pair, MnemeshError):
            return pair
        item, outcome = pair
        if isinstance(outcome, MnemeshError):
            return outcome
        return self._answer(outcome, item.related)

    def _answer(self, outcome: Committed, related: tuple[Related, ...] = ()) -> Written:
        return Written(
            action=outcome.action,
            memory=outcome.memory,
            reason=outcome.reason,
            novelty=0.0 if outcome.deduplicated else gate.novelty(related),
            related=tuple(item for item in related if item.id != outcome.memory.id),
            deduplicated=outcome.deduplicated,
            restorable=outcome.restorable,
            replayed=outcome.replayed,
            indexed=outcome.seq <= self._parts.follower.applied,
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
        )

    async def supersede(self, caller: Caller, key: str, draft: Draft) -> tuple[Written, Memory]:
        """Replace the memory `key` by a new one in its space; gives the new write and the old memory as it is now."""
        old = await find_one(self._parts, caller, key)
        if draft.space and draft.space != old.space:
            raise FailedPrecondition(
                f"space: {old.id} lies in {old.space} and a memory never changes its space",
                field="space",
                value=draft.space,
                limit=old.space,
            )
        targets = tuple(dict.fromkeys((old.id, *draft.supersedes)))
        written = await self.remember(caller, replace(draft, space=old.space, supersedes=targets))
        return written, (await self._parts.ledger.read([old.id]))[old.id]

    async def update(self, caller: Caller, key: str, patch: Patch) -> Written:
        """Write a new revision. Raises NotFound, FailedPrecondition (forgotten), Aborted (other heads)."""
        clean = validate.patch(patch)
        memory = await find_one(self._parts, caller, key)
        validate.times_in_order(
            memory.valid_from if clean.valid_from is None else clean.valid_from,
            memory.valid_to if clean.valid_to is None else clean.valid_to,
        )
        texts: tuple[str, ...] = ()
        vectors: list[Vector] = []
        if clean.content is not None or clean.title is not None:
            after = replace(
                memory,
                content=memory.content if clean.content is None else clean.content,
                title=memory.title if clean.title is None else clean.title,
            )
            texts = tuple(dense for dense, _ in index_texts(after))
            vectors = await self._parts.embedder.embed(texts)
        kept = tuple((content_hash(text), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True))
        command = Revise(
            agent=caller.agent,
            at=self._parts.clock(),
            actor=self._parts.entropy(OPERATION_BYTES),
            id=memory.id,
            patch=clean,
            fingerprint=fingerprint(clean, memory.id),
            duplicate_key="" if clean.content is None else duplicate_key(clean.content),
            vectors=Vectors(generation=self._parts.embedder.generation, items=kept),
        )
        return await self._commit(command, clean.wait)

    async def forget(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Soft deletion; `restore` undoes it."""
        validate.one_of("wait", wait, WAITS)
        memory = await find_one(self._parts, caller, key, forgotten=True)
        return await self._commit(
            Forget(
                agent=caller.agent, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=memory.id
            ),
            wait,
        )

    async def restore(self, caller: Caller, key: str, wait: str = "indexed") -> Written:
        """Bring a forgotten memory back as it was."""
        validate.one_of("wait", wait, WAITS)
        memory = await find_one(self._parts, caller, key, forgotten=True)
        return await self._commit(
            Restore(
                agent=caller.agent, at=self._parts.clock(), actor=self._parts.entropy(OPERATION_BYTES), id=memory.id
            ),
            wait,
        )

    async def _commit(self, command: Command, wait: str) -> Written:
        outcome = await self._parts.commits.submit(command)
        if wait == "indexed":
            await self._parts.follower.wait_for(outcome.seq)
        return self._answer(outcome)


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
