"""Items of the index, made from a page of the feed: memories with vectors, and others whose windows change."""

from __future__ import annotations

from collections.abc import Sequence

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.index.shard import IndexItem, IndexText
from mnemesh_actors.ledger.commands import FeedPage, KeptVectors
from mnemesh_actors.ports import IndexPort, LedgerFeed
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.text.traits import traits_of
from mnemesh_memory.values.model import Memory

OTHERS_A_STEP = 64
# Fields that a memory and its item have in common.
_SAME = (
    *("id", "space", "kind", "tags", "created_at", "updated_at"),
    *("valid_from", "valid_to", "state", "tier"),
)


class IndexItems:
    """Asks the ledger, the shard and the model for what a page does not hold, and gives the shard all of it."""

    def __init__(self, ledger: Handle[LedgerFeed], shard: Handle[IndexPort], embedder: Embedder) -> None:
        self._ledger = ledger
        self._shard = shard
        self._embedder = embedder

    async def followers(self, page: FeedPage) -> list[str]:
        """The memories outside of the page whose windows the page changes."""
        shown = [memory for _, memory in page.memories if memory.source.session or memory.version > 1]
        if not shown and not page.removed:
            return []
        places = [
            ((memory.space, memory.source.session), (memory.source.seq or 0, memory.created_at, memory.id))
            for memory in shown
            if memory.source.session
        ]
        known = await self._shard.followed([*(memory.id for memory in shown), *page.removed], places)
        there = {memory.id for _, memory in page.memories}
        return [id_ for id_ in known if id_ not in there]

    async def again(self, ids: Sequence[str], upto: int) -> list[IndexItem]:
        """These memories with windows of what the log says up to number `upto`."""
        return await self.of(await self._ledger.feed_again(ids, self._embedder.generation, upto))

    async def give(self, page: FeedPage, items: list[IndexItem], others: list[str], after: int) -> None:
        """Give the shard a page. If the page changes windows of `others`, the order is: new items, `others`, removed
        items, the number. Wherever that breaks off, a second attempt makes every window right."""
        if others:
            await self._shard.apply(items, [], after, after)
            for start in range(0, len(others), OTHERS_A_STEP):
                renewed = await self.again(others[start : start + OTHERS_A_STEP], page.seq)
                await self._shard.apply(renewed, [], after, after)
            items = []
        await self._shard.apply(items, list(page.removed), page.seq, after)

    async def of(self, page: FeedPage) -> list[IndexItem]:
        """The memories of the page, in its order. A text whose vector is missing or damaged is embedded, and the ledger
        keeps the new vector."""
        texts = {
            memory.id: [(content_hash(dense), dense, lexical) for dense, lexical in index_texts(memory)]
            for _, memory in page.memories
        }
        dense = {key: text for triples in texts.values() for key, text, _ in triples}
        vectors = self._embedder.stored(page.vectors)
        if missing := [key for key in dense if key not in vectors]:
            made = await self._embedder.embed([dense[key] for key in missing])
            vectors |= dict(zip(missing, made, strict=True))
            kept = tuple((key, vector.tobytes()) for key, vector in zip(missing, made, strict=True))
            await self._ledger.keep_vectors(KeptVectors(generation=self._embedder.generation, items=kept))
        return [
            item_of(
                seq,
                memory,
                tuple(IndexText(vectors[key], lexical) for key, _, lexical in texts[memory.id]),
                page.before.get(memory.id, ()),
            )
            for seq, memory in page.memories
        ]


def item_of(seq: int, memory: Memory, texts: tuple[IndexText, ...], before: tuple[str, ...] = ()) -> IndexItem:
    """A memory as the index takes it in. `texts` carry vectors. `before` is what precedes the memory in its session."""
    return IndexItem(
        **{name: getattr(memory, name) for name in _SAME},
        agent=memory.by,
        session=memory.source.session,
        seq=seq,
        place=memory.source.seq or 0,
        before=before,
        traits=traits_of(memory),
        texts=texts,
    )
