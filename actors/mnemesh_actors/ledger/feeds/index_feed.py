"""The feed of the index: what changed after a sequence number, in pages bounded by entries and by bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from mnemesh_actors.ledger.commands import FeedPage
from mnemesh_actors.ledger.store.reads import by_ids
from mnemesh_actors.ledger.store.vectors import cached
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.model import Memory

# A page is held by the ledger, the follower and the shard at once, and with Ray sent between processes.
FEED_BYTES_MAX = 4 * 1024 * 1024
MEMORIES_A_STEP = 32
# The window before a memory in its session: so many memories, and so much of the end of each.
WINDOW_BEFORE = 2
BEFORE_CHARS_MAX = 2000


def page(db: sqlite3.Connection, after: int, limit: int, generation: str, head: int) -> FeedPage:
    """The memories touched by the entries after `after`, each once at its last entry, with cached vectors. Of at most
    `limit` entries, and no more than FEED_BYTES_MAX, or one memory. `head` is the log's last number. A memory that is
    not in the view any more was erased, and is named as removed."""
    entries = db.execute("SELECT seq, doc FROM entry WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)).fetchall()
    taken: dict[str, Memory] = {}
    vectors: dict[str, bytes] = {}
    first: dict[str, int] = {}
    for seq, doc in entries:
        first.setdefault(doc, seq)
    size, end = 0, int(entries[-1][0]) if entries else after
    for memory, known in _with_vectors(db, list(first), generation):
        size += _bytes_of(memory) + sum(len(data) for digest, data in known.items() if digest not in vectors)
        if taken and size > FEED_BYTES_MAX:
            end = first[memory.id] - 1
            break
        taken[memory.id] = memory
        vectors |= known
    last = {doc: seq for seq, doc in entries if seq <= end}
    ordered = sorted((seq, doc) for doc, seq in last.items())
    memories = tuple((seq, taken[doc]) for seq, doc in ordered if doc in taken)
    gone = tuple(doc for _, doc in ordered if doc not in taken)
    return FeedPage(memories, vectors, end, head, gone, _before(db, memories, end))


def again(db: sqlite3.Connection, ids: Sequence[str], generation: str, upto: int) -> FeedPage:
    """The memories with these ids that are in the view, as a page that ends with `upto`, in the order of their last
    entries."""
    memories: list[tuple[int, Memory]] = []
    vectors: dict[str, bytes] = {}
    for memory, known in _with_vectors(db, ids, generation):
        seq = db.execute("SELECT seq FROM memory WHERE id = ?", (memory.id,)).fetchone()[0]
        memories.append((seq, memory))
        vectors |= known
    memories.sort(key=lambda pair: pair[0])
    return FeedPage(tuple(memories), vectors, 0, 0, (), _before(db, memories, upto))


def _before(db: sqlite3.Connection, memories: Sequence[tuple[int, Memory]], upto: int) -> dict[str, tuple[str, ...]]:
    """The texts just before each memory of a session, without entries after `upto`. A window with a text that the index
    does not know yet could not be taken out again."""
    before = {}
    for _, memory in memories:
        if memory.source.session and memory.state == "active":
            here = (memory.source.seq or 0, memory.created_at, memory.id)
            rows = db.execute(
                f"SELECT title, substr(content, -{BEFORE_CHARS_MAX}) FROM memory WHERE session <> '' "
                "AND session = ? AND space = ? AND state = 'active' AND (place, created_at, id) < (?, ?, ?) "
                "AND seq <= ? ORDER BY place DESC, created_at DESC, id DESC LIMIT ?",
                (memory.source.session, memory.space, *here, upto, WINDOW_BEFORE),
            ).fetchall()
            before[memory.id] = tuple("\n".join(filter(None, row)) for row in reversed(rows))
    return before


def _with_vectors(
    db: sqlite3.Connection, ids: Sequence[str], generation: str
) -> Iterator[tuple[Memory, dict[str, bytes]]]:
    """Memories in the order of `ids`, each with the cached vectors of its texts, read a few at a time."""
    for start in range(0, len(ids), MEMORIES_A_STEP):
        part = ids[start : start + MEMORIES_A_STEP]
        memories = by_ids(db, part)
        hashes = {id_: [content_hash(dense) for dense, _ in index_texts(memory)] for id_, memory in memories.items()}
        known = cached(db, [digest for each in hashes.values() for digest in each], generation)
        for id_ in part:
            if id_ in memories:
                yield memories[id_], {digest: known[digest] for digest in hashes[id_] if digest in known}


def _bytes_of(memory: Memory) -> int:
    """The approximate size of a memory when sent: its texts, in UTF-8."""
    fields = (*memory.tags, *memory.paths, *memory.keywords, *memory.attrs.keys(), *memory.attrs.values())
    texts = (memory.title, memory.content, *(text for head in memory.conflicts for text in (head.title, head.content)))
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (*texts, *fields))
