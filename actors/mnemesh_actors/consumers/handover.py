"""New memories with their vectors, handed over by commits to the index as pages of the feed.

A page equals the page of the ledger's feed. Dropping a page loses nothing, because the feed has the same entries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from mnemesh_actors.ledger.commands import Command, Committed, Create, FeedPage
from mnemesh_actors.ledger.feeds.index_feed import FEED_BYTES_MAX
from mnemesh_memory.values.model import Memory


class Handover:
    """Pages on their way from the commits to the follower, in order. Never more than one page of the feed may hold."""

    def __init__(self) -> None:
        self._pages: deque[FeedPage] = deque()
        self._bytes = 0

    def __iter__(self) -> Iterator[FeedPage]:
        return iter(self._pages)

    def keep(self, fresh: FeedPage, entries_max: int) -> None:
        """Keep a page for the index. Beyond `entries_max` entries, or the bytes of one page of the feed, the rest is
        left to the feed."""
        size = sum(len(memory.content) for _, memory in fresh.memories) + sum(map(len, fresh.vectors.values()))
        entries = sum(len(page.memories) for page in (*self._pages, fresh))
        if entries <= entries_max and self._bytes + size <= FEED_BYTES_MAX:
            self._pages.append(fresh)
            self._bytes += size

    def after(self, seq: int) -> FeedPage | None:
        """Take out everything that follows directly on `seq`, as one page. All other pages are dropped."""
        memories: list[tuple[int, Memory]] = []
        vectors: dict[str, bytes] = {}
        while self._pages:
            page = self._pages.popleft()
            if page.memories[0][0] == seq + 1:
                memories += page.memories
                vectors |= page.vectors
                seq = page.seq
        self._bytes = 0
        return FeedPage(tuple(memories), vectors, seq, seq) if memories else None


def page_of(
    commands: Sequence[Command], results: Sequence[Committed | Exception], head: int, generation: str
) -> FeedPage | None:
    """The page of the ledger's feed after `head`, if new memories with vectors are all of it. None for vectors of
    another generation: the model was changed meanwhile."""
    memories: list[tuple[int, Memory]] = []
    vectors: dict[str, bytes] = {}
    for command, result in zip(commands, results, strict=True):
        if not isinstance(result, Committed) or result.deduplicated or result.replayed:
            continue
        if not isinstance(command, Create) or result.seq != head + len(memories) + 1:
            return None
        if result.memory.source.session:
            return None  # the feed also says what stands before it there
        if command.vectors.items and command.vectors.generation != generation:
            return None
        memories.append((result.seq, result.memory))
        vectors.update(command.vectors.items)
    last = head + len(memories)
    return FeedPage(tuple(memories), vectors, last, last) if memories else None
