"""The way of a draft to its write: validated, looked up, embedded, compared with its neighbours.

Nothing is stored here. A draft that fails says why and holds up no other. An exact duplicate or a replay is settled by
the look-up, and neither embedded nor compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.embedding import readings
from mnemesh_actors.embedding.embedder import MODEL_BEGINS_S, Embedder, Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.index.neighbours import cosines, of_words
from mnemesh_actors.ledger.commands import Committed, Lookup
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import NOTHING_STORED, answered, embedded
from mnemesh_memory.access import grants
from mnemesh_memory.policy.dynamics import reconsolidation
from mnemesh_memory.policy.dynamics.surprisal import Surprise, continuity, surprise
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.judge.sameness import almost_identical
from mnemesh_memory.policy.judge.slots import subject_terms
from mnemesh_memory.policy.neighbourhood import candidates
from mnemesh_memory.policy.purposes import KNOWLEDGE, purpose_of
from mnemesh_memory.policy.validity import SUPERSEDES
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash, duplicate_key, snippet, title_of
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.ids import fingerprint
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch, Related

# The share of `write_timeout_s` after which a write goes on without its neighbours.
NEIGHBOURS_SHARE = 0.1
SNIPPET_CHARS = 160
# Of a neighbour only its beginning is shown, so only that is worked on.
BEGINNING_CHARS = 400
AT_REST = "compared with its neighbours at rest, after the import"


@dataclass(slots=True)
class Prepared:
    """A draft on its way, validated unless it has `failed`: its texts to embed and the findings so far."""

    draft: Draft
    duplicate_key: str = ""
    fingerprint: bytes = b""
    texts: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    words: str = ""  # Of its subject, once they were looked for.
    vectors: list[Vector] = field(default_factory=list)
    generation: str = ""  # of the vectors
    related: tuple[Related, ...] = ()
    candidates: tuple[guard.OlderText, ...] = ()  # The guard compares these memories.
    known: Mapping[str, Memory] = field(default_factory=dict)  # The candidates by id.
    seen: guard.Seen = field(default_factory=dict)  # Evidence by candidate.
    verdict: guard.Verdict | None = None  # None without a judgement.
    guarded: guard.Verdict | None = None  # The verdict of the guard alone.
    update: Patch | None = None  # For the target of UPDATE.
    surprise: Surprise | None = None  # None without a sample of the space
    alone: str = ""  # why it was not compared with its neighbours
    postponed: bool = False  # The guard judges it at rest, again when `verdict` is there.
    done: Committed | None = None
    failed: MnemeshError | None = None

    @property
    def is_open(self) -> bool:
        """Still to be written."""
        return self.done is None and self.failed is None


class Preparing:
    """Drafts of one node's callers on their way to the ledger."""

    def __init__(self, parts: NodePorts) -> None:
        self._parts = parts

    async def prepare(
        self,
        caller: Caller,
        drafts: Sequence[Draft],
        *,
        mark: bytes = b"",
        touch: bool = True,
        alone: bool = True,
        at_rest: bool = False,
    ) -> list[Prepared]:
        """Each draft ready to be written, or the reason against it. A failure common to all is told to each. `mark`
        stands for the fingerprint when the request was more than a draft. With `alone`, a draft is ready without
        neighbours when the index can't be asked. With `at_rest` both come after the write."""
        items = [self._clean(caller, draft, mark) for draft in drafts]
        good = [item for item in items if item.is_open]
        try:
            with self._parts.serving.current.held() as index_generation:
                cached = await self._look_up(index_generation, caller, good, touch) if good else {}
                left = [item for item in good if item.is_open]
                await self._embed(index_generation, left, cached)
                if at_rest:
                    _postpone(left)
                else:
                    await self._introduce(index_generation, caller, left, alone)
        except MnemeshError as error:
            for item in good:
                item.failed = error if item.is_open else item.failed
        return items

    async def _look_up(
        self, index_generation: IndexGeneration, caller: Caller, items: Sequence[Prepared], touch: bool
    ) -> dict[str, bytes]:
        """Settle the items that need no write or fail; the vectors that are cached already."""
        wanted = [digest for item in items for digest in item.hashes]
        lookups = [self.lookup(caller, item, touch=touch) for item in items]
        async with answered(self._parts, "ledger"):
            outcomes, cached = await self._parts.ledger.prepare(lookups, wanted, index_generation.embedder.generation)
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(outcome, MnemeshError):
                item.failed = outcome
            else:
                item.done = outcome
        return dict(cached)

    def _clean(self, caller: Caller, draft: Draft, mark: bytes) -> Prepared:
        try:
            clean = request_checks.draft(draft, caller)
            field_checks.not_ahead("created_at", clean.created_at, self._parts.clock())
        except MnemeshError as error:
            return Prepared(draft, failed=error)
        texts = tuple(dense for dense, _ in index_texts(clean))
        hashes = tuple(content_hash(text) for text in texts)
        return Prepared(clean, duplicate_key(clean.content), mark or fingerprint(clean), texts, hashes)

    def lookup(self, caller: Caller, item: Prepared, *, touch: bool) -> Lookup:
        """The question to the ledger about a draft; with `touch` a duplicate reinforces the existing memory."""
        draft = item.draft
        return Lookup(
            agent=caller.agent,
            space=draft.space,
            duplicate_key=item.duplicate_key,
            kind=draft.kind,
            session=draft.source.session,
            idempotency_key=draft.idempotency_key,
            fingerprint=item.fingerprint,
            force=draft.force or bool(draft.supersedes),
            at=self._parts.clock(),
            touch=touch,
            purpose=purpose_of(draft),
        )

    async def _embed(self, index_generation: IndexGeneration, items: list[Prepared], cached: dict[str, bytes]) -> None:
        embedder, follower = index_generation.embedder, index_generation.follower
        texts = {digest: text for item in items for digest, text in zip(item.hashes, item.texts, strict=True)}
        vectors = embedder.stored({digest: cached[digest] for digest in texts if digest in cached})
        missing = [digest for digest in texts if digest not in vectors]
        ahead = [asyncio.create_task(_warm(follower, new)) for new in items if len(items) == 1 and missing]
        try:
            made = await embedded(self._parts, embedder, [texts[digest] for digest in missing])
        finally:
            for look in ahead:
                look.cancel()
        vectors.update(zip(missing, made, strict=True))
        for item in items:
            item.vectors = [vectors[digest] for digest in item.hashes]
            item.generation = embedder.generation

    async def _introduce(
        self, index_generation: IndexGeneration, caller: Caller, items: Sequence[Prepared], alone: bool
    ) -> None:
        """`_meet`, each part within its time. With `alone`, items that can't meet their neighbours say why."""
        try:
            await self._meet(index_generation, caller, items, *(("it is busy", NEIGHBOURS_SHARE) if alone else ()))
        except MnemeshError as error:
            if not alone:
                raise
            for item in items:
                item.alone = f"not compared with its neighbours: {error.message}"

    async def _meet(
        self,
        index_generation: IndexGeneration,
        caller: Caller,
        items: Sequence[Prepared],
        outcome: str = NOTHING_STORED,
        share: float = 1.0,
    ) -> None:
        """Ask the shard for the neighbours of each item's first text and for what shares rare words of its subject, and
        the ledger for their words. Then judge the item beside them. The others are those of `answered`."""
        if not items:
            return
        asked = [(item.vectors[0], item.draft.space) for item in items]
        words = [item.words or " ".join(subject_terms(item.draft.content)) for item in items]
        generation = index_generation.embedder.generation
        async with answered(self._parts, "index", outcome, share):
            near: list[list[tuple[str, float]]] = await index_generation.follower.read(
                lambda shard: shard.neighbours_batch(asked, guard.RELATED_MAX, generation, words)
            )
        ids = list({id_ for hits in near for id_, _ in hits})
        async with answered(self._parts, "ledger", outcome, share):
            read = await self._parts.ledger.read(ids) if ids else {}
        known = {id_: memory for id_, memory in read.items() if purpose_of(memory) == KNOWLEDGE}
        for item, hits in zip(items, near, strict=True):
            nearest = sorted(hits, key=lambda hit: -hit[1])[: guard.RELATED_MAX]
            item.related = tuple(
                related_of(known[id_], similarity, item.draft.content)
                for id_, similarity in nearest
                if id_ in known and known[id_].state == "active"
            )
            item.surprise = self._surprise(caller, item, hits, known)
            if not (item.draft.force or item.draft.supersedes):
                item.candidates = tuple(candidates(caller, item.draft, dict(hits), known, self._parts.clock()))
                item.known = {candidate.id: known[candidate.id] for candidate in item.candidates}
        to_judge = [new for new in items if not (new.draft.force or new.draft.supersedes)]
        await self._judge(index_generation.embedder, caller, to_judge)

    async def judge_beside(
        self, caller: Caller, items: Sequence[Prepared], written: Sequence[Sequence[tuple[Memory, float]]]
    ) -> None:
        """Judge items of a batch again, each beside earlier ones `written` by now. Memories they replaced are out."""
        for item, others in zip(items, written, strict=True):
            near, known = {memory.id: cosine for memory, cosine in others}, {memory.id: memory for memory, _ in others}
            gone = {link.id for memory in known.values() for link in memory.links if link.type == SUPERSEDES}
            before = candidates(caller, item.draft, near, known, self._parts.clock())
            beside = {candidate.id: candidate for candidate in (*item.candidates, *before) if candidate.id not in gone}
            item.candidates, item.known = tuple(beside.values()), {**item.known, **known}
        with self._parts.serving.current.held() as index_generation:
            await self._judge(index_generation.embedder, caller, items)

    async def _judge(self, embedder: Embedder, caller: Caller, items: Sequence[Prepared]) -> None:
        """The verdict on each item, after a model read doubtful ones, and what the window of a recall makes of it."""
        unread = [
            readings.JudgedText(new.draft.content, new.draft.kind, new.draft.source.session, new.candidates, new.seen)
            for new in items
        ]
        lists = await readings.read(embedder, unread, self._parts.config.write_timeout_s * NEIGHBOURS_SHARE)
        for item, text, beside in zip(items, unread, lists, strict=True):
            item.candidates = beside
            item.verdict = _judged(item, beside)
            item.postponed = readings.is_left_unread(embedder, text, beside, item.verdict)
            item.guarded = item.update = None
            self._reconsolidate(caller, item)

    def _surprise(
        self, caller: Caller, item: Prepared, near: Sequence[tuple[str, float]], known: Mapping[str, Memory]
    ) -> Surprise | None:
        """The surprisal of a draft beside its neighbours; what its writer wrote just before makes it expected."""
        samples = self._parts.novelties.of(item.draft.space)
        written = ((cosine, known[id_]) for id_, cosine in near if id_ in known)
        own = [(cosine, memory.created_at) for cosine, memory in written if memory.by == caller.agent]
        return surprise(guard.novelty(item.related), samples, continuity(own, self._parts.clock()))

    def _reconsolidate(self, caller: Caller, item: Prepared) -> None:
        """Judge the item again beside memories that recall showed to its writer a short while ago."""
        now, draft, verdict, known = self._parts.clock(), item.draft, item.verdict, item.known
        labile = [
            reconsolidation.Labile(candidate, age)
            for candidate in sorted(item.candidates, key=lambda near: (-near.cosine, near.id))
            if grants.principal_of(known[candidate.id].by) == caller.principal
            and (age := self._parts.labile.age_of(caller.principal, candidate.id, candidate.heads, now)) is not None
        ]
        if verdict is None or not labile:
            return
        outcome = reconsolidation.reconsolidated(draft.content, draft.kind, verdict, labile)
        if outcome.verdict.action in ("UPDATE", "NOOP") and not is_text_alone(draft):
            return
        item.guarded, item.verdict = verdict, outcome.verdict
        if outcome.content:
            item.update = update_of(known[outcome.verdict.target_id], draft, outcome.content)


async def _warm(follower: IndexFollower, item: Prepared) -> None:
    """While the model works, parse a draft for the guard and look its words up. An error shows again with `_meet`."""
    await asyncio.sleep(MODEL_BEGINS_S)
    item.words = " ".join(subject_terms(item.draft.content))
    if item.words:
        with suppress(MnemeshError):
            await follower.read(lambda shard: shard.prepare(of_words(item.words, item.draft.space)))


def _judged(item: Prepared, candidates: Sequence[guard.OlderText]) -> guard.Verdict:
    return guard.judge(item.draft.content, item.draft.kind, candidates, item.draft.source.session, item.seen)


def _postpone(items: Sequence[Prepared]) -> None:
    for item in items:
        item.alone = AT_REST
        item.postponed = not (item.draft.force or item.draft.supersedes)


def is_text_alone(draft: Draft) -> bool:
    """Whether a draft says nothing that a sentence in another memory could not carry."""
    return not (draft.title or draft.keywords or draft.attrs or draft.links or draft.sensitive) and (
        draft.valid_from is draft.valid_to is draft.importance is draft.created_at is None and draft.tier == "normal"
    )


def update_of(memory: Memory, draft: Draft, content: str) -> Patch:
    """The revision of a memory by the text of a draft. Tags and paths of both stay."""
    return Patch(
        content=content,
        tags=tuple(dict.fromkeys((*memory.tags, *draft.tags))) if draft.tags else None,
        paths=tuple(dict.fromkeys((*memory.paths, *draft.paths))) if draft.paths else None,
        attrs={**memory.attrs, reconsolidation.PROVENANCE: draft.source.session or "recalled"},
        expected_heads=memory.heads,
        idempotency_key=draft.idempotency_key,
        wait=draft.wait,
    )


class Siblings:
    """The written memories of a batch, in order, with their vectors."""

    def __init__(self) -> None:
        self._vectors: list[Vector] = []
        self._memories: list[Memory] = []

    def contesting(self, items: Sequence[Prepared]) -> dict[int, list[tuple[Prepared | Memory, float]]]:
        """By place the items whose verdict may hang on the text of another item before them, or of a memory that the
        batch has written. Each has the nearest of those with their cosines. One product of matrices finds them."""
        before: list[Prepared | Memory] = [*self._memories, *items]
        first, given = len(self._memories), [item for item in items if item.vectors]
        if not given or len(before) < 2:
            return {}
        blank = np.zeros_like(given[0].vectors[0])
        here = np.stack([item.vectors[0] if item.vectors else blank for item in items])
        near = np.tril(cosines(here, np.concatenate([*(vector[None] for vector in self._vectors), here])), first - 1)
        contested: dict[int, list[tuple[Prepared | Memory, float]]] = {}
        for place, item in enumerate(items):
            others = [
                (before[other], float(near[place, other]))
                for other in np.argsort(-near[place], kind="stable")[: guard.RELATED_MAX]
                if near[place, other] >= guard.COSINE_MIN
            ]
            if others and item.verdict is not None and item.is_open and _hangs_on(item, others):
                contested[place] = others
        return contested

    def of(self, written: Sequence[tuple[Memory, Vector]]) -> dict[str, tuple[Related, ...]]:
        """Add these to the batch. Gives up to RELATED_MAX earlier memories for each new one, the nearest first."""
        first = len(self._memories)
        self._memories += [memory for memory, _ in written]
        self._vectors += [vector for _, vector in written]
        if len(self._memories) < 2 or not written:
            return {}
        whole = np.stack(self._vectors)
        near = np.tril(cosines(whole[first:], whole), first - 1)
        related: dict[str, tuple[Related, ...]] = {}
        for row in np.flatnonzero((near >= guard.NEAR_MIN).any(axis=1)):
            memory = self._memories[first + row]
            others = np.argsort(-near[row], kind="stable")[: guard.RELATED_MAX]
            related[memory.id] = tuple(
                related_of(self._memories[other], float(near[row, other]), memory.content)
                for other in others
                if near[row, other] >= guard.NEAR_MIN and self._memories[other].space == memory.space
            )
        return related


def rounds(
    items: Sequence[Prepared], later: Mapping[int, Sequence[tuple[Prepared | Memory, float]]]
) -> list[list[int]]:
    """The places of `later` in rounds, each written at once. Items that share a text or memory keep their order."""
    taken: dict[int | str, int] = {}
    groups: dict[int, list[int]] = {}
    for place, others in later.items():
        verdict = items[place].verdict
        shared = {id(items[place]), *(id(other) for other, _ in others), *(verdict.heads if verdict else ())}
        number = max(taken.get(key, 0) for key in shared)
        taken.update(dict.fromkeys(shared, number + 1))
        groups.setdefault(number, []).append(place)
    return list(groups.values())


def _hangs_on(item: Prepared, others: Sequence[tuple[Prepared | Memory, float]]) -> bool:
    """Whether a text repeats or contests any of the others, as far as their words tell. The guard looks at a few
    memories only, so another text that is farther than all of those changes nothing."""
    nearest = sorted((candidate.cosine for candidate in item.candidates), reverse=True)[: guard.CONTESTED_MAX]
    least = nearest[-1] if len(nearest) == guard.CONTESTED_MAX else guard.COSINE_MIN
    drafts = [(other.draft if isinstance(other, Prepared) else other, cosine) for other, cosine in others]
    beside = [
        guard.OlderText(id=str(place), text=draft.content, kind=draft.kind, cosine=min(1.0, cosine), replaceable=True)
        for place, (draft, cosine) in enumerate(drafts)
        if draft.space == item.draft.space and cosine >= least
    ]
    return bool(beside) and _judged(item, beside).target_id != ""


def related_of(memory: Memory, similarity: float, content: str) -> Related:
    """A neighbour as the writer of `content` is told of it."""
    if similarity < guard.NEAR_MIN:  # only how near it is counts, and its words are shown to nobody
        return Related(memory.id, "", "", similarity)
    beginning = memory.content[:BEGINNING_CHARS]
    title = memory.title or title_of(beginning)
    alike = similarity >= guard.ALIKE_MIN and almost_identical(memory.content, content)
    return Related(memory.id, title, snippet(beginning, "", SNIPPET_CHARS), similarity, alike)
