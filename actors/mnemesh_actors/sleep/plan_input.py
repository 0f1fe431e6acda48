"""Reads the new memories of a space and their neighbours: the input of a plan. Asking is no use of a memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.ledger.commands import Committed, Lookup
from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.ports import IndexPort
from mnemesh_actors.remember.trust_marks import classes_of
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.budget import Budget
from mnemesh_memory.consolidation.derived_id import is_sleep
from mnemesh_memory.consolidation.portions import Near, portions
from mnemesh_memory.consolidation.promotion import EPISODE
from mnemesh_memory.consolidation.steps import PROMOTED, Portion
from mnemesh_memory.policy.purposes import purpose_of
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values.memory_links import DERIVED_FROM
from mnemesh_memory.values.model import Caller, Memory

# Entries of the log in one look, and fresh memories in one plan.
PAGE_ENTRIES: Final = 1_000
BATCH: Final = 128
# Neighbours of a fresh memory: this bounds the search for duplicates and groups.
NEIGHBOURS: Final = 16
# One look at the ledger, and one at the index. Between two looks somebody who waits has a turn. Texts in so few have
# their neighbours looked for one by one: the mean of many new memories is nearest to these themselves.
READ_IDS: Final = 32
SEARCHED_IDS: Final = 8
# Candidates while a graph of the index is searched. Among 100,000 memories so few find all neighbours from cosine .8 on
# and 96% of the others, in .6 of the usual time.
VISITS: Final = 96
EQUAL_COSINE: Final = 0.9999  # of two vectors of one text, rounded


@dataclass(frozen=True, slots=True)
class PlanBatch:
    """Fresh memories up to entry `seq` of the log, with the portions to plan."""

    read: int
    seq: int
    portions: tuple[Portion, ...]
    degraded: tuple[str, ...] = ()


async def log_pages(parts: NodePorts, after: int, space: str = "") -> AsyncIterator[EntryPage]:
    """The log after an entry, of one space or of all, up to the end that it has meanwhile: at least one page."""
    while True:
        page = await parts.ledger.entries(after, PAGE_ENTRIES, space)
        yield page
        if page.seq >= page.head or page.seq <= after:
            return
        after = page.seq


async def fresh_ids(parts: NodePorts, space: str, after: int) -> AsyncIterator[tuple[list[str], int]]:
    """The changed memories of a space after an entry, BATCH at a time, each batch with its last entry. Changes by
    consolidation on this node are no news."""
    ids: dict[str, None] = {}
    async for page in log_pages(parts, after, space):
        for entry in page.entries:
            if not entry.erased and (entry.origin or not is_sleep(entry.agent)):
                ids[entry.id] = None
            if len(ids) >= BATCH:
                yield list(ids), entry.seq
                ids = {}
    yield list(ids), page.seq


async def batch(
    parts: NodePorts, space: str, principal: str, ids: Sequence[str], seq: int, budget: Budget
) -> PlanBatch:
    """The portions of these memories of a space, read within a budget."""
    memories = {id_: memory for id_, memory in (await _read(parts, ids, budget)).items() if memory.state == "active"}
    fresh = sorted(memories)
    with parts.serving.current.held() as index_generation:
        near, degraded = await _near(parts, index_generation, space, [memories[id_] for id_ in fresh], budget)
        near |= await _with_oldest(parts, space, index_generation.embedder.generation, memories, near, budget)
    others = {id_ for pairs in near.values() for id_, _ in pairs} - memories.keys()
    memories |= await _read(parts, sorted(others), budget)
    sources = [id_ for id_, memory in memories.items() if memory.kind == EPISODE]
    sources += [
        link.id
        for memory in memories.values()
        if PROMOTED in memory.attrs
        for link in memory.links
        if link.type == DERIVED_FROM
    ]
    derived = await _derived(parts, sources, budget)
    facts = {fact for group in derived.values() for fact in group} - memories.keys()
    memories |= await _read(parts, sorted(facts), budget)
    episodes = [memory for memory in memories.values() if memory.kind == EPISODE]
    trust = await classes_of(parts, Caller(principal, principal), episodes)
    return PlanBatch(
        len(fresh), seq, tuple(portions(space, principal, fresh, memories, near, derived, trust)), degraded
    )


async def _read(parts: NodePorts, ids: Sequence[str], budget: Budget) -> dict[str, Memory]:
    memories: dict[str, Memory] = {}
    for start in range(0, len(ids), READ_IDS):
        async with budget.slice():
            memories |= await parts.ledger.read(list(ids[start : start + READ_IDS]))
    return memories


async def _near(
    parts: NodePorts, index_generation: IndexGeneration, space: str, memories: Sequence[Memory], budget: Budget
) -> tuple[dict[str, tuple[tuple[str, float], ...]], tuple[str, ...]]:
    """By memory its neighbours of the space, nearest first, and how many memories have no vector yet. Of memories with
    one text a single search stands for all."""
    stored = await index_generation.embedder.stored_of(parts.ledger, memories)
    known = {memory.id: stored[memory.id][0].tobytes() for memory in memories if stored[memory.id]}
    distinct = {text: stored[id_][0] for id_, text in known.items()}
    lists: list[list[tuple[str, float]]] = []
    wanted = [(vector, space) for vector in distinct.values()]
    for start in range(0, len(wanted), SEARCHED_IDS):
        asked = wanted[start : start + SEARCHED_IDS]
        async with budget.slice():
            lists += await index_generation.follower.read(
                partial(_neighbours, asked=asked, generation=index_generation.embedder.generation)
            )
    neighbours = dict(zip(distinct, lists, strict=True))
    near = {
        id_: tuple((other, cosine) for other, cosine in neighbours[text] if other != id_) for id_, text in known.items()
    }
    absent = len(memories) - len(known)
    return near, (f"index: {absent} texts are not embedded yet and were not compared",) if absent else ()


async def _with_oldest(
    parts: NodePorts, space: str, generation: str, memories: Mapping[str, Memory], near: Near, budget: Budget
) -> dict[str, tuple[tuple[str, float], ...]]:
    """The neighbours of memories whose text crowds their list, and the oldest memory of the text. The list ends within
    such a group, mostly without the one that the others are merged into."""
    crowded: dict[str, list[str]] = {}
    for id_, neighbours in near.items():
        if len(neighbours) >= NEIGHBOURS - 1 and neighbours[-1][1] >= EQUAL_COSINE:
            crowded.setdefault(duplicate_key(memories[id_].content), []).append(id_)
    if not crowded:
        return {}
    lookups = [
        Lookup("", space, key, "", b"", False, 0, touch=False, purpose=purpose_of(memories[ids[0]]))
        for key, ids in crowded.items()
    ]
    async with budget.slice():
        answers, _ = await parts.ledger.prepare(lookups, [], generation)
    return {
        id_: (*near[id_], (answer.memory.id, 1.0))
        for ids, answer in zip(crowded.values(), answers, strict=True)
        if isinstance(answer, Committed) and answer.memory.state == "active"
        for id_ in ids
        if answer.memory.id not in {id_, *(other for other, _ in near[id_])}
    }


async def _neighbours(
    shard: Handle[IndexPort], asked: Sequence[tuple[Vector, str]], generation: str
) -> list[list[tuple[str, float]]]:
    return await shard.neighbours_batch(asked, NEIGHBOURS, generation, (), VISITS)


async def _derived(parts: NodePorts, sources: Sequence[str], budget: Budget) -> dict[str, tuple[str, ...]]:
    """By source the memories derived from it, forgotten ones too."""
    derived: dict[str, list[str]] = {}
    ordered = sorted(set(sources))
    for start in range(0, len(ordered), READ_IDS):
        async with budget.slice():
            pairs = await parts.ledger.derived(ordered[start : start + READ_IDS])
        for source, memory in pairs:
            derived.setdefault(source, []).append(memory)
    return {source: tuple(memories) for source, memories in derived.items()}
